// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import HTTPTypes
import Hummingbird

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Request {
  /// Returns whether the client, or the cache, already has the response, so that the handler need not make it.
  ///
  /// ```swift
  /// router.get("products/:id") { request, context -> Response in
  ///   let version = try await store.version(of: context.parameters.require("id"))
  ///   if try request.isCurrent(etag: "\(version)") { return .notModified }
  ///   return try await page(context).caching(.public, maxAge: .seconds(60))
  /// }
  /// ```
  ///
  /// The engine evaluates all conditions of the request, in the order of RFC 9110 §13.2.2. Behind a ``CacheMiddleware``, the
  /// response gets the validators, too, whatever its content: see ``ResponseValidator/named(etag:lastModified:)``.
  ///
  /// - Parameters:
  ///   - etag: a text that changes whenever the response does, such as a version, for a weak entity tag; or a complete
  ///     entity tag, such as `"\"7\""`. Only strong ones meet `If-Match`.
  ///   - lastModified: when what the response shows was last changed.
  /// - Throws: `HTTPError` with the status 412 if the client requires another version (`If-Match`, `If-Unmodified-Since`;
  ///   `If-None-Match` of a method that changes something).
  public func isCurrent(etag: String? = nil, lastModified: Date? = nil) throws -> Bool {
    let validators = NamedValidators(etag: etag, lastModified: lastModified)
    CachingTask.current?.route?.validator = ResponseValidator(validators)
    switch CacheEngine.evaluateConditions(
      of: head, entityTag: validators.tag, lastModified: validators.modified,
      now: SystemCacheClock.shared.wallTime)
    {
    case .met: return false
    case .notModified: return true
    case .failed: throw HTTPError(.preconditionFailed)
    }
  }
}

extension Response {
  /// 304 (Not Modified), for a handler whose request `Request.isCurrent(etag:lastModified:)`.
  public static var notModified: Response { Response(status: .notModified).withoutLength() }
}

/// The validators that a handler names.
struct NamedValidators: Hashable, Sendable {
  let tag: EntityTag?
  let modified: HTTPDate?

  init(etag: String?, lastModified: Date?) {
    tag = etag.map { Self.tag($0) }
    modified = lastModified.map {
      HTTPDate(Timestamp(secondsSince1970: Int64(clamping: $0.timeIntervalSince1970)))
    }
  }

  /// Reads a complete tag, or makes one.
  private static func tag(_ text: String) -> EntityTag {
    let opaque = text.utf8.dropFirst(text.utf8.starts(with: "W/".utf8) ? 2 : 0)
    if opaque.first == UInt8(ascii: "\""), let tag = EntityTag(parsing: text) { return tag }
    var encoded = "\""
    for byte in text.utf8 {
      // RFC 9110 §8.8.3, and the percent sign, so that different texts have different tags.
      if byte > 0x20, byte < 0x7F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "%") {
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    return EntityTag(weak: true, opaque: encoded + "\"")
  }
}

extension Int64 {
  /// Whole seconds, rounded down.
  fileprivate init(clamping seconds: Double) {
    self = Int64(exactly: seconds.rounded(.down)) ?? (seconds < 0 ? .min : .max)
  }
}
