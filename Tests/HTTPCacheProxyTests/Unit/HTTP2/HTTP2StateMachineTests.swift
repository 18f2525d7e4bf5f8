// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("State machines of HTTP/2", .timeLimit(.minutes(10)))
struct HTTP2StateMachineTests {
  // MARK: - A stream

  /// What happens to a stream. Times are seconds.
  enum Event: Hashable, Sendable {
    case request(Exchange.Request = .init())
    case contentWanted
    case content(Int, at: Int64 = 0)
    case contentEnd
    case badContent(Int)
    case interim
    case head(ResponseFraming)
    case piece(Int)
    case end
    case responseEnd(at: Int64 = 0)
    case tunnel
    case tunnelEnd(Int)
    case time(Int64, isContentAwaited: Bool = false, waitsForRoom: Bool = false, hasTaken: Bool = false)
    case writeBegun(at: Int64 = 0)
    case writeEnded(at: Int64 = 0)
    case wants
    case incomplete
    case sent
  }

  enum Outcome: Hashable, Sendable {
    case nothing
    case flag(Bool)
    case count(Int)
    case action(ClientStreamStateMachine.Action)
    case answerer(Exchange.Answerer)
    case piece(Exchange.Piece)
    case ending(Exchange.Ending)
  }

  static func time(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(UInt64(seconds) * 1_000_000_000) }

  static func outcome(of event: Event, _ machine: inout ClientStreamStateMachine) -> Outcome {
    switch event {
    case .request(let request):
      do throws(MessageFault) {
        return .answerer(
          try machine.requestReceived(request, contentLimit: 100, allowsUpgrade: true, at: time(0)))
      } catch {
        return .action(machine.failed(error))
      }
    case .contentWanted: return .action(machine.contentWanted(at: time(0)))
    case .content(let count, let now): return .action(machine.contentReceived(count, at: time(now)))
    case .contentEnd: return .action(machine.contentEnded())
    case .badContent(let status): return .action(machine.failed(MessageFault(status, "bad")))
    case .interim: return .flag(machine.allowsInterim)
    case .head(let framing): machine.responseBegan(framing)
    case .piece(let count): return .piece(machine.contentSent(count))
    case .end: return .ending(machine.ending)
    case .responseEnd(let now): machine.responseEnded(at: time(now))
    case .tunnel: machine.switchedProtocols()
    case .tunnelEnd(let count): machine.tunnelEnded(sent: count)
    case .time(let now, let isContentAwaited, let waitsForRoom, let hasTaken):
      return .action(
        machine.checkTime(
          at: time(now), stall: .seconds(60), isContentAwaited: isContentAwaited, waitsForRoom: waitsForRoom,
          hasTaken: hasTaken))
    case .writeBegun(let now): machine.writeBegan(at: time(now))
    case .writeEnded(let now): machine.writeEnded(at: time(now))
    case .wants: return .flag(machine.wantsContent)
    case .incomplete: return .flag(machine.isIncomplete)
    case .sent: return .count(machine.contentBytes)
    }
    return .nothing
  }

  struct Course: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var steps: [(Event, Outcome)]

