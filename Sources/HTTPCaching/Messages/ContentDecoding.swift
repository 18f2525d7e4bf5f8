// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// For transports that decode content, but leave the fields that describe the encoded content.
package enum ContentDecoding {
  /// Removes the fields that are invalid for decoded content: the coding, and the length, positions and digest of the
  /// encoded bytes. A part without a position is not stored.
  package static func normalize(_ head: inout HTTPResponse) {
    guard let coding = head.headerFields[.contentEncoding]?.lowercasedASCII, coding != "identity" else {
      return
    }
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
