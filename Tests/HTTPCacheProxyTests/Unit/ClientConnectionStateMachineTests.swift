// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCaching
import NIOCore
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("State machine of a client connection", .timeLimit(.minutes(10)))
struct ClientConnectionStateMachineTests {
  typealias Machine = ClientConnectionStateMachine

  /// What happens to a connection. Times are milliseconds.
  enum Event: Hashable, Sendable {
    case open
    case reject
    /// The channel delivers a read that it was asked for.
    case bytes(at: Int64)
    /// The channel delivers what it was not asked for, as it does before the end of the input.
    case unaskedBytes
    case next
    case nextUnwritable
    case demand(isWritable: Bool = true, hasBytes: Bool = false)
    case headBegun
    case nothingLeft
    case badHead(Int)
    case request(Exchange.Request = .init(), isStopping: Bool = false)
    case contentWanted
    case content(Int)
    case contentEnd
    case badContent(Int)
    case interim
    case head(ResponseFraming, isStopping: Bool = false)
    case piece(Int)
    case end
    case responseEnd(at: Int64 = 0, hasBytes: Bool = false)
    case abort
    case tunnel
    case tunnelEnd(Int)
    case endWritten
    case inputEnd(isWritable: Bool = true)
    case stop(isPatient: Bool = false)
    case closed
    case time(Int64, isWritable: Bool = true, isContentAwaited: Bool = false, hasTaken: Bool = false)
    case writeBegun(at: Int64)
    case writeEnded(at: Int64)
    case writable(at: Int64)
  }

  /// What the machine answers.
  enum Outcome: Hashable, Sendable {
    case nothing
    case flag(Bool)
    case action(Machine.Action)
    case reception(Machine.Reception)
    case input(Machine.Input)
    case demand(Machine.ReadDemand)
    case answerer(Exchange.Answerer)
    case piece(Exchange.Piece)
    case ending(Exchange.Ending)
  }

  static let contentLimit = 100

  static var timeouts: ProxyConfiguration.Timeouts {
    var timeouts = ProxyConfiguration.Timeouts()
    (timeouts.head, timeouts.idle, timeouts.stall) = (.milliseconds(100), .seconds(1), .milliseconds(300))
    return timeouts
  }

  static func time(_ milliseconds: Int64) -> NIODeadline {
    .uptimeNanoseconds(UInt64(milliseconds) * 1_000_000)
  }

  static func outcome(of event: Event, _ machine: inout Machine) -> Outcome {
    switch event {
    case .open: return .flag(machine.opened(at: time(0)))
    case .reject: return .action(machine.rejected())
    case .bytes(let now):
      machine.readRequested()
      return .reception(machine.received(at: time(now)))
    case .unaskedBytes: return .reception(machine.received(at: time(0)))
    case .next: return .input(machine.next(isWritable: true))
    case .nextUnwritable: return .input(machine.next(isWritable: false))
    case .demand(let isWritable, let hasBytes):
      return .demand(machine.readDemand(isWritable: isWritable, hasBytes: hasBytes))
    case .headBegun: return .action(machine.headIncomplete(hasBegun: true))
    case .nothingLeft: return .action(machine.headIncomplete(hasBegun: false))
    case .badHead(let status): return .action(machine.headFailed(MessageFault(status, "bad")))
    case .request(let request, let isStopping):
      do throws(MessageFault) {
        return .answerer(
          try machine.requestReceived(request, contentLimit: contentLimit, isStopping: isStopping))
      } catch {
        return .action(machine.headFailed(error))
      }
    case .contentWanted: return .action(machine.contentWanted(at: time(0)))
    case .content(let count): return .action(machine.contentReceived(count))
    case .contentEnd: machine.contentEnded()
    case .badContent(let status): return .action(machine.contentFailed(MessageFault(status, "bad")))
    case .interim: return .flag(machine.allowsInterim)
    case .head(let framing, let isStopping):
      return .flag(machine.responseBegan(framing, isStopping: isStopping))
    case .piece(let count): return .piece(machine.contentSent(count))
    case .end: return .ending(machine.ending)
    case .responseEnd(let now, let hasBytes):
      return .flag(machine.responseEnded(at: time(now), hasBytes: hasBytes))
    case .abort: return .action(machine.responseFailed())
    case .tunnel: machine.switchedProtocols()
    case .tunnelEnd(let count): machine.tunnelEnded(sent: count)
    case .endWritten: return .action(machine.endWritten())
    case .inputEnd(let isWritable): return .action(machine.inputClosed(isWritable: isWritable))
    case .stop(let isPatient): return .action(machine.stop(isPatient: isPatient))
    case .closed: machine.closed()
    case .time(let now, let isWritable, let isContentAwaited, let hasTaken):
      return .action(
        machine.checkTime(
          at: time(now), timeouts, isWritable: isWritable, isContentAwaited: isContentAwaited,
          hasTaken: hasTaken))
    case .writeBegun(let now): machine.writeBegan(at: time(now))
    case .writeEnded(let now): machine.writeEnded(at: time(now))
    case .writable(let now): machine.becameWritable(at: time(now))
    }
    return .nothing
  }

