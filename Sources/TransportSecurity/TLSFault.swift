// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Why connections cannot be encrypted as they should.
package struct TLSFault: Error, CustomStringConvertible {
  /// The setting with the error.
  package enum Part: Sendable {
    case issuers
    case certificate
    case key
    case serverName
    /// The program was built without TLS.
    case build
  }

  package var part: Part
  package var description: String

  package init(_ part: Part, _ description: String) {
    (self.part, self.description) = (part, description)
  }

  static var build: TLSFault {
    TLSFault(.build, "this program was built without TLS: build it with the trait TLS")
  }
}
