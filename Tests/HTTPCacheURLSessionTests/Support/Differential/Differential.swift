// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import HTTPCacheURLSession
import HTTPCaching
import SystemPackage
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a client got for a request, and what the origin received for it.
struct Observation {
  var status = 0
  var url = ""
  /// Lines of the head, with lowercase names.
  var fields: Set<String> = []
  var content = Data()
  /// The code of the error, if it failed.
  var error = 0
  /// The heads of the requests.
  var requests: [[String]] = []

  /// What differs from that of a plain session, a line for each part.
  func differences(from plain: Observation, isSent: Bool) -> [String] {
    var all: [String] = []
    if error != plain.error { all.append("error \(error), not \(plain.error)") }
    if status != plain.status { all.append("status \(status), not \(plain.status)") }
    if url != plain.url { all.append("url \(url), not \(plain.url)") }
    all += Self.changes("field", fields, plain.fields)
    if content != plain.content {
      all.append("content of \(content.count) bytes, not \(plain.content.count)")
    }
    guard isSent else { return all }
    if requests.count != plain.requests.count {
      all.append("\(requests.count) requests, not \(plain.requests.count)")
    }
    for (own, other) in zip(requests, plain.requests) { all += Self.changes("request", Set(own), Set(other)) }
    return all
  }

  private static func changes(_ kind: String, _ own: Set<String>, _ other: Set<String>) -> [String] {
    own.subtracting(other).sorted().map { "\(kind) + \($0)" }
      + other.subtracting(own).sorted().map { "\(kind) - \($0)" }
  }
}

/// Loads cases through a plain session, and through each client with a cache.
struct Differential {
  enum Client: String, CaseIterable { case urlSession, data, bytes }
  /// What the cache has when the request comes.
  enum Round: String, CaseIterable { case cold, hit, validated }

  let cases: [WireCase]
  private let origin: WireOrigin
  private let plain: URLSession
  private let caching: URLSession
  private let own: [Client: HTTPCacheSession]

  /// - Parameter directory: the folder for the caches; `nil` for caches in memory only.
  static func with(
    _ cases: [WireCase], in directory: FilePath? = nil, _ body: (Differential) async throws -> Void
  ) async throws {
    let differential = try await Differential(cases, directory)
    let result: Result<Void, any Error>
    do { result = .success(try await body(differential)) } catch { result = .failure(error) }
    differential.plain.finishTasksAndInvalidate()
    differential.caching.finishTasksAndInvalidate()
    await differential.origin.stop()
    try result.get()
  }

  private init(_ cases: [WireCase], _ directory: FilePath?) async throws {
    func cache(_ name: String) throws -> HTTPCache {
      var store = CacheStore.Configuration(
        memoryCapacity: directory == nil ? 16 << 20 : 0, diskCapacity: 16 << 20)
      store.directory = directory?.appending(name)
      return HTTPCache(store: try CacheStore(store), configuration: .init(kind: .private))
    }
    self.cases = cases
    origin = try await WireOrigin.start(cases)
    plain = URLSession(configuration: .plain)
    caching = URLSession(configuration: .caching(with: try cache("urlSession"), base: .plain))
    own = [
      .data: HTTPCacheSession(cache: try cache("data"), configuration: .plain),
      .bytes: HTTPCacheSession(cache: try cache("bytes"), configuration: .plain),
    ]
  }

  /// Returns the differences of a case that have no reason.
  func faults(_ number: Int) async throws -> [String] {
    var faults: [String] = []
    let plain = try await load(number, nil)
    for client in Client.allCases {
      for round in Round.allCases {
        let seen = try await load(number, client, round)
        for line in seen.differences(from: plain, isSent: round == .cold)
        where ExplainedDifference.reason(for: line, of: cases[number], in: round) == nil {
          faults.append("\(cases[number]), \(client), \(round): \(line)")
        }
      }
    }
    return faults
  }

  /// Loads a case with a client.
  ///
  /// - Parameters:
  ///   - client: the client; `nil` for the plain session.
  ///   - round: the last one revalidates what is stored.
  func load(_ number: Int, _ client: Client?, _ round: Round = .cold) async throws -> Observation {
    var request = try cases[number].request(number, port: origin.port)
    if round == .validated { request.cachePolicy = .reloadRevalidatingCacheData }
    let start = origin.requestCount
    var seen = Observation()
    do {
      let (data, response) = try await load(request, client)
      seen.content = data
      guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
      seen.status = response.statusCode
      seen.url = response.url?.absoluteString.replacingOccurrences(of: "\(origin.port)", with: "PORT") ?? ""
      seen.fields = Set(response.allHeaderFields.map { "\("\($0.key)".lowercased()): \($0.value)" })
    } catch {
      seen.error = (error as? URLError)?.errorCode ?? 1
    }
    seen.requests = origin.heads(from: start)
    return seen
  }

  private func load(_ request: URLRequest, _ client: Client?) async throws -> (Data, URLResponse) {
    guard let client else { return try await plain.data(for: request) }
    guard let session = own[client] else { return try await caching.data(for: request) }
    guard client == .bytes else {
      let (data, answer) = try await session.data(for: request)
      return (data, answer.response)
    }
    let (bytes, answer) = try await session.bytes(for: request)
    var data = Data()
    for try await chunk in bytes.chunks { data.append(contentsOf: chunk) }
    return (data, answer.response)
  }
}
