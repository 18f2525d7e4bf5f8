// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching
import HTTPTypes
import HTTPTypesFoundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The transport to origins: a `URLSession` without a cache and without this module's protocols.
///
/// Its configuration does not list the protocol, so the protocol never calls itself.
final class OriginSession: Sendable {
  /// The content codings that Foundation can decode on every platform.
  static let acceptEncoding = "gzip, deflate"

  private let session: URLSession
  private let transfers: Transfers

  init(_ configuration: URLSessionConfiguration, authenticate: CachingOptions.Authenticate?) {
    let copy = (configuration.copy() as? URLSessionConfiguration) ?? .default
    copy.protocolClasses = copy.protocolClasses?.filter { !($0 is CachingURLProtocol.Type) }
    copy.urlCache = nil
    copy.requestCachePolicy = .reloadIgnoringLocalCacheData
    transfers = Transfers(authenticate)
    session = URLSession(configuration: copy, delegate: transfers, delegateQueue: nil)
  }

  deinit {
    session.finishTasksAndInvalidate()
  }

  /// Sends a request; returns when the head of the response has arrived.
  ///
  /// - Parameters:
  ///   - template: the request that supplies everything except the head: timeouts, priorities and the like.
  ///   - challenge: receives the credentials for the next attempt.
  func send(
    _ request: HTTPRequest, body: MessageBody, like template: URLRequest, challenge: BasicChallenge
  ) async throws -> TransportResponse {
    var outgoing = template
    outgoing.cachePolicy = .reloadIgnoringLocalCacheData
    for name in (outgoing.allHTTPHeaderFields ?? [:]).keys {
      outgoing.setValue(nil, forHTTPHeaderField: name)
    }
    for (name, value) in URLRequest(httpRequest: request)?.allHTTPHeaderFields ?? [:] {
      outgoing.setValue(value, forHTTPHeaderField: name)
    }
    outgoing.httpMethod = request.method.rawValue
    outgoing.httpBodyStream = nil
    let content = try await body.collect(upTo: .max)
    outgoing.httpBody = content.isEmpty ? nil : Data(content)
    return try await transfers.start(session.dataTask(with: outgoing), session.delegateQueue, challenge)
  }
}

/// The transfers of one session, by task.
private final class Transfers: NSObject, URLSessionDataDelegate, Sendable {
  private let running = Mutex<[Int: Transfer]>([:])
  private let authenticate: CachingOptions.Authenticate?

  init(_ authenticate: CachingOptions.Authenticate?) {
    self.authenticate = authenticate
  }

  func start(
    _ task: URLSessionDataTask, _ queue: OperationQueue, _ challenge: BasicChallenge
  ) async throws -> TransportResponse {
    let transfer = Transfer(task, queue, challenge)
    running.withLock { $0[task.taskIdentifier] = transfer }
    return try await transfer.response()
  }

  private func transfer(_ task: URLSessionTask) -> Transfer? {
    running.withLock { $0[task.taskIdentifier] }
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

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    running.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.completed(error)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    if let unauthorized = challenge.failureResponse as? HTTPURLResponse, BasicChallenge.isOne(challenge) {
      let transfer = transfer(task)
      transfer?.challenge.answer(challenge, authenticate, session.configuration.urlCredentialStorage)
      #if canImport(FoundationNetworking)
        // Foundation ends the task in neither way, and does not pass on the content.
        running.withLock { $0[task.taskIdentifier] = nil }
        transfer?.note(unauthorized)
        transfer?.completed(nil)
        task.cancel()
      #else
        completionHandler(.rejectProtectionSpace, nil)
      #endif
      return
    }
    let (disposition, credential) = authenticate?(challenge) ?? (.performDefaultHandling, nil)
    completionHandler(disposition, credential)
  }

