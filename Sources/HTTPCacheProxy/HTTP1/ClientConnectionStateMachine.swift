// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// Decides what a client's connection does: it receives events, and returns actions.
///
/// It holds the rules of a connection (RFC 9112 §9): what is read next, which request is in flight, whether the
/// connection persists, what the end of the input means, and which side must act when the timer fires. It has no bytes,
/// no channel and no clock, so that tests run it without sockets. ``ClientConnection`` reports the events of its
/// channel, and performs the actions.
///
/// ```
/// opening ──► head ◄────┐
///               │       │ the response has ended, the connection persists
///               ▼       │
///           answering ──┤
///               │       │ the connection does not persist, or a request was refused
///               ▼       ▼
///            tunnel   ending ──► lingering ──► closed
/// ```
///
/// The state is a trivial type: an event neither allocates nor retains.
struct ClientConnectionStateMachine {
  private(set) var state = State.opening
  /// Whether the client has closed its sending half.
  private(set) var inputIsClosed = false
  /// The time of the last progress on the connection.
  private(set) var progress: NIODeadline
  /// Whether the channel has an unfinished read request.
  private var isReadPending = false
  private var writesPending = 0
  private let allowsHalfClosure: Bool
  private let allowsUpgrade: Bool
  private let channelReadsAlone: Bool

  /// - Parameter channelReadsAlone: whether a handler of the channel, such as that of TLS, reads without being asked.
  init(allowsHalfClosure: Bool, allowsUpgrade: Bool, channelReadsAlone: Bool = false, at now: NIODeadline) {
    self.channelReadsAlone = channelReadsAlone
    self.allowsHalfClosure = allowsHalfClosure
    self.allowsUpgrade = allowsUpgrade
    progress = now
  }

  // MARK: - Opening

  /// Records that the connection is open.
  ///
  /// - Returns: `false` if that was already known.
  mutating func opened(at now: NIODeadline) -> Bool {
    guard case .opening = state else { return false }
    progress = now
    state = .head(since: nil)
    return true
  }

  /// Ends a connection that must not be served, without a response.
  mutating func rejected() -> Action {
    state = .ending(lingers: true)
    return .close(isAborted: false)
  }

  // MARK: - Reading

  /// Handles received bytes.
  mutating func received(at now: NIODeadline) -> Reception {
    switch state {
    case .ending, .lingering, .closed: return .discard
    case .opening, .head, .answering, .tunnel: break
    }
    // Bytes without a read request are delivered only because the end of the input follows. They are all that the
    // kernel has, and this connection will not process them.
    guard isReadPending || allowsHalfClosure || channelReadsAlone else { return .leave(clientLeft()) }
    isReadPending = false
    progress = now
    return .process
  }

  func next(isWritable: Bool) -> Input {
    switch state {
    // The next request must wait while the client does not take its responses.
    case .head: isWritable ? .head : .nothing
    case .answering(let answering): answering.exchange.content == .whole ? .nothing : .content
    case .opening, .tunnel, .ending, .lingering, .closed: .nothing
    }
  }

  /// - Parameter hasBytes: whether earlier bytes still wait.
  func readDemand(isWritable: Bool, hasBytes: Bool) -> ReadDemand {
    switch state {
    case .ending, .lingering: .read
    case .head: isWritable ? .read : .none
    case .answering(let answering):
      switch answering.exchange.content {
      case .coming(_, let isWanted): isWanted ? .readContent : .none
      // One read ahead, for the beginning of the next request. The end of the input is reported without a read.
      case .whole: hasBytes ? .none : .read
      }
    case .opening, .tunnel, .closed: .none
    }
  }

  /// Records that the channel was asked to read.
  mutating func readRequested() {
    isReadPending = true
  }

  // MARK: - Requests

  /// Handles an incomplete head of the next request.
  ///
  /// - Parameter hasBegun: whether some of its bytes have arrived.
  mutating func headIncomplete(hasBegun: Bool) -> Action {
    guard case .head(let since) = state else { return .none }
    if inputIsClosed { return end() }
    guard hasBegun else {
      // The supposed beginning of a head was half of an empty line.
      state = .head(since: nil)
      return .none
    }
    guard since == nil else { return .none }
    state = .head(since: progress)
    return .awaitHead
  }

  /// Handles a malformed or too large head of a request.
  mutating func headFailed(_ fault: MessageFault) -> Action { refuse(fault) }

  /// Handles the complete head of a request.
  ///
  /// - Parameters:
  ///   - contentLimit: maximum bytes of its content.
  ///   - isStopping: whether the proxy is stopping: then this is the last request.
  /// - Throws: a fault for ``headFailed(_:)``.
  mutating func requestReceived(
    _ request: Exchange.Request, contentLimit: Int, isStopping: Bool
  ) throws(MessageFault) -> Exchange.Answerer {
    let exchange = try Exchange(request, contentLimit: contentLimit, allowsUpgrade: allowsUpgrade)
    let closes =
      switch exchange.answerer {
      case .upgrade: true
      // The content of such a request is not read, and could be taken for the next request.
      case .proxy: request.framing != .none
      case .cache, .cacheWithContent: false
      }
    state = .answering(
      Answering(
        exchange: exchange, closes: closes || request.closes || isStopping,
        isClientsLast: request.closes && request.framing == .none))
    return exchange.answerer
  }

