// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCaching
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The transport to origins: a `URLSession` without a cache and without this module's protocols.
///
/// Its configuration does not list the protocol, so the protocol never calls itself.
final class OriginSession: Sendable {
  private let session: URLSession
  private let transfers: Transfers

  /// - Parameter configuration: without a cache and this module's protocols.
  init(_ configuration: URLSessionConfiguration, _ authenticate: CachingOptions.Authenticate?) {
    transfers = Transfers(authenticate)
    session = Platform.originSession(configuration, transfers)
  }

  deinit {
    session.finishTasksAndInvalidate()
  }

  /// Sends a request; returns when the head of the response has arrived.
  ///
  /// - Parameters:
  ///   - body: the content. Foundation reads that of a file piece by piece.
  ///   - template: the request that supplies everything except the head: timeouts, priorities and the like.
  ///   - challenge: receives the credentials for the next attempt.
  ///   - progress: called with the bytes of content that have been sent, and all of them.
  ///   - lease: kept until the transfer is complete.
  func send(
    _ request: HTTPRequest, body: MessageBody, like template: URLRequest, challenge: BasicChallenge,
    willSend: (@Sendable (URLRequest) throws -> URLRequest)?, progress: HTTPCacheSession.Progress?,
    lease: OriginSessions.Lease
  ) async throws -> TransportResponse {
    var outgoing = template
    // The session's transport may be wrapped to send requests elsewhere. An unchanged URL stays as the caller wrote it.
    if let asked = HTTPRequest(template),
      (asked.scheme, asked.authority, asked.path) != (request.scheme, request.authority, request.path)
    {
      guard let url = request.url else {
        throw URLError(
          .badURL, template.url, "The wrapped transport changed the request to one without a valid URL.")
      }
      outgoing.url = url
    }
    outgoing.url = outgoing.url?.withLowercaseScheme
    outgoing.cachePolicy = .reloadIgnoringLocalCacheData
    for name in (outgoing.allHTTPHeaderFields ?? [:]).keys {
      outgoing.setValue(nil, forHTTPHeaderField: name)
    }
    for (name, value) in request.headerFields.dictionary {
      outgoing.setValue(value, forHTTPHeaderField: name)
    }
    outgoing.httpMethod = request.method.rawValue
    outgoing.httpBodyStream = nil
    outgoing.httpBody = nil
    var (body, content) = (body, try await UploadedContent(body))
    switch content {
    case .bytes(let bytes)?: outgoing.httpBody = bytes
    // For the application's closure to read.
    case .file(let path, _)?:
      outgoing.httpBodyStream = willSend.flatMap { _ in InputStream(fileAtPath: path.string) }
    case nil: break
    }
    if let willSend {
      let given = outgoing.httpBodyStream
      outgoing = try willSend(outgoing)
      if let bytes = outgoing.httpBody {
        content = bytes.isEmpty ? nil : .bytes(bytes)
      } else if let stream = outgoing.httpBodyStream, stream !== given,
        let changed = StreamedContent(outgoing)
      {
        body = try await changed.content()
        content = try await UploadedContent(body)
      } else if case .bytes? = content {
        content = nil
      }
    }
    outgoing.httpBodyStream = nil
    outgoing.httpBody = nil
    let task = Platform.task(of: session, sending: content, with: outgoing)
    // A temporary file is removed with the content.
    defer { withExtendedLifetime(body) {} }
    return try await transfers.start(
      SessionTransfer(task, content, session.delegateQueue, challenge, progress, lease), task)
  }
}

extension URL {
  /// The same URL, for Foundation on Linux, which does not know `HTTP` (RFC 9110 §4.2.3).
  fileprivate var withLowercaseScheme: URL {
    guard let scheme, scheme != scheme.lowercasedASCII,
      var components = URLComponents(url: self, resolvingAgainstBaseURL: true)
    else { return self }
    components.scheme = scheme.lowercasedASCII
    return components.url ?? self
  }
}

/// The transfers of one session, by task.
private final class Transfers: NSObject, URLSessionDataDelegate, Sendable {
  private let running = MutexBox<[Int: SessionTransfer]>([:])
  private let authenticate: CachingOptions.Authenticate?

  init(_ authenticate: CachingOptions.Authenticate?) {
    self.authenticate = authenticate
  }

  func start(_ transfer: SessionTransfer, _ task: URLSessionTask) async throws -> TransportResponse {
    running.mutex.withLock { $0[task.taskIdentifier] = transfer }
    return try await transfer.response()
  }

