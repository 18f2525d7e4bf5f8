// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Keys with more, or with less, than a target URI.
///
/// Each such key contains a *nonce*, a random number that is stored under its own key: an *anchor*. To remove the
/// anchor removes all entries found by it, however many, without a search: the nonce is then unknown.
extension CacheKey {
  /// Returns the key of the nonce that is part of the keys of all QUERY requests to a target URI.
  package static func queryAnchor(_ uri: TargetURI, partition: String = "") -> CacheKey {
    CacheKey(uri, partition: partition, derivation: "QUERY")
  }

  /// Returns the key of a QUERY request: it contains the content and the fields that define its format
  /// (draft-ietf-httpbis-safe-method-w-body, "Caching"). Nothing is normalised: only the server knows what is
  /// insignificant in a query.
  ///
  /// - Complexity: O(*n*) in the length of the content.
  package static func query(
    _ request: HTTPRequest, content: some Collection<UInt8>, nonce: UInt64, partition: String = ""
  ) -> CacheKey? {
    guard let uri = TargetURI(request) else { return nil }
    var bytes: [UInt8] = []
    bytes.append(littleEndian: nonce)
    for name in [HTTPField.Name.contentType, .contentEncoding, .contentLanguage] {
      // No field value contains NUL (RFC 9110 §5.5). The content may, so it comes last.
      var isFirst = true
      for field in request.headerFields[fields: name] {
        if !isFirst { bytes += ", ".utf8 }
        isFirst = false
        field.withOctets { bytes.append($0) }
      }
      bytes.append(0)
    }
    bytes += content
    return CacheKey(queryAnchor(uri, partition: partition), suffix: bytes)
  }

  /// Returns the key of the `No-Vary-Search` value of a path, with the nonce that is part of the keys derived from it.
  package static func pathAnchor(_ uri: TargetURI, partition: String = "") -> CacheKey {
    let path = TargetURI(
      scheme: uri.scheme, authority: uri.authority,
      path: String(
        decoding: uri.path.utf8.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self))
    return CacheKey(path, partition: partition, derivation: "No-Vary-Search")
  }

  /// Makes the key that a URI shares with all equivalent ones.
  package init(_ uri: TargetURI, by rule: NoVarySearch, nonce: UInt64, partition: String = "") {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: nonce)
    for pair in rule.significant(uri.path).parameters {
      for part in [pair.name, pair.value] {
        bytes.append(littleEndian: UInt64(part.count))
        bytes += part
      }
    }
    self.init(Self.pathAnchor(uri, partition: partition), suffix: bytes)
  }

  /// The bytes between a key and what tells its variants apart, in the keys of variants that have their own.
  package static let variantMark = [0] + Array("Vary".utf8) + [0]

  /// Returns the bytes of the key of one of many variants under a key.
  ///
  /// - Parameters:
  ///   - number: tells the variants apart.
  ///   - nonce: stored under the key of all.
  package static func variantKey(of key: [UInt8], number: UInt64, nonce: UInt64) -> [UInt8] {
    var bytes = key + variantMark
    bytes.append(littleEndian: nonce)
    bytes.append(littleEndian: number)
    return bytes
  }

  /// Returns the key of the application's own bytes for the responses under this key.
  package static func annotationKey(of key: [UInt8]) -> [UInt8] { key + [0] + "annotation".utf8 + [0] }

  private init(_ uri: TargetURI, partition: String, derivation: String) {
    self.init(CacheKey(uri, partition: partition), suffix: [0] + derivation.utf8 + [0])
  }
}

extension [UInt8] {
  fileprivate mutating func append(littleEndian number: UInt64) {
    for shift in stride(from: 0, to: 64, by: 8) { append(UInt8(truncatingIfNeeded: number >> shift)) }
  }
}
