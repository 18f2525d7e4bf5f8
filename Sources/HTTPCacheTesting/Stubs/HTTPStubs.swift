// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
// One import is enough: stubs and archives have types of the cache and of HTTPTypes in their interface.
@_exported import HTTPCaching

/// Answers requests without a server: by method, URL pattern and query.
///
/// ```swift
/// let stubs = HTTPStubs()
/// stubs.on(.get, "https://api.test/users/{id}") { call in try .json(["id": call.parameters["id"]]) }
/// stubs.on(.get, "https://api.test/feed?page={page}", .text("…", fields: [.cacheControl: "max-age=60"]))
///
/// let session = URLSession(configuration: .stubbed(by: stubs))                          // a session without a cache
/// let caching = URLSession(configuration: .caching(with: cache, base: .stubbed(by: stubs)))   // one with it
/// let response = try await cache.respond(to: request, transport: stubs.transport)       // no session at all
///
/// #expect(stubs.requests.map(\.url) == ["https://api.test/users/7"])
/// try stubs.verify()
/// ```
///
/// If several stubs match a request, the one added last answers. A request that no stub matches fails with
/// ``StubError/Code/unexpectedRequest``, and is recorded.
public final class HTTPStubs: Sendable {
  /// Returns the answer to a request.
  public typealias Handler = @Sendable (StubRequest) async throws -> StubAnswer

  private struct Stub: Sendable {
    var method: HTTPRequest.Method?
    var pattern: URLPattern
    /// How many more times the stub answers; `nil` for any number.
    var left: Int?
    var count = 0
    var handler: Handler

    var description: String { "\(method?.rawValue ?? "any method") \(pattern)" }
  }

  private struct State {
    var stubs: [Stub] = []
    var requests: [StubRequest] = []
    var unexpected: [StubRequest] = []
  }

  private let state = Mutex(State())
  private let clock: any CacheClock

  /// Makes stubs whose delays run in real time, for a century at most.
  public init() {
    clock = SystemCacheClock.shared
  }

  /// Makes stubs whose delays last until the clock is advanced.
  public init(clock: TestClock) {
    self.clock = clock
  }

  // MARK: - Stubs

  /// Answers requests with the result of a closure.
  ///
  /// - Parameters:
  ///   - method: the method to match; `nil` matches any.
  ///   - pattern: the URLs to match.
  ///   - times: how many requests the stub answers (default: any number).
  ///   - handler: returns the answer to a request.
  public func on(
    _ method: HTTPRequest.Method?, _ pattern: URLPattern, times: Int? = nil, _ handler: @escaping Handler
  ) {
    state.withLock {
      $0.stubs.append(Stub(method: method, pattern: pattern, left: times, handler: handler))
    }
  }

  /// Answers requests with a fixed answer.
  public func on(
    _ method: HTTPRequest.Method?, _ pattern: URLPattern, times: Int? = nil, _ answer: StubAnswer
  ) {
    on(method, pattern, times: times) { _ in answer }
  }

  /// Removes all stubs, and the recorded requests.
  public func removeAll() {
    state.withLock { $0 = State() }
  }

  // MARK: - Recorded requests

  /// All requests so far, in the order of their arrival.
  public var requests: [StubRequest] { state.withLock { $0.requests } }

  /// The requests that no stub answered.
  public var unexpected: [StubRequest] { state.withLock { $0.unexpected } }

  /// Returns the requests with this method whose URL matches.
  public func requests(_ method: HTTPRequest.Method?, _ pattern: URLPattern) -> [StubRequest] {
    requests.filter { $0.matches(method, pattern) }
  }

  /// Checks that all requests were expected, and that every stub was used.
  ///
  /// - Throws: ``StubError`` with the code `unexpectedRequest` or `unusedStubs`
  public func verify() throws {
    let state = state.withLock { $0 }
    if let request = state.unexpected.first { throw error(request, state.stubs) }
    let unused = state.stubs.filter { $0.count == 0 }
    if !unused.isEmpty { throw StubError.unused(unused.map(\.description)) }
  }

  private func error(_ request: StubRequest, _ stubs: [Stub]) -> StubError {
    .unexpected(
      request: request.description,
      stubs: stubs.map { $0.description + ($0.left == 0 ? " (used up)" : "") })
  }

  // MARK: - Answering

  /// The stubs as a transport of `HTTPCache`.
  public var transport: Transport {
    { [self] request, body in
      let answer = try await self.answer(request, try await body.collect(upTo: .max))
      let (head, bytes) = try answer.made()
      // The head describes the content, but there is none (RFC 9110 §9.3.2).
      if request.method == .head { return TransportResponse(head: head) }
      guard let cut = answer.cut else { return TransportResponse(head: head, body: MessageBody(bytes)) }
      let (stream, continuation) = AsyncThrowingStream<ArraySlice<UInt8>, any Error>.makeStream()
      if cut > 0 { continuation.yield(bytes.prefix(cut)) }
      continuation.finish(throwing: answer.lost)
      return TransportResponse(head: head, body: MessageBody(stream))
    }
  }

  /// Returns the answer to a request after its delay.
  ///
  /// - Parameter timeout: the time after which the request fails instead.
  /// - Throws: `URLError.timedOut`.
  func answer(
    _ request: HTTPRequest, _ body: ArraySlice<UInt8>, timeout: Duration? = nil
  ) async throws -> StubAnswer {
    let (call, handler, error) = take(request, body)
    guard let handler else { throw error ?? StubError.unexpected(request: call.description, stubs: []) }
    let answer = try await handler(call)
    let delay = min(answer.delay, timeout ?? answer.delay)
    if delay > .zero { try await clock.sleep(for: delay) }
    guard delay == answer.delay else { throw StubAnswer.timedOut }
    return answer
  }

  private func take(_ request: HTTPRequest, _ body: ArraySlice<UInt8>) -> (StubRequest, Handler?, StubError?)
  {
    var call = StubRequest(request: request, body: Array(body))
    return state.withLock { state in
      call.number = state.requests.count + 1
      for index in state.stubs.indices.reversed() where state.stubs[index].left != 0 {
        guard let parameters = call.match(state.stubs[index].method, state.stubs[index].pattern) else {
          continue
        }
        call.parameters = parameters
        state.requests.append(call)
        state.stubs[index].count += 1
        state.stubs[index].left = state.stubs[index].left.map { $0 - 1 }
        return (call, state.stubs[index].handler, nil)
      }
      state.requests.append(call)
      state.unexpected.append(call)
      return (call, nil, error(call, state.stubs))
    }
  }
}
