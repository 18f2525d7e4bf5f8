// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The loads of one protocol object.
package final class ProtocolLoads: Sendable {
  private struct State {
    var load = LoadState()
    var challenges = PendingChallenges<ChallengeQuestion>()
  }

  private let state = Mutex(State())

  package init() {}

  /// Begins a load; `nil` if the task has its answer, and must not be sent again. Called by `startLoading`.
  package func start(_ object: URLProtocol) -> ClientLoad? { start(object, on: Platform.clientThread()) }

  /// - Parameter thread: the thread that calls; `nil` if `SessionQueue` decides where the client is called.
  func start(_ object: URLProtocol, on thread: ClientThread?) -> ClientLoad? {
    let begun = state.withLock { state -> (number: Int, stream: StreamedContent?)? in
      guard let number = state.load.start() else { return nil }
      state.challenges.open()
      return (number, state.load.stream(of: object.request))
    }
    return begun.map { ClientLoad(object, $0.number, $0.stream, self, thread) }
  }

  /// Ends the load that runs: the client takes nothing more of it. Called by `stopLoading`.
  package func stop(_ object: URLProtocol) {
    let (task, questions) = state.withLock { state in
      if state.load.isAnswered { object.forgetClient() }
      return (state.load.stop(), state.challenges.close())
    }
    task?.cancel()
    for question in questions { question.answer(nil) }
  }

  // MARK: - For a load

  fileprivate func note(_ task: Task<Void, Never>, of number: Int) -> Bool {
    state.withLock { $0.load.note(task, of: number) }
  }

  /// Calls the client under the lock, unless the load was stopped.
  fileprivate func whileCurrent(_ number: Int, _ work: (inout LoadState) -> Void) {
    state.withLock { if $0.load.isCurrent(number) { work(&$0.load) } }
  }

  /// Whether a call may be made without the lock. After the last one, the client is not asked about challenges.
  fileprivate func mayCall(_ number: Int, isLast: Bool) -> Bool {
    let (mayCall, questions) = state.withLock { state -> (Bool, [ChallengeQuestion]) in
      guard state.load.isCurrent(number), !state.load.isAnswered else { return (false, []) }
      guard isLast else { return (true, []) }
      state.load.answer()
      return (true, state.challenges.close())
    }
    for question in questions { question.answer(nil) }
    return mayCall
  }

  fileprivate func add(
    of number: Int, _ make: @Sendable (Int) -> ChallengeQuestion
  ) -> (number: Int, question: ChallengeQuestion)? {
    state.withLock { $0.load.isCurrent(number) ? $0.challenges.add(make) : nil }
  }

  fileprivate func take(_ question: Int) -> ChallengeQuestion? {
    state.withLock { $0.challenges.take(question) }
  }
}

/// The answer to a task: a response and all of its content, or an error, or both if the content is incomplete.
package struct ClientAnswer: Sendable {
  var response: HTTPURLResponse?
  var content: Data
  var error: (any Error)?

  package init(_ response: HTTPURLResponse? = nil, _ content: Data = Data(), error: (any Error)? = nil) {
    (self.response, self.content, self.error) = (response, content, error)
  }
}

