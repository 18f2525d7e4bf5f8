// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// The states of a client's connection, what its machine is told, and what it answers.
extension ClientConnectionStateMachine {
  enum State: Hashable {
    /// There is no connection yet.
    case opening
    /// A header of the PROXY protocol comes first. It has the time of a request's head, or of an idle connection if that is
    /// shorter.
    ///
    /// - Parameter since: when the connection opened.
    case proxyHeader(since: NIODeadline)
    /// The head of a request comes next.
    ///
    /// - Parameter since: when its first bytes came; `nil` while there are none.
    case head(since: NIODeadline?)
    case answering(Exchange)
    /// The protocols were switched, and other handlers carry the bytes.
    ///
    /// - Parameter sent: the bytes that the client was sent since; known at the end.
    case tunnel(sent: Int)
    /// The last response is written. What the client still sends is discarded until it closes.
    case ending
    case closed
  }

  /// A request in flight, and how far its response has come.
  struct Exchange: Hashable {
    /// Content of the request.
    enum Content: Hashable {
      /// The request has no content, or all of it arrived. The bytes that follow belong to the next request.
      case whole
      /// More of it comes.
      ///
      /// - Parameters:
      ///   - left: how many bytes more are accepted.
      ///   - isWanted: whether somebody reads it. Until then the client may wait for 100 (Continue).
      case coming(left: Int, isWanted: Bool)
    }

    var content = Content.whole
    /// Whether the client waits for 100 (Continue) before it sends the content.
    var expectsContinue = false
    /// Whether the client knows interim responses: not in HTTP/1.0.
    var acceptsInterim = true
    /// Whether the connection ends with the response.
    var closes = false
    /// Whether the head of the final response was written.
    var hasHead = false
    var framing = ResponseFraming.none
    /// How many bytes of the response's content were written.
    var sent = 0

    /// Whether all of the response was written.
    var isWhole: Bool {
      switch framing {
      case .none: hasHead
      case .length(let count): sent == count
      case .chunked, .untilClose: false
      }
    }
  }

  /// What is done with bytes that came.
  enum Reception: Hashable {
    case process
    case discard
    case leave(Action)
  }

  /// What the bytes that have come are.
  enum Input: Hashable {
    case proxyHeader
    case head
    case content
    /// They wait.
    case nothing
  }

  /// Whether more is read from the socket.
  enum ReadDemand: Hashable {
    case none
    case read
    /// If whoever reads the content has room for more.
    case readContent
  }

  /// What the rules of the connection need to know of a request.
  struct Request: Hashable {
    var framing = Framing.none
    /// Whether it asks to end the connection.
    var closes = false
    var expectsContinue = false
    var acceptsInterim = true
    var wantsUpgrade = false
    /// Whether it must not be passed on (RFC 9110 §7.6.2).
    var isAnsweredHere = false
    var isTrace = false
  }

  /// Who answers a request.
  enum Answerer: Hashable {
    /// The cache; all of the request is there.
    case cache
    /// The cache; the content of the request follows.
    case cacheWithContent
    /// The proxy, as the last recipient.
    case proxy
    /// The origin, which is asked to switch protocols.
    case upgrade
    case refusal(Action)
  }

  /// How a piece of the response's content is written.
  enum Piece: Hashable {
    case skip
    case plain
    case chunk
    /// Not: there is more than the head says.
    case overrun
  }

  /// How the content of the response ends.
  enum Ending: Hashable {
    case nothing
    /// With the last chunk, which has no bytes, and the trailers.
    case lastChunk
    /// Not: there is less than the head says.
    case shortfall
  }

  /// What to do after an event.
  enum Action: Hashable {
    case none
    /// Look at the timer again when the head of the request has had its time.
    case awaitHead
    case armTimer(at: NIODeadline)
    /// Send an interim response: 100 (Continue).
    case writeContinue
    /// Answer what is wrong, give up the request in flight, and end the connection as for ``end``.
    ///
    /// - Parameter since: when the request began to come.
    case refuse(MessageFault, since: NIODeadline)
    /// Tell the reader of the request's content that there will be no more.
    case failContent(MessageFault, closes: Bool)
    /// Write what is to be written still; then report ``endWritten()``.
    case end
    /// Close the sending half, and wait for the client to close the other.
    case closeOutput
    /// - Parameter isAborted: whether a response is cut off.
    case close(isAborted: Bool)
    /// Cancel the request in flight, and close: the client has stalled.
    case giveUp
    /// Close so that the client sees a failure: the end of the connection would be the end of the content.
    case reset
  }
}
