// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// The states of a client's connection, the events of its machine, and the machine's answers.
extension ClientConnectionStateMachine {
  enum State: Hashable {
    /// There is no connection yet.
    case opening
    /// The head of a request comes next.
    ///
    /// - Parameter since: when its first bytes arrived; `nil` before that.
    case head(since: NIODeadline?)
    case answering(Exchange)
    /// The protocols were switched, and other handlers forward the bytes.
    ///
    /// - Parameter sent: the bytes that the client was sent since; known at the end.
    case tunnel(sent: Int)
    /// The last response is being written. Further bytes from the client are discarded.
    ///
    /// - Parameter lingers: whether the client may still send.
    case ending(lingers: Bool)
    /// The sending half is closed. Further bytes from the client are discarded until it closes the other half.
    case lingering
    case closed
  }

  /// A request in flight, and the progress of its response.
  struct Exchange: Hashable {
    /// Content of the request.
    enum Content: Hashable {
      /// The request has no content, or all of it has arrived. The bytes that follow belong to the next request.
      case whole
      /// More content follows.
      ///
      /// - Parameters:
      ///   - left: the number of further bytes that are accepted.
      ///   - isWanted: whether a reader wants it. Until then the client may wait for 100 (Continue).
      case coming(left: Int, isWanted: Bool)
    }

    var content = Content.whole
    /// Whether the client waits for 100 (Continue) before it sends the content.
    var expectsContinue = false
    /// Whether the client supports interim responses; HTTP/1.0 does not.
    var acceptsInterim = true
    /// Whether the connection ends with the response.
    var closes = false
    /// Whether the client has announced that it sends no more requests, and sends no content. (Some send an empty line
    /// after their content, RFC 9112 §2.2.)
    var isClientsLast = false
    /// Whether the head of the final response was written.
    var hasHead = false
    var framing = ResponseFraming.none
    /// Number of bytes of the response's content that were written.
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

  /// What to do with received bytes.
  enum Reception: Hashable {
    case process
    case discard
    case leave(Action)
  }

  /// What the received bytes are.
  enum Input: Hashable {
    case head
    case content
    /// The bytes wait.
    case nothing
  }

  /// Whether to read more from the socket.
  enum ReadDemand: Hashable {
    case none
    case read
    /// Read if the reader of the content has room for more.
    case readContent
  }

  /// The properties of a request that the rules of the connection need.
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
    case refusal(Action)
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

  /// What to do after an event.
  enum Action: Hashable {
    case none
    /// Check the timer again when the time for the request's head is over.
    case awaitHead
    case armTimer(at: NIODeadline)
    /// Send an interim response: 100 (Continue).
    case writeContinue
    /// Send an error response, give up the request in flight, and end the connection as for ``end``.
    ///
    /// - Parameter since: when the request began to arrive.
    case refuse(MessageFault, since: NIODeadline)
    /// Tell the reader of the request's content that no more follows.
    case failContent(MessageFault, closes: Bool)
    /// Write the remaining output, then report ``endWritten()``.
    case end
    /// Close the sending half, and wait for the client to close the other.
    case closeOutput
    /// - Parameter isAborted: whether a response is cut off.
    case close(isAborted: Bool)
    /// Cancel the request in flight, and close: the client has stalled.
    case giveUp
    /// Close so that the client sees a failure: a normal end would look like the end of the content.
    case reset
  }
}
