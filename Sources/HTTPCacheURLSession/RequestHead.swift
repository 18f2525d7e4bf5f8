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
  /// The request with all fields that will be sent: a response may vary on any of them.
  ///
  /// - Parameters:
  ///   - additional: the session's own fields, which the request's go before.
  ///   - cookies: the `Cookie` field that Foundation will send, whatever the request says.
  init?(_ request: URLRequest, additional: [(name: String, value: String)] = [], cookies: String? = nil) {
    guard var head = request.httpRequest else { return nil }
    for (name, value) in additional {
      guard let name = HTTPField.Name(name), head.headerFields[name] == nil else { continue }
      head.headerFields[name] = value
    }
    if let cookies { head.headerFields[.cookie] = cookies }
    if head.headerFields[.acceptEncoding] == nil {
      // Foundation would add one that nobody sees, and `Vary: Accept-Encoding` could not be told apart.
      // A range is of encoded bytes where there is a coding, and cannot be decoded by itself.
      head.headerFields[.acceptEncoding] =
        head.headerFields[.range] == nil ? OriginSession.acceptEncoding : "identity"
    }
    self = head
  }
}