  /// Events on one connection, in their order, each with what must come of it.
  struct Course: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var allowsHalfClosure = false
    var allowsUpgrade = true
    var steps: [(Event, Outcome)]

    init(
      _ name: String, allowsHalfClosure: Bool = false, allowsUpgrade: Bool = true,
      _ steps: [(Event, Outcome)]
    ) {
      testDescription = name
      self.allowsHalfClosure = allowsHalfClosure
      self.allowsUpgrade = allowsUpgrade
      self.steps = steps
    }
  }

  private static let upload = Exchange.Request(framing: .length(10))
  private static let expecting = Exchange.Request(framing: .chunked, expectsContinue: true)
  private static let brokenOff = Machine.brokenOff

  // MARK: - Requests and responses

  static let exchanges: [Course] = [
    Course(
      "A hit leaves the connection open for the next request",
      [
        (.open, .flag(true)), (.open, .flag(false)), (.demand(), .demand(.read)),
        (.bytes(at: 1), .reception(.process)), (.next, .input(.head)), (.request(), .answerer(.cache)),
        (.next, .input(.nothing)), (.head(.length(3)), .flag(false)), (.piece(3), .piece(.plain)),
        (.end, .ending(.nothing)), (.responseEnd(), .flag(false)), (.next, .input(.head)),
        (.nothingLeft, .action(.none)), (.demand(), .demand(.read)),
      ]),
    Course(
      "Requests that wait are answered one after the other, and only while the client takes the responses",
      [
        (.open, .flag(true)), (.request(), .answerer(.cache)),
        // One read ahead, and no more.
        (.demand(), .demand(.read)), (.demand(hasBytes: true), .demand(.none)),
        (.bytes(at: 1), .reception(.process)), (.next, .input(.nothing)),
        (.head(.chunked), .flag(false)), (.piece(5), .piece(.chunk)), (.piece(0), .piece(.skip)),
        (.end, .ending(.lastChunk)), (.responseEnd(), .flag(false)),
        (.nextUnwritable, .input(.nothing)), (.demand(isWritable: false, hasBytes: true), .demand(.none)),
        (.next, .input(.head)), (.request(), .answerer(.cache)),
      ]),
    Course(
      "A request that closes ends the connection with its response",
      [
        (.open, .flag(true)), (.request(.init(closes: true)), .answerer(.cache)),
        (.head(.length(0)), .flag(true)), (.responseEnd(), .flag(true)), (.next, .input(.nothing)),
        (.bytes(at: 1), .reception(.discard)), (.demand(), .demand(.read)),
        (.endWritten, .action(.close(isAborted: false))), (.inputEnd(), .action(.none)),
        (.closed, .nothing), (.demand(), .demand(.none)), (.endWritten, .action(.none)),
      ]),
    Course(
      "A client that sends more after its last request gets time to read the response",
      [
        (.open, .flag(true)), (.request(.init(closes: true)), .answerer(.cache)),
        (.head(.length(0)), .flag(true)), (.responseEnd(hasBytes: true), .flag(true)),
        (.endWritten, .action(.closeOutput)), (.demand(), .demand(.read)),
        (.bytes(at: 1), .reception(.discard)), (.endWritten, .action(.none)), (.inputEnd(), .action(.none)),
        (.closed, .nothing), (.demand(), .demand(.none)), (.endWritten, .action(.none)),
      ]),
    Course(
      "A client that announced no end gets time to read the response before the connection closes",
      [
        (.open, .flag(true)), (.request(), .answerer(.cache)), (.stop(), .action(.none)),
        (.head(.length(0)), .flag(true)), (.responseEnd(), .flag(true)),
        (.endWritten, .action(.closeOutput)), (.endWritten, .action(.none)),
      ]),
    Course(
      "A client whose content the proxy ignores gets time to read the response",
      [
        (.open, .flag(true)),
        (.request(.init(framing: .chunked, closes: true, isAnsweredHere: true)), .answerer(.proxy)),
        (.head(.length(0)), .flag(true)), (.responseEnd(), .flag(true)), (.endWritten, .action(.closeOutput)),
      ]),
    Course(
      "A client whose content was not read gets time to read the response",
      [
        (.open, .flag(true)),
        (.request(.init(framing: .length(5), closes: true)), .answerer(.cacheWithContent)),
        (.head(.length(0)), .flag(true)), (.responseEnd(), .flag(true)), (.endWritten, .action(.closeOutput)),
      ]),
    Course(
      "A response that ends with the connection closes it",
      [
        (.open, .flag(true)), (.request(.init(acceptsInterim: false)), .answerer(.cache)),
        (.interim, .flag(false)), (.head(.untilClose), .flag(true)), (.piece(5), .piece(.plain)),
        (.end, .ending(.nothing)), (.responseEnd(), .flag(true)),
      ]),
    Course(
      "Interim responses come before the final one only",
      [
        (.interim, .flag(false)), (.open, .flag(true)), (.request(), .answerer(.cache)),
        (.interim, .flag(true)), (.interim, .flag(true)), (.head(.chunked), .flag(false)),
        (.interim, .flag(false)),
      ]),
    Course(
      "A response without content skips what there is of it",
      [
        (.open, .flag(true)), (.request(), .answerer(.cache)), (.head(.none), .flag(false)),
        (.piece(5), .piece(.skip)), (.end, .ending(.nothing)), (.responseEnd(), .flag(false)),
      ]),
    Course(
      "A response longer than its head says is cut off",
      [
        (.open, .flag(true)), (.request(), .answerer(.cache)), (.head(.length(4)), .flag(false)),
        (.piece(3), .piece(.plain)), (.piece(2), .piece(.overrun)),
        (.abort, .action(.close(isAborted: true))),
      ]),
    Course(
      "A response shorter than its head says is cut off",
      [
        (.open, .flag(true)), (.request(), .answerer(.cache)), (.head(.length(4)), .flag(false)),
        (.piece(3), .piece(.plain)), (.end, .ending(.shortfall)), (.abort, .action(.close(isAborted: true))),
      ]),
    Course(
      "A response that would end with the connection is reset when it ends early",
      [
        (.open, .flag(true)), (.request(), .answerer(.cache)), (.head(.untilClose), .flag(true)),
        (.piece(3), .piece(.plain)), (.abort, .action(.reset)),
      ]),
    Course(
      "A malformed head is answered, and nothing behind it is read as a request",
      [
        (.open, .flag(true)), (.bytes(at: 7), .reception(.process)), (.next, .input(.head)),
        (.badHead(431), .action(.refuse(MessageFault(431, "bad"), since: time(7)))),
        (.next, .input(.nothing)), (.bytes(at: 8), .reception(.discard)),
        (.endWritten, .action(.closeOutput)),
      ]),
  ]

  // MARK: - Content of requests

  static let contents: [Course] = [
    Course(
      "Content is read when it is wanted, and the next request behind it",
      [
        (.open, .flag(true)), (.request(upload), .answerer(.cacheWithContent)), (.next, .input(.content)),
        (.demand(), .demand(.none)), (.contentWanted, .action(.none)), (.demand(), .demand(.readContent)),
        (.content(4), .action(.none)), (.content(6), .action(.none)), (.contentEnd, .nothing),
        (.next, .input(.nothing)), (.demand(), .demand(.read)), (.head(.length(0)), .flag(false)),
        (.responseEnd(), .flag(false)), (.next, .input(.head)),
      ]),
    Course(
      "100 (Continue) is sent once, when the content is wanted (RFC 9110 §10.1.1)",
      [
        (.open, .flag(true)), (.request(expecting), .answerer(.cacheWithContent)),
        (.contentWanted, .action(.writeContinue)), (.contentWanted, .action(.none)),
      ]),
    Course(
      "100 (Continue) is not sent behind the final response",
      [
        (.open, .flag(true)), (.request(expecting), .answerer(.cacheWithContent)),
        (.head(.length(0)), .flag(true)), (.contentWanted, .action(.none)),
      ]),
    Course(
      "A response before the end of the content closes the connection, even if the content ends in time",
      [
        (.open, .flag(true)), (.request(upload), .answerer(.cacheWithContent)),
        (.head(.length(0)), .flag(true)), (.content(10), .action(.none)), (.contentEnd, .nothing),
        (.responseEnd(), .flag(true)),
      ]),
    Course(
      "Content that announces too much is refused",
      [
        (.open, .flag(true)), (.bytes(at: 3), .reception(.process)),
        (
          .request(.init(framing: .length(101))),
          .action(
            .refuse(MessageFault(413, "the content of the request has more than 100 bytes"), since: time(3)))
        ),
        (.next, .input(.nothing)),
      ]),
    Course(
      "Chunks that become too much are refused",
      [
        (.open, .flag(true)), (.request(.init(framing: .chunked)), .answerer(.cacheWithContent)),
        (.content(100), .action(.none)),
        (
          .content(1),
          .action(.refuse(MessageFault(413, "the content of the request is too large"), since: time(0)))
        ),
        (.next, .input(.nothing)),
      ]),
    Course(
      "Malformed content is refused before the response, and closes the connection behind its head",
      [
        (.open, .flag(true)), (.request(.init(framing: .chunked)), .answerer(.cacheWithContent)),
        (.head(.chunked), .flag(true)),
        (.badContent(400), .action(.failContent(MessageFault(400, "bad"), closes: true))),
        (.next, .input(.nothing)),
      ]),
    Course(
      "Malformed content without a response is refused",
      [
        (.open, .flag(true)), (.request(.init(framing: .chunked)), .answerer(.cacheWithContent)),
        (.badContent(400), .action(.refuse(MessageFault(400, "bad"), since: time(0)))),
        (.contentWanted, .action(.none)), (.content(1), .action(.none)), (.next, .input(.nothing)),
      ]),
    Course(
      "TRACE has no content (RFC 9110 §9.3.8)",
      [
        (.open, .flag(true)),
        (
          .request(.init(framing: .chunked, isTrace: true)),
          .action(.refuse(MessageFault("TRACE must not have content (RFC 9110 §9.3.8)"), since: time(0)))
        ),
      ]),
    Course(
      "A request that may go no further is answered here, and its content ends the connection",
      [
        (.open, .flag(true)), (.request(.init(isAnsweredHere: true)), .answerer(.proxy)),
        (.head(.length(0)), .flag(false)), (.responseEnd(), .flag(false)),
        (.request(.init(framing: .chunked, isAnsweredHere: true)), .answerer(.proxy)),
        (.next, .input(.nothing)), (.head(.length(0)), .flag(true)),
      ]),
  ]

  // MARK: - Endings

  static let endings: [Course] = [
    Course(
      "A client that closes its half while nothing is in flight is closed",
      [
        (.open, .flag(true)), (.inputEnd(), .action(.end)), (.endWritten, .action(.close(isAborted: false))),
      ]),
    Course(
      "A client that closes its half has left, and its request is aborted",
      [
        (.open, .flag(true)), (.request(), .answerer(.cache)),
        (.inputEnd(), .action(.close(isAborted: true))),
      ]),
    Course(
      "A client that closes its half with all of its response is not aborted",
      [
        (.open, .flag(true)), (.request(), .answerer(.cache)), (.head(.length(2)), .flag(false)),
        (.piece(2), .piece(.plain)), (.inputEnd(), .action(.close(isAborted: false))),
      ]),
    Course(
      "Bytes without a demand tell that the input has ended",
      [
        (.open, .flag(true)), (.request(upload), .answerer(.cacheWithContent)),
        (.unaskedBytes, .reception(.leave(.close(isAborted: true)))),
      ]),
    Course(
      "A half-closed client still gets its response, and all that it asked for before",
      allowsHalfClosure: true,
      [
        (.open, .flag(true)), (.request(), .answerer(.cache)), (.unaskedBytes, .reception(.process)),
        (.inputEnd(), .action(.none)), (.head(.length(0)), .flag(false)), (.responseEnd(), .flag(false)),
        (.next, .input(.head)), (.request(), .answerer(.cache)), (.head(.length(0)), .flag(false)),
        (.responseEnd(), .flag(false)), (.next, .input(.head)), (.headBegun, .action(.end)),
        (.endWritten, .action(.close(isAborted: false))),
      ]),
    Course(
      "Requests of a half-closed client wait until it takes the responses before them",
      allowsHalfClosure: true,
      [
        (.open, .flag(true)), (.request(), .answerer(.cache)), (.head(.length(0)), .flag(false)),
        (.responseEnd(), .flag(false)), (.nextUnwritable, .input(.nothing)),
        (.inputEnd(isWritable: false), .action(.none)), (.writable(at: 9), .nothing),
        (.next, .input(.head)), (.request(), .answerer(.cache)),
      ]),
    Course(
      "A client that closes its half amid its content gets the response that has begun, and no further one",
      allowsHalfClosure: true,
      [
        (.open, .flag(true)), (.request(upload), .answerer(.cacheWithContent)),
        (.head(.length(0)), .flag(true)), (.inputEnd(), .action(.failContent(brokenOff, closes: false))),
        (.next, .input(.nothing)), (.responseEnd(), .flag(true)),
      ]),
    Course(
      "A client that closes its half amid its content before the response is refused",
      allowsHalfClosure: true,
      [
        (.open, .flag(true)), (.request(upload), .answerer(.cacheWithContent)),
        (.inputEnd(), .action(.refuse(brokenOff, since: time(0)))), (.next, .input(.nothing)),
      ]),
    Course(
      "A proxy that stops closes an idle connection",
      [
        (.open, .flag(true)), (.stop(), .action(.end)), (.endWritten, .action(.closeOutput)),
        (.stop(), .action(.none)),
      ]),
    Course(
      "A proxy that stops closes after the request in flight",
      [
        (.open, .flag(true)), (.request(), .answerer(.cache)), (.stop(), .action(.none)),
        (.head(.length(0)), .flag(true)), (.responseEnd(), .flag(true)),
      ]),
    Course(
      "A proxy that stops answers a request that has begun, as the last",
      [
        (.open, .flag(true)), (.bytes(at: 0), .reception(.process)), (.headBegun, .action(.awaitHead)),
        (.stop(isPatient: true), .action(.none)), (.request(isStopping: true), .answerer(.cache)),
        (.head(.length(0)), .flag(true)),
      ]),
    Course(
      "A proxy whose place another takes waits for the request that may be on its way, as the last",
      [
        (.stop(isPatient: true), .action(.none)), (.open, .flag(true)),
        (.stop(isPatient: true), .action(.none)), (.bytes(at: 0), .reception(.process)),
        (.headBegun, .action(.awaitHead)), (.request(isStopping: true), .answerer(.cache)),
        (.head(.length(0)), .flag(true)), (.responseEnd(), .flag(true)),
      ]),
    Course(
      "A response that begins while the proxy stops says that the connection ends",
      [
        (.open, .flag(true)), (.request(), .answerer(.cache)),
        (.head(.length(0), isStopping: true), .flag(true)),
        (.responseEnd(), .flag(true)),
      ]),
  ]

  // MARK: - Before and after HTTP

  static let otherProtocols: [Course] = [
    Course(
      "A tunnel is left alone by time, by the end of what either side sends, and by a proxy that stops",
      allowsHalfClosure: true,
      [
        (.open, .flag(true)), (.request(.init(wantsUpgrade: true)), .answerer(.upgrade)),
        (.head(.none), .flag(true)), (.tunnel, .nothing), (.time(10_000), .action(.none)),
        (.demand(), .demand(.none)), (.inputEnd(), .action(.none)), (.stop(), .action(.none)),
        (.tunnelEnd(7), .nothing),
      ]),
    Course(
      "An upgrade that the origin refuses ends the connection with the response",
      [
        (.open, .flag(true)), (.request(.init(wantsUpgrade: true)), .answerer(.upgrade)),
        (.head(.length(1)), .flag(true)), (.piece(1), .piece(.plain)), (.responseEnd(), .flag(true)),
      ]),
    Course(
      "An upgrade is refused where it is not allowed", allowsUpgrade: false,
      [
        (.open, .flag(true)),
        (
          .request(.init(wantsUpgrade: true)),
          .action(.refuse(MessageFault(501, "upgrades are not supported"), since: time(0)))
        ),
      ]),
  ]

  // MARK: - Time

  static let times: [Course] = [
    Course(
      "An idle connection is closed when its time is over, and looked at before a client could stall",
      [
        (.open, .flag(true)), (.time(0), .action(.armTimer(at: time(75)))),
        (.time(300), .action(.armTimer(at: time(375)))), (.time(950), .action(.armTimer(at: time(1000)))),
        (.time(1000), .action(.close(isAborted: false))),
      ]),
    Course(
      "An idle connection has its time from the last response on",
      [
        (.open, .flag(true)), (.request(), .answerer(.cache)), (.head(.length(0)), .flag(false)),
        (.responseEnd(at: 500), .flag(false)), (.time(1000), .action(.armTimer(at: time(1075)))),
        (.time(1499), .action(.armTimer(at: time(1500)))), (.time(1500), .action(.close(isAborted: false))),
      ]),
    Course(
      "A client that does not take what was written has the time of a stalled one",
      [
        (.open, .flag(true)), (.bytes(at: 50), .reception(.process)),
        (.time(349, isWritable: false), .action(.armTimer(at: time(350)))),
        (.time(350, isWritable: false), .action(.close(isAborted: false))),
      ]),
    Course(
      "A head has its time from its first byte on, in however many pieces it comes",
      [
        (.open, .flag(true)), (.bytes(at: 50), .reception(.process)), (.headBegun, .action(.awaitHead)),
        (.bytes(at: 140), .reception(.process)), (.headBegun, .action(.none)),
        (.time(149), .action(.armTimer(at: time(150)))),
        (
          .time(150),
          .action(
            .refuse(MessageFault(408, "the head of the request took more than 0.1 seconds"), since: time(50)))
        ),
      ]),
    Course(
      "Half an empty line between requests is not the beginning of a head: the connection is idle",
      [
        (.open, .flag(true)), (.bytes(at: 50), .reception(.process)), (.headBegun, .action(.awaitHead)),
        // The other half.
        (.bytes(at: 60), .reception(.process)), (.nothingLeft, .action(.none)),
        (.time(150), .action(.armTimer(at: time(225)))),
        (.bytes(at: 500), .reception(.process)), (.headBegun, .action(.awaitHead)),
        (.time(599), .action(.armTimer(at: time(600)))),
      ]),
    Course(
      "A request that waits for the origin has no time",
      [
        (.open, .flag(true)), (.request(), .answerer(.cache)),
        (.time(5000), .action(.armTimer(at: time(5075)))), (.time(9000), .action(.armTimer(at: time(9075)))),
      ]),
    Course(
      "A client that does not take its response is given up",
      [
        (.open, .flag(true)), (.request(), .answerer(.cache)), (.head(.chunked), .flag(false)),
        (.writeBegun(at: 1000), .nothing), (.piece(1), .piece(.chunk)),
        (.time(1299), .action(.armTimer(at: time(1300)))), (.time(1300), .action(.giveUp)),
      ]),
    Course(
      "A client that takes its response has time for the next piece",
      [
        (.open, .flag(true)), (.request(), .answerer(.cache)), (.head(.chunked), .flag(false)),
        (.writeBegun(at: 1000), .nothing), (.writeBegun(at: 1000), .nothing),
        (.writeEnded(at: 1200), .nothing),
        (.time(1300), .action(.armTimer(at: time(1375)))), (.writeEnded(at: 1400), .nothing),
        (.time(1500), .action(.armTimer(at: time(1575)))),
      ]),
    Course(
      "A client that takes bytes of the kernel, which accepts no more, is not given up until it takes none",
      [
        (.open, .flag(true)), (.request(), .answerer(.cache)), (.head(.chunked), .flag(false)),
        (.writeBegun(at: 0), .nothing), (.time(300, hasTaken: true), .action(.armTimer(at: time(375)))),
        (.time(375, hasTaken: true), .action(.armTimer(at: time(450)))),
        (.time(450), .action(.armTimer(at: time(525)))), (.time(674), .action(.armTimer(at: time(675)))),
        (.time(675), .action(.giveUp)),
      ]),
    Course(
      "A client that takes the end of a response is neither stalled nor idle",
      [
        (.open, .flag(true)),
        (.time(300, isWritable: false, hasTaken: true), .action(.armTimer(at: time(375)))),
        (.time(1300, hasTaken: true), .action(.armTimer(at: time(1375)))),
        (.time(2299), .action(.armTimer(at: time(2300)))), (.time(2300), .action(.close(isAborted: false))),
      ]),
    Course(
      "A connection that ends waits as long as its client takes bytes",
      [
        (.open, .flag(true)), (.stop(), .action(.end)), (.writeBegun(at: 0), .nothing),
        (.time(0), .action(.armTimer(at: time(75)))),
        (.time(299, hasTaken: true), .action(.armTimer(at: time(374)))),
        (.time(598), .action(.armTimer(at: time(599)))), (.time(599), .action(.close(isAborted: false))),
      ]),
    Course(
      "A client that takes its response and does not send its content is given up",
      [
        (.open, .flag(true)), (.request(upload), .answerer(.cacheWithContent)),
        (.contentWanted, .action(.none)),
        (.time(300, isContentAwaited: true, hasTaken: true), .action(.giveUp)),
      ]),
    Course(
      "A client that does not send content that is wanted is given up",
      [
        (.open, .flag(true)), (.request(upload), .answerer(.cacheWithContent)),
        (.time(1000), .action(.armTimer(at: time(1075)))), (.contentWanted, .action(.none)),
        (.bytes(at: 1100), .reception(.process)), (.content(1), .action(.none)),
        (.time(1399, isContentAwaited: true), .action(.armTimer(at: time(1400)))),
        (.time(1400, isContentAwaited: true), .action(.giveUp)),
      ]),
    Course(
      "A client whose content is whole has no time, though its reader waits for the end",
      [
        (.open, .flag(true)), (.request(upload), .answerer(.cacheWithContent)), (.contentEnd, .nothing),
        (.time(1000, isContentAwaited: true), .action(.armTimer(at: time(1075)))),
      ]),
  ]

  @Test(
    "Each event on a client connection produces the expected action",
    arguments: exchanges + contents + endings + otherProtocols + times)
  func course(_ course: Course) {
    var machine = Machine(
      allowsHalfClosure: course.allowsHalfClosure, allowsUpgrade: course.allowsUpgrade, at: Self.time(0))
    for (index, (event, expected)) in course.steps.enumerated() {
      let outcome = Self.outcome(of: event, &machine)
      #expect(outcome == expected, "step \(index + 1): \(event)")
    }
  }

  @Test(
    "The state machine counts content bytes and reports incomplete responses",
    arguments: [
      ([], 0, true), ([.head(.length(3))], 0, true), ([.head(.length(3)), .piece(2)], 2, true),
      ([.head(.length(3)), .piece(3)], 3, false), ([.head(.chunked), .piece(3)], 3, true),
      ([.head(.untilClose), .piece(3)], 3, true), ([.head(.none), .piece(3)], 0, false),
      ([.head(.none), .tunnel], 0, false), ([.head(.none), .tunnel, .tunnelEnd(9)], 9, false),
    ] as [([Event], Int, Bool)])
  func account(events: [Event], bytes: Int, isIncomplete: Bool) {
    var machine = Machine(allowsHalfClosure: false, allowsUpgrade: true, at: Self.time(0))
    for event in [.open, .request()] + events { _ = Self.outcome(of: event, &machine) }
    #expect(machine.contentBytes == bytes)
    #expect(machine.isIncomplete == isIncomplete)
  }

  // MARK: - Any order

  private static func randomEvent(using generator: inout SplitMix64) -> Event {
    func flag(_ generator: inout SplitMix64) -> Bool { Bool.random(using: &generator) }
    let count = Int.random(in: 0...60, using: &generator)
    switch Int.random(in: 0..<24, using: &generator) {
    case 0, 1: return .open
    case 2: return .bytes(at: Int64(count))
    case 3: return .unaskedBytes
    case 4: return .headBegun
    case 5: return .nothingLeft
    case 6...8:
      let framing = [Framing.none, .none, .length(count), .chunked][count % 4]
      return .request(
        .init(
          framing: framing, closes: count == 7, expectsContinue: flag(&generator), wantsUpgrade: count == 8,
          isAnsweredHere: count == 9))
    case 9: return .contentWanted
    case 10, 11: return .content(count)
    case 12: return .contentEnd
    case 13, 14: return .head([.none, .length(count), .chunked, .untilClose][count % 4])
    case 15, 16: return .piece(count)
    case 17, 18: return .responseEnd(hasBytes: count == 7)
    case 19: return .badContent(400)
    case 20: return .inputEnd(isWritable: flag(&generator))
    case 21: return .stop(isPatient: flag(&generator))
    case 22: return .time(Int64(count) * 10, isWritable: flag(&generator), isContentAwaited: flag(&generator))
    default: return .endWritten
    }
  }

  private func isOver(_ machine: Machine) -> Bool {
    switch machine.state {
    case .ending, .lingering, .closed: true
    case .opening, .head, .answering, .tunnel: false
    }
  }

  @Test(
    "In any order of events, a connection ends once and sends 100 (Continue) once per request",
    arguments: [false, true])
  func anyOrder(allowsHalfClosure: Bool) {
    var generator = SplitMix64(seed: 7)
    for round in 0..<5000 {
      var machine = Machine(allowsHalfClosure: allowsHalfClosure, allowsUpgrade: true, at: Self.time(0))
      var (hasEnded, endings, continues) = (false, 0, 0)
      for _ in 0..<40 {
        let event = Self.randomEvent(using: &generator)
        // A handler parses a request, and answers one, only when the machine says so.
        if case .request = event, machine.next(isWritable: true) != .head { continue }
        let outcome = Self.outcome(of: event, &machine)
        if case .answerer = outcome { continues = 0 }
        switch outcome {
        case .action(.end), .action(.refuse),
          .flag(true) where event == .responseEnd() || event == .responseEnd(hasBytes: true),
          .reception(.leave(.end)):
          endings += 1
        case .action(.writeContinue): continues += 1
        default: break
        }
        #expect(continues <= 1, "round \(round)")
        if hasEnded {
          #expect(isOver(machine), "round \(round): \(event)")
          #expect(machine.next(isWritable: true) == .nothing)
        }
        hasEnded = isOver(machine)
      }
      #expect(endings <= 1, "round \(round)")
    }
  }
}
