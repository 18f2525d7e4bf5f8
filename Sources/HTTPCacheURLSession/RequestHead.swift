// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension HTTPRequest {
  /// Makes the head with all fields that will be sent, because a response may vary on any of them.
  ///
  /// - Parameters:
  ///   - additional: the session's own fields; the request's fields take precedence.
  ///   - cookies: the `Cookie` field that Foundation will send in place of the request's.
  package init?(
    _ request: URLRequest, additional: [(name: String, value: String)] = [], cookies: String? = nil
  ) {
    guard var head = Self(plain: request)?.adding(additional) else { return nil }
    if let cookies { head.headerFields[fields: .cookie] = [HTTPField(name: .cookie, text: cookies)] }
    // The field names the site. One of another site than the URL's leaves the request without a key.
    if let name = Name.host, let host = head.headerFields[name],
      host.lowercasedASCII == head.authority?.lowercasedASCII
    {
      head.headerFields[name] = nil
    }
    if !head.headerFields.contains(.acceptEncoding) {
      // Foundation would add a value that this module does not see, so `Vary: Accept-Encoding` could not be evaluated.
      // A range of an encoded response covers encoded bytes, and cannot be decoded by itself.
      let coding =
        head.headerFields.contains(.range) ? "identity" : SystemFields.acceptEncoding(scheme: head.scheme)
      head.headerFields.append(HTTPField(name: .acceptEncoding, value: coding))
    }
    for field in SystemFields.all where !head.headerFields.contains(field.name) {
      head.headerFields.append(field)
    }
    self = head
  }

  private enum Name {
    static let host = HTTPField.Name("Host")
  }
}

extension PlainURL {
  /// Reads a URL; `nil` if `URLComponents` has to.
  init?(_ url: URL) {
    guard url.baseURL == nil else { return nil }
    self.init(url.absoluteString)
  }
}
