// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking
  import HTTPCaching

  /// What the rest of the module asks about Foundation, for Foundation on Linux.
  ///
  /// The other files of this folder are the only ones that differ between platforms. `Platform+Darwin.swift` has the same
  /// members for Apple platforms. Code that depends on a constant is compiled on all of them.
  enum Platform {
    /// Whether a delegate may answer redirects and `Basic` challenges. If not, the transfer ends with the head of the
    /// response instead. No answer to a challenge ends the task, and an answer to a redirect can end the process.
    static let delegateMayAnswer = false

    /// Whether the settings of a configuration that this module compares are all that it has, so that sessions with equal
    /// settings may share a session to origins.
    static let comparesAllSettings = true

    /// Whether making a response takes so long that hits share it.
    static let sharesResponses = true

    /// Whether Foundation reads and writes field values as UTF-8; otherwise, as ISO 8859-1.
    static let fieldsAreUTF8 = true

    /// Whether a credential storage finds equal protection spaces that are not the same object.
    static let findsEqualSpaces = false

    /// Whether a task leads to its session, and that to its queue.
    static let readsSessions: Bool = {
      let session = URLSession(configuration: .ephemeral)
      defer { session.invalidateAndCancel() }
      let task = session.dataTask(with: URL(fileURLWithPath: "/"))
      return Self.session(of: task).flatMap(loadingQueue(of:)) != nil
    }()

    /// Returns the settings of a configuration that only this platform has.
    static func furtherSettings(of configuration: URLSessionConfiguration) -> [AnyHashable?] { [] }

    /// Returns the session that runs a task.
    static func session(of task: URLSessionTask) -> URLSession? {
      FoundationInternals.session.value(of: task)
    }

    /// Returns the queue on which a session starts its loads.
    static func loadingQueue(of session: URLSession) -> DispatchQueue? {
      FoundationInternals.workQueue.value(of: session)
    }

    /// Returns the thread of a load, called by `startLoading`; `nil` if `SessionQueue` decides where the client is called.
    static func clientThread() -> ClientThread? { nil }

    /// Makes a session that talks to origins.
    static func originSession(
      _ configuration: URLSessionConfiguration, _ delegate: any URLSessionDelegate
    ) -> URLSession {
      let queue = PacedQueue()
      let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
      queue.setReceiving(FoundationInternals.receivingQueue(of: session))
      return session
    }

    /// Makes a task that sends a request with its content.
    ///
    /// Foundation would read a file ahead on another thread, and ends the process if the task is cancelled meanwhile. And
    /// it cannot send data or a file a second time: when a connection that was open turns out to be closed, only the head
    /// would be repeated, and the origin would wait for the content. So all content is a stream, which it can ask for again.
    static func task(
      of session: URLSession, sending content: UploadedContent?, with request: URLRequest
    ) -> URLSessionDataTask {
      guard let content else { return session.dataTask(with: request) }
      var request = request
      request.httpBodyStream = stream(of: content)
      // Foundation sends the content of a stream in chunks, because it does not ask for the length. For libcurl, a field
      // with a blank value stands in for its own and is not sent.
      request.setValue("\(content.length)", forHTTPHeaderField: "Content-Length")
      request.setValue(" ", forHTTPHeaderField: "Transfer-Encoding")
      return session.dataTask(with: request)
    }

    /// Returns the error of a task as on Apple platforms.
    ///
    /// Foundation on Linux reports a connection that the origin closed without an answer as a bad response.
    ///
    /// - Parameter hasHead: whether the origin has answered.
    static func explained(_ error: any Error, hasHead: Bool) -> any Error {
      guard let error = error as? URLError, error.code == .badServerResponse, !hasHead else { return error }
      return URLError(
        .networkConnectionLost, error.failingURL, "The origin closed the connection without an answer.")
    }

    /// Returns the content of a request, from its first byte.
    static func stream(of content: UploadedContent) -> InputStream { ContentStream(content) }

    /// Does something on the delegate queue of a session to origins, before the calls that wait there.
    static func urgently(on queue: OperationQueue, _ work: @escaping @Sendable () -> Void) {
      if let queue = queue as? PacedQueue { queue.addUrgentOperation(work) } else { queue.addOperation(work) }
    }

    /// Called from a call on the delegate queue of a session to origins: does something when the calls are made that
    /// wait there.
    static func postpone(on queue: OperationQueue, _ work: @escaping @Sendable () -> Void) {
      if let queue = queue as? PacedQueue { queue.postpone(work) } else { work() }
    }

    /// Clears the memory of a cache when the system is short of it: Linux does not tell.
    static func watchMemory(of cache: HTTPCache) -> (any Sendable)? { nil }
  }

  extension URLProtocol {
    /// Forgets the client of a task that has its answer. Right after `stopLoading`, Foundation reports to the client that a
    /// cancelled task failed. After its answer, a task gets no further call.
    func forgetClient() { client = nil }
  }

  /// A cache that stores nothing.
  // Unchecked, as the superclass is.
  class EmptyURLCache: URLCache, @unchecked Sendable {
    init(withoutRoom: Void) { super.init(memoryCapacity: 0, diskCapacity: 0, diskPath: nil) }
  }
#endif
