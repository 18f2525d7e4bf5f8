// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import Testing

@Suite("Breakers", .timeLimit(.minutes(10)))
struct CircuitBreakerTests {
  /// What happens, and what must be true then.
  enum Event: Sendable {
    /// So many calls are answered, or fail.
    case answered(Int)
    case failed(Int)
    case stops
    /// A probe is answered.
    case closes
    /// A probe begins, or is not due.
    case probes
    case isTooEarly
    /// A probe ends without an answer.
    case probeFails
    /// Time passes, in milliseconds; less than none if the clock is set back.
    case after(Int64)
    /// The peer is used, or is not.
    case isUsed
    case isLeft
  }

  struct Course: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var limit: Int? = 5
    var isClosed = true
    var events: [Event]
  }

  static let courses = [
    Course(testDescription: "a peer that was never called", events: [.isUsed, .isTooEarly]),
    Course(testDescription: "fewer failures than the limit", events: [.failed(4), .isUsed]),
    Course(testDescription: "as many as the limit", events: [.failed(5), .isLeft, .failed(9), .isLeft]),
    Course(testDescription: "no limit", limit: nil, events: [.failed(1000), .isUsed]),
    // The share.
    Course(
      testDescription: "half of the calls", events: [.answered(5), .failed(4), .isUsed, .failed(1), .isLeft]),
    Course(
      testDescription: "a call that always fails, beside others",
      events: [
        .answered(20), .failed(8), .after(2000), .answered(20), .failed(8), .after(2000), .answered(20),
        .failed(8), .isUsed,
      ]),
    Course(
      testDescription: "failures in a row after many answers",
      events: [.answered(100), .failed(99), .isUsed, .failed(1), .isLeft]),
    // The window, of two times 2.5 seconds.
    Course(
      testDescription: "failures far apart",
      events: [.failed(4), .after(5000), .failed(4), .after(5000), .failed(4), .isUsed]),
    Course(
      testDescription: "failures in both halves",
      events: [.failed(3), .after(2500), .failed(1), .isUsed, .failed(1), .isLeft]),
    Course(
      testDescription: "answers of the half before",
      events: [.answered(50), .after(2500), .failed(5), .isUsed, .after(2500), .failed(1), .isLeft]),
    Course(
      testDescription: "answers that are too old",
      events: [.answered(1000), .after(5000), .failed(4), .isUsed, .failed(1), .isLeft]),
    Course(
      testDescription: "a clock that is set back",
      events: [.failed(4), .after(-60_000), .failed(4), .isUsed, .failed(1), .isLeft]),
    // Probes.
    Course(
      testDescription: "pauses that double up to the interval",
      events: [
        .stops, .isLeft, .isTooEarly, .after(99), .isTooEarly, .after(1), .probes, .isTooEarly, .probeFails,
        .after(199), .isTooEarly, .after(1), .probes, .probeFails, .after(400), .probes, .probeFails,
        .after(800), .probes, .probeFails, .after(999), .isTooEarly, .after(1), .probes, .probeFails,
        .after(999), .isTooEarly, .after(1), .probes, .isLeft,
      ]),
    Course(
      testDescription: "a probe that never ends",
      events: [.stops, .after(100), .probes, .after(199), .isTooEarly, .after(1), .probes]),
    Course(
      testDescription: "a probe that takes long",
      events: [.stops, .after(100), .probes, .after(5000), .probeFails, .isTooEarly, .after(200), .probes]),
    Course(
      testDescription: "an answered probe",
      events: [.failed(5), .after(100), .probes, .closes, .isUsed, .isTooEarly]),
    Course(
      testDescription: "calls from before the answered probe",
      events: [.failed(5), .closes, .failed(4), .isUsed, .failed(1), .isLeft]),
    Course(
      testDescription: "after an interruption, the first pause is short again",
      events: [
        .stops, .after(100), .probes, .after(200), .probes, .closes, .stops, .after(99), .isTooEarly,
        .after(1), .probes,
      ]),
    Course(testDescription: "an answer to an earlier call", events: [.failed(5), .answered(100), .isLeft]),
    Course(
      testDescription: "a peer that must be probed first", isClosed: false,
      events: [.isLeft, .answered(1), .isLeft, .probes, .closes, .isUsed, .failed(4), .isUsed]),
    Course(testDescription: "a peer that is stopped", events: [.stops, .isLeft, .stops, .closes, .isUsed]),
  ]

  @Test("A peer is used by the share of its calls that fail, and by its probes", arguments: courses)
  func course(_ course: Course) {
    var breaker = CircuitBreaker(
      .init(failures: course.limit, interval: .seconds(1)), isClosed: course.isClosed)
    var now: Int64 = 1_000_000_000_000_000
    for (index, event) in course.events.enumerated() {
      let wasClosed = breaker.isClosed
      var hasChanged = false
      switch event {
      case .answered(let count): for _ in 0..<count { breaker.succeeded(at: now) }
      case .failed(let count):
        for _ in 0..<count { hasChanged = breaker.failed(at: now) || hasChanged }
      case .stops: hasChanged = breaker.open(at: now)
      case .closes: hasChanged = breaker.close()
      case .probes, .isTooEarly:
        let begins = breaker.beginProbe(at: now)
        if case .probes = event { #expect(begins, "\(index)") } else { #expect(!begins, "\(index)") }
      case .probeFails: breaker.endProbe(at: now)
      case .after(let time): now += time * 1_000_000
      case .isUsed: #expect(breaker.isClosed && breaker.nextProbe == nil, "\(index)")
      case .isLeft: #expect(!breaker.isClosed && breaker.nextProbe != nil, "\(index)")
      }
      #expect(hasChanged == (breaker.isClosed != wasClosed), "\(index)")
    }
  }
}
