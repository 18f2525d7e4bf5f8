// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCaching
import HTTPTypes
import NIOCore
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("State machine of an origin connection", .timeLimit(.minutes(10)))
struct OriginConnectionStateMachineTests {
  typealias Machine = OriginConnectionStateMachine

  /// An event of a connection. Times are milliseconds.
  enum Event: Hashable, Sendable {
    case start(
      HTTPRequest.Method = .get, isWhole: Bool = true, upgrade: String? = nil, isLarge: Bool = false,
      isActive: Bool = true, isEnding: Bool = false, at: Int64 = 0)
    case upload(Machine.Exchange.Upload, at: Int64 = 0)
    case bytes(at: Int64)
    case head(
      Int, HTTPFields = [.contentLength: "2"], _ version: HTTPVersion = .http11, bytes: Int = 40,
      at: Int64 = 0)
    case next
    case contentWanted(at: Int64)
    case end(hasBytes: Bool = false, at: Int64 = 0)
    case inputEnd(hasBytes: Bool = false)
    case failure(OriginError.Kind?, hasBytes: Bool = false)
    case time(Int64, isContentAwaited: Bool = false, hasTaken: Bool = false, isTaking: Bool = false)
  }

  enum Outcome: Hashable {
    case nothing
    case isWanted(Bool)
    case deadline(NIODeadline?)
    case action(Machine.HeadAction)
    case fault
    case ending(Machine.Ending)
    case error(OriginError)
  }

  /// A machine, and the request in flight, which its handler has.
  struct Subject {
    var machine = Machine(OriginConnectionStateMachineTests.timeouts, at: time(0))
    var request = Machine.Request()

    mutating func outcome(of event: Event) -> Outcome {
      do {
        return try perform(event)
      } catch let error as OriginError {
        return .error(error.withoutText)
      } catch {
        return .fault
      }
    }

    private mutating func perform(_ event: Event) throws -> Outcome {
      switch event {
      case .start(let method, let isWhole, let upgrade, let isLarge, let isActive, let isEnding, let now):
        let next = Machine.Request(method: method, isWhole: isWhole, upgrade: upgrade)
        let deadline = try machine.requestStarted(
          next, isLarge: isLarge, isActive: isActive, isEnding: isEnding, at: time(now))
        request = next
        return .deadline(deadline)
      case .upload(let upload, let now): machine.uploadChanged(to: upload, at: time(now))
      case .bytes(let now): return .isWanted(machine.received(at: time(now)))
      case .head(let status, let fields, let version, let count, let now):
        let head = HTTPResponse(status: .init(code: status), headerFields: fields)
        let action = try machine.headReceived(
          head, version, bytes: count, to: request, at: time(now))
        return if case .fail(let error) = action { .error(error.withoutText) } else { .action(action) }
      case .next: try machine.nextRequested()
      case .contentWanted(let now): machine.contentWanted(at: time(now))
      case .end(let hasBytes, let now):
        return .ending(machine.responseEnded(hasBytes: hasBytes, at: time(now)))
      case .inputEnd(let hasBytes): return .ending(machine.inputEnded(hasBytes: hasBytes).withoutText)
      case .failure(let kind, let hasBytes):
        return .ending(machine.end(kind.map { OriginError($0, "") }, hasBytes: hasBytes).withoutText)
      case .time(let now, let isContentAwaited, let hasTaken, let isTaking):
        return .deadline(
          try machine.checkTime(
            at: time(now), isContentAwaited: isContentAwaited, hasTaken: hasTaken, isTaking: isTaking))
      }
      return .nothing
    }
  }

  static func time(_ milliseconds: Int64) -> NIODeadline {
    .uptimeNanoseconds(UInt64(milliseconds) * 1_000_000)
  }

  static var timeouts: ProxyConfiguration.Origin.Timeouts {
    var timeouts = ProxyConfiguration.Origin.Timeouts()
    (timeouts.firstByte, timeouts.betweenBytes, timeouts.idle) = (
      .milliseconds(1000), .milliseconds(1000), .milliseconds(4000)
    )
    return timeouts
  }

