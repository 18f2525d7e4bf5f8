// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes
import NIOCore

/// Decides what a connection of HTTP/1.1 to the origin does, or a stream of HTTP/2, which serves one request: it receives
/// events, and returns actions.
///
/// It holds the rules of a connection (RFC 9112 §9): what is read next, whether the connection persists, whether a lost
/// request may be sent again, what the end of the input means, and which side must act when the timer fires. It has no
/// bytes, no channel and no clock, so that tests run it without sockets. ``OriginConnection`` or ``OriginStream`` reports the
/// events of its channel, and performs the actions.
///
/// ```
///  ┌──► idle ──► head ◄──► interim
///  │              ├──────────────► switched
///  │              ▼
///  └────────── content ──────────► closed
/// ```
///
/// The state of an exchange is a trivial type: its events neither allocate nor retain, unless they parse a head.
struct OriginConnectionStateMachine {
  enum State: Hashable {
    /// No request is in flight.
    ///
    /// - Parameter since: when the connection opened, or the last response ended.
    case idle(since: NIODeadline)
    case exchanging(Exchange)
    /// The origin has switched protocols. Further bytes are kept for the tunnel that takes over.
    case switched(inputIsClosed: Bool)
    /// - Parameter error: why, for a later request for the next response.
    case closed(OriginError?)
  }

  /// A request in flight, and the progress of its response.
  struct Exchange: Hashable {
    /// What remains to be sent of the request.
    enum Upload: Hashable {
      case nothing
      /// The next piece comes from the client.
      case awaitsClient
      /// The origin, or the kernel, has not taken the last piece yet.
      case awaitsOrigin
    }

    /// What comes next of the response.
    enum Response: Hashable {
      case head
      /// An interim response was delivered. Nothing is read until the next one is requested.
      case interim
      case content(Persistence)
    }

    /// What becomes of the connection after the content.
    enum Persistence: Hashable {
      case persists
      case closes
      /// The content ends with the connection.
      case endsContent
    }

    var upload: Upload
    var response = Response.head
    /// Number of interim responses, and of the bytes of their heads.
    var interimCount = 0
    var interimBytes = 0
    /// Whether the origin has closed the connection after an interim response: the bytes before the end still wait.
    var inputIsClosed = false
  }

  /// The properties of a request that the rules of the connection need.
  struct Request: Hashable {
    var method = HTTPRequest.Method.get
    /// Whether no content follows the head and what was sent with it.
    var isWhole = true
    /// The protocols that the origin may switch to.
    var upgrade: String?

    /// Whether the client of this connection may send the request again; see ``OriginError/allowsRetry(_:)``.
    var isRepeatable: Bool { isWhole && method.isIdempotent }
  }

  /// What comes next from the origin.
  enum Input: Hashable {
    /// Nothing but the end of the connection: other bytes answer no request.
    case end
    case head
    case content
    /// Nothing is read, and bytes that have arrived wait.
    case nothing
  }

  /// What to do with the head of a response.
  enum HeadAction: Hashable {
    /// Deliver it. The next response is requested.
    case deliverInterim
    /// Deliver it, and stop the timer.
    case switchProtocols
    /// Deliver it, and then the content in this framing.
    case deliver(Framing)
    /// The request failed: end the connection.
    case fail(OriginError)
  }

  /// How the connection ends. In all cases but `none` the channel must be closed.
  enum Ending: Hashable {
    /// It goes on, or has ended before.
    case none
    case quietly
    /// It waited for a request.
    case idle
    /// The awaited response fails.
    case head(OriginError)
    /// - Parameter error: `nil` if the content is complete.
    case content(OriginError?)
  }

  /// Maximum interim responses of an exchange, including 100 (Continue), and maximum bytes of their heads. A real
  /// origin sends one or two.
  static let interimLimit = (count: 64, bytes: 64 << 10)

  private(set) var state: State
  /// Number of finished exchanges. Calls about an exchange come from other threads, and may come too late.
  private(set) var exchanges = 0
  /// The time of the last progress of the exchange.
  private var progress: NIODeadline
  private let timeouts: ProxyConfiguration.Origin.Timeouts
  /// How long the proxy keeps an idle connection.
  private let longestIdle: Duration
  /// How long the origin keeps an idle connection, as it announces.
  private var idleLimit: Duration

  private var exchange: Exchange? {
    get { if case .exchanging(let exchange) = state { exchange } else { nil } }
    set { if let newValue { state = .exchanging(newValue) } }
  }

  init(_ timeouts: ProxyConfiguration.Origin.Timeouts, at now: NIODeadline) {
    self.timeouts = timeouts
    longestIdle = timeouts.idleTime(isEncrypted: false)
    idleLimit = longestIdle
    state = .idle(since: now)
    progress = now
  }

  // MARK: - Requests

