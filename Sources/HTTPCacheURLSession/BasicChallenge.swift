// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheEngine
import HTTPCaching
import HTTPTypes
import HTTPTypesFoundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Answers an origin's request for a user and a password (RFC 7617) in place of Foundation.
///
/// To a cache, a request with credentials is a different request (RFC 9111 §3.5). So the credentials must be in the
/// request before the cache sees it, and must not be added by the transport. Besides, on Linux a task that gets a 401
/// with such a challenge never ends.
final class BasicChallenge: Sendable {
  /// Maximum number of times that credentials are requested.
  static let limit = 3

  /// Number of credentials that the origin has already refused for this task.
  private let failureCount: Int
  private let found = Mutex<String?>(nil)

  init(failureCount: Int) {
    self.failureCount = failureCount
  }

  /// The `Authorization` field for the next attempt, if there is one.
  var authorization: String? { found.withLock { $0 } }

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

  /// Takes the credentials for a challenge from the application, or else from the session's storage.
  func answer(
    _ challenge: URLAuthenticationChallenge, _ authenticate: CachingOptions.Authenticate?,
    _ storage: URLCredentialStorage?
  ) {
    let (disposition, chosen) = authenticate?(counted(challenge)) ?? (.performDefaultHandling, nil)
    let credential =
      switch disposition {
      case .useCredential: chosen
      case .performDefaultHandling:
        challenge.proposedCredential ?? storage?.stored(for: challenge.protectionSpace)
      default: nil as URLCredential?
      }
    guard let user = credential?.user, let password = credential?.password else { return }
    found.withLock { $0 = Self.field(user: user, password: password) }
  }

  /// Returns the `Authorization` field with a user and a password (RFC 7617 §2).
  static func field(user: String, password: String) -> String {
    "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
  }

  /// Returns the challenge with the true count of failures. Each attempt is a task of its own, so Foundation counts from 0
  /// each time, and the usual check for a wrong password would never end.
  private func counted(_ challenge: URLAuthenticationChallenge) -> URLAuthenticationChallenge {
    guard failureCount > 0 else { return challenge }
    return URLAuthenticationChallenge(
      protectionSpace: challenge.protectionSpace, proposedCredential: challenge.proposedCredential,
      previousFailureCount: failureCount, failureResponse: challenge.failureResponse, error: challenge.error,
      sender: challenge.sender ?? NoSender())
  }

  /// A challenge is answered by the value that the closure returns.
  private final class NoSender: NSObject, URLAuthenticationChallengeSender {
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
    func cancel(_ challenge: URLAuthenticationChallenge) {}
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
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