  private func transfer(_ task: URLSessionTask) -> SessionTransfer? {
    running.mutex.withLock { $0[task.taskIdentifier] }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    transfer(dataTask)?.received(response)
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    transfer(dataTask)?.received(data)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    guard let transfer = transfer(task) else { return }
    transfer.progress?(transfer.byteCount(ofAll: totalBytesSent), transfer.content?.length)
  }

  /// The server has closed a connection that was open, before it answered: the content is sent once more.
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping (InputStream?) -> Void
  ) {
    let transfer = transfer(task)
    transfer?.beginAgain(after: task.countOfBytesSent)
    completionHandler(transfer?.content.map { Platform.stream(of: $0) })
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    running.mutex.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.completed(error)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    let asked = OriginChallenge(value: challenge, task: task, session: session, complete: completionHandler)
    guard let transfer = transfer(task) else { return fail(asked, CancellationError()) }
    let isBasic = BasicChallenge.isOne(challenge)
    // Its content was too long to wait for the challenge.
    if isBasic, !transfer.isHeadWaiting { return decline(asked) }
    transfer.challenge.ask(challenge, authenticate) { [self] answer in
      guard let answer else { return fail(asked, TransportAbandoned()) }
      guard isBasic else { return asked.complete(answer.disposition, answer.credential) }
      if authenticate == nil, answer.disposition == .cancelAuthenticationChallenge {
        return fail(asked, URLError(.cancelled))
      }
      transfer.challenge.take(answer, to: asked.value, session.configuration.urlCredentialStorage)
      decline(asked)
    }
  }

  /// Leaves a `Basic` challenge unanswered: its response is passed on, and the request is sent again with credentials.
  private func decline(_ asked: OriginChallenge) {
    guard Platform.delegateMayAnswer else {
      guard let head = asked.value.failureResponse as? HTTPURLResponse else { return }
      return end(asked.task, with: head, on: asked.session.delegateQueue)
    }
    asked.complete(.rejectProtectionSpace, nil)
  }

  /// Ends a transfer whose challenge must not be answered.
  private func fail(_ asked: OriginChallenge, _ error: any Error) {
    running.mutex.withLock { $0.removeValue(forKey: asked.task.taskIdentifier) }?.completed(error)
    guard Platform.delegateMayAnswer else {
      return SessionTransfer.cancel(asked.task, on: asked.session.delegateQueue)
    }
    asked.complete(.cancelAuthenticationChallenge, nil)
  }

  /// Here, redirects are ordinary responses: each hop goes through the cache.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
  ) {
    guard Platform.delegateMayAnswer else { return end(task, with: response, on: session.delegateQueue) }
    transfer(task)?.note(response)
    completionHandler(nil)
  }

  /// Ends a transfer with the head of a redirect or of a challenge, where neither may be answered. Foundation passes it on
  /// when it has all of the content.
  ///
  /// No answer to a challenge ends the task. An answer to a redirect ends the process if the task was cancelled before, or
  /// if its timeout passed while this call waited for the queue; that leaves no trace in the task. A cancelled task that is
  /// complete leaves its connection open for the next.
  private func end(_ task: URLSessionTask, with head: HTTPURLResponse, on queue: OperationQueue) {
    let transfer = running.mutex.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    transfer?.note(head)
    transfer?.completed(nil)
    SessionTransfer.cancel(task, on: queue)
  }
}

/// A challenge of an origin, and Foundation's handler for its answer.
private struct OriginChallenge: @unchecked Sendable {
  // Unchecked: a challenge does not change after it was made. Any thread may call the handler.
  let value: URLAuthenticationChallenge
  let task: URLSessionTask
  let session: URLSession
  let complete: (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
}

/// One request to an origin: its head as soon as it arrives, followed by its content as a stream.
private final class SessionTransfer: Sendable {
  private struct State {
    var waiting: CheckedContinuation<TransportResponse, any Error>?
    /// Whether the task is complete; a cancellation can come before a caller waits.
    var isComplete = false
    /// The content for its reader, until the head is passed on. Then only the reader holds it, and can leave.
    var content: ArrivingContent?
    /// The head of a redirect or of a challenge, kept until the task is complete.
    var kept: HTTPResponse?
    /// Bytes of content that have arrived for a head that has not been passed on.
    var keptByteCount = 0
    /// Bytes of the request's content that were sent before it had to be sent again.
    var sentBefore: Int64 = 0
  }

  /// Maximum bytes of content that arrive while the head of a challenge is kept.
  private static let keptLimit = 1 << 20

  let challenge: BasicChallenge
  let progress: HTTPCacheSession.Progress?
  /// The content of the request; `nil` if it has none.
  let content: UploadedContent?
  private let task: URLSessionDataTask
  private let lease: OriginSessions.Lease
  /// The session's delegate queue.
  private let queue: OperationQueue
  private let state = Mutex(State())
  private let arrivals: ArrivingContent.Arrivals

