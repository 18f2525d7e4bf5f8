// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import NIOCore
import Testing

@testable import HTTPCacheAsyncHTTPClient

@Suite("Upstreams that do not respond")
struct UpstreamBreakersTests {
  private struct Refused: Error, Equatable { var number = 0 }

  enum Event: Sendable {
    case fails
    case responds
    /// What a request then gets.
    case sends
    case refuses
    /// Time passes, in milliseconds.
    case after(Int64)
  }

  struct Case: Sendable, CustomStringConvertible {
    let description: String
    let limit: Int?
    let events: [Event]
  }

  private static let five = [Event](repeating: .fails, count: 5)

  static let cases: [Case] = [
    Case(description: "one that has not failed", limit: 5, events: [.sends, .responds, .sends]),
    Case(description: "fewer failures than the limit", limit: 5, events: five.dropLast() + [.sends]),
    Case(description: "as many as the limit", limit: 5, events: five + [.refuses, .refuses]),
    Case(
      description: "failures with responses between", limit: 3,
      events: [.fails, .fails, .responds, .fails, .refuses]),
    Case(
      description: "fewer failures than responses", limit: 3,
      events: [.responds, .responds, .responds, .responds, .fails, .fails, .fails, .sends, .fails, .refuses]),
    Case(
      description: "requests in growing intervals", limit: 1,
      events: [
        .fails, .after(99), .refuses, .after(1), .sends, .refuses, .after(199), .refuses, .after(1), .sends,
        .refuses, .after(10_000), .sends, .after(9_999), .sends, .refuses,
      ]),
    Case(
      description: "a failure of that request", limit: 1,
      events: [
        .fails, .after(100), .sends, .after(180), .fails, .refuses, .after(20), .sends, .refuses,
      ]),
    Case(
      description: "its response", limit: 1, events: [.fails, .after(100), .sends, .responds, .sends, .sends]),
    Case(
      description: "a late response to an earlier request", limit: 1,
      events: [.fails, .refuses, .responds, .sends]),
    Case(description: "no limit", limit: nil, events: five + five + [.sends]),
  ]

  @Test("get requests as the share of failures says", arguments: cases)
  func requests(_ item: Case) {
    let upstream = Self.upstream("a.example")
    var breakers = UpstreamBreakers(limit: item.limit, interval: .seconds(10))
    var now = NIODeadline.uptimeNanoseconds(1000)
    var isOpen = false
    for (index, event) in item.events.enumerated() {
      switch event {
      case .fails:
        if breakers.failed(upstream, Refused(number: index), at: now) {
          #expect(!isOpen, "said twice that it does not respond: \(index)")
          isOpen = true
        }
      case .responds:
        let isBack = breakers.responded(upstream, at: now)
        #expect(isBack == isOpen, "\(index)")
        isOpen = false
      case .sends:
        let refusal = breakers.refusal(by: upstream, at: now)
        #expect(refusal == nil, "\(index)")
      case .refuses:
        let refusal = breakers.refusal(by: upstream, at: now)
        #expect(refusal?.upstream == "https://a.example", "\(index)")
      case .after(let time): now = now + .milliseconds(time)
      }
    }
  }

  @Test("The error names the upstream and the latest failure")
  func error() throws {
    let upstream = Self.upstream("a.example:8443")
    var breakers = UpstreamBreakers(limit: 2, interval: .seconds(10))
    for number in 1...2 { _ = breakers.failed(upstream, Refused(number: number), at: .uptimeNanoseconds(0)) }
    let refused = breakers.refusal(by: upstream, at: .uptimeNanoseconds(1))
    let refusal = try #require(refused)
    #expect(refusal.cause as? Refused == Refused(number: 2))
    #expect(
      refusal.description
        == """
        https://a.example:8443 has not responded to most of its latest requests, so this one was not sent; \
        the latest failed with: Refused(number: 2)
        """)
  }

  @Test("Deadlines that pass count once an interval, and again after a response")
  func deadlines() {
    let upstream = Self.upstream("a.example")
    var breakers = UpstreamBreakers(limit: 5, interval: .seconds(10))
    func counts(at seconds: Int64) -> Bool {
      let now = NIODeadline.uptimeNanoseconds(0) + .seconds(seconds)
      guard breakers.mayCountDeadline(of: upstream, at: now) else { return false }
      _ = breakers.failed(upstream, Refused(), at: now)
      return true
    }
    #expect([1, 2, 10, 11, 12, 21].map(counts) == [true, false, false, true, false, true])
    _ = breakers.responded(upstream, at: .uptimeNanoseconds(0) + .seconds(22))
    #expect(counts(at: 22))
  }

  @Test("Scheme, host and port have their own state")
  func separate() {
    var breakers = UpstreamBreakers(limit: 1, interval: .seconds(10))
    _ = breakers.failed(Self.upstream("a.example"), Refused(), at: .uptimeNanoseconds(0))
    for other in [
      Self.upstream("b.example"), Self.upstream("a.example:444"), Self.upstream("a.example", "http"),
    ] {
      let refusal = breakers.refusal(by: other, at: .uptimeNanoseconds(1))
      #expect(refusal == nil)
    }
    #expect(breakers.count == 1)
  }

  @Test("Of any number of hosts, the latest are known")
  func bounded() {
    var breakers = UpstreamBreakers(limit: 1, interval: .seconds(10_000))
    let count = UpstreamBreakers.maximumCount + 100
    for number in 0..<count {
      _ = breakers.failed(
        Self.upstream("\(number).example"), Refused(), at: .uptimeNanoseconds(UInt64(number)))
    }
    #expect(breakers.count == UpstreamBreakers.maximumCount)
    let now = NIODeadline.uptimeNanoseconds(UInt64(count))
    for (host, isKnown) in [("99.example", false), ("100.example", true)] {
      let refusal = breakers.refusal(by: Self.upstream(host), at: now)
      #expect((refusal != nil) == isKnown)
    }
  }

  private static func upstream(_ authority: String, _ scheme: String = "https") -> UpstreamBreakers.Upstream {
    .init(HTTPRequest(method: .get, scheme: scheme, authority: authority, path: "/a"))
  }
}
