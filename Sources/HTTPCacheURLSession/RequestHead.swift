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
  package init?(
    _ request: URLRequest, additional: [(name: String, value: String)] = [], cookies: String? = nil
  ) {
    guard var head = (Self(plain: request) ?? request.httpRequest)?.adding(additional) else { return nil }
    if let cookies { head.headerFields[.cookie] = cookies }
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

  /// Makes the head of a request with a ``PlainURL`` as `URLRequest.httpRequest` does; `nil` for any other.
  private init?(plain request: URLRequest) {
    guard let url = request.url.flatMap(PlainURL.init), let method = Method(request.httpMethod ?? "GET"),
      let fields = HTTPFields(plain: request.allHTTPHeaderFields ?? [:])
    else { return nil }
    self.init(
      method: method, scheme: url.scheme, authority: url.authority, path: url.path, headerFields: fields)
  }
}

extension PlainURL {
  /// Reads a URL; `nil` if `URLComponents` has to.
  init?(_ url: URL) {
    guard url.baseURL == nil else { return nil }
    self.init(url.absoluteString)
  }
}

extension HTTPFields {
  /// Makes the fields of a dictionary with values of ASCII; `nil` for any other, whose bytes HTTPTypesFoundation
  /// chooses.
  fileprivate init?(plain fields: [String: String]) {
    self.init()
    reserveCapacity(fields.count)
    for (name, value) in fields {
      guard value.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
      if let name = HTTPField.Name(name) { append(HTTPField(name: name, value: value)) }
    }
  }
}
