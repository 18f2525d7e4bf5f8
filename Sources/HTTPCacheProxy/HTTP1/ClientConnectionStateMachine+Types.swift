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
    case answering(Answering)
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

  /// A request in flight, and what becomes of the connection after it.
  struct Answering: Hashable {
    var exchange: Exchange
    /// Whether the connection ends with the response.
    var closes: Bool
    /// Whether the client has announced that it sends no more requests, and sends no content. (Some send an empty line
    /// after their content, RFC 9112 §2.2.)
    let isClientsLast: Bool
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
