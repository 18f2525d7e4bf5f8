// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Answers the requests of a `URLSession` through an `HTTPCache`; switched on by
/// `URLSessionConfiguration.caching(with:base:)`. Without that call, its requests fail with an error that says so.
///
/// The class only translates: the cache decides what may be stored and reused. It follows redirects itself, each hop
/// through the cache, because on Linux the client's redirect call ends the process.
public class CachingURLProtocol: URLProtocol {
  private let loads = ProtocolLoads()
  /// The fetches in whose middleware the task was made. On Linux, this object is made by the thread that resumes the task.
  private let enclosing = EnclosingFetches.current

  // MARK: - URLProtocol

  /// Whether the request is for the cache: `http` or `https`, and `CachingOptions/shouldIntercept` agrees.
  override public class func canInit(with request: URLRequest) -> Bool {
    switch request.url?.scheme?.lowercasedASCII {
    case "http", "https":
      // Without its cache, the request fails with an explanation.
      request.url?.host?.isEmpty == false
        && CacheCarriers.carrier(of: self)?.options.shouldIntercept(request) ?? true
    default: false
    }
  }

  /// Returns the request as it is.
  override public class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  /// Starts to answer the request from the cache, or from the origin through it.
  override public func startLoading() {
    let makeThread = CacheCarriers.carrier(of: Self.self)?.clientThread ?? Platform.clientThread
    guard let client = loads.start(self, on: makeThread()) else { return }
    let load: CachedLoad
    do {
      let binding = try CacheBinding.find(for: task, Self.self, request)
      var begun = CachedLoad(
        request: try TaskBody.request(request, of: task), stream: client.stream, binding: binding,
        client: client.isStreamed ? ChallengeClient(client, binding) : nil)
      if let stored = try begun.answerFromMemory(), let data = Data(inMemory: stored.response.body),
        let stored = stored.loaded(data)
      {
        // Makes no task: a hit costs a lookup and Foundation's own handling.
        return client.endAtOnce(ClientAnswer(stored.response, stored.data))
      }
      load = begun
    } catch {
      return client.endAtOnce(ClientAnswer(error: URLError.describing(error, of: request.url)))
    }
    let task = Task { [enclosing, url = request.url] in
      var load = load
      do {
        try await EnclosingFetches.$current.withValue(enclosing) { try await load.answer(client) }
      } catch {
        client.end(ClientAnswer(error: URLError.describing(error, of: url)))
      }
    }
    client.note(task)
  }

  /// Ends the load: the client takes nothing more of it.
  override public func stopLoading() { loads.stop(self) }
}

extension CachedLoad {
  /// Answers the client: as the content arrives, or when all of it is there.
  fileprivate mutating func answer(_ client: ClientLoad) async throws {
    guard client.isStreamed else {
      let loaded = try await run()
      return client.end(ClientAnswer(loaded.response, loaded.data))
    }
    let answer: Answer
    do {
      answer = try await self.answer()
    } catch is StoreError {
      // As in `run()`.
      answer = try await self.answer()
    }
    let body = answer.response.body
    if let data = Data(inMemory: body) {
      return client.end(ClientAnswer(try answer.complete(data).response, data))
    }
    // Its `Cache-Status` is what the cache intends.
    try await client.begin(answer.complete(Data()).response)
    for try await chunk in body { try await client.add(Data(chunk)) }
    client.end(ClientAnswer())
  }
}