  /// The request in flight; `nil` without one.
  private var exchange: Exchange? {
    if case .answering(let answering) = state { answering.exchange } else { nil }
  }

  /// Whether more content of a request must arrive.
  var awaitsContent: Bool { exchange.map { $0.content != .whole } ?? false }

  /// Records that the content of the request is wanted now. May be called more than once.
  mutating func contentWanted(at now: NIODeadline) -> Action {
    guard case .answering(var answering) = state, let writesContinue = answering.exchange.contentWanted()
    else {
      return .none
    }
    state = .answering(answering)
    progress = now
    return writesContinue ? .writeContinue : .none
  }

  /// Handles a piece of the content. The caller may use the piece if the result is `none`.
  mutating func contentReceived(_ count: Int) -> Action {
    guard case .answering(var answering) = state else { return .none }
    do throws(MessageFault) {
      try answering.exchange.contentReceived(count)
      state = .answering(answering)
      return .none
    } catch {
      return contentFailed(error)
    }
  }

  /// Records that all of the content has arrived.
  mutating func contentEnded() {
    guard case .answering(var answering) = state else { return }
    answering.exchange.contentEnded()
    state = .answering(answering)
  }

  /// Handles malformed or too large content.
  mutating func contentFailed(_ fault: MessageFault) -> Action {
    guard let exchange else { return .none }
    guard exchange.hasHead else { return refuse(fault) }
    // The response may already be in progress; later bytes cannot be distinguished from content.
    contentEnded()
    return .failContent(fault, closes: true)
  }

  // MARK: - Responses

  /// Whether an interim response may be sent.
  var allowsInterim: Bool { exchange?.allowsInterim ?? false }

  /// Records that the head of the final response will be written next.
  ///
  /// - Returns: whether the connection ends with the response.
  mutating func responseBegan(_ framing: ResponseFraming, isStopping: Bool) -> Bool {
    guard case .answering(var answering) = state else { return true }
    answering.exchange.responseBegan(framing)
    // Later bytes from the client would be taken for the next request.
    if framing == .untilClose || answering.exchange.content != .whole || isStopping {
      answering.closes = true
    }
    state = .answering(answering)
    return answering.closes
  }

  /// Records that a piece of the response's content will be written next.
  mutating func contentSent(_ count: Int) -> Exchange.Piece {
    guard case .answering(var answering) = state else { return .skip }
    let piece = answering.exchange.contentSent(count)
    state = .answering(answering)
    return piece
  }

  /// How to end the content of the response.
  var ending: Exchange.Ending { exchange?.ending ?? .nothing }

  /// Records that the whole response is written.
  ///
  /// - Parameter hasBytes: whether more bytes of the client have arrived.
  /// - Returns: whether the connection ends; otherwise the next request may follow.
  mutating func responseEnded(at now: NIODeadline, hasBytes: Bool) -> Bool {
    guard case .answering(let answering) = state else { return false }
    progress = now
    // RFC 9112 §9.6: after a request with "close", a client sends nothing more.
    state = answering.closes ? .ending(lingers: !answering.isClientsLast || hasBytes) : .head(since: nil)
    return answering.closes
  }

  /// Handles an incomplete response content, which the client must notice.
  func responseFailed() -> Action {
    if exchange?.framing == .untilClose { return .reset }
    return .close(isAborted: true)
  }

  /// Records that the origin has switched protocols.
  mutating func switchedProtocols() {
    state = .tunnel(sent: 0)
  }

  /// Records that the tunnel has ended.
  mutating func tunnelEnded(sent: Int) {
    if case .tunnel = state { state = .tunnel(sent: sent) }
  }

  /// Number of content bytes sent to the client, for the log.
  var contentBytes: Int {
    switch state {
    case .answering(let answering): answering.exchange.contentBytes
    case .tunnel(let sent): sent
    default: 0
    }
  }

  /// Whether the client would lose a part of a response if the connection ended now.
  var isIncomplete: Bool { exchange.map { !$0.isWhole } ?? false }

  // MARK: - Ending

  private mutating func refuse(_ fault: MessageFault) -> Action {
    let since: NIODeadline = if case .head(let since?) = state { since } else { progress }
    _ = end()
    return .refuse(fault, since: since)
  }

  private mutating func end() -> Action {
    state = .ending(lingers: true)
    return .end
  }

  /// Handles the end of the output: it is written, or cannot be written.
  ///
  /// A connection that is closed with unread bytes is reset, and the response is lost with it (RFC 9112 §9.6). So a
  /// client that may still send gets time to read the response.
  mutating func endWritten() -> Action {
    guard case .ending(let lingers) = state else { return .none }
    guard lingers, !inputIsClosed else {
      state = .closed
      return .close(isAborted: false)
    }
    state = .lingering
    return .closeOutput
  }

