// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// Decides what a client's connection does: events go in, and what to do comes out.
///
/// It holds the rules of a connection (RFC 9112 §9): what is read next, which request is in flight, whether the connection
/// persists, what the end of the input means, and whose turn it is when the timer rings. It has no bytes, no channel and no
/// clock, so that tests drive it without sockets. ``ClientConnection`` reports the events of its channel, and does what it is
/// told.
///
/// ```
/// opening ──► proxyHeader ──► head ◄────┐
///    └─────────────────────────►│       │ the response has ended, the connection persists
///                               ▼       │
///                           answering ──┤
///                               │       │ the connection does not persist, or a request was refused
///                               ▼       ▼
///                            tunnel   ending ──► closed
/// ```
///
/// The state is trivial: an event allocates nothing and retains nothing.
struct ClientConnectionStateMachine {
  private(set) var state = State.opening
  /// Whether the client has closed its sending half.
  private(set) var inputIsClosed = false
  /// When something last moved on the connection.
  private(set) var progress: NIODeadline
  /// Whether the channel was asked for a read that it has not delivered.
  private var isReadPending = false
  private var writesPending = 0
  private let allowsHalfClosure: Bool
  private let allowsUpgrade: Bool

  init(allowsHalfClosure: Bool, allowsUpgrade: Bool, at now: NIODeadline) {
    self.allowsHalfClosure = allowsHalfClosure
    self.allowsUpgrade = allowsUpgrade
    progress = now
  }

  // MARK: - Opening

  /// The connection is open.
  ///
  /// - Returns: `false` if that is known already.
  mutating func opened(expectsProxyHeader: Bool, at now: NIODeadline) -> Bool {
    guard case .opening = state else { return false }
    progress = now
    state = expectsProxyHeader ? .proxyHeader(since: now) : .head(since: nil)
    return true
  }

  /// The header of the PROXY protocol is whole, and requests follow.
  mutating func proxyHeaderReceived() {
    guard case .proxyHeader = state else { return }
    state = .head(since: nil)
  }

  /// The connection is not one that may be served: it gets no response.
  mutating func rejected() -> Action {
    state = .ending
    return .close(isAborted: false)
  }

  // MARK: - Reading

  /// Bytes came.
  mutating func received(at now: NIODeadline) -> Reception {
    if case .ending = state { return .discard }
    if case .closed = state { return .discard }
    // What was not asked for is delivered only because the end of the input follows. It is as much as the kernel holds, and
    // this connection will not process it.
    guard isReadPending || allowsHalfClosure else { return .leave(clientLeft()) }
    isReadPending = false
    progress = now
    return .process
  }

  func next(isWritable: Bool) -> Input {
    switch state {
    case .proxyHeader: .proxyHeader
    // The next request has to wait while the client does not take its responses.
    case .head: isWritable ? .head : .nothing
    case .answering(let exchange): exchange.content == .whole ? .nothing : .content
    case .opening, .tunnel, .ending, .closed: .nothing
    }
  }

  /// - Parameter hasBytes: whether bytes wait that have come before.
  func readDemand(isWritable: Bool, hasBytes: Bool) -> ReadDemand {
    switch state {
    case .proxyHeader, .ending: .read
    case .head: isWritable ? .read : .none
    case .answering(let exchange):
      switch exchange.content {
      case .coming(_, let isWanted): isWanted ? .readContent : .none
      // One read ahead, for the beginning of the next request. The end of the input is reported without a read.
      case .whole: hasBytes ? .none : .read
      }
    case .opening, .tunnel, .closed: .none
    }
  }

  /// The channel was asked to read.
  mutating func readRequested() {
    isReadPending = true
  }

  // MARK: - Requests

  /// The head of the next request is not whole.
  ///
  /// - Parameter hasBegun: whether bytes of it are there.
  mutating func headIncomplete(hasBegun: Bool) -> Action {
    guard case .head(let since) = state else { return .none }
    if inputIsClosed { return end() }
    guard hasBegun else {
      // What looked like the beginning of a head was half of an empty line.
      state = .head(since: nil)
      return .none
    }
    guard since == nil else { return .none }
    state = .head(since: progress)
    return .awaitHead
  }

  /// The head of a request is malformed, or too large.
  mutating func headFailed(_ fault: MessageFault) -> Action { refuse(fault) }

