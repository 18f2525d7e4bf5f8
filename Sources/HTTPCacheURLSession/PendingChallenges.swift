// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The challenges that a client was asked about and has not answered.
///
/// Each is taken once: by the answer, by the end of the request, or by the end of the load. Whatever comes later finds
/// nothing.
struct PendingChallenges<Question> {
  private var questions: [Int: Question] = [:]
  private var lastNumber = 0
  /// Whether the client may be asked: a load runs, and the client does not know how it ended.
  private var isOpen = false

  /// Begins a load.
  mutating func open() { isOpen = true }

  /// Notes the question that is made from a number which no other has. Returns both, or `nil` if the client may not be
  /// asked.
  mutating func add(_ make: (Int) -> Question) -> (number: Int, question: Question)? {
    guard isOpen else { return nil }
    lastNumber += 1
    let question = make(lastNumber)
    questions[lastNumber] = question
    return (lastNumber, question)
  }

  /// Takes a question; `nil` if it was taken before.
  mutating func take(_ number: Int) -> Question? { questions.removeValue(forKey: number) }

  /// Ends the load, and takes all questions.
  mutating func close() -> [Question] {
    defer { (questions, isOpen) = ([:], false) }
    return questions.sorted { $0.key < $1.key }.map(\.value)
  }
}

/// A challenge that the client of a load is asked about.
struct ChallengeQuestion: Sendable {
  /// What an application answers to a challenge.
  struct Answer: @unchecked Sendable {
    // Unchecked: Foundation documents no change of a credential after it was made.
    var disposition: URLSession.AuthChallengeDisposition
    var credential: URLCredential?
  }

  let challenge: SendableChallenge
  /// Called once, unless the question is withdrawn; with `nil` if the client cannot answer any longer.
  let answer: @Sendable (Answer?) -> Void
}

/// Passes a challenge from the session to origins to the thread of a client.
struct SendableChallenge: @unchecked Sendable {
  // Unchecked: a challenge does not change after it was made.
  let value: URLAuthenticationChallenge
}

/// Takes the answer to a challenge that was forwarded to a client.
final class ChallengeSender: NSObject, URLAuthenticationChallengeSender, Sendable {
  private let answer: @Sendable (ChallengeQuestion.Answer) -> Void

  init(_ answer: @escaping @Sendable (ChallengeQuestion.Answer) -> Void) { self.answer = answer }

  func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
    answer(.init(disposition: .useCredential, credential: credential))
  }

  func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {
    answer(.init(disposition: .useCredential))
  }

  func cancel(_ challenge: URLAuthenticationChallenge) {
    answer(.init(disposition: .cancelAuthenticationChallenge))
  }

  func performDefaultHandling(for challenge: URLAuthenticationChallenge) {
    answer(.init(disposition: .performDefaultHandling))
  }

  func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {
    answer(.init(disposition: .rejectProtectionSpace))
  }
}

/// The client of a load, which is asked about the challenges of the load's requests, as the delegate of its session.
struct ChallengeClient: Sendable {
  private let load: ClientLoad
  private let binding: CacheBinding

  init(_ load: ClientLoad, _ binding: CacheBinding) { (self.load, self.binding) = (load, binding) }

  /// Asks the client.
  ///
  /// If the client is gone, a request goes on only where the session has left the same challenge to Foundation before: for
  /// a revalidation in the background. Otherwise, a certificate would be accepted without the application's check.
  ///
  /// - Parameters:
  ///   - count: the number of credentials that the origin has refused.
  ///   - answer: called once, unless the question is withdrawn; with `nil` if the request must not go on.
  /// - Returns: the number of the question, for ``withdraw(_:)``.
  func ask(
    _ challenge: URLAuthenticationChallenge, refused count: Int,
    _ answer: @escaping @Sendable (ChallengeQuestion.Answer?) -> Void
  ) -> Int? {
    let space = UncheckedSpaces.Space(challenge.protectionSpace)
    return load.ask(challenge, refused: count) { [binding] given in
      if let given {
        binding.note(space, isUnchecked: given.disposition == .performDefaultHandling)
        answer(given)
      } else {
        answer(binding.isUnchecked(space) ? .init(disposition: .performDefaultHandling) : nil)
      }
    }
  }

  /// Tells the client that a request has ended before the answer.
  func withdraw(_ number: Int) { load.withdraw(number) }
}

/// The protection spaces whose challenges the application has left to Foundation.
struct UncheckedSpaces {
  struct Space: Hashable, Sendable {
    private let host: String
    private let port: Int
    private let method: String

    init(_ space: URLProtectionSpace) {
      (host, port, method) = (space.host, space.port, space.authenticationMethod)
    }
  }

  /// Maximum number of spaces; the oldest is forgotten first.
  static let limit = 64

  private var spaces: [Space] = []

  func contains(_ space: Space) -> Bool { spaces.contains(space) }

  mutating func note(_ space: Space, isUnchecked: Bool) {
    guard isUnchecked != contains(space) else { return }
    guard isUnchecked else { return spaces.removeAll { $0 == space } }
    if spaces.count == Self.limit { spaces.removeFirst() }
    spaces.append(space)
  }
}
