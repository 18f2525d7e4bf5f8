// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Keys of what is found by more, or by less, than a target URI.
///
/// Each such key carries a *nonce* that is kept under a key of its own, an *anchor*. Whoever removes the anchor has
/// removed everything that was found by it, however much that is and without looking for it: nobody knows the nonce
/// any more.
extension CacheKey {
  /// Where the nonce is kept that is part of the keys of all QUERY requests to a target URI.
  package static func queryAnchor(_ uri: TargetURI, partition: String = "") -> CacheKey {
    CacheKey(uri, partition: partition, derivation: "QUERY")
  }

  /// The key of a QUERY request: it has the content and what says how to read it (draft-ietf-httpbis-safe-method-w-body,
  /// "Caching"). Nothing is normalised: what is insignificant in a query only its server knows.
  ///
  /// - Complexity: O(*n*) in the length of the content.
  package static func query(
    _ request: HTTPRequest, content: some Collection<UInt8>, nonce: UInt64, partition: String = ""
  ) -> CacheKey? {
    guard let uri = TargetURI(request) else { return nil }
    var bytes: [UInt8] = []
    bytes.append(littleEndian: nonce)
    for name in [HTTPField.Name.contentType, .contentEncoding, .contentLanguage] {
      // No field value contains NUL (RFC 9110 §5.5), and no content is in doubt: it comes last.
      bytes += (request.headerFields[name] ?? "").utf8
      bytes.append(0)
    }
    bytes += content
    return CacheKey(queryAnchor(uri, partition: partition), suffix: bytes)
  }

  /// Where the `No-Vary-Search` value of a path is kept, with the nonce that is part of the keys made by it.
  package static func pathAnchor(_ uri: TargetURI, partition: String = "") -> CacheKey {
    let path = TargetURI(
      scheme: uri.scheme, authority: uri.authority,
      path: String(
        decoding: uri.path.utf8.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self))
    return CacheKey(path, partition: partition, derivation: "No-Vary-Search")
  }

  /// The key that a URI has in common with all that are equivalent to it.
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

  /// Where an application keeps what it wants to have beside the responses stored under this key.
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