  /// The head of a request is there.
  ///
  /// - Parameters:
  ///   - contentLimit: how many bytes its content may have.
  ///   - isStopping: whether the proxy is to stop: the request is the last.
  mutating func requestReceived(_ request: Request, contentLimit: Int, isStopping: Bool) -> Answerer {
    var exchange = Exchange(
      expectsContinue: request.expectsContinue, acceptsInterim: request.acceptsInterim,
      closes: request.closes || isStopping)
    if request.wantsUpgrade {
      guard allowsUpgrade else {
        return .refusal(refuse(MessageFault(501, "upgrades are not supported here")))
      }
      exchange.closes = true
      state = .answering(exchange)
      return .upgrade
    }
    if request.isAnsweredHere {
      // Content is not read for such a request, and could be taken for the next one.
      exchange.closes = exchange.closes || request.framing != .none
      state = .answering(exchange)
      return .proxy
    }
    if request.framing == .none {
      state = .answering(exchange)
      return .cache
    }
    if case .length(let count) = request.framing, count > contentLimit {
      return .refusal(
        refuse(MessageFault(413, "the content of the request has more than \(contentLimit) bytes")))
    }
    if request.isTrace {
      return .refusal(refuse(MessageFault("TRACE has no content (RFC 9110 §9.3.8)")))
    }
    exchange.content = .coming(left: contentLimit, isWanted: false)
    state = .answering(exchange)
    return .cacheWithContent
  }

  /// Whether a request's content is still to come.
  var awaitsContent: Bool {
    if case .answering(let exchange) = state { exchange.content != .whole } else { false }
  }

  /// The content of the request is wanted now. That may be said more than once.
  mutating func contentWanted(at now: NIODeadline) -> Action {
    guard case .answering(var exchange) = state, case .coming(let left, false) = exchange.content else {
      return .none
    }
    exchange.content = .coming(left: left, isWanted: true)
    state = .answering(exchange)
    progress = now
    // RFC 9110 §10.1.1; not behind the final response.
    return exchange.expectsContinue && !exchange.hasHead ? .writeContinue : .none
  }

  /// A piece of the content came. It may be used if there is nothing to do.
  mutating func contentReceived(_ count: Int) -> Action {
    guard case .answering(var exchange) = state, case .coming(let left, let isWanted) = exchange.content
    else { return .none }
    guard count <= left else {
      return contentFailed(MessageFault(413, "the content of the request is too large"))
    }
    exchange.content = .coming(left: left - count, isWanted: isWanted)
    state = .answering(exchange)
    return .none
  }

  /// All of the content came.
  mutating func contentEnded() {
    guard case .answering(var exchange) = state else { return }
    exchange.content = .whole
    state = .answering(exchange)
  }

  /// The content is malformed, or too large.
  mutating func contentFailed(_ fault: MessageFault) -> Action {
    guard case .answering(var exchange) = state else { return .none }
    guard exchange.hasHead else { return refuse(fault) }
    // The response may be on its way; what comes behind cannot be told apart from content.
    exchange.content = .whole
    state = .answering(exchange)
    return .failContent(fault, closes: true)
  }

  // MARK: - Responses

  /// Whether an interim response may be sent: before the final one, and not to clients of HTTP/1.0 (RFC 9110 §15.2).
  var allowsInterim: Bool {
    if case .answering(let exchange) = state { !exchange.hasHead && exchange.acceptsInterim } else { false }
  }

  /// The head of the final response is about to be written.
  ///
  /// - Returns: Whether the connection ends with the response.
  mutating func responseBegan(_ framing: ResponseFraming, isStopping: Bool) -> Bool {
    guard case .answering(var exchange) = state else { return true }
    exchange.hasHead = true
    exchange.framing = framing
    // What the client still sends would be taken for the next request.
    if framing == .untilClose || exchange.content != .whole || isStopping { exchange.closes = true }
    state = .answering(exchange)
    return exchange.closes
  }

  /// A piece of the response's content is about to be written.
  mutating func contentSent(_ count: Int) -> Piece {
    guard case .answering(var exchange) = state else { return .skip }
    exchange.sent += count
    state = .answering(exchange)
    return switch exchange.framing {
    case .none: .skip
    case .length(let length): exchange.sent > length ? .overrun : .plain
    case .untilClose: .plain
    case .chunked: count == 0 ? .skip : .chunk
    }
  }

  var ending: Ending {
    guard case .answering(let exchange) = state else { return .nothing }
    return switch exchange.framing {
    case .chunked: .lastChunk
    case .length(let length): exchange.sent < length ? .shortfall : .nothing
    case .none, .untilClose: .nothing
    }
  }

  /// All of the response is written.
  ///
  /// - Returns: Whether the connection ends; otherwise the next request may come.
  mutating func responseEnded(at now: NIODeadline) -> Bool {
    guard case .answering(let exchange) = state else { return false }
    progress = now
    state = exchange.closes ? .ending : .head(since: nil)
    return exchange.closes
  }

  /// The content of the response broke off, which the client must see.
  func responseFailed() -> Action {
    if case .answering(let exchange) = state, exchange.framing == .untilClose { return .reset }
    return .close(isAborted: true)
  }

  /// The origin has switched protocols.
  mutating func switchedProtocols() {
    state = .tunnel(sent: 0)
  }

  /// The tunnel has ended.
  mutating func tunnelEnded(sent: Int) {
    if case .tunnel = state { state = .tunnel(sent: sent) }
  }