/// One load of a protocol object, and the calls of its client.
///
/// With a thread, the client is called there, without a lock: a call may stop the load, and then no other follows. Content
/// is passed on as it arrives.
///
/// Without a thread, as on Linux, the client is called under the lock, so that `stopLoading` waits until the answer is
/// delivered. There, Foundation completes a cancelled task right after `stopLoading`. To complete a task twice ends the
/// process, because the session's table no longer contains it. `SessionQueue` decides where the client is called from.
/// The content is passed on in one piece, because all but the last piece would be lost.
package struct ClientLoad: @unchecked Sendable {
  // Unchecked: Foundation makes the object, starts it, and does not touch it until stopLoading. The load calls only
  // `client`, while the session's queue waits or on the object's thread, until stopLoading. `request` does not change.
  private let object: URLProtocol
  private let number: Int
  private let loads: ProtocolLoads
  private let thread: ClientThread?
  /// The content of the request's stream.
  package let stream: StreamedContent?

  fileprivate init(
    _ object: URLProtocol, _ number: Int, _ stream: StreamedContent?, _ loads: ProtocolLoads,
    _ thread: ClientThread?
  ) {
    (self.object, self.number, self.stream, self.loads, self.thread) = (object, number, stream, loads, thread)
  }

  /// Whether content is passed on as it arrives, and the client is asked about challenges.
  var isStreamed: Bool { thread != nil }

  /// Notes the task of the load, which ends when the load is stopped.
  package func note(_ task: Task<Void, Never>) {
    if !loads.note(task, of: number) { task.cancel() }
  }

  // MARK: - The whole answer

  /// Answers the task. Called by `startLoading` itself.
  package func endAtOnce(_ answer: ClientAnswer) {
    if thread == nil { SessionQueue.wait { makeCalls(answer, $0) } } else { makeCalls(answer) }
  }

  /// Answers the task, from another thread.
  package func end(_ answer: ClientAnswer) {
    if let thread {
      thread.perform { makeCalls(answer) }
    } else {
      SessionQueue.hold(of: object.task) { makeCalls(answer, $0) }
    }
  }

  private func makeCalls(_ answer: ClientAnswer, _ calls: SessionQueue.Calls) {
    defer { calls.finish() }
    loads.whileCurrent(number) { load in
      guard let client = object.client else { return }
      if let response = answer.response { pass(response, to: client) }
      if !answer.content.isEmpty { client.urlProtocol(object, didLoad: answer.content) }
      load.answer()
      calls.beginLast()
      end(answer.error, client)
    }
  }

  private func makeCalls(_ answer: ClientAnswer) {
    if let response = answer.response { call { pass(response, to: $0) } }
    if !answer.content.isEmpty { call { $0.urlProtocol(object, didLoad: answer.content) } }
    call(isLast: true) { end(answer.error, $0) }
  }

  /// Makes a call on the client's thread, unless the load was stopped.
  @discardableResult
  private func call(isLast: Bool = false, _ call: (any URLProtocolClient) -> Void) -> Bool {
    guard loads.mayCall(number, isLast: isLast), let client = object.client else { return false }
    call(client)
    return true
  }

  private func pass(_ response: HTTPURLResponse, to client: any URLProtocolClient) {
    client.urlProtocol(object, didReceive: response, cacheStoragePolicy: .notAllowed)
  }

  private func end(_ error: (any Error)?, _ client: any URLProtocolClient) {
    if let error {
      client.urlProtocol(object, didFailWithError: error)
    } else {
      client.urlProtocolDidFinishLoading(object)
    }
  }

  // MARK: - In pieces

  /// Passes on the head, and returns when the client has it.
  ///
  /// - Throws: `CancellationError` if the load was stopped.
  func begin(_ response: HTTPURLResponse) async throws {
    try await onThread { client in pass(response, to: client) }
  }

  /// Passes on a piece of the content, and returns when the client has it, so that the next one waits where it came from.
  ///
  /// - Throws: `CancellationError` if the load was stopped.
  func add(_ content: Data) async throws {
    guard !content.isEmpty else { return }
    try await onThread { client in client.urlProtocol(object, didLoad: content) }
  }

  private func onThread(_ call: @escaping @Sendable (any URLProtocolClient) -> Void) async throws {
    guard let thread else { throw CancellationError() }
    let isMade = await withCheckedContinuation { continuation in
      thread.perform { continuation.resume(returning: self.call(call)) }
    }
    if !isMade { throw CancellationError() }
  }

  // MARK: - Challenges

  /// Asks the client about a challenge, on its thread.
  ///
  /// - Parameters:
  ///   - count: the number of credentials that the origin has refused.
  ///   - answer: called once, unless the question is withdrawn, on any thread; with `nil` if the client cannot be asked, or
  ///     is gone before it answers.
  /// - Returns: the number of the question, for ``withdraw(_:)``.
  func ask(
    _ challenge: URLAuthenticationChallenge, refused count: Int,
    _ answer: @escaping @Sendable (ChallengeQuestion.Answer?) -> Void
  ) -> Int? {
    let challenge = SendableChallenge(value: challenge)
    let added = loads.add(of: number) { [loads] number in
      let sender = ChallengeSender { loads.take(number)?.answer($0) }
      let forwarded = challenge.value.forwarded(by: sender, refused: count)
      return ChallengeQuestion(challenge: SendableChallenge(value: forwarded), answer: answer)
    }
    guard let added, let thread else {
      answer(nil)
      return nil
    }
    thread.perform {
      call { $0.urlProtocol(object, didReceive: added.question.challenge.value) }
    }
    return added.number
  }

  /// Tells the client that the request of a challenge has ended, unless it has answered.
  func withdraw(_ question: Int) {
    guard let withdrawn = loads.take(question) else { return }
    thread?.perform {
      call { $0.urlProtocol(object, didCancel: withdrawn.challenge.value) }
    }
  }
}

extension URLAuthenticationChallenge {
  /// Returns the challenge with another sender and the true count of failures. Each attempt with credentials is a task of
  /// its own, so Foundation counts from 0 each time, and the usual check for a wrong password would never end.
  func forwarded(by sender: any URLAuthenticationChallengeSender, refused count: Int)
    -> URLAuthenticationChallenge
  {
    URLAuthenticationChallenge(
      protectionSpace: protectionSpace, proposedCredential: proposedCredential, previousFailureCount: count,
      failureResponse: failureResponse, error: error, sender: sender)
  }
}
