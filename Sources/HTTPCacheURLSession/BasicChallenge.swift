// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheEngine
import HTTPCaching
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Answers the challenges of one request: an origin's request for a user and a password (RFC 7617) in place of Foundation,
/// and all others by asking the application.
///
/// To a cache, a request with credentials is a different request (RFC 9111 §3.5). So the credentials must be in the
/// request before the cache sees it, and must not be added by the transport. Besides, on Linux a task that gets a 401
/// with such a challenge never ends.
final class BasicChallenge: Sendable {
  /// Maximum number of times that credentials are requested.
  static let limit = 3

  private struct State {
    var authorization: String?
    /// The question that the client has, or had.
    var question: Int?
  }

  /// Number of credentials that the origin has already refused for this task.
  private let failureCount: Int
  private let client: ChallengeClient?
  private let state = Mutex(State())

  /// - Parameter client: answers the challenges of the request, if the application has no closure for them.
  init(failureCount: Int, _ client: ChallengeClient? = nil) {
    self.failureCount = failureCount
    self.client = client
  }

  /// The `Authorization` field for the next attempt, if there is one.
  var authorization: String? { state.withLock { $0.authorization } }

  /// Whether a challenge is a Basic challenge. Foundation must handle all others, such as those of TLS.
  static func isOne(_ challenge: URLAuthenticationChallenge) -> Bool {
    challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPBasic
      && challenge.failureResponse is HTTPURLResponse && !challenge.protectionSpace.isProxy()
  }

  /// Whether a response has a Basic challenge, among others.
  static func isOne(in head: HTTPResponse) -> Bool {
    head.headerFields[values: .wwwAuthenticate].contains { isOne($0) }
  }

  private static func isOne(_ field: String) -> Bool { field.lowercasedASCII.contains("basic") }

  /// Asks the application about any challenge of the request: its closure, or else the client, or else nothing, so that
  /// Foundation decides.
  ///
  /// - Parameter answer: called once, unless the request ends before; with `nil` if the client is gone, and the request must
  ///   not go on.
  func ask(
    _ challenge: URLAuthenticationChallenge, _ authenticate: CachingOptions.Authenticate?,
    _ answer: @escaping @Sendable (ChallengeQuestion.Answer?) -> Void
  ) {
    let count = Self.isOne(challenge) ? failureCount : challenge.previousFailureCount
    if let authenticate {
      let (disposition, credential) = authenticate(counted(challenge, count))
      answer(.init(disposition: disposition, credential: credential))
    } else if let client {
      let question = client.ask(challenge, refused: count, answer)
      state.withLock { $0.question = question }
    } else {
      answer(.init(disposition: .performDefaultHandling))
    }
  }

  /// Tells the client that the request has ended, if it still has a question.
  func withdraw() {
    if let question = state.withLock({ $0.question }) { client?.withdraw(question) }
  }

  /// Takes the credentials of an answer, or else those of the session's storage.
  func take(
    _ answer: ChallengeQuestion.Answer, to challenge: URLAuthenticationChallenge,
    _ storage: URLCredentialStorage?
  ) {
    let credential =
      switch answer.disposition {
      case .useCredential: answer.credential
      case .performDefaultHandling:
        challenge.proposedCredential ?? storage?.stored(for: challenge.protectionSpace)
      default: nil as URLCredential?
      }
    guard let user = credential?.user, let password = credential?.password else { return }
    state.withLock { $0.authorization = Self.field(user: user, password: password) }
  }

  /// Returns the `Authorization` field with a user and a password (RFC 7617 §2).
  static func field(user: String, password: String) -> String {
    "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
  }

  private func counted(_ challenge: URLAuthenticationChallenge, _ count: Int) -> URLAuthenticationChallenge {
    guard count != challenge.previousFailureCount else { return challenge }
    // A closure answers by what it returns.
    return challenge.forwarded(by: challenge.sender ?? ChallengeSender { _ in }, refused: count)
  }

  /// Removes the fields of a 401 that would make Foundation authenticate by itself.
  static func hide(in head: inout HTTPResponse) {
    guard !Platform.delegateMayAnswer, head.status == .unauthorized else { return }
    let others = head.headerFields[values: .wwwAuthenticate].filter { !isOne($0) }
    head.headerFields[values: .wwwAuthenticate] = others
  }
}

extension URLCredentialStorage {
  /// On Linux two protection spaces with equal content are not equal, so the storage's own lookup finds nothing.
  fileprivate func stored(for space: URLProtectionSpace) -> URLCredential? {
    if Platform.findsEqualSpaces { return nil }
    for (other, credentials) in allCredentials
    where other.host == space.host && other.port == space.port && other.realm == space.realm
      && other.authenticationMethod == space.authenticationMethod
    {
      return defaultCredential(for: other) ?? credentials.min { $0.key < $1.key }?.value
    }
    return nil
  }
}
