// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheEngine
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes
import HTTPTypesFoundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Answers the requests of a `URLSession` from ``HTTPStubs``; see `URLSessionConfiguration.stubbed(by:base:)`.
class StubURLProtocol: URLProtocol {
  private let loading = Mutex(LoadState())

  /// The stubs that answer, and the configuration of the session; `nil` if there are none.
  class var binding: StubBinding? { StubClasses.shared.value(of: self) }

  override class func canInit(with request: URLRequest) -> Bool {
    guard binding != nil else { return false }
    return ["http", "https"].contains(request.url?.scheme?.lowercasedASCII)
  }

  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override func startLoading() {
    let own = LoadingStub(value: self)
    let request = request
    let begun = loading.withLock { loading in
      loading.start().map { (number: $0, stream: loading.stream(of: request)) }
    }
    guard let (number, stream) = begun else { return }
    do {
      guard let binding = Self.binding, let url = request.url else { throw URLError(.badURL) }
      let whole = try TaskBody.request(request, of: self.task)
      guard let head = whole.httpRequest?.adding(binding.additionalFields) else { throw URLError(.badURL) }
      let task = Task {
        do {
          let body =
            try await stream?.content().collect(upTo: .max) ?? whole.httpBody.map { ArraySlice($0) } ?? []
          let answer = try await binding.stubs.answer(head, body)
          let (response, bytes) = try answer.made()
          guard let response = HTTPURLResponse(httpResponse: response, url: url) else {
            throw URLError(.cannotParseResponse)
          }
          let content = Data(head.method == .head ? [] : bytes.prefix(answer.cut ?? .max))
          let error = answer.cut == nil ? nil : answer.lost
          SessionQueue.hold(of: own.value.task) { own.value.finish(number, response, content, error, $0) }
        } catch {
          SessionQueue.hold(of: own.value.task) { own.value.finish(number, nil, Data(), error, $0) }
        }
      }
      if !loading.withLock({ $0.note(task, of: number) }) { task.cancel() }
    } catch {
      SessionQueue.wait { own.value.finish(number, nil, Data(), error, $0) }
    }
  }

  override func stopLoading() {
    loading.withLock { loading in
      #if canImport(FoundationNetworking)
        // As in `CachingURLProtocol`: after its answer, a cancelled task gets no further call.
        if loading.isAnswered { client = nil }
      #endif
      return loading.stop()
    }?.cancel()
  }

  /// Under the lock, for the reason given in `CachingURLProtocol`; and the content in one piece, as there.
  fileprivate func finish(
    _ number: Int, _ response: HTTPURLResponse?, _ data: Data, _ error: (any Error)?,
    _ calls: SessionQueue.Calls
  ) {
    defer { calls.finish() }
    loading.withLock { loading in
      guard loading.isCurrent(number) else { return }
      if let response { client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed) }
      if !data.isEmpty { client?.urlProtocol(self, didLoad: data) }
      loading.answer()
      calls.beginLast()
      if let error {
        client?.urlProtocol(self, didFailWithError: error is CancellationError ? URLError(.cancelled) : error)
      } else {
        client?.urlProtocolDidFinishLoading(self)
      }
    }
  }
}

/// Passes the protocol object into the task that answers.
private struct LoadingStub: @unchecked Sendable {
  // Unchecked: Foundation makes the object, starts it, and does not touch it until stopLoading. The task calls
  // only `client`, while the session's queue waits. A lock ensures that it calls only until stopLoading.
  let value: StubURLProtocol
}

/// The stubs of a session, and the configuration that it was made from.
struct StubBinding: Sendable {
  let stubs: HTTPStubs
  /// `nil` for `URLSession.shared`, whose configuration is the default.
  var configuration: SendableConfiguration?

  /// The fields that Foundation on Linux adds after the protocol has seen the request.
  var additionalFields: [(name: String, value: String)] { configuration?.additionalFields ?? [] }
}

/// The stubs of every class that was made.
enum StubClasses: ClassMaker {
  static let shared = ClassTable<StubClasses, StubBinding>()

  static func makeClass<Digits>(_ digits: Digits.Type) -> StubURLProtocol.Type {
    BoundStubProtocol<Digits>.self
  }
}

/// The class that one configuration lists.
final class BoundStubProtocol<Digits>: StubURLProtocol {}
