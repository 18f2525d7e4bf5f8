// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import HTTPCacheURLSession
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Loads URLs through a cache, one after the other, and prints the result of each as a line of JSON, and then the events of
/// the disk.
///
/// It is a process of its own because Foundation on Linux reads the root certificates from one file of the system: the
/// tests replace that file for this process only. It is also the second process that wants a directory.
struct LoadURLs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "load", abstract: "Load URLs through a cache, and print the results.")

  @Argument(help: "The loads, as the JSON of Work.") var work: String

  func run() async throws {
    let work = try JSONDecoder().decode(Work.self, from: Data(work.utf8))
    let sessions = try Sessions(work)
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    for load in work.loads {
      let result = await sessions.result(of: load)
      try FileHandle.standardOutput.write(contentsOf: encoder.encode(result) + Data("\n".utf8))
    }
    for event in sessions.diskEvents { print(event) }
    sessions.cache.close()
  }
}

/// What one process does.
struct Work: Codable {
  /// The directory of the cache.
  var directory: String
  /// What `CachingOptions.isReachable` returns.
  var isReachable = true
  /// Whether the cache works in memory only if the directory is unusable, as an `HTTPURLCache` does.
  var fallsBack = false
  var loads: [Load]
}

/// One request.
struct Load: Codable {
  enum Way: String, Codable, CaseIterable, Sendable {
    case urlSession = "URLSession"
    case cacheSession = "HTTPCacheSession"
  }

  var url: String
  var way: Way
  /// The raw value of a `URLRequest.CachePolicy`.
  var policy = URLRequest.CachePolicy.useProtocolCachePolicy.rawValue
}

/// The result of one request: a response, or the code of an error.
struct LoadResult: Codable, Equatable, Sendable {
  var status: Int?
  var text: String?
  /// The description of a `CachedResponse.Source`.
  var source: String?
  /// The raw value of a `CacheEngine.Reason`.
  var reason: String?
  var errorCode: Int?
  var errorText: String?
}

/// Both kinds of session, with one cache.
private struct Sessions {
  let cache: HTTPCache
  private let events = Recorder<CacheEvent>()
  private let urlSession: URLSession
  private let cacheSession: HTTPCacheSession

  init(_ work: Work) throws {
    var configuration = HTTPCache.Configuration(directory: URL(fileURLWithPath: work.directory))
    // If an error counted as a disconnection, a stored response would hide it.
    configuration.rules.whenDisconnected = .anyStored
    configuration.observe { [events] in events.add($0) }
    cache = try work.fallsBack ? HTTPURLCache(configuration).cache : HTTPCache(configuration)
    var options = CachingOptions()
    let isReachable = work.isReachable
    options.isReachable = { _ in isReachable }
    let base = URLSessionConfiguration.ephemeral
    // A busy machine does not reach it.
    base.timeoutIntervalForRequest = 600
    urlSession = URLSession(configuration: .caching(with: cache, options: options, base: base))
    cacheSession = HTTPCacheSession(cache: cache, options: options, configuration: base)
  }

  /// The events that no request has caused.
  var diskEvents: [CacheEvent] { events.all.filter { $0.request == nil } }

  func result(of load: Load) async -> LoadResult {
    do {
      guard let url = URL(string: load.url), let policy = URLRequest.CachePolicy(rawValue: load.policy) else {
        throw URLError(.badURL)
      }
      let request = URLRequest(url: url, cachePolicy: policy)
      switch load.way {
      case .urlSession:
        let (data, response) = try await urlSession.data(for: request)
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        return LoadResult(
          status: response.statusCode, text: String(decoding: data, as: UTF8.self),
          source: response.cacheStatus.map { "\($0.source)" }, reason: response.cacheStatus?.reason?.rawValue)
      case .cacheSession:
        let (data, answer) = try await cacheSession.data(for: request)
        return LoadResult(
          status: answer.response.statusCode, text: String(decoding: data, as: UTF8.self),
          source: "\(answer.source)", reason: answer.reason.rawValue)
      }
    } catch {
      return LoadResult(errorCode: (error as? URLError)?.code.rawValue ?? 0, errorText: "\(error)")
    }
  }
}