  init(
    _ task: URLSessionDataTask, _ content: UploadedContent?, _ queue: OperationQueue,
    _ challenge: BasicChallenge, _ progress: HTTPCacheSession.Progress?, _ lease: OriginSessions.Lease
  ) {
    self.task = task
    self.content = content
    self.queue = queue
    self.challenge = challenge
    self.progress = progress
    self.lease = lease
    // If the reader leaves before the end, the rest is not needed.
    let (arriving, arrivals) = ArrivingContent.make { Self.cancel(task, on: queue) }
    self.arrivals = arrivals
    state.withLock { $0.content = arriving }
  }

  /// Cancels a task on the session's delegate queue, between two calls of the delegate.
  ///
  /// On Linux the end of the last of these calls marks the task complete, and then has it removed from the session's
  /// table. A cancellation between the two looks up the removed task, and that ends the process. On this queue, it comes
  /// wholly before or after them.
  static func cancel(_ task: URLSessionTask, on queue: OperationQueue) {
    Platform.urgently(on: queue) { task.cancel() }
  }

  func response() async throws -> TransportResponse {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isComplete = state.withLock { state in
          if !state.isComplete { state.waiting = continuation }
          return state.isComplete
        }
        if isComplete {
          continuation.resume(throwing: CancellationError())
        } else {
          task.resume()
        }
      }
    } onCancel: {
      Self.cancel(task, on: queue)
    }
  }

  /// Notes that the content of the request is sent again, when so many bytes of it have been sent.
  func beginAgain(after byteCount: Int64) { state.withLock { $0.sentBefore = byteCount } }

  /// Returns how much of the content has been sent this time.
  func byteCount(ofAll sent: Int64) -> Int {
    let before = state.withLock { $0.sentBefore }
    // A call from before may still have waited for the queue.
    return Int(sent > before ? sent - before : sent)
  }

  /// Whether the head has not been passed on.
  var isHeadWaiting: Bool { state.withLock { $0.waiting != nil } }

  func received(_ response: URLResponse) {
    guard let head = Self.head(of: response) else { return }
    // Foundation on Linux also delivers the head of each interim response (RFC 9110 §15.2).
    if head.status.kind == .informational, head.status != .switchingProtocols { return }
    // Foundation on Linux delivers all of the content before it delivers the challenge.
    if !Platform.delegateMayAnswer, head.status == .unauthorized, BasicChallenge.isOne(in: head) {
      return state.withLock { $0.kept = head }
    }
    passOn(head)
  }

  private func passOn(_ head: HTTPResponse) {
    let content = state.withLock { state in
      defer { state.content = nil }
      return state.content
    }
    takeWaiting()?.resume(
      returning: TransportResponse(head: head, body: content.map { MessageBody($0) } ?? .empty))
  }

  func note(_ redirect: HTTPURLResponse) {
    state.withLock { $0.kept = Self.head(of: redirect) }
  }

  private static func head(of response: URLResponse?) -> HTTPResponse? {
    guard var head = (response as? HTTPURLResponse)?.head else { return nil }
    ContentDecoding.normalize(&head)
    return head
  }

  private func takeWaiting() -> CheckedContinuation<TransportResponse, any Error>? {
    state.withLock { state in
      defer { state.waiting = nil }
      return state.waiting
    }
  }

  func received(_ data: Data) {
    arrivals.add(data) { Platform.postpone(on: queue, $0) }
    let head = state.withLock { state -> HTTPResponse? in
      guard state.waiting != nil else { return nil }
      state.keptByteCount += data.count
      return state.keptByteCount > Self.keptLimit ? state.kept : nil
    }
    if let head { passOn(head) }
  }

  func completed(_ error: (any Error)?) {
    challenge.withdraw()
    let (kept, hasContent) = state.withLock { state in
      state.isComplete = true
      return (state.kept, state.keptByteCount > 0)
    }
    let error = error.map { Platform.explained($0, hasHead: !isHeadWaiting) }
    // Foundation on Linux delivers the head of a redirect that it cannot follow with the task only.
    if error == nil, isHeadWaiting, var head = kept ?? Self.head(of: task.response) {
      // Foundation drops the content of redirects that it can follow, so a length would be wrong.
      if !hasContent, task.originalRequest?.httpMethod != "HEAD" { head.headerFields[.contentLength] = nil }
      passOn(head)
    }
    takeWaiting()?.resume(throwing: error ?? URLError(.badServerResponse))
    arrivals.end(error)
  }
}
