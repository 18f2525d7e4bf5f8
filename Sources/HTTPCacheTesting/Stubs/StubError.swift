// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// An error in stubs, or in their use.
///
/// Switch over ``code``, with a `default`: later versions may add codes. ``description`` is a text for people.
public struct StubError: Error, Hashable, Sendable {
  /// The codes of errors.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Value: String {
      case unexpectedRequest, unusedStubs, unreadableFile, invalidStatus, sharedSessionInUse
    }

    private let value: Value

    private init(_ value: Value) { self.value = value }

    /// No stub answers a request.
    public static var unexpectedRequest: Code { Code(.unexpectedRequest) }
    /// Some of the stubs received no request.
    public static var unusedStubs: Code { Code(.unusedStubs) }
    /// The file of a stub is unreadable.
    public static var unreadableFile: Code { Code(.unreadableFile) }
    /// The status of a stub does not have three digits.
    public static var invalidStatus: Code { Code(.invalidStatus) }
    /// `URLSession.shared` was used before stubs were installed in it.
    public static var sharedSessionInUse: Code { Code(.sharedSessionInUse) }

    public var description: String { value.rawValue }
  }

  /// The kind of error.
  public let code: Code
  private let text: String

  package static func unexpected(request: String, stubs: [String]) -> StubError {
    let known = stubs.isEmpty ? "none" : stubs.joined(separator: ", ")
    return StubError(code: .unexpectedRequest, text: "no stub for \(request); existing stubs: \(known)")
  }

  package static func unused(_ stubs: [String]) -> StubError {
    StubError(code: .unusedStubs, text: "stubs without a request: \(stubs.joined(separator: ", "))")
  }

  package static func unreadableFile(_ path: String) -> StubError {
    StubError(
      code: .unreadableFile, text: "cannot read the stub's file \(path); check the path and its permissions")
  }

  package static func invalidStatus(_ status: Int) -> StubError {
    StubError(code: .invalidStatus, text: "expected a status code of three digits, found \(status)")
  }

  package static var sharedSessionInUse: StubError {
    StubError(
      code: .sharedSessionInUse,
      text:
        "cannot install stubs in URLSession.shared: it was used before; call installInSharedSession() before its "
        + "first use, or make a session with URLSessionConfiguration.stubbed(by:)")
  }
}

extension StubError: LocalizedError, CustomStringConvertible {
  public var description: String { text }
  public var errorDescription: String? { description }
}
