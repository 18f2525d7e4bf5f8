// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import NIOCore
import NIOPosix
import Testing

@testable import HTTPCacheProxy

@Suite("The breaker of the origin", .timeLimit(.minutes(10)))
struct OriginBreakerTests {
  private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
  private static let silent = OriginError(.responseTimeout, "the origin is silent")

  /// A breaker that has opened at the start.
  private static func opened() -> OriginBreaker {
    var breaker = OriginBreaker(failures: 1, interval: .seconds(5))
    #expect(
      breaker.failed(silent, within: .seconds(60), at: start)
        == .opened(cause: silent, probe: start + .milliseconds(100)))
    return breaker
  }

  @Test(
    "A request counts as failed if the origin did not respond, and as answered if it responded badly",
    arguments: [
      (.connectionRefused, true), (.connectionTimeout, true), (.dnsError, true), (.unroutable, true),
      (.connectionTerminated, true), (.responseTimeout, true), (.failureStatus, true),
      (.responseIncomplete, false), (.protocolError, false), (.proxyInternalError, nil),
      (.connectionLimitReached, nil), (.destinationUnavailable, nil),
    ] as [(OriginError.Kind, Bool?)])
  private func kinds(kind: OriginError.Kind, isFailure: Bool?) {
    let error = OriginError(kind, "failed")
    func change(after answers: Int) -> OriginBreaker.Change {
      var breaker = OriginBreaker(failures: 1, interval: .seconds(5))
      for _ in 0..<answers { _ = breaker.answered(at: Self.start) }
      return breaker.failed(error, within: .zero, at: Self.start)
    }
    #expect((change(after: 0) != .none) == (isFailure == true))
    #expect((change(after: 1) != .none) == (isFailure == true))
    #expect(change(after: 2) == .none)
    // What is an answer outweighs a failure.
    var breaker = OriginBreaker(failures: 1, interval: .seconds(5))
    for _ in 1...2 { _ = breaker.failed(error, within: .zero, at: Self.start) }
    if isFailure != true {
      #expect((breaker.failed(Self.silent, within: .zero, at: Self.start) != .none) == (isFailure == nil))
    }
  }

  @Test(
    "A refused stream, the end of a connection in good order, and what the proxy ends say nothing",
    arguments: OriginError.Reach.allCases, [(false, false), (true, false), (false, true)])
  private func ended(reach: OriginError.Reach, cause: (isByProxy: Bool, isRefusal: Bool)) {
    var breaker = OriginBreaker(failures: 1, interval: .seconds(5))
    var error = OriginError(
      .connectionTerminated, "the connection has ended", reach: reach, isByProxy: cause.isByProxy)
    error.isRefusal = cause.isRefusal
    let isFailure = !cause.isByProxy && !cause.isRefusal
    #expect((breaker.failed(error, within: .seconds(60), at: Self.start) != .none) == isFailure)
    #expect(breaker.isAvailable != isFailure)
  }

  @Test("While a server is not available, its error has the time of the next probe")
  func outage() throws {
    var breaker = OriginBreaker(failures: 1, interval: .seconds(5))
    #expect(breaker.outage(at: Self.start) == nil)
    _ = breaker.failed(Self.silent, within: .zero, at: Self.start)
    var now = Self.start
    for _ in 1...6 {
      now = now + .seconds(5)
      #expect(breaker.probeBegan(authority: "a", at: now) != nil)
      _ = breaker.probeSkipped(at: now)
    }
    let error = try #require(breaker.outage(at: now + .milliseconds(1500)))
    #expect(error.kind == .destinationUnavailable && error.status == 503 && error.retryAfter == 4)
    #expect(error.description.hasSuffix(": the origin is silent"))
    // More failures change nothing, except the text.
    #expect(breaker.failed(OriginError(.connectionRefused, "refused"), within: .zero, at: now) == .none)
    #expect(breaker.cause?.kind == .connectionRefused)
    #expect(breaker.outage(at: now + .seconds(60))?.retryAfter == 1)
    #expect(breaker.answered(at: now) == .closed)
    #expect(breaker.cause == nil && breaker.outage(at: now) == nil)
  }

  @Test("Probes are sent one at a time, in growing pauses, until the origin responds")
  func probes() throws {
    var breaker = Self.opened()
    var now = Self.start
    for pause in [100, 200, 400, 800, 1600, 3200, 5000, 5000] as [Int64] {
      func probe(after time: Int64) -> HTTPRequest? {
        breaker.probeBegan(authority: "origin:8000", at: now + .milliseconds(time))
      }
      #expect(probe(after: pause - 1) == nil)
      #expect(probe(after: pause) != nil)
      #expect(probe(after: pause) == nil && probe(after: 60_000) == nil)
      // It takes a second.
      now = now + .milliseconds(pause + 1000)
      let (next, change) = breaker.probeEnded(.failure(Self.silent), within: .zero, at: now)
      let following = Swift.min(2 * pause, 5000)
      #expect(next == now + .milliseconds(following) && change == .none)
    }
    #expect(breaker.probeBegan(authority: "origin:8000", at: now + .seconds(5)) != nil)
    #expect(breaker.answered(at: now) == .closed)
    #expect(breaker.probeEnded(.success(500), within: .zero, at: now + .seconds(6)).next == nil)
    #expect(breaker.probeBegan(authority: "origin:8000", at: now + .seconds(600)) == nil)
  }

  @Test("A probe that ends after the breaker has opened again goes on with the probes")
  func reopened() {
    var breaker = Self.opened()
    let later = Self.start + .seconds(5)
    #expect(breaker.probeBegan(authority: "origin", at: later) != nil)
    // A request in flight was answered.
    #expect(breaker.answered(at: Self.start) == .closed)
    #expect(breaker.failed(Self.silent, within: .seconds(1), at: later) != .none)
    #expect(breaker.probeBegan(authority: "origin", at: later + .seconds(5)) == nil)
    #expect(
      breaker.probeEnded(.failure(Self.silent), within: .seconds(60), at: later + .seconds(6)).next
        == later + .milliseconds(6100))
  }

  @Test("A probe goes to the host of the last request, and to no path that a client has chosen")
  func target() {
    var breaker = Self.opened()
    breaker.authority = "a.example"
    let probe = breaker.probeBegan(authority: "origin:8000", at: Self.start + .seconds(5))
    #expect(probe == HTTPRequest(method: .head, scheme: nil, authority: "a.example", path: "/"))
    var other = Self.opened()
    let own = other.probeBegan(authority: "origin:8000", at: Self.start + .seconds(5))
    #expect(own?.authority == "origin:8000")
  }

  @Test("A slow page does not open the breaker while the origin responds to other requests")
  func slowPage() {
    var breaker = OriginBreaker(failures: 1, interval: .seconds(5))
    _ = breaker.answered(at: Self.start)
    #expect(breaker.failed(Self.silent, within: .seconds(60), at: Self.start + .seconds(59)) == .none)
    #expect(breaker.failed(Self.silent, within: .seconds(60), at: Self.start + .seconds(60)) != .none)
  }

  @Test("Without a number of failures the breaker does not open, and an open one closes")
  func off() {
    var breaker = OriginBreaker(failures: nil, interval: .seconds(5))
    for _ in 1...100 { #expect(breaker.failed(Self.silent, within: .seconds(60), at: Self.start) == .none) }
    breaker = Self.opened()
    #expect(breaker.update(failures: 3, interval: .seconds(5), at: Self.start).change == .none)
    #expect(breaker.update(failures: nil, interval: .seconds(5), at: Self.start).change == .closed)
  }

  @Test(
    "A server that fails most checks is not available, although it answers requests; one check that succeeds changes that"
  )
  func checks() {
    var breaker = OriginBreaker(failures: 2, interval: .seconds(5), checkPath: "/health")
    var now = Self.start
    func check(_ result: Result<Int, OriginError>) -> OriginBreaker.Change {
      let request = breaker.probeBegan(authority: "origin:8000", at: now)
      #expect(request == HTTPRequest(method: .get, scheme: nil, authority: "origin:8000", path: "/health"))
      #expect(breaker.probeBegan(authority: "origin:8000", at: now) == nil)
      let (next, change) = breaker.probeEnded(result, within: .seconds(60), at: now)
      #expect(next == now + .seconds(5))
      now = now + .seconds(5)
      return change
    }
    for status in [200, 204, 301, 399] { #expect(check(.success(status)) == .none) }
    now = now + .seconds(60)
    #expect(check(.success(503)) == .none)
    #expect(check(.success(200)) == .none)
    now = now + .seconds(60)
    for failure in [.success(404), .success(500)] as [Result<Int, OriginError>] {
      #expect(breaker.isAvailable && breaker.outage(at: now) == nil)
      #expect(breaker.answered(at: now) == .none)
      _ = check(failure)
    }
    #expect(!breaker.isAvailable && breaker.cause?.kind == .failureStatus)
    #expect(
      breaker.outage(at: now)?.description.hasSuffix("the response to the check has the status 500") == true)
    // A request in flight says less than a check, and a shortage of the proxy says nothing.
    #expect(breaker.answered(at: now) == .none && !breaker.isAvailable)
    #expect(check(.failure(OriginError(.proxyInternalError, "no descriptor"))) == .none)
    #expect(check(.success(200)) == .closed)
    #expect(breaker.isAvailable && breaker.cause == nil)
    // Requests without a response end them, too.
    for _ in 1...2 { _ = breaker.failed(Self.silent, within: .seconds(60), at: now + .seconds(60)) }
    #expect(!breaker.isAvailable)
    now = now + .seconds(65)
    #expect(check(.success(302)) == .closed)
  }

  @Test("Checks begin and end with the settings")
  func settings() {
    var breaker = OriginBreaker(failures: 1, interval: .seconds(5))
    let begun = breaker.update(failures: 1, interval: .seconds(3), checkPath: "/", at: Self.start)
    #expect(begun.change == .none && begun.probe == Self.start + .seconds(3))
    #expect(breaker.probeBegan(authority: "a", at: Self.start + .seconds(2)) == nil)
    #expect(breaker.probeBegan(authority: "a", at: Self.start + .seconds(3)) != nil)
    guard
      case .opened = breaker.probeEnded(.success(500), within: .seconds(60), at: Self.start + .seconds(3))
        .change
    else {
      Issue.record("the check did not count")
      return
    }
    let again = breaker.update(failures: 1, interval: .seconds(3), checkPath: "/other", at: Self.start)
    #expect(again.change == .none && again.probe == nil && !breaker.isAvailable)
    let ended = breaker.update(failures: 1, interval: .seconds(3), at: Self.start + .seconds(4))
    #expect(ended.change == .closed && ended.probe == nil && breaker.isAvailable)
    #expect(breaker.probeBegan(authority: "a", at: Self.start + .seconds(60)) == nil)
  }

  @Test(
    "Retry-After is in whole seconds, at least one",
    arguments: [
      (-5_000_000_000, 1), (0, 1), (1, 1), (1_000_000_000, 1), (1_000_000_001, 2), (9_500_000_000, 10),
    ] as [(Int64, Int)])
  func seconds(nanoseconds: Int64, seconds: Int) {
    #expect(TimeAmount.nanoseconds(nanoseconds).wholeSeconds == seconds)
  }
}