  /// Records that a request will be written next.
  ///
  /// - Parameters:
  ///   - isLarge: whether the origin may take the request slowly.
  ///   - isActive: whether the channel is open.
  ///   - isEnding: whether the kernel knows that the origin has closed the connection.
  /// - Returns: when to check the time.
  /// - Throws: the error of the request, if the connection cannot send it.
  mutating func requestStarted(
    _ request: Request, isLarge: Bool, isActive: Bool, isEnding: @autoclosure () -> Bool, at now: NIODeadline
  ) throws(OriginError) -> NIODeadline {
    // A repeatable request is sent again if it is lost: cheaper than to ask the kernel before each.
    guard case .idle = state, isActive, request.isRepeatable || exchanges == 0 || !isEnding() else {
      throw Self.idleEnded(.unsent)
    }
    state = .exchanging(Exchange(upload: request.isWhole ? .nothing : .awaitsClient))
    progress = now
    let time = timeouts.firstByte
    return now + (isLarge ? PeerUptake.interval(within: time) : time.timeAmount)
  }

  /// Whether more content of the request must be sent.
  var isSending: Bool { exchange.map { $0.upload != .nothing } ?? false }

  /// Records what remains of the request. With `nothing`, the time-out for the response begins.
  mutating func uploadChanged(to upload: Exchange.Upload, at now: NIODeadline) {
    guard isSending else { return }
    exchange?.upload = upload
    progress = now
  }

  /// Records that the origin has taken a part of the request.
  mutating func requestTaken(at now: NIODeadline) {
    if exchange?.response == .head { progress = now }
  }

  // MARK: - Responses

  /// Handles received bytes.
  ///
  /// - Returns: whether they are wanted.
  mutating func received(at now: NIODeadline) -> Bool {
    // The time-out of a head begins with the request, whatever the number of interim responses and pieces.
    if case .content = exchange?.response { progress = now }
    return if case .closed = state { false } else { true }
  }

  var input: Input {
    switch exchange?.response {
    case .head: .head
    case .content: .content
    case .interim: .nothing
    case nil: if case .idle = state { .end } else { .nothing }
    }
  }

  /// Handles the head of a response.
  ///
  /// - Parameter count: number of its bytes.
  mutating func headReceived(
    _ head: HTTPResponse, _ version: HTTPVersion, bytes count: Int, to request: Request, at now: NIODeadline
  ) throws(MessageFault) -> HeadAction {
    guard var exchange else { return .fail(Self.noResponse) }
    if head.status.code == 101 {
      guard let upgrade = request.upgrade, head.switches(toOneOf: upgrade) else {
        throw MessageFault(502, "it switches protocols without a request to do so")
      }
      state = .switched(inputIsClosed: exchange.inputIsClosed)
      return .switchProtocols
    }
    if head.status.kind == .informational {
      exchange.interimCount += 1
      exchange.interimBytes += count
      guard exchange.interimCount <= Self.interimLimit.count,
        exchange.interimBytes <= Self.interimLimit.bytes
      else { throw MessageFault(502, "it has too many interim responses") }
      exchange.response = .interim
      self.exchange = exchange
      return .deliverInterim
    }
    let closes = head.headerFields.says("close")
    if head.status.code == 408, exchanges > 0, request.isRepeatable, closes {
      // It was sent to the idle connection, and does not answer this request (RFC 9110 §15.5.9).
      return .fail(Self.idleEnded(.unanswered))
    }
    progress = now
    var framing = try Framing(response: head, to: request.method)
    // A stream ends its content itself.
    if version == .http2, framing == .untilClose { framing = .chunked }
    if let hint = head.keepAliveSeconds {
      // One second before the origin closes it, so that it does not close during a request.
      idleLimit = Swift.min(longestIdle, .seconds(Swift.max(0, hint - 1)))
    }
    let persistence = version != .http10 && !closes ? Exchange.Persistence.persists : .closes
    self.exchange?.response = .content(framing == .untilClose ? .endsContent : persistence)
    return .deliver(framing)
  }

  /// Records that the response after an interim one is wanted.
  ///
  /// - Throws: the error that ended the connection, if it has ended.
  mutating func nextRequested() throws(OriginError) {
    guard exchange?.response == .interim else {
      if case .closed(let error?) = state { throw error }
      throw Self.noResponse
    }
    exchange?.response = .head
  }

  /// Records that the reader of the content wants more of it.
  mutating func contentWanted(at now: NIODeadline) {
    progress = now
  }

  /// Handles the end of the response. The connection is idle after it, or ends.
  ///
  /// - Parameter hasBytes: whether more bytes have arrived.
  mutating func responseEnded(hasBytes: Bool, at now: NIODeadline) -> Ending {
    guard let exchange else { return .none }
    exchanges += 1
    // An incomplete request, or an unrequested response, would disturb the next exchange.
    guard exchange.response == .content(.persists), exchange.upload == .nothing, !exchange.inputIsClosed,
      !hasBytes
    else {
      state = .closed(nil)
      return .quietly
    }
    state = .idle(since: now)
    return .none
  }

  /// The time after which an idle connection must not be used.
  var idleDeadline: NIODeadline? {
    if case .idle(let since) = state { since + idleLimit.timeAmount } else { nil }
  }

  // MARK: - Ending

