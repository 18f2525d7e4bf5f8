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

/// Answers an origin's challenge for a user and a password (RFC 7617), in place of Foundation.
///
/// A request that carries credentials is another to a cache (RFC 9111 §3.5), so they have to be in it before the cache sees
/// it, and not be added by the transport. And on Linux a task that gets a 401 with such a challenge never ends.
final class BasicChallenge: Sendable {
  /// How often credentials are asked for.
  static let limit = 3

  private let found = Mutex<String?>(nil)

  /// The `Authorization` field to ask again with, if there is one.
  var authorization: String? { found.withLock { $0 } }

  /// Whether the challenge is one of these. For others, as those of TLS, Foundation has to be left to it.
  static func isOne(_ challenge: URLAuthenticationChallenge) -> Bool {
    challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPBasic
      && challenge.failureResponse is HTTPURLResponse && !challenge.protectionSpace.isProxy()
  }

  /// Takes up what the application, or else the session's storage, has for a challenge.
  func answer(
    _ challenge: URLAuthenticationChallenge, _ authenticate: CachingOptions.Authenticate?,
    _ storage: URLCredentialStorage?
  ) {
    let (disposition, chosen) = authenticate?(challenge) ?? (.performDefaultHandling, nil)
    let credential =
      switch disposition {
      case .useCredential: chosen
      case .performDefaultHandling:
        challenge.proposedCredential ?? storage?.stored(for: challenge.protectionSpace)
      default: nil as URLCredential?
      }
    guard let user = credential?.user, let password = credential?.password else { return }
    found.withLock { $0 = "Basic " + Data("\(user):\(password)".utf8).base64EncodedString() }
  }

  /// Removes from a 401 what would have Foundation begin to authenticate by itself.
  static func hide(in head: inout HTTPResponse) {
    #if canImport(FoundationNetworking)
      guard head.status == .unauthorized else { return }
      let others = head.headerFields[values: .wwwAuthenticate].filter { !$0.lowercased().contains("basic") }
      head.headerFields[values: .wwwAuthenticate] = others
    #endif
  }
}

extension URLCredentialStorage {
  /// On Linux two protection spaces that say the same are not equal, and the storage finds nothing by itself.
  fileprivate func stored(for space: URLProtectionSpace) -> URLCredential? {
    #if canImport(FoundationNetworking)
      for (other, credentials) in allCredentials
      where other.host == space.host && other.port == space.port && other.realm == space.realm
        && other.authenticationMethod == space.authenticationMethod
      {
        return defaultCredential(for: other) ?? credentials.min { $0.key < $1.key }?.value
      }
    #endif
    return nil
  }
}
