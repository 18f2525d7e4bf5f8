// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// A client's request in flight, and the progress of its response: the rules that hold in every version of HTTP.
///
/// It is a part of the state of ``ClientConnectionStateMachine`` and of ``ClientStreamStateMachine``.
struct Exchange: Hashable {
  /// Content of the request.
  enum Content: Hashable {
    /// The request has no content, or all of it has arrived.
    case whole
    /// More content follows.
    ///
    /// - Parameters:
    ///   - left: the number of further bytes that are accepted.
    ///   - isWanted: whether a reader wants it. Until then the client may wait for 100 (Continue).
    case coming(left: Int, isWanted: Bool)
  }

  /// The properties of a request that the rules need.
  struct Request: Hashable {
    var framing = Framing.none
    /// Whether the request asks to end the connection.
    var closes = false
    var expectsContinue = false
    var acceptsInterim = true
    var wantsUpgrade = false
    /// Whether the proxy must not forward it (RFC 9110 §7.6.2).
    var isAnsweredHere = false
    var isTrace = false
  }

  /// The answerer of a request.
  enum Answerer: Hashable {
    /// The cache; the request has arrived completely.
    case cache
    /// The cache; the content of the request follows.
    case cacheWithContent
    /// The proxy, as the last recipient.
    case proxy
    /// The origin, with a request to switch protocols.
    case upgrade
  }

  /// How to write a piece of the response's content.
  enum Piece: Hashable {
    case skip
    case plain
    case chunk
    /// Do not write it: the content is longer than the head says.
    case overrun
  }

  /// How to end the content of the response.
  enum Ending: Hashable {
    case nothing
    /// Write the last chunk, which has no bytes, and the trailers.
    case lastChunk
    /// Do not end it normally: the content is shorter than the head says.
    case shortfall
  }

  /// Whose turn it is.
  enum Turn: Hashable {
    /// The client must take the bytes that were written.
    case takes
    /// The client must send content that is wanted.
    case sends
    /// The client waits.
    case waits
  }

  let answerer: Answerer
  private(set) var content = Content.whole
  /// Whether the client waits for 100 (Continue) before it sends the content.
  private let expectsContinue: Bool
  /// Whether the client supports interim responses; HTTP/1.0 does not.
  private let acceptsInterim: Bool
  /// Whether the head of the final response was written.
  private(set) var hasHead = false
  private(set) var framing = ResponseFraming.none
  /// Number of bytes of the response's content that were written.
  private(set) var sent = 0

  /// Begins with the complete head of a request.
  ///
  /// - Parameter contentLimit: maximum bytes of its content.
  init(_ request: Request, contentLimit: Int, allowsUpgrade: Bool) throws(MessageFault) {
    (expectsContinue, acceptsInterim) = (request.expectsContinue, request.acceptsInterim)
    if request.wantsUpgrade {
      guard allowsUpgrade else { throw MessageFault(501, "upgrades are not supported") }
      answerer = .upgrade
    } else if request.isAnsweredHere {
      answerer = .proxy
    } else if request.framing == .none {
      answerer = .cache
    } else {
      if case .length(let count) = request.framing, count > contentLimit {
        throw MessageFault(413, "the content of the request has more than \(contentLimit) bytes")
      }
      if request.isTrace { throw MessageFault("TRACE must not have content (RFC 9110 §9.3.8)") }
      answerer = .cacheWithContent
      content = .coming(left: contentLimit, isWanted: false)
    }
  }

  // MARK: - The request

  /// Records that the content is wanted now.
  ///
  /// - Returns: whether 100 (Continue) must be sent (RFC 9110 §10.1.1); `nil` if nothing changes.
  mutating func contentWanted() -> Bool? {
    guard case .coming(let left, false) = content else { return nil }
    content = .coming(left: left, isWanted: true)
    // Not after the final response.
    return expectsContinue && !hasHead
  }

  /// Counts a piece of the content.
  mutating func contentReceived(_ count: Int) throws(MessageFault) {
    guard case .coming(let left, let isWanted) = content else { return }
    guard count <= left else { throw MessageFault(413, "the content of the request is too large") }
    content = .coming(left: left - count, isWanted: isWanted)
  }

  /// Records that no more content comes.
  mutating func contentEnded() { content = .whole }

  // MARK: - The response

  /// Whether an interim response may be sent: before the final one, and not to clients of HTTP/1.0 (RFC 9110 §15.2).
  var allowsInterim: Bool { !hasHead && acceptsInterim }

  /// Records that the head of the final response will be written next.
  mutating func responseBegan(_ framing: ResponseFraming) {
    hasHead = true
    self.framing = framing
  }

  /// Records that a piece of the response's content will be written next.
  mutating func contentSent(_ count: Int) -> Piece {
    sent += count
    return switch framing {
    case .none: .skip
    case .length(let length): sent > length ? .overrun : .plain
    case .untilClose: .plain
    case .chunked: count == 0 ? .skip : .chunk
    }
  }

  /// How to end the content of the response, after its last piece.
  var ending: Ending {
    switch framing {
    case .chunked: .lastChunk
    case .length(let length): sent < length ? .shortfall : .nothing
    case .none, .untilClose: .nothing
    }
  }

  /// Number of content bytes that were sent, for the log.
  var contentBytes: Int { framing == .none ? 0 : sent }

  /// Whether all of the response was written.
  var isWhole: Bool {
    switch framing {
    case .none: hasHead
    case .length(let count): sent == count
    case .chunked, .untilClose: false
    }
  }

  // MARK: - Time

  /// Whose turn it is, which a time-out must know: if the client waits, it waits for the origin, whose time is measured
  /// elsewhere.
  ///
  /// - Parameters:
  ///   - mustTake: whether the client has bytes to take.
  ///   - isContentAwaited: whether a reader waits for the next piece of the request's content.
  func turn(mustTake: Bool, isContentAwaited: Bool) -> Turn {
    mustTake ? .takes : content != .whole && isContentAwaited ? .sends : .waits
  }
}

extension Exchange.Request {
  init(_ request: ClientRequest, _ service: ClientConnection.Service) {
    let method = request.request.method
    self.init(
      framing: request.framing, closes: request.closes, expectsContinue: request.expectsContinue,
      acceptsInterim: request.version != .http10,
      wantsUpgrade: request.upgrade != nil && method.rawValue != "PURGE" && service == .answers,
      isAnsweredHere: request.maxForwards == 0 || service != .answers,
      isTrace: request.framing != .none && method == .trace)
  }
}