@Suite("Errors of connections to the origin", .timeLimit(.minutes(10)))
struct ConnectErrorTests {
  struct Case: Sendable {
    var error: any Error
    var kind: OriginError.Kind
    var status: Int
    var text: String
  }

  static let cases = [
    Case(
      error: IOError(errnoCode: ECONNREFUSED, reason: "connect"), kind: .connectionRefused, status: 502,
      text: "no connection to app:80: connection refused"),
    Case(
      error: IOError(errnoCode: ENETUNREACH, reason: "connect"), kind: .unroutable, status: 502,
      text: "no connection to app:80: no route to it (connect: "),
    Case(
      error: IOError(errnoCode: EHOSTUNREACH, reason: "connect"), kind: .unroutable, status: 502,
      text: "no connection to app:80: no route to it (connect: "),
    Case(
      error: IOError(errnoCode: ETIMEDOUT, reason: "connect"), kind: .connectionTimeout, status: 504,
      text: "no connection to app:80: it does not answer"),
    Case(
      error: ChannelError.connectTimeout(.seconds(5)), kind: .connectionTimeout, status: 504,
      text: "no connection to app:80 within 5.0 seconds"),
    Case(
      error: ChannelError.ioOnClosedChannel, kind: .connectionTimeout, status: 504,
      text: "no connection to app:80 within 5.0 seconds"),
    Case(
      error: IOError(errnoCode: EMFILE, reason: "socket"), kind: .proxyInternalError, status: 503,
      text: "no connection to app:80: the process has all "),
    Case(
      error: IOError(errnoCode: EADDRNOTAVAIL, reason: "connect"), kind: .proxyInternalError, status: 503,
      text: "no connection to app:80: the system has no local address or port left for it"),
    Case(
      error: IOError(errnoCode: EACCES, reason: "connect"), kind: .connectionRefused, status: 502,
      text: "no connection to app:80: connect: "),
  ]

  @Test("The error of a connection says what failed (RFC 9209 §2.3)", arguments: cases)
  func reason(_ each: Case) {
    let error = OriginError(
      connectingTo: "app:80", within: .seconds(5), each.error)
    #expect(error.kind == each.kind)
    #expect(error.status == each.status)
    #expect(error.description.hasPrefix(each.text), "\(error)")
  }
}
