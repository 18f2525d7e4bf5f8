// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore

/// The parsed bytes of a key: the partition, the URI, and the kind.
package struct StoredKey: Hashable, Sendable {
  package enum Kind: String, Codable, Sendable {
    /// A response to GET.
    case get = "GET"
    /// A response to QUERY, or the anchor of a target's responses to QUERY.
    case query = "QUERY"
    /// A response that the URLs of a path share by `No-Vary-Search`, or its anchor.
    case noVarySearch = "No-Vary-Search"
    /// An application's annotation of a response, or an entry that HTTPCache did not store.
    case other
  }

  package let kind: Kind
  /// Whether it is the key of one of many variants, which have their own (``VariantIndex``).
  package let isVariant: Bool
  private let bytes: [UInt8]
  private let partitionEnd: Int
  private let uri: Range<Int>

  /// No URI contains NUL; it separates the partition, the URI and the rest.
  package init(_ key: StoreKey) {
    bytes = key.bytes
    let start = Self.withoutPartition(bytes).startIndex
    let end = bytes[start...].firstIndex(of: 0) ?? bytes.count
    partitionEnd = max(0, start - 1)
    uri = start..<end
    let hasURI = Self.isURI(bytes[uri])
    isVariant = hasURI && bytes[end...].starts(with: CacheKey.variantMark)
    guard hasURI else {
      kind = .other
      return
    }
    guard end < bytes.count, !isVariant else {
      kind = .get
      return
    }
    let word = bytes[(end + 1)...].prefix { $0 != 0 }
    kind = Kind(rawValue: String(decoding: word, as: UTF8.self)) ?? .other
  }

  /// What follows the name of the partition in a key or a scope: all of it without a partition.
  static func withoutPartition(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
    // A partition may look like a URI, and what follows a URI never does.
    guard let end = bytes.firstIndex(of: 0), isURI(bytes[(end + 1)...]) else { return bytes[...] }
    return bytes[(end + 1)...]
  }

  private static func isURI(_ part: ArraySlice<UInt8>) -> Bool {
    part.starts(with: "https://".utf8) || part.starts(with: "http://".utf8)
  }

  /// Whether it is the key of one of the variants under a key.
  package func isVariant(under key: StoreKey) -> Bool {
    isVariant && bytes.starts(with: key.bytes + CacheKey.variantMark)
  }

  /// The entry that leads to the one under this key, and the nonce that it needs for that; `nil` if requests find the entry
  /// without another, or it is such an entry itself.
  var anchor: (key: StoreKey, nonce: UInt64)? {
    guard kind != .other, uri.upperBound < bytes.count,
      let mark = bytes[(uri.upperBound + 1)...].firstIndex(of: 0), bytes.count - mark > 8
    else { return nil }
    let nonce = bytes[(mark + 1)...].prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    return (StoreKey(Array(bytes[...(isVariant ? uri.upperBound - 1 : mark)])), nonce)
  }

  package var partition: String { String(decoding: bytes[..<partitionEnd], as: UTF8.self) }
  /// The key as the engine has it; `nil` for an entry that is not a response.
  var cacheKey: CacheKey? { kind == .other ? nil : CacheKey(bytes: bytes, uriStart: uri.lowerBound) }

  /// The key of the resource whose variant is stored under this key; `nil` for an entry that is not a response to GET.
  var resource: CacheKey? {
    kind == .get ? CacheKey(bytes: Array(bytes[..<uri.upperBound]), uriStart: uri.lowerBound) : nil
  }

  package var url: String { String(decoding: bytes[uri], as: UTF8.self) }

  package func isIn(partition: String) -> Bool { bytes[..<partitionEnd].elementsEqual(partition.utf8) }

  /// Whether the entry under this key belongs to a target, so that a purge of the target covers it.
  package func isOf(_ target: TargetURI) -> Bool {
    let text = Array(target.text.utf8)
    if bytes[uri] == text[...] { return true }
    // A response that all queries of the path share belongs to each of them.
    return kind == .noVarySearch && bytes[uri] == text.prefix { $0 != UInt8(ascii: "?") }
  }

  /// Whether the entry under this key belongs to a target of a site.
  func isOf(_ site: SiteSelection) -> Bool {
    let start = uri.lowerBound + (bytes[uri].starts(with: "https".utf8) ? 8 : 7)
    guard kind != .other, start <= uri.upperBound else { return false }
    let authority = bytes[start..<uri.upperBound].prefix { $0 != UInt8(ascii: "/") }
    return site.table.scope(
      ofAuthority: String(decoding: authority, as: UTF8.self),
      path: String(decoding: bytes[authority.endIndex..<uri.upperBound], as: UTF8.self)) == site.scope
  }

  /// Whether the entry under this key belongs to a target that a pattern matches.
  package func isMeant(by pattern: TargetPattern) -> Bool {
    if pattern.matches(bytes[uri]) { return true }
    return kind == .noVarySearch && pattern.mayMatch(beginningWith: bytes[uri] + [UInt8(ascii: "?")])
  }
}

extension StoreKey {
  /// Whether responses under this key are found by another, or it is that key.
  func leads(from key: CacheKey) -> Bool {
    bytes == key.bytes || bytes.starts(with: key.bytes + CacheKey.variantMark)
  }
}
