// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// Heads of messages as Foundation has them: a dictionary of texts, with one text for all lines of a name.
//
// The value of a field is octets (RFC 9110 §5.5). Foundation on Linux reads and writes them as UTF-8, on Apple platforms as
// ISO 8859-1. HTTPTypesFoundation takes them for ISO 8859-1 everywhere: on Linux, that destroys them.

extension HTTPField {
  /// Makes a field of Foundation's text; a character that cannot be sent becomes a space.
  init(name: Name, text: String) {
    if Platform.fieldsAreUTF8 || text.utf8.allSatisfy({ $0 < 0x80 }) {
      self.init(name: name, value: text)
    } else {
      self.init(
        name: name, value: text.unicodeScalars.map { UInt8(exactly: $0.value) ?? UInt8(ascii: " ") })
    }
  }

  /// The value as Foundation's text. Octets that are not UTF-8 are read as ISO 8859-1, as they were once defined.
  var text: String {
    let text = value
    guard !text.utf8.allSatisfy({ $0 < 0x80 }) else { return text }
    return withOctets { octets in
      let octets = octets.indices.map { octets[$0] }
      if Platform.fieldsAreUTF8, let text = String(validating: octets, as: UTF8.self) { return text }
      return String(String.UnicodeScalarView(octets.map { Unicode.Scalar($0) }))
    }
  }
}

extension HTTPFields {
  /// Makes the fields of Foundation's dictionary.
  init(_ dictionary: [String: String]) {
    self.init()
    reserveCapacity(dictionary.count)
    for (name, text) in dictionary {
      if let name = HTTPField.Name(name) { append(HTTPField(name: name, text: text)) }
    }
  }

  /// The fields as Foundation's dictionary. The lines of a name are combined (RFC 9110 §5.3), those of `Cookie` with its own
  /// separator (RFC 9113 §8.2.3).
  var dictionary: [String: String] {
    var combined = [HTTPField.Name: String](minimumCapacity: count)
    for field in self {
      if let earlier = combined[field.name] {
        combined[field.name] = earlier + (field.name == .cookie ? "; " : ", ") + field.text
      } else {
        combined[field.name] = field.text
      }
    }
    var dictionary = [String: String](minimumCapacity: combined.count)
    for (name, text) in combined { dictionary[name.rawName] = text }
    return dictionary
  }
}

extension HTTPURLResponse {
  /// Makes a response; `nil` if Foundation cannot represent it.
  package convenience init?(_ head: HTTPResponse, url: URL) {
    self.init(
      url: url, statusCode: head.status.code, httpVersion: "HTTP/1.1",
      headerFields: head.headerFields.dictionary)
  }

  /// The status and the fields; `nil` if the status is not one.
  var head: HTTPResponse? {
    guard (0...999).contains(statusCode) else { return nil }
    return HTTPResponse(
      status: .init(code: statusCode), headerFields: HTTPFields(allHeaderFields as? [String: String] ?? [:]))
  }
}

extension HTTPRequest {
  /// Makes the head of a request as it is, with the fields that it has; `nil` if it has no URL, or an invalid method.
  package init?(plain request: URLRequest) {
    guard let url = request.url, let method = Method(request.httpMethod ?? "GET") else { return nil }
    let fields = HTTPFields(request.allHTTPHeaderFields ?? [:])
    if let plain = PlainURL(url) {
      self.init(
        method: method, scheme: plain.scheme, authority: plain.authority, path: plain.path,
        headerFields: fields)
    } else {
      self.init(method: method, url: url, headerFields: fields)
    }
  }
}
