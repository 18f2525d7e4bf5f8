// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// Decides what a stream of a client does (RFC 9113 §8.1): it receives events, and returns actions.
///
/// The frames and their order are those of `NIOHTTP2Handler`. This machine has the rules of the request and of its response,
/// and of their time. Like ``ClientConnectionStateMachine``, it has no bytes, no channel and no clock.
///
/// ```
/// opening ──► answering ──► ended ──► reset
///                 │                     ▲
///                 └─► tunnel ───────────┘
/// ```
struct ClientStreamStateMachine {
  enum State: Hashable {
    /// The head of the request comes first.
    case opening
    case answering(Exchange)
    /// The origin has switched to another protocol, and other handlers forward the bytes.
    ///
    /// - Parameter sent: the bytes that the client was sent since; known at the end.
    case tunnel(sent: Int)
    /// All of the response is written. The client may still have to take it.
    case ended
    /// The stream was reset.
    case reset
  }

  enum Action: Hashable {
    case none
    /// Send 100 (Continue).
    case writeContinue
    /// Send an error response, and give up the request in flight.
    case refuse(MessageFault)
    /// Tell the reader of the request's content that no more follows, and reset the stream.
    case failContent(MessageFault)
    /// The client has stalled: give up the request in flight, and reset the stream.
    case giveUp
  }

  private(set) var state = State.opening
  /// The announced length of the request's content that has not arrived.
  private var announced: Int?
  private var progress: NIODeadline
  private var writesPending = 0

  init(at now: NIODeadline) { progress = now }

  private var exchange: Exchange? { if case .answering(let exchange) = state { exchange } else { nil } }

  // MARK: - The request

  /// Handles the head of the request.
  ///
  /// - Parameter contentLimit: maximum bytes of its content.
  /// - Throws: a fault for ``failed(_:)``.
  mutating func requestReceived(
    _ request: Exchange.Request, contentLimit: Int, allowsUpgrade: Bool, at now: NIODeadline
  ) throws(MessageFault) -> Exchange.Answerer {
    progress = now
    let exchange = try Exchange(request, contentLimit: contentLimit, allowsUpgrade: allowsUpgrade)
    announced = request.framing.length
    state = .answering(exchange)
    return exchange.answerer
  }

  /// Whether more content is wanted.
  var wantsContent: Bool { if case .coming(_, isWanted: true)? = exchange?.content { true } else { false } }

  /// Records that the content of the request is wanted now. May be called more than once.
  mutating func contentWanted(at now: NIODeadline) -> Action {
    guard var exchange, let writesContinue = exchange.contentWanted() else { return .none }
    state = .answering(exchange)
    progress = now
    return writesContinue ? .writeContinue : .none
  }

  /// Handles a piece of the content. The caller may use the piece if the result is `none`.
  mutating func contentReceived(_ count: Int, at now: NIODeadline) -> Action {
    progress = now
    guard var exchange else { return .none }
    do throws(MessageFault) {
      if let left = announced {
        guard count <= left else {
          throw MessageFault("the content is longer than Content-Length (RFC 9113 §8.1.1)")
        }
        announced = left - count
      }
      try exchange.contentReceived(count)
      state = .answering(exchange)
      return .none
    } catch {
      return failed(error)
    }
  }

  /// Handles the end of the content. The caller may end the content if the result is `none`.
  mutating func contentEnded() -> Action {
    guard var exchange else { return .none }
    if let announced, announced > 0 {
      return failed(MessageFault("the content is shorter than Content-Length (RFC 9113 §8.1.1)"))
    }
    exchange.contentEnded()
    state = .answering(exchange)
    return .none
  }

  /// Handles a malformed request, or malformed or too large content.
  mutating func failed(_ fault: MessageFault) -> Action {
    switch state {
    case .answering(var exchange) where exchange.hasHead:
      exchange.contentEnded()
      state = .answering(exchange)
      return .failContent(fault)
    case .opening, .answering:
      state = .ended
      return .refuse(fault)
    case .tunnel, .ended, .reset: return .none
    }
  }

  /// Ends the stream at once.
  ///
  /// - Returns: `false` if it was reset already.
  mutating func reset() -> Bool {
    defer { state = .reset }
    return state != .reset
  }

  // MARK: - The response

  /// Whether an interim response may be sent.
  var allowsInterim: Bool { exchange?.allowsInterim ?? false }

  /// Records that the head of the final response will be written next.
  mutating func responseBegan(_ framing: ResponseFraming) {
    guard var exchange else { return }
    exchange.responseBegan(framing)
    state = .answering(exchange)
  }

  /// Records that a piece of the response's content will be written next.
  mutating func contentSent(_ count: Int) -> Exchange.Piece {
    guard var exchange else { return .skip }
    defer { state = .answering(exchange) }
    return exchange.contentSent(count)
  }

  /// How to end the content of the response.
  var ending: Exchange.Ending { exchange?.ending ?? .nothing }

  /// Records that the whole response is written.
  mutating func responseEnded(at now: NIODeadline) {
    progress = now
    state = .ended
  }

  /// Records that the origin has switched protocols.
  mutating func switchedProtocols() { state = .tunnel(sent: 0) }

  /// Records that the tunnel has ended.
  mutating func tunnelEnded(sent: Int) {
    if case .tunnel = state { state = .tunnel(sent: sent) }
  }

  /// Number of content bytes sent to the client, for the log.
  var contentBytes: Int {
    switch state {
    case .answering(let exchange): exchange.contentBytes
    case .tunnel(let sent): sent
    case .opening, .ended, .reset: 0
    }
  }

  /// Whether the client would lose a part of the response if the stream ended now.
  var isIncomplete: Bool { exchange.map { !$0.isWhole } ?? false }

  // MARK: - Time

  /// Records a write that the client must take.
  mutating func writeBegan(at now: NIODeadline) {
    writesPending += 1
    progress = now
  }

  mutating func writeEnded(at now: NIODeadline) {
    writesPending -= 1
    progress = now
  }

  /// Records that the client has opened the full window of the stream.
  mutating func windowOpened(at now: NIODeadline) {
    if writesPending > 0 { progress = now }
  }

  /// Checks what the stream waits for; its connection does so now and then.
  ///
  /// - Parameters:
  ///   - isContentAwaited: whether a reader waits for the next piece of the request's content.
  ///   - waitsForRoom: whether the response waits until the client has room for more of it.
  ///   - hasTaken: whether the client has taken bytes of the connection since the last check, and the stream may wait for that,
  ///     and not for its own window.
  mutating func checkTime(
    at now: NIODeadline, stall: Duration, isContentAwaited: Bool, waitsForRoom: Bool, hasTaken: Bool
  ) -> Action {
    let turn: Exchange.Turn =
      switch state {
      case .answering(let exchange):
        exchange.turn(mustTake: writesPending > 0 || waitsForRoom, isContentAwaited: isContentAwaited)
      case .ended: .takes
      case .opening, .tunnel, .reset: .waits
      }
    switch turn {
    case .takes: if hasTaken { progress = now }
    case .sends: break
    case .waits: progress = now
    }
    return progress + stall.timeAmount <= now ? .giveUp : .none
  }
}