  /// How many bytes of content the client was sent, for the log.
  var contentBytes: Int {
    switch state {
    case .answering(let exchange): exchange.framing == .none ? 0 : exchange.sent
    case .tunnel(let sent): sent
    default: 0
    }
  }

  /// Whether the client would miss something if the connection ended now.
  var isIncomplete: Bool {
    if case .answering(let exchange) = state { !exchange.isWhole } else { false }
  }

  // MARK: - Ending

  private mutating func refuse(_ fault: MessageFault) -> Action {
    let since: NIODeadline = if case .head(let since?) = state { since } else { progress }
    _ = end()
    return .refuse(fault, since: since)
  }

  private mutating func end() -> Action {
    state = .ending
    return .end
  }

  /// All that was to be written before the end is written, or cannot be.
  ///
  /// A connection closed with bytes unread is reset, and the response lost with it (RFC 9112 §9.6): the client is given time
  /// to take note.
  func endWritten() -> Action {
    guard case .ending = state else { return .none }
    return inputIsClosed ? .close(isAborted: false) : .closeOutput
  }

  /// The client has closed its sending half.
  mutating func inputClosed(isWritable: Bool) -> Action {
    inputIsClosed = true
    guard allowsHalfClosure else { return clientLeft() }
    // The client has sent its last request, and still waits for responses.
    switch state {
    case .answering(var exchange) where exchange.content != .whole:
      exchange.content = .whole
      exchange.closes = true
      state = .answering(exchange)
      return .failContent(Self.brokenOff, closes: false)
    case .opening, .proxyHeader: return end()
    // Requests may wait there for the client to take the responses before them.
    case .head: return isWritable ? end() : .none
    // What came before the end may hold requests still.
    case .answering, .tunnel, .ending, .closed: return .none
    }
  }

  static let brokenOff = MessageFault("the client broke off its request")

  /// The client closed its half of the connection, which is taken for all of it: no response is awaited any more. What has
  /// been written already is sent.
  private mutating func clientLeft() -> Action {
    inputIsClosed = true
    switch state {
    case .opening, .proxyHeader, .head: return end()
    // The client may have closed because it has everything.
    case .answering(let exchange): return .close(isAborted: !exchange.isWhole)
    case .tunnel: return .close(isAborted: false)
    case .ending, .closed: return .none
    }
  }

  /// The proxy stops: closes if nothing is in flight, and else after it.
  ///
  /// - Parameter hasBytes: whether bytes wait that have come before.
  mutating func stop(hasBytes: Bool) -> Action {
    switch state {
    case .opening, .proxyHeader: return end()
    // Not at once: a response may wait for the client to take it.
    case .head: return hasBytes ? .none : end()
    case .answering(var exchange):
      exchange.closes = true
      state = .answering(exchange)
      return .none
    case .tunnel, .ending, .closed: return .none
    }
  }

  /// The connection is closed.
  mutating func closed() {
    state = .closed
  }

  // MARK: - Time

  /// The time that a client has to close a connection whose responses it was sent.
  static let lingering = TimeAmount.seconds(2)

  /// Bytes go to the client, who has to take them.
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

  /// Looks what there is to wait for, when the connection opens and whenever its timer rings. There is one timer a connection,
  /// and none is set or cancelled for a request.
  ///
  /// - Parameter isContentAwaited: whether somebody waits for the next piece of the request's content.
  mutating func checkTime(
    at now: NIODeadline, _ timeouts: ProxyConfiguration.Timeouts, isWritable: Bool, isContentAwaited: Bool
  ) -> Action {
    switch state {
    case .opening, .tunnel, .ending, .closed: return .none
    case .proxyHeader(let since):
      let deadline = since + Swift.min(timeouts.head, timeouts.idle).timeAmount
      return deadline <= now ? rejected() : .armTimer(at: deadline)
    case .head(let since?):
      let deadline = since + timeouts.head.timeAmount
      if deadline > now { return .armTimer(at: deadline) }
      return headFailed(MessageFault(408, "the head of the request took more than \(timeouts.head)"))
    case .head(nil):
      let deadline = progress + (isWritable ? timeouts.idle : timeouts.stall).timeAmount
      if deadline <= now { return .close(isAborted: false) }
      // A request may come meanwhile, whose client has only so long.
      return .armTimer(at: Swift.min(deadline, now + Swift.max(.milliseconds(1), timeouts.stall).timeAmount))
    case .answering(let exchange):
      // The client's turn: it sends content that is wanted, or takes what was written. Otherwise it waits for the origin,
      // whose time others measure.
      let isClients =
        writesPending > 0 || !isWritable || (exchange.content != .whole && isContentAwaited)
      if !isClients { progress = now }
      let deadline = progress + timeouts.stall.timeAmount
      return deadline <= now ? .giveUp : .armTimer(at: deadline)
    }
  }
}