  /// A machine after these events.
  private func subject(after events: [Event]) -> Subject {
    var subject = Subject()
    for event in events { _ = subject.outcome(of: event) }
    return subject
  }

  @Test(
    "The head and each further piece of the content have times of their own",
    arguments: [(1000, 300), (300, 1000)] as [(Int64, Int64)])
  func ownTimes(head: Int64, piece: Int64) throws {
    var timeouts = Self.timeouts
    timeouts.firstByte = .milliseconds(head)
    timeouts.betweenBytes = .milliseconds(piece)
    func check(_ machine: inout Machine, at now: Int64) throws -> NIODeadline? {
      try machine.checkTime(at: Self.time(now), isContentAwaited: true, hasTaken: false, isTaking: false)
    }
    var machine = Machine(timeouts, at: Self.time(0))
    let deadline = try machine.requestStarted(
      .init(), isLarge: false, isActive: true, isEnding: false, at: Self.time(0))
    #expect(deadline == Self.time(head))
    var silent = machine
    #expect(try check(&silent, at: head - 1) == Self.time(head))
    #expect(throws: OriginError.self) { try check(&silent, at: head) }
    _ = try machine.headReceived(
      HTTPResponse(status: .ok, headerFields: [.contentLength: "2"]), .http11, bytes: 9, to: .init(),
      at: Self.time(100))
    #expect(machine.contentTime == .milliseconds(piece))
    _ = machine.received(at: Self.time(200))
    #expect(try check(&machine, at: 199 + piece) == Self.time(200 + piece))
    #expect(throws: OriginError.self) { try check(&machine, at: 200 + piece) }
  }

  // MARK: - Heads

  /// The head of a response to a request.
  struct Head: Sendable, CustomTestStringConvertible {
    var method = HTTPRequest.Method.get
    var status = 200
    var fields: HTTPFields = [:]
    var version = HTTPVersion.http11
    /// `nil` if the head is refused.
    var framing: Framing?
    /// Whether the connection may serve another request.
    var persists = true

    var testDescription: String {
      let fields = fields.map { "\($0.name): \($0.value)" }.joined(separator: ", ")
      return "\(method) \(status) HTTP/\(version.number) \(fields)"
    }
  }

  private static let length: HTTPFields = [.contentLength: "2"]
  private static let chunked: HTTPFields = [.transferEncoding: "chunked"]
  private static func with(_ fields: HTTPFields, _ name: HTTPField.Name, _ value: String) -> HTTPFields {
    var fields = fields
    fields.append(HTTPField(name: name, value: value))
    return fields
  }

  static let heads: [Head] =
    [200, 404, 503].flatMap { status in
      [
        Head(status: status, fields: length, framing: .length(2)),
        Head(status: status, fields: [.contentLength: "0"], framing: .length(0)),
        Head(status: status, fields: chunked, framing: .chunked),
        Head(status: status, framing: .untilClose, persists: false),
        // The stream ends it, and not the connection.
        Head(status: status, version: .http2, framing: .chunked),
        Head(status: status, fields: length, version: .http2, framing: .length(2)),
        Head(status: status, fields: length, version: .http10, framing: .length(2), persists: false),
        Head(
          status: status, fields: with(length, .connection, "x, Close"), framing: .length(2), persists: false),
        Head(status: status, fields: with(length, .connection, "keep-alive"), framing: .length(2)),
        Head(status: status, fields: with(length, .contentLength, "2")),
        Head(status: status, fields: with(chunked, .contentLength, "2")),
        Head(status: status, fields: [.transferEncoding: "gzip, chunked"]),
        Head(status: status, fields: [.contentLength: "+2"]),
        Head(method: .head, status: status, fields: length, framing: Framing.none),
        Head(method: .head, status: status, framing: Framing.none),
      ]
    }
    + [204, 304].flatMap { status in
      [
        Head(status: status, framing: Framing.none),
        Head(status: status, fields: length, framing: Framing.none),
        Head(status: status, fields: [.connection: "close"], framing: Framing.none, persists: false),
      ]
    } + [Head(status: 101, fields: [.upgrade: "x"])]