  /// Whether output remains that the client must take before the connection ends.
  var isEnding: Bool { if case .ending = state { true } else { false } }

  /// Records that the client has closed its sending half.
  mutating func inputClosed(isWritable: Bool) -> Action {
    inputIsClosed = true
    guard allowsHalfClosure else { return clientLeft() }
    // The client has sent its last request, and still waits for responses.
    switch state {
    case .answering(var answering) where answering.exchange.content != .whole:
      // The origin is not to blame for the missing end.
      guard answering.exchange.hasHead else { return refuse(Self.brokenOff) }
      answering.exchange.contentEnded()
      answering.closes = true
      state = .answering(answering)
      return .failContent(Self.brokenOff, closes: false)
    case .opening: return end()
    // Requests may wait here until the client takes the earlier responses.
    case .head: return isWritable ? end() : .none
    // The bytes before the end may contain further requests.
    case .answering, .tunnel, .ending, .lingering, .closed: return .none
    }
  }

  static let brokenOff = MessageFault("the request ended before its content was complete (RFC 9112 §8)")

  /// Handles a client that closed its half of the connection, which counts as leaving: it no longer waits for a
  /// response. Output that is already written is sent.
  private mutating func clientLeft() -> Action {
    inputIsClosed = true
    switch state {
    case .opening, .head: return end()
    // The client may have closed because it has the whole response.
    case .answering(let answering): return .close(isAborted: !answering.exchange.isWhole)
    case .tunnel: return .close(isAborted: false)
    case .ending, .lingering, .closed: return .none
    }
  }

  /// Handles the stop of the proxy: closes now if nothing is in flight, otherwise after the response.
  ///
  /// - Parameter isPatient: whether one more request may come, which is then the last.
  mutating func stop(isPatient: Bool) -> Action {
    switch state {
    // Not at once: a response may wait for the client to take it.
    case .opening, .head: return isPatient ? .none : end()
    case .answering(var answering):
      answering.closes = true
      state = .answering(answering)
      return .none
    case .tunnel, .ending, .lingering, .closed: return .none
    }
  }

  /// Whether no request is in progress, and no byte of the next one has arrived.
  var isIdle: Bool {
    switch state {
    case .head(nil): true
    case .opening, .head, .answering, .tunnel, .ending, .lingering, .closed: false
    }
  }

  /// Records that the connection is closed.
  mutating func closed() {
    state = .closed
  }

  // MARK: - Time

  /// Maximum time for a client to close a connection after its last response.
  static let lingering = TimeAmount.seconds(2)

  /// Records a write that the client must take.
  mutating func writeBegan(at now: NIODeadline) {
    writesPending += 1
    progress = now
  }

  mutating func writeEnded(at now: NIODeadline) {
    writesPending -= 1
    progress = now
  }

  mutating func becameWritable(at now: NIODeadline) {
    progress = now
  }

  /// Checks what the connection waits for, when it opens and whenever its timer fires. Each connection has one timer;
  /// no timer is set or cancelled for a request.
  ///
  /// - Parameters:
  ///   - isContentAwaited: whether a reader waits for the next piece of the request's content.
  ///   - hasTaken: whether the client has taken bytes since the last check, although the kernel may have accepted none.
  mutating func checkTime(
    at now: NIODeadline, _ timeouts: ProxyConfiguration.Timeouts, isWritable: Bool, isContentAwaited: Bool,
    hasTaken: @autoclosure () -> Bool
  ) -> Action {
    let stall = timeouts.stall.timeAmount
    let nextLook = now + PeerUptake.interval(within: timeouts.stall)
    switch state {
    case .opening, .tunnel, .lingering, .closed: return .none
    case .head(let since?):
      let deadline = since + timeouts.head.timeAmount
      if deadline > now { return .armTimer(at: deadline) }
      return headFailed(MessageFault(408, "the head of the request took more than \(timeouts.head)"))
    case .head(nil):
      let limit = isWritable ? timeouts.idle.timeAmount : stall
      // The kernel may have the end of a response long before the client has it.
      if !isWritable || progress + limit <= now, hasTaken() { progress = now }
      let deadline = progress + limit
      // A request may arrive meanwhile, whose client must take the response.
      return deadline <= now ? .close(isAborted: false) : .armTimer(at: Swift.min(deadline, nextLook))
    case .answering(let answering):
      switch answering.exchange.turn(
        mustTake: writesPending > 0 || !isWritable, isContentAwaited: isContentAwaited)
      {
      case .takes: if hasTaken() { progress = now }
      case .sends: break
      case .waits: progress = now
      }
      let deadline = progress + stall
      return deadline <= now ? .giveUp : .armTimer(at: Swift.min(deadline, nextLook))
    case .ending:
      if hasTaken() { progress = now }
      let deadline = progress + stall
      return deadline <= now ? .close(isAborted: false) : .armTimer(at: Swift.min(deadline, nextLook))
    }
  }
}
