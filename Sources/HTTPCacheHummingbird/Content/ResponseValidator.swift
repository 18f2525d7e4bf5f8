// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore
import HTTPTypes
import Hummingbird
import NIOCore

/// How a response gets the validator that its handler gives none.
public struct ResponseValidator: Hashable, Sendable {
  private enum Value { case none, strong }
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

  /// Adds the validator to a response.
  func apply(to response: inout Response, _ content: ByteBuffer) {
    // No content in response to HEAD: its length is that of another content.
    guard value == .strong, response.status == .ok, content.readableBytes > 0, response.headers[.eTag] == nil
    else { return }
    response.headers[.eTag] = Self.strongTag(content)
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