  /// What spoils a connection besides the head of the response.
  enum Remainder: CaseIterable { case nothing, bytes, upload, inputEnd }

  @Test(
    "Only a complete exchange of HTTP/1.1 without Connection: close leaves a reusable connection",
    arguments: heads, Remainder.allCases)
  func persistence(_ head: Head, _ remainder: Remainder) {
    var subject = subject(after: [.start(head.method, isWhole: remainder != .upload)])
    if remainder == .inputEnd {
      for event in [.head(103), .inputEnd(hasBytes: true), .next] as [Event] {
        _ = subject.outcome(of: event)
      }
    }
    let event = Event.head(head.status, head.fields, head.version)
    guard let framing = head.framing else {
      #expect(subject.outcome(of: event) == .fault)
      return
    }
    #expect(subject.outcome(of: event) == .action(.deliver(framing)))
    #expect(subject.machine.input == .content)
    let isReusable = head.persists && remainder == .nothing
    #expect(
      subject.outcome(of: .end(hasBytes: remainder == .bytes)) == .ending(isReusable ? .none : .quietly))
    #expect(subject.machine.input == (isReusable ? .end : .nothing))
    #expect((subject.machine.idleDeadline == Self.time(4000)) == isReusable)
    #expect(subject.machine.exchanges == 1)
    let next = subject.outcome(of: .start(.post))
    #expect(
      next == (isReusable ? .deadline(Self.time(1000)) : .error(.of(.connectionTerminated, .unsent))))
  }

  @Test(
    "The origin may switch only to protocols of the request (RFC 9110 §7.8)",
    arguments: [
      ("a, B", "b", true), ("a", "A", true), ("a, b", "a,b", true), ("a", "b", false), ("a", "a, b", false),
      ("a", nil, false), (nil, "a", false),
    ] as [(String?, String?, Bool)])
  func upgrade(requested: String?, chosen: String?, isAllowed: Bool) {
    var subject = subject(after: [.start(upgrade: requested)])
    let fields = chosen.map { [.upgrade: $0] as HTTPFields } ?? [:]
    #expect(subject.outcome(of: .head(101, fields)) == (isAllowed ? .action(.switchProtocols) : .fault))
    guard isAllowed else { return }
    #expect(subject.machine.input == .nothing)
    #expect(subject.outcome(of: .time(100_000)) == .deadline(nil))
    #expect(subject.machine.state == .switched(inputIsClosed: false))
    #expect(subject.outcome(of: .inputEnd()) == .ending(.none))
    #expect(subject.machine.state == .switched(inputIsClosed: true))
  }

  @Test("An origin that switches protocols after an interim response, and sends no more, leaves a tunnel")
  func lateSwitch() {
    let subject = subject(after: [
      .start(upgrade: "a"), .head(103), .inputEnd(hasBytes: true), .next, .head(101, [.upgrade: "a"]),
    ])
    #expect(subject.machine.state == .switched(inputIsClosed: true))
  }

  @Test(
    "Interim responses are limited in number and in bytes",
    arguments: [(64, 40, true), (65, 40, false), (32, 2048, true), (33, 2048, false)])
  func interimLimit(count: Int, bytes: Int, isAllowed: Bool) {
    var subject = subject(after: [.start()])
    for _ in 1..<count {
      #expect(subject.outcome(of: .head(103, bytes: bytes)) == .action(.deliverInterim))
      #expect(subject.machine.input == .nothing)
      #expect(subject.outcome(of: .next) == .nothing)
    }
    #expect(subject.outcome(of: .head(103, bytes: bytes)) == (isAllowed ? .action(.deliverInterim) : .fault))
  }

  // MARK: - Endings

  private static let used: [Event] = [.start(), .head(200), .end()]
  private static let silent = OriginError.of(.connectionTerminated, .answered)
  private static let cut = OriginError.of(.responseIncomplete, .answered)

  /// A moment at which a connection ends, and its ending if the origin closes it, or if it fails.
  struct Moment: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var events: [Event]
    var hasBytes = false
    var closed: Machine.Ending
    /// The ending after a failure with this kind.
    var failed: @Sendable (OriginError.Kind) -> Machine.Ending
    /// Whether a repeatable request is sent again if the origin closes the connection.
    var isRetried = false

    init(
      _ name: String, _ events: [Event], hasBytes: Bool = false, _ closed: Machine.Ending,
      failed: @escaping @Sendable (OriginError.Kind) -> Machine.Ending, isRetried: Bool = false
    ) {
      (testDescription, self.events, self.hasBytes) = (name, events, hasBytes)
      (self.closed, self.failed, self.isRetried) = (closed, failed, isRetried)
    }
  }

  static let moments: [Moment] = [
    Moment("Before the first request", [], .idle) { _ in .idle },
    Moment("Between requests", used, .idle) { _ in .idle },
    Moment(
      "Before the first byte of a response", [.start()], .head(.of(.connectionTerminated, .unanswered)),
      failed: { .head(.of($0, .unanswered)) }, isRetried: true),
    Moment(
      "During a request", [.start(.post, isWhole: false)],
      .head(.of(.connectionTerminated, .unanswered)), failed: { .head(.of($0, .unanswered)) },
      isRetried: true),
    Moment("During a head", [.start()], hasBytes: true, .head(silent)) { .head(.of($0, .answered)) },
    Moment("After an interim response", [.start(), .head(103)], .quietly) { _ in .quietly },
    Moment("Before the next response", [.start(), .head(103), .next], .head(silent)) {
      .head(.of($0, .answered))
    },
    Moment("During content with a length", [.start(), .head(200)], .content(cut)) {
      .content(.of($0, .answered))
    },
    Moment("During chunks", [.start(), .head(200, chunked)], hasBytes: true, .content(cut)) {
      .content(.of($0, .answered))
    },
    Moment("During content that ends with the connection", [.start(), .head(200, [:])], .content(nil)) {
      .content(.of($0, .answered))
    },
    Moment(
      "During content that comes before the end of the request", [.start(.put, isWhole: false), .head(200)],
      .content(cut)
    ) { .content(.of($0, .answered)) },
  ]

  /// Who ends a connection.
  enum Leaver: CaseIterable {
    case origin, network, timer, proxy, reader

    /// `nil` for an ending without an error.
    var kind: OriginError.Kind? {
      switch self {
      case .origin, .reader: nil
      case .network, .proxy: .connectionTerminated
      case .timer: .responseTimeout
      }
    }
  }

  @Test(
    "Each ending reaches the waiting side, and only once", arguments: moments, Leaver.allCases)
  func ending(_ moment: Moment, _ leaver: Leaver) {
    var subject = subject(after: moment.events)
    let ending = leaver.kind.map(moment.failed) ?? moment.closed
    let event: Event =
      leaver == .origin
      ? .inputEnd(hasBytes: moment.hasBytes) : .failure(leaver.kind, hasBytes: moment.hasBytes)
    #expect(subject.outcome(of: event) == .ending(ending))
    if case .head(let error) = ending {
      let request = OriginCall.Sent(
        request: HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/"), body: .empty, attempts: 1,
        isReused: true, needsNew: true)
      #expect(error.allowsRetry(request) == (moment.isRetried && leaver != .timer))
    }
    // Nothing follows.
    #expect(subject.machine.input == .nothing)
    #expect(!subject.machine.isSending)
    for late in [.inputEnd(), .inputEnd(hasBytes: true), .failure(.protocolError), .end()] as [Event] {
      #expect(subject.outcome(of: late) == .ending(.none))
    }
    #expect(subject.outcome(of: .bytes(at: 1)) == .isWanted(false))
    #expect(subject.outcome(of: .time(100_000)) == .deadline(nil))
    #expect(subject.outcome(of: .start()) == .error(.of(.connectionTerminated, .unsent)))
    // A later request for the next response fails with the first error.
    #expect(subject.outcome(of: .next) == .error(.of(leaver.kind ?? .connectionTerminated, .answered)))
  }

  @Test("A response that waits after an interim one outlives the end of its connection")
  func waitingResponse() {
    var subject = subject(after: [.start(), .head(103)])
    #expect(subject.outcome(of: .inputEnd(hasBytes: true)) == .ending(.none))
    #expect(subject.machine.inputIsClosed)
    #expect(subject.outcome(of: .next) == .nothing)
    #expect(subject.outcome(of: .head(103)) == .action(.deliverInterim))
    #expect(subject.outcome(of: .inputEnd(hasBytes: true)) == .ending(.none))
    #expect(subject.outcome(of: .next) == .nothing)
    #expect(subject.outcome(of: .head(200, [:])) == .action(.deliver(.untilClose)))
    #expect(subject.outcome(of: .inputEnd()) == .ending(.content(nil)))
  }

  // MARK: - Lost requests

  @Test(
    "Only a request that cannot be repeated asks the kernel before it uses a connection again",
    arguments: [HTTPRequest.Method.get, .put, .post, .patch], [true, false])
  func endingConnection(method: HTTPRequest.Method, isWhole: Bool) {
    var first = Subject()
    #expect(first.outcome(of: .start(method, isWhole: isWhole, isEnding: true)) == .deadline(Self.time(1000)))
    var second = subject(after: Self.used)
    let isRepeatable = isWhole && method != .post && method != .patch
    #expect(
      second.outcome(of: .start(method, isWhole: isWhole, isEnding: true))
        == (isRepeatable ? .deadline(Self.time(1000)) : .error(.of(.connectionTerminated, .unsent))))
    var closed = subject(after: Self.used)
    #expect(
      closed.outcome(of: .start(method, isWhole: isWhole, isActive: false))
        == .error(.of(.connectionTerminated, .unsent)))
  }

  @Test(
    "A 408 that closes a reused connection does not answer a repeatable request (RFC 9110 §15.5.9)",
    arguments: [
      (.get, true, true, "close", true), (.get, true, false, "close", false),
      (.get, true, true, "keep-alive", false), (.post, true, true, "close", false),
      (.put, false, true, "close", false),
    ] as [(HTTPRequest.Method, Bool, Bool, String, Bool)])
  func idleTimeout(
    method: HTTPRequest.Method, isWhole: Bool, isReused: Bool, connection: String, isRetried: Bool
  ) {
    var subject = subject(after: (isReused ? Self.used : []) + [.start(method, isWhole: isWhole)])
    let head = Event.head(408, [.contentLength: "2", .connection: connection])
    #expect(
      subject.outcome(of: head)
        == (isRetried
          ? .error(.of(.connectionTerminated, .unanswered)) : .action(.deliver(.length(2)))))
  }

  // MARK: - Time

  /// Events on one connection, in their order, each with the expected outcome.
  struct Course: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var steps: [(Event, Outcome)]

    init(_ name: String, _ steps: [(Event, Outcome)]) { (testDescription, self.steps) = (name, steps) }
  }

  private static func at(_ milliseconds: Int64) -> Outcome { .deadline(time(milliseconds)) }
  private static let timedOut = Outcome.error(.of(.responseTimeout, .answered))
  private static let idleOver = Outcome.error(.of(.connectionTerminated, .answered))

  static let times: [Course] = [
    Course(
      "The time for a response begins with the request, and interim responses and pieces do not restart it",
      [
        (.start(at: 100), at(1100)), (.bytes(at: 900), .isWanted(true)),
        (.head(103, at: 900), .action(.deliverInterim)), (.time(1000), at(1100)), (.next, .nothing),
        (.bytes(at: 1099), .isWanted(true)), (.time(1099), at(1100)), (.time(1100), timedOut),
      ]),
    Course(
      "A response after an interim one that is not requested has no more time",
      [(.start(), at(1000)), (.head(103), .action(.deliverInterim)), (.time(1000), timedOut)]),
    Course(
      "The client may take its time to send its content, and the response has its own after it",
      [
        (.start(.post, isWhole: false), at(1000)), (.time(1000), at(1250)), (.time(5000), at(5250)),
        (.upload(.nothing, at: 5100), .nothing), (.time(5250), at(6100)), (.time(6099), at(6100)),
        (.time(6100), timedOut),
      ]),
    Course(
      "An origin that does not take a piece of the content is given up",
      [
        (.start(.post, isWhole: false), at(1000)), (.time(800), at(1050)),
        (.upload(.awaitsOrigin, at: 900), .nothing), (.time(1050), at(1300)), (.time(1800), at(1900)),
        (.time(1900), timedOut),
      ]),
    Course(
      "An origin that has taken a piece waits for the next",
      [
        (.start(.post, isWhole: false), at(1000)), (.upload(.awaitsOrigin, at: 500), .nothing),
        (.upload(.awaitsClient, at: 1400), .nothing), (.time(9000), at(9250)),
        (.upload(.awaitsOrigin, at: 9100), .nothing), (.time(9250, hasTaken: true), at(9500)),
        (.time(10_249), at(10_250)), (.time(10_250), timedOut),
      ]),
    Course(
      "An origin that takes a large request slowly has its time from the last byte on",
      [
        (.start(.post, isLarge: true), at(250)), (.time(900, hasTaken: true, isTaking: true), at(1150)),
        (.time(1150, hasTaken: true), at(1400)), (.time(1400), at(2150)), (.time(2150), timedOut),
      ]),
    Course(
      "An origin that takes nothing of a large request is given up",
      [
        (.start(.post, isLarge: true), at(250)), (.time(250, isTaking: true), at(500)),
        (.time(900, isTaking: true), at(1000)), (.time(1000, isTaking: true), timedOut),
      ]),
    Course(
      "Content has time while its reader waits for it, from the last piece on",
      [
        (.start(), at(1000)), (.head(200, at: 500), .action(.deliver(.length(2)))),
        (.time(1000, isContentAwaited: true), at(1500)), (.bytes(at: 1400), .isWanted(true)),
        (.time(1500, isContentAwaited: true), at(2400)), (.contentWanted(at: 2300), .nothing),
        (.time(3299, isContentAwaited: true), at(3300)), (.time(3300, isContentAwaited: true), timedOut),
      ]),
    Course(
      "Unread content has no time",
      [
        (.start(), at(1000)), (.head(200), .action(.deliver(.length(2)))), (.time(1000), at(2000)),
        (.time(60_000), at(61_000)), (.end(at: 60_500), .ending(.none)), (.time(61_000), at(64_500)),
      ]),
    Course(
      "The time of an idle connection begins with the end of the response, and ends with the next request",
      [
        (.start(), at(1000)), (.head(200), .action(.deliver(.length(2)))), (.end(at: 300), .ending(.none)),
        (.time(1000), at(4300)), (.start(at: 4299), at(5299)), (.time(4300), at(5299)),
        (.head(200, at: 5000), .action(.deliver(.length(2)))), (.end(at: 5000), .ending(.none)),
        (.time(8999), at(9000)), (.time(9000), idleOver), (.failure(.connectionTerminated), .ending(.idle)),
      ]),
  ]

  @Test("Each side has its time", arguments: times)
  func course(_ course: Course) {
    var subject = Subject()
    for (index, (event, expected)) in course.steps.enumerated() {
      let outcome = subject.outcome(of: event)
      #expect(outcome == expected, "step \(index + 1): \(event)")
    }
  }

  @Test(
    "An idle connection ends one second before the origin closes it",
    arguments: [
      ("timeout=3", 2000), ("max=5, Timeout = 3", 2000), ("timeout=1", 0), ("timeout=0", 0),
      ("timeout=60", 4000), ("timeout=-3", 4000), ("timeout=99999999999", 4000), ("timeout", 4000),
      ("", 4000),
    ] as [(String, Int64)])
  func keepAlive(value: String, milliseconds: Int64) throws {
    let name = try #require(HTTPField.Name("Keep-Alive"))
    let subject = subject(after: [.start(), .head(200, [.contentLength: "2", name: value]), .end()])
    #expect(subject.machine.idleDeadline == Self.time(milliseconds))
  }

  // MARK: - Any order

  private static func randomEvent(using generator: inout SplitMix64) -> Event {
    let flag = Bool.random(using: &generator)
    let count = Int.random(in: 0...60, using: &generator)
    switch Int.random(in: 0..<14, using: &generator) {
    case 0, 1:
      return .start(
        count % 3 == 0 ? .post : .get, isWhole: count % 5 != 0, upgrade: count == 7 ? "a" : nil,
        at: Int64(count))
    case 2: return .upload(flag ? .awaitsClient : .awaitsOrigin)
    case 3: return .upload(.nothing)
    case 4: return .bytes(at: Int64(count))
    case 5, 6:
      return .head(
        [103, 200, 200, 204, 408, 101][count % 6], flag ? length : [:], count == 9 ? .http10 : .http11)
    case 7, 8: return .next
    case 9, 10: return .end(hasBytes: count == 7)
    case 11: return count < 20 ? .inputEnd(hasBytes: flag) : .contentWanted(at: Int64(count))
    case 12: return count < 10 ? .failure(flag ? .protocolError : nil, hasBytes: flag) : .bytes(at: 0)
    default: return .time(Int64(count) * 10, isContentAwaited: flag, hasTaken: count == 7)
    }
  }

  @Test("In any order of events, a request is answered once, and a connection ends once")
  func anyOrder() {
    var generator = SplitMix64(seed: 11)
    for round in 0..<5000 {
      var (subject, isAnswered, endings) = (Subject(), true, 0)
      for _ in 0..<40 {
        let event = Self.randomEvent(using: &generator)
        let (input, wasSending) = (subject.machine.input, subject.machine.isSending)
        // A handler reads heads and content only when the machine says so.
        if case .head = event, input != .head { continue }
        if case .end = event, input != .content { continue }
        let outcome = subject.outcome(of: event)
        switch (event, outcome) {
        case (.start, .deadline):
          #expect(isAnswered && input == .end, "round \(round)")
          isAnswered = false
        case (_, .action(.deliver)), (_, .action(.switchProtocols)), (_, .ending(.head)):
          #expect(!isAnswered, "round \(round): \(event)")
          isAnswered = true
        case (.end, .ending(.none)): #expect(!wasSending, "round \(round)")
        default: break
        }
        if case .ending(let ending) = outcome, ending != .none { endings += 1 }
        if endings > 0 { #expect(subject.machine.input == .nothing, "round \(round): \(event)") }
      }
      #expect(endings <= 1, "round \(round)")
    }
  }
}

extension OriginError {
  fileprivate static func of(_ kind: Kind, _ reach: Reach) -> Self { Self(kind, "", reach: reach) }

  /// The error without its text.
  fileprivate var withoutText: Self { .of(kind, reach) }
}

extension OriginConnectionStateMachine.Ending {
  fileprivate var withoutText: Self {
    switch self {
    case .head(let error): .head(error.withoutText)
    case .content(let error): .content(error?.withoutText)
    case .none, .quietly, .idle: self
    }
  }
}