  /// Here, redirects are ordinary responses: each hop goes through the cache. The head is passed on when the task is
  /// complete: Foundation on Linux drops the content.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
  ) {
    transfer(task)?.note(response)
    #if canImport(FoundationNetworking)
      // A cancelled task expects no answer, and an answer would end the process. No task is cancelled during this call.
      guard task.state == .running else { return }
    #endif
    completionHandler(nil)
  }
}

/// One request to an origin: its head as soon as it arrives, followed by its content as a stream.
private final class Transfer: Sendable {
  private struct State {
    var waiting: CheckedContinuation<TransportResponse, any Error>?
    /// Whether the task is complete; a cancellation can come before a caller waits.
    var isComplete = false
    /// The head of a redirect or of a challenge, kept until the task is complete.
    var redirect: HTTPResponse?
  }

  let challenge: BasicChallenge
  private let task: URLSessionDataTask
  /// The session's delegate queue.
  private let queue: OperationQueue
  private let state = Mutex(State())
  private let content: AsyncThrowingStream<ArraySlice<UInt8>, any Error>
  private let sink: AsyncThrowingStream<ArraySlice<UInt8>, any Error>.Continuation

  init(_ task: URLSessionDataTask, _ queue: OperationQueue, _ challenge: BasicChallenge) {
    self.task = task
    self.queue = queue
    self.challenge = challenge
    (content, sink) = AsyncThrowingStream.makeStream()
    sink.onTermination = { [task, queue] end in
      // The reader left before the end, so the rest is not needed.
      if case .cancelled = end { Self.cancel(task, on: queue) }
    }
  }

  /// Cancels a task on the session's delegate queue, between two calls of the delegate.
  ///
  /// On Linux the end of the last of these calls marks the task complete, and then has it removed from the session's
  /// table. A cancellation between the two looks up the removed task, and that ends the process. The answer to a
  /// redirect after a cancellation does the same. On this queue, each comes wholly before or after the other.
  private static func cancel(_ task: URLSessionTask, on queue: OperationQueue) {
    queue.addOperation { task.cancel() }
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

  func received(_ response: URLResponse) {
    guard let head = Self.head(of: response) else { return }
    takeWaiting()?.resume(returning: TransportResponse(head: head, body: MessageBody(content)))
  }

  func note(_ redirect: HTTPURLResponse) {
    state.withLock { $0.redirect = Self.head(of: redirect) }
  }

  private static func head(of response: URLResponse) -> HTTPResponse? {
    guard let response = response as? HTTPURLResponse, var head = response.httpResponse else { return nil }
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
    if !data.isEmpty { sink.yield(ArraySlice(data)) }
  }

  func completed(_ error: (any Error)?) {
    let redirect = state.withLock { state in
      state.isComplete = true
      return state.redirect
    }
    if let waiting = takeWaiting() {
      if error == nil, var redirect {
        // Foundation drops the content of these responses, so a length would be wrong.
        redirect.headerFields[.contentLength] = nil
        waiting.resume(returning: TransportResponse(head: redirect))
      } else {
        waiting.resume(throwing: error ?? URLError(.badServerResponse))
      }
    }
    sink.finish(throwing: error)
  }
}

/// Foundation passes on decoded content, but leaves the fields that describe the encoded content.
enum ContentDecoding {
  /// Removes the fields that are invalid for decoded content: the coding, and the length, positions and digest of the
  /// encoded bytes. A part without a position is not stored.
  static func normalize(_ head: inout HTTPResponse) {
    guard let coding = head.headerFields[.contentEncoding]?.lowercased(), coding != "identity" else { return }
    head.headerFields[.contentEncoding] = nil
    head.headerFields[.contentLength] = nil
    head.headerFields[.contentRange] = nil
    for name in digests { head.headerFields[name] = nil }
  }

  /// Digests of the encoded bytes (RFC 9530 §2, §3).
  private static let digests = ["Content-Digest", "Repr-Digest", "Content-MD5"].compactMap {
    HTTPField.Name($0)
  }
}
