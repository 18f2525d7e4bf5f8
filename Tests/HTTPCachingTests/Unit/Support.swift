// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import SystemPackage
import TestSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// An origin in memory: a closure that answers, and a record of what it was asked.
final class MemoryOrigin: Sendable {
  typealias Handler = @Sendable (HTTPRequest, Int) async throws -> TransportResponse

  private let log = Recorder<HTTPRequest>()
  private let handler: Handler

  init(_ handler: @escaping Handler) {
    self.handler = handler
  }

  /// Answers with the language that was asked for, and says that it varies on it.
  static func varyingOnLanguage() -> MemoryOrigin {
    MemoryOrigin { request, _ in
      .ok(
        request.headerFields[.acceptLanguage] ?? "none",
        [.cacheControl: "max-age=60", .vary: "Accept-Language"])
    }
  }

  var requests: [HTTPRequest] { log.all }

  /// Returns when the origin has got this many requests.
  func reach(_ count: Int) async throws { try await log.reach(count) }

  var transport: Transport {
    { [self] request, _ in
      try await handler(request, log.add(request))
    }
  }
}

/// Writes down the events of a cache.
final class EventLog: Sendable {
  private let log = Recorder<CacheEvent>()
  var events: [CacheEvent] { log.all }
  func add(_ event: CacheEvent) { log.add(event) }

  /// Returns when this many events of one kind have occurred.
  func reach(_ action: CacheEvent.Action, _ count: Int = 1) async throws {
    try await log.reach(count) { $0.action == action }
  }

  func reasons(_ action: CacheEvent.Action) -> [CacheEngine.Reason] {
    events.filter { $0.action == action }.compactMap(\.reason)
  }
}

/// A cache in memory with a clock of its own.
struct Setting {
  let clock = ManualClock(Timestamp(seconds: 1_700_000_000))
  let log = EventLog()
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
    return Answer(
      response: response,
      text: String(decoding: try await response.body.collect(upTo: .max), as: UTF8.self))
  }
}

struct Answer {
  var response: CachedResponse
  var text: String
  var source: CachedResponse.Source { response.source }
  var reason: CacheEngine.Reason { response.reason }
}

extension HTTPRequest {
  static func get(_ path: String = "/", fields: HTTPFields = [:]) -> HTTPRequest {
    HTTPRequest(method: .get, scheme: "https", authority: "example.test", path: path, headerFields: fields)
  }
}

extension TransportResponse {
  static func ok(
    _ body: String, _ fields: HTTPFields = [.cacheControl: "max-age=60"], status: HTTPResponse.Status = .ok
  ) -> TransportResponse {
    TransportResponse(
      head: HTTPResponse(status: status, headerFields: fields), body: MessageBody(Array(body.utf8)))
  }

  static func streamed(
    _ stream: AsyncThrowingStream<ArraySlice<UInt8>, any Error>,
    _ fields: HTTPFields = [.cacheControl: "max-age=60"]
  ) -> TransportResponse {
    TransportResponse(
      head: HTTPResponse(status: .ok, headerFields: fields), body: MessageBody(stream))
  }
}

struct Unreachable: Error {}

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

/// Makes a directory of its own and removes it when the body is done.
func withTemporaryDirectory(_ body: (FilePath) async throws -> Void) async throws {
  var template = Array("/tmp/httpcache-XXXXXX".utf8CString)
  guard let made = mkdtemp(&template) else { throw Errno(rawValue: errno) }
  let path = FilePath(String(cString: made))
  do {
    try await body(path)
  } catch {
    remove(path)
    throw error
  }
  remove(path)
}

private func remove(_ directory: FilePath) {
  if let handle = opendir(directory.string) {
    while let entry = readdir(handle) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name == "." || name == ".." { continue }
      let path = directory.appending(name)
      // It does not remove directories.
      if unlink(path.string) != 0 { remove(path) }
    }
    closedir(handle)
  }
  rmdir(directory.string)
}

/// The names of the files in a directory.
func fileNames(in directory: FilePath) throws -> [String] {
  guard let handle = opendir(directory.string) else { throw Errno(rawValue: errno) }
  defer { closedir(handle) }
  var names: [String] = []
  while let entry = readdir(handle) {
    names.append(
      withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      })
  }
  return names.filter { $0 != "." && $0 != ".." }
}

/// What the files of a directory hold, as text.
func fileContents(in directory: FilePath) throws -> [String] {
  var contents: [String] = []
  guard let handle = opendir(directory.string) else { throw Errno(rawValue: errno) }
  defer { closedir(handle) }
  while let entry = readdir(handle) {
    let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    guard name != ".", name != ".." else { continue }
    let file = try FileDescriptor.open(directory.appending(name), .readOnly)
    defer { try? file.close() }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = try buffer.withUnsafeMutableBytes({ try file.read(into: $0) }), count > 0 {
      bytes += buffer[..<count]
    }
    contents.append(String(decoding: bytes, as: UTF8.self))
  }
  return contents
}
