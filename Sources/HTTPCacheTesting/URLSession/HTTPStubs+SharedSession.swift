// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension HTTPStubs {
  /// Makes these stubs answer the requests of `URLSession.shared`, in place of any installed before.
  ///
  /// ```swift
  /// try stubs.installInSharedSession()
  /// defer { HTTPStubs.removeFromSharedSession() }
  /// let (data, _) = try await URLSession.shared.data(from: url)
  /// ```
  ///
  /// Use it for code that does not accept a session. The whole process has only one such session, so tests that use it
  /// must not run at the same time. Where you can, make a session with `URLSessionConfiguration.stubbed(by:base:)`.
  ///
  /// Only tasks for `http` and `https` URLs are answered. Other sessions are not affected.
  ///
  /// - Throws: ``StubError`` with the code `sharedSessionInUse`: on Linux, `URLSession.shared` keeps the protocols that
  ///   were registered at its first use. Call this method for the first time before that.
  public func installInSharedSession() throws {
    SharedStubs.current.withLock { $0 = self }
    guard SharedStubs.answers else {
      SharedStubs.current.withLock { $0 = nil }
      throw StubError.sharedSessionInUse
    }
  }

  /// Makes `URLSession.shared` send its requests to servers again.
  public static func removeFromSharedSession() {
    SharedStubs.current.withLock { $0 = nil }
  }
}

/// The stubs of `URLSession.shared`. Their class stays registered, and answers nothing while there are none.
enum SharedStubs {
  static let current = Mutex<HTTPStubs?>(nil)

  /// Whether the session uses the registered class, while there are stubs.
  fileprivate static var answers: Bool {
    _ = registration
    #if canImport(FoundationNetworking)
      guard let url = URL(string: "http://stubs.test/") else { return false }
      // A session without classes uses those that are registered.
      let classes = URLSession.shared.configuration.protocolClasses ?? []
      let types = classes.compactMap { $0 as? URLProtocol.Type }
      return types.first { $0.canInit(with: URLRequest(url: url)) }.map { $0 is SharedStubProtocol.Type }
        ?? true
    #else
      return true
    #endif
  }

  /// Registers the class, once.
  private static let registration: Void = {
    #if canImport(FoundationNetworking)
      // Of the registered classes, the first that can answer does, and any session made before has registered the
      // system's own. So those are registered again, after this one.
      let others = URLSessionConfiguration.default.protocolClasses ?? []
      for other in others { URLProtocol.unregisterClass(other) }
      _ = URLProtocol.registerClass(SharedStubProtocol.self)
      for other in others { _ = URLProtocol.registerClass(other) }
    #else
      _ = URLProtocol.registerClass(SharedStubProtocol.self)
    #endif
  }()
}

/// The class that `URLSession.shared` uses.
final class SharedStubProtocol: StubURLProtocol {
  override class var binding: StubBinding? {
    SharedStubs.current.withLock { $0 }.map { StubBinding(stubs: $0) }
  }
}
