// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching
import HTTPTypes
import HTTPTypesFoundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension HTTPRequest {
  /// Makes the head with all fields that will be sent, because a response may vary on any of them.
  ///
  /// - Parameters:
  ///   - additional: the session's own fields; the request's fields take precedence.
  ///   - cookies: the `Cookie` field that Foundation will send in place of the request's.
  init?(_ request: URLRequest, additional: [(name: String, value: String)] = [], cookies: String? = nil) {
    guard var head = request.httpRequest else { return nil }
    for (name, value) in additional {
      guard let name = HTTPField.Name(name), head.headerFields[name] == nil else { continue }
      head.headerFields[name] = value
    }
    if let cookies { head.headerFields[.cookie] = cookies }
    if head.headerFields[.acceptEncoding] == nil {
      // Foundation would add a value that this module does not see, so `Vary: Accept-Encoding` could not be evaluated.
      // A range of an encoded response covers encoded bytes, and cannot be decoded by itself.
      head.headerFields[.acceptEncoding] =
        head.headerFields[.range] == nil ? OriginSession.acceptEncoding : "identity"
    }
    self = head
  }
}
