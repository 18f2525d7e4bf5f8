// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import SystemPackage
import TestSupport

extension Recorder<CacheEvent> {
  /// Returns when this many events of one kind have occurred.
  func reach(_ action: CacheEvent.Action, _ count: Int = 1) async throws {
    try await reach(count) { $0.action == action }
  }

  /// Returns the reasons of all events of one kind so far.
  func reasons(_ action: CacheEvent.Action) -> [CacheEngine.Reason] {
    all.filter { $0.action == action }.compactMap(\.reason)
  }
}

/// A cache in memory with a clock of its own.
struct Setting {
  let clock = ManualClock(Timestamp(seconds: 1_700_000_000))
  let log = Recorder<CacheEvent>()
  let cache: HTTPCache

  init(
    kind: CacheEngine.Configuration.Kind = .private, directory: FilePath? = nil,
    configure: (inout HTTPCache.Configuration) -> Void = { _ in }
  ) throws {
    var configuration = HTTPCache.Configuration(kind: kind)
    let log = log
    configuration.observe { log.add($0) }
    configure(&configuration)
    let store = try CacheStore(
      .init(
        memoryCapacity: 4 << 20, diskCapacity: directory == nil ? 0 : 16 << 20, directory: directory))
    cache = HTTPCache(store: store, configuration: configuration, clock: clock)
  }

  func get(
    _ path: String = "/", from origin: MemoryOrigin,
    policy: RequestCachePolicy = .useProtocolCachePolicy, fields: HTTPFields = [:]
  ) async throws -> Answer {
    let response = try await cache.respond(
      to: .get(path, fields: fields), policy: policy, transport: origin.transport)
    return Answer(response: response, text: try await response.text)
  }
}

struct Answer {
  var response: CachedResponse
  var text: String
  var source: CachedResponse.Source { response.source }
  var reason: CacheEngine.Reason { response.reason }
}

/// Moves a directory away, and puts a link that leads nowhere in its place: no directory can be made there.
///
/// - Returns: undoes it.
func cutOff(_ directory: FilePath) throws -> () -> Void {
  let (path, moved) = (directory.string, directory.string + "-moved")
  guard rename(path, moved) == 0, symlink("/nowhere", path) == 0 else { throw Errno(rawValue: errno) }
  return {
    unlink(path)
    rename(moved, path)
  }
}

/// The files of a directory by name, as text.
func files(in directory: FilePath) throws -> [String: String] {
  let names = try FileManager.default.contentsOfDirectory(atPath: directory.string)
  return try Dictionary(
    uniqueKeysWithValues: names.map {
      (
        $0,
        String(
          decoding: try Data(contentsOf: URL(fileURLWithPath: directory.appending($0).string)), as: UTF8.self)
      )
    })
}