    init(_ name: String, _ steps: [(Event, Outcome)]) { (testDescription, self.steps) = (name, steps) }
  }

  private static let upload = Exchange.Request(framing: .length(10))
  private static let chunked = Exchange.Request(framing: .chunked, expectsContinue: true)

  static let streams: [Course] = [
    Course(
      "A request is answered with content",
      [
        (.request(), .answerer(.cache)), (.interim, .flag(true)), (.head(.length(3)), .nothing),
        (.interim, .flag(false)), (.piece(2), .piece(.plain)), (.incomplete, .flag(true)),
        (.piece(1), .piece(.plain)), (.end, .ending(.nothing)), (.sent, .count(3)),
        (.incomplete, .flag(false)),
        (.responseEnd(), .nothing), (.interim, .flag(false)), (.piece(1), .piece(.skip)),
      ]),
    Course(
      "A response without content has none, whatever comes",
      [
        (.request(), .answerer(.cache)), (.head(.none), .nothing), (.piece(5), .piece(.skip)),
        (.sent, .count(0)), (.incomplete, .flag(false)),
      ]),
    Course(
      "A response that is longer or shorter than its length ends early",
      [
        (.request(), .answerer(.cache)), (.head(.length(4)), .nothing), (.piece(3), .piece(.plain)),
        (.end, .ending(.shortfall)), (.piece(2), .piece(.overrun)),
      ]),
    Course(
      "Content is read when it is wanted, and counted",
      [
        (.request(upload), .answerer(.cacheWithContent)), (.wants, .flag(false)),
        (.contentWanted, .action(.none)), (.wants, .flag(true)), (.content(4), .action(.none)),
        (.content(6), .action(.none)), (.contentEnd, .action(.none)), (.wants, .flag(false)),
      ]),
    Course(
      "100 (Continue) is sent once, when the content is wanted",
      [
        (.request(chunked), .answerer(.cacheWithContent)), (.contentWanted, .action(.writeContinue)),
        (.contentWanted, .action(.none)),
      ]),
    Course(
      "100 (Continue) is not sent behind the head of the response",
      [
        (.request(chunked), .answerer(.cacheWithContent)), (.head(.chunked), .nothing),
        (.contentWanted, .action(.none)), (.wants, .flag(true)),
      ]),
    Course(
      "Content beyond its length is refused",
      [
        (.request(upload), .answerer(.cacheWithContent)),
        (
          .content(11),
          .action(.refuse(MessageFault("the content is longer than Content-Length (RFC 9113 §8.1.1)")))
        ),
        (.content(1), .action(.none)), (.contentEnd, .action(.none)),
      ]),
    Course(
      "Content that ends before its length is refused",
      [
        (.request(upload), .answerer(.cacheWithContent)), (.content(9), .action(.none)),
        (
          .contentEnd,
          .action(.refuse(MessageFault("the content is shorter than Content-Length (RFC 9113 §8.1.1)")))
        ),
      ]),
    Course(
      "Too much content is refused",
      [
        (.request(chunked), .answerer(.cacheWithContent)), (.content(100), .action(.none)),
        (.content(1), .action(.refuse(MessageFault(413, "the content of the request is too large")))),
      ]),
    Course(
      "Bad content behind the head of the response fails, and the response is incomplete",
      [
        (.request(chunked), .answerer(.cacheWithContent)), (.head(.length(3)), .nothing),
        (.badContent(400), .action(.failContent(MessageFault(400, "bad")))), (.incomplete, .flag(true)),
        (.wants, .flag(false)),
      ]),
    Course(
      "A bad head is refused once",
      [
        (.badContent(431), .action(.refuse(MessageFault(431, "bad")))), (.badContent(431), .action(.none)),
      ]),
    Course(
      "A tunnel counts its bytes, and has a time-out of its own",
      [
        (.request(.init(wantsUpgrade: true)), .answerer(.upgrade)), (.tunnel, .nothing),
        (.badContent(400), .action(.none)), (.time(10_000), .action(.none)), (.tunnelEnd(7), .nothing),
        (.sent, .count(7)),
      ]),
    Course(
      "A client that waits for the origin has not stalled",
      [
        (.request(), .answerer(.cache)), (.time(600), .action(.none)), (.time(1200), .action(.none)),
      ]),
    Course(
      "A client that takes nothing is given up",
      [
        (.request(), .answerer(.cache)), (.head(.length(9)), .nothing), (.writeBegun(at: 5), .nothing),
        (.time(64), .action(.none)), (.time(65), .action(.giveUp)),
      ]),
    Course(
      "A client that gives no room for more is given up",
      [
        (.request(), .answerer(.cache)), (.head(.length(9)), .nothing), (.writeBegun(at: 5), .nothing),
        (.writeEnded(at: 6), .nothing), (.time(65, waitsForRoom: true), .action(.none)),
        (.time(66, waitsForRoom: true), .action(.giveUp)),
      ]),
    Course(
      "A client that takes bytes of the connection has not stalled",
      [
        (.request(), .answerer(.cache)), (.head(.length(9)), .nothing), (.writeBegun(at: 0), .nothing),
        (.time(59, hasTaken: true), .action(.none)), (.time(118), .action(.none)),
        (.time(119), .action(.giveUp)),
      ]),
    Course(
      "A client that takes its bytes has more time",
      [
        (.request(), .answerer(.cache)), (.head(.length(9)), .nothing), (.writeBegun(at: 0), .nothing),
        (.writeEnded(at: 50), .nothing), (.writeBegun(at: 50), .nothing), (.time(109), .action(.none)),
        (.time(110), .action(.giveUp)),
      ]),
    Course(
      "A client that does not take the end of its response is given up",
      [
        (.request(), .answerer(.cache)), (.head(.length(0)), .nothing), (.responseEnd(at: 10), .nothing),
        (.time(69), .action(.none)), (.time(70), .action(.giveUp)),
      ]),
    Course(
      "A client that sends nothing of what is wanted is given up",
      [
        (.request(upload), .answerer(.cacheWithContent)), (.contentWanted, .action(.none)),
        (.time(600), .action(.none)), (.content(1, at: 610), .action(.none)),
        (.time(669, isContentAwaited: true), .action(.none)),
        (.time(670, isContentAwaited: true), .action(.giveUp)),
      ]),
  ]

  @Test("A stream answers each event", arguments: streams)
  func stream(course: Course) {
    var machine = ClientStreamStateMachine(at: Self.time(0))
    for (index, (event, expected)) in course.steps.enumerated() {
      #expect(Self.outcome(of: event, &machine) == expected, "step \(index): \(event)")
    }
  }

  // MARK: - A connection

  private static var timeouts: ProxyConfiguration.Timeouts {
    var timeouts = ProxyConfiguration.Timeouts()
    (timeouts.idle, timeouts.stall) = (.seconds(75), .seconds(60))
    return timeouts
  }

  private typealias Action = ClientHTTP2StateMachine.Action

  private static func check(
    _ machine: inout ClientHTTP2StateMachine, _ seconds: Int64,
    _ uptake: ClientHTTP2StateMachine.Uptake = .whole
  ) -> Action {
    machine.checkTime(at: time(seconds), timeouts, uptake)
  }

  @Test("An idle connection announces its end, and closes when the client knows")
  func idle() {
    var machine = ClientHTTP2StateMachine(at: Self.time(0))
    #expect(machine.isIdle && Self.check(&machine, 0) == .armTimer(at: Self.time(15)))
    #expect(Self.check(&machine, 70) == .armTimer(at: Self.time(75)))
    machine.streamOpened()
    #expect(!machine.isIdle && Self.check(&machine, 75) == .armTimer(at: Self.time(90)))
    machine.streamOpened()
    #expect(machine.streamClosed(at: Self.time(80)) == .none && !machine.isIdle)
    #expect(machine.streamClosed(at: Self.time(100)) == .none && machine.isIdle)
    #expect(Self.check(&machine, 174) == .armTimer(at: Self.time(175)))
    #expect(Self.check(&machine, 175) == .announce && machine.stop(at: Self.time(175)) == .none)
    #expect(machine.announced(at: Self.time(176)) == .endOutput && machine.isReading)
    #expect(machine.announced(at: Self.time(176)) == .none)
    #expect(Self.check(&machine, 177) == .armTimer(at: Self.time(178)))
    #expect(Self.check(&machine, 178) == .close)
    machine.closed()
    #expect(Self.check(&machine, 300) == .none && !machine.isReading)
  }

  @Test("A client that does not answer the announcement loses the connection")
  func unanswered() {
    var machine = ClientHTTP2StateMachine(at: Self.time(0))
    // However long it was idle.
    #expect(machine.stop(at: Self.time(50)) == .announce)
    #expect(Self.check(&machine, 50) == .armTimer(at: Self.time(52)))
    #expect(Self.check(&machine, 52) == .close)
  }

  @Test("A connection that must end waits for its requests")
  func stop() {
    var machine = ClientHTTP2StateMachine(at: Self.time(0))
    machine.streamOpened()
    #expect(machine.stop(at: Self.time(1)) == .announce && machine.stop(at: Self.time(1)) == .none)
    #expect(machine.announced(at: Self.time(2)) == .sendLastStream)
    #expect(Self.check(&machine, 1000) == .armTimer(at: Self.time(1015)))
    #expect(machine.streamClosed(at: Self.time(1010)) == .endOutput)
    #expect(Self.check(&machine, 1012) == .close)
  }

  @Test("A client that still takes its last response is not idle, and one that takes nothing is given up")
  func uptake() {
    for isStopping in [false, true] {
      var machine = ClientHTTP2StateMachine(at: Self.time(0))
      machine.streamOpened()
      if isStopping { _ = (machine.stop(at: Self.time(0)), machine.announced(at: Self.time(0))) }
      _ = machine.streamClosed(at: Self.time(0))
      let limit: Int64 = isStopping ? 2 : 75
      for second in stride(from: 10, to: 500, by: 10) as StrideTo<Int64> {
        #expect(
          Self.check(&machine, second, second % 50 == 0 ? .some : .none)
            == .armTimer(at: Self.time(second + min(limit, 15))))
      }
      var idle = machine
      #expect(Self.check(&idle, 490 + limit) == (isStopping ? .close : .announce))
      #expect(Self.check(&machine, 509, .none) != .close)
      #expect(Self.check(&machine, 510, .none) == .close)
    }
  }

  @Test("After an error, nothing more is read, and the client gets the reason")
  func failure() {
    var machine = ClientHTTP2StateMachine(at: Self.time(0))
    machine.streamOpened()
    #expect(machine.failed(at: Self.time(5)) == .endOutput && machine.failed(at: Self.time(5)) == .none)
    #expect(!machine.isReading && machine.stop(at: Self.time(5)) == .none)
    #expect(Self.check(&machine, 6) == .armTimer(at: Self.time(7)) && Self.check(&machine, 7) == .close)
  }
}