  /// Whether the origin has closed the connection, and its last bytes are being processed.
  var inputIsClosed: Bool { exchange?.inputIsClosed == true }

  /// Handles the end of the input.
  ///
  /// - Parameter hasBytes: whether earlier bytes still wait.
  mutating func inputEnded(hasBytes: Bool) -> Ending {
    if case .switched = state {
      // Only a connection that has become a tunnel outlives the end of its input.
      state = .switched(inputIsClosed: true)
    } else if exchange?.response == .interim, hasBytes {
      // The bytes may be a response that has not been requested yet.
      exchange?.inputIsClosed = true
    } else {
      return end(nil, hasBytes: hasBytes)
    }
    return .none
  }

  /// Ends the connection.
  ///
  /// - Parameters:
  ///   - error: why; `nil` if the origin closed it, or nothing of it is needed any more.
  ///   - hasBytes: whether bytes of a response have arrived that were not processed.
  mutating func end(_ error: OriginError?, hasBytes: Bool) -> Ending {
    if case .closed = state { return .none }
    defer { state = .closed(error) }
    switch exchange?.response {
    case nil: return idleDeadline == nil ? .quietly : .idle
    case .interim: return .quietly
    case .head:
      var error = error ?? Self.noResponse
      if error.reach != .unsent, exchange?.interimCount == 0, !hasBytes { error.reach = .unanswered }
      return .head(error)
    case .content(.endsContent) where error == nil: return .content(nil)
    case .content:
      return .content(
        error ?? OriginError(.responseIncomplete, "the origin closed the connection during its response"))
    }
  }

  private static func idleEnded(_ reach: OriginError.Reach) -> OriginError {
    OriginError(.connectionTerminated, "the origin closed the idle connection", reach: reach)
  }

  private static var noResponse: OriginError {
    OriginError(.connectionTerminated, "the origin closed the connection without a response")
  }

  // MARK: - Time

  /// Maximum time for the next piece of the content.
  var contentTime: TimeAmount { timeouts.betweenBytes.timeAmount }

  /// Checks what the connection waits for, whenever its timer fires. Each connection has one timer, not one per request
  /// or read: a timer that fires early is set again.
  ///
  /// - Parameters:
  ///   - isContentAwaited: whether a reader waits for the next piece of the content.
  ///   - hasTaken: whether the origin has taken bytes of the request since the last check.
  ///   - isTaking: whether bytes of the request wait for the origin.
  /// - Returns: when to check again; `nil` if nothing has a time.
  /// - Throws: the error to end the connection with, if its time is over.
  mutating func checkTime(
    at now: NIODeadline, isContentAwaited: Bool, hasTaken: Bool, isTaking: Bool
  ) throws(OriginError) -> NIODeadline? {
    if let idleDeadline {
      guard idleDeadline <= now else { return idleDeadline }
      throw OriginError(.connectionTerminated, "the proxy closed the idle connection")
    }
    guard let exchange else { return nil }
    let isOriginsTurn =
      switch exchange.response {
      // The client's turn ends when it has sent a piece of its content, and the origin's when it has taken it.
      case .head: exchange.upload != .awaitsClient
      case .interim: true
      case .content: isContentAwaited
      }
    // While the connection waits for the client instead of the origin, only the client's own time-outs apply. An origin
    // that takes the request slowly responds later.
    if !isOriginsTurn || hasTaken { progress = now }
    let time = if case .content = exchange.response { timeouts.betweenBytes } else { timeouts.firstByte }
    let deadline = progress + time.timeAmount
    guard deadline <= now else {
      let mustTake = exchange.upload != .nothing || hasTaken || isTaking
      return mustTake ? Swift.min(deadline, now + PeerUptake.interval(within: time)) : deadline
    }
    if case .content = exchange.response {
      throw OriginError(.responseTimeout, "the origin was silent for \(time)")
    }
    throw OriginError(.responseTimeout, "the origin sent no final response within \(time)")
  }
}

extension HTTPResponse {
  /// RFC 9110 §7.8: the protocols that the origin switches to must be among those of the request.
  fileprivate func switches(toOneOf upgrade: String) -> Bool {
    func protocols(_ value: String) -> [String] {
      value.split(separator: ",").map { $0.trimmingOptionalWhitespace.lowercasedASCII }
    }
    let chosen = headerFields[.upgrade].map(protocols) ?? []
    return !chosen.isEmpty && Set(chosen).isSubset(of: protocols(upgrade))
  }

  /// How long the origin keeps an idle connection.
  fileprivate var keepAliveSeconds: Int64? {
    guard let field = headerFields.first(where: { $0.name.canonicalName == "keep-alive" }) else {
      return nil
    }
    for parameter in field.value.split(separator: ",") {
      let parts = parameter.split(separator: "=").map { $0.trimmingOptionalWhitespace.lowercasedASCII }
      if parts.count == 2, parts[0] == "timeout", let seconds = Int64(parts[1]), seconds >= 0 {
        return Swift.min(seconds, 86_400)
      }
    }
    return nil
  }
}
