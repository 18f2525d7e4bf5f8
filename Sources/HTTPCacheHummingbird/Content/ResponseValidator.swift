// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import Hummingbird
import NIOCore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How a response gets the validator that its handler gives none.
public struct ResponseValidator: Hashable, Sendable {
  private enum Value: Hashable, Sendable {
    case none, strong
    case named(NamedValidators)
  }
  private let value: Value

  /// The response gets no validator.
  public static var none: ResponseValidator { ResponseValidator(value: .none) }

  /// A 200 response to GET or HEAD gets a strong `ETag`, made from its content. Its content must have a known length of
  /// 64 KiB or less.
  ///
  /// The tag is 128 bits of XXH3, and the same in every process. Accidental collisions are practically impossible. The
  /// hash is not cryptographic: a user who chooses all of a content could make two versions with equal tags. A client
  /// with one of them would then not get the other. But that user already decides what the clients see.
  public static var strong: ResponseValidator { ResponseValidator(value: .strong) }

  /// A successful response to GET or HEAD, or a 304, gets these validators: `ETag` and `Last-Modified`. Its content may have
  /// any size, be streamed, and be compressed.
  ///
  /// - Parameters:
  ///   - etag: a text that changes whenever the response does, for a weak entity tag; or a complete entity tag, such as
  ///     `"\"7\""`. A strong one becomes weak if a middleware behind the cache compresses the content.
  ///   - lastModified: when what the response shows was last changed.
  public static func named(etag: String? = nil, lastModified: Date? = nil) -> ResponseValidator {
    ResponseValidator(NamedValidators(etag: etag, lastModified: lastModified))
  }

  init(_ validators: NamedValidators) { self.init(value: .named(validators)) }

  private init(value: Value) { self.value = value }

  /// Adds the validator to a response to GET or HEAD.
  ///
  /// - Parameter content: the content, if it is small and known.
  func apply(to response: inout Response, _ content: ByteBuffer?) {
    switch value {
    case .none: break
    case .strong:
      // No content in response to HEAD: its length is that of another content.
      guard let content, response.status == .ok, content.readableBytes > 0, response.headers[.eTag] == nil
      else { return }
      response.headers[.eTag] = Self.strongTag(content)
    case .named(let validators):
      guard (200...299).contains(response.status.code) || response.status == .notModified else { return }
      if let tag = validators.tag, response.headers[.eTag] == nil {
        // One tag for several codings (RFC 9110 §8.8.1).
        let isWeak = tag.isWeak || response.headers.contains(.contentEncoding)
        response.headers[.eTag] = EntityTag(weak: isWeak, opaque: tag.opaque).fieldValue
      }
      if let modified = validators.modified, response.headers[.lastModified] == nil {
        response.headers[.lastModified] = modified.fieldValue
      }
    }
  }

  private static let seeds: (UInt64, UInt64) = (0x4854_5450, 0x4361_6368)

  static func strongTag(_ content: ByteBuffer) -> String {
    content.withUnsafeReadableBytes { bytes in
      "\"" + hex(XXH3.hash(bytes, seed: seeds.0)) + hex(XXH3.hash(bytes, seed: seeds.1)) + "\""
    }
  }

  private static func hex(_ word: UInt64) -> String {
    let digits = String(word, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}
