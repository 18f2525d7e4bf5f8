// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Passes a configuration from the thread that made it to the threads that load.
package struct SendableConfiguration: @unchecked Sendable {
  // Unchecked: Foundation documents that a session copies the configuration it is made from. After that, this package
  // and Foundation only read it.
  package let value: URLSessionConfiguration

  package init(_ value: URLSessionConfiguration) {
    self.value = value
  }

  /// The configuration's `httpAdditionalHeaders`.
  package var additionalFields: [(name: String, value: String)] {
    (value.httpAdditionalHeaders ?? [:]).compactMap { name, value in
      guard let name = name as? String else { return nil }
      return (name, "\(value)")
    }
  }
}

extension HTTPRequest {
  /// Returns the request with these fields, except those that it has already.
  package func adding(_ fields: [(name: String, value: String)]) -> HTTPRequest {
    guard !fields.isEmpty else { return self }
    var request = self
    for (name, value) in fields {
      guard let name = HTTPField.Name(name), request.headerFields[name] == nil else { continue }
      request.headerFields.append(HTTPField(name: name, text: value))
    }
    return request
  }
}
