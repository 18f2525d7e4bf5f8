// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// What the operations work on: a CDN's answer to a browser, as it often looks.
enum Samples {
  /// The variant of all entries. It is not 1, the variant of an index: the cache would look for more variants.
  static let variant = VariantID(rawValue: 2)
  static let now = Timestamp(secondsSince1970: 1_704_164_650)
  static let cacheControl = "public, max-age=3600, stale-while-revalidate=60"
  static let date = "Tue, 02 Jan 2024 03:04:05 GMT"

  static func request(_ number: Int) -> HTTPRequest {
    let digits = String(number)
    // A key of 64 bytes.
    let path = "/assets/images/objects/" + String(repeating: "0", count: 11 - digits.count) + digits + ".webp"
    return HTTPRequest(
      method: .get, scheme: "https", authority: "cache.example.com", path: path,
      headerFields: received([
        .userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
        .accept: "image/webp,*/*;q=0.8", .acceptLanguage: "en-GB,en;q=0.5",
        .acceptEncoding: "gzip, deflate, br",
      ]))
  }

  /// Ten fields.
  static let head = HTTPResponse(
    status: .ok,
    headerFields: received([
      .date: "Tue, 02 Jan 2024 03:04:08 GMT", .contentType: "image/webp", .contentLength: "1024",
      .connection: "keep-alive", .cacheControl: cacheControl, .eTag: "\"5f3a-61c7e0d9b2a40\"",
      .lastModified: date, .server: "origin", .vary: "Accept-Encoding", .acceptRanges: "bytes",
    ]))

  /// The head with so many fields: the first is the entity tag, and those after the tenth are others that are often
  /// seen.
  static func head(fieldCount: Int) -> HTTPResponse {
    let others: [(name: String, value: String)] = [
      ("Content-Language", "en"), ("Strict-Transport-Security", "max-age=63072000; includeSubDomains"),
      ("X-Content-Type-Options", "nosniff"), ("Access-Control-Allow-Origin", "*"),
      ("Timing-Allow-Origin", "https://www.example.com"),
      ("X-Request-Id", "8f14e45f-ceea-4d5c-9d52-6f2d8e1a0b7c"),
      ("Link", "</assets/site.css>; rel=preload; as=style"), ("Via", "1.1 varnish"), ("X-Cache", "MISS"),
      ("X-Served-By", "cache-fra-eddf8230051-FRA"), ("X-Timer", "S1704164648.123456,VS0,VE93"),
      ("Alt-Svc", "h3=\":443\"; ma=86400"), ("Referrer-Policy", "strict-origin-when-cross-origin"),
      ("Permissions-Policy", "interest-cohort=()"), ("X-Frame-Options", "SAMEORIGIN"),
      ("Cross-Origin-Resource-Policy", "cross-origin"), ("X-Amz-Meta-Owner", "images"),
      ("X-Amz-Version-Id", "null"), ("X-Backend", "web-14"),
      ("Server-Timing", "cdn-cache; desc=MISS, edge; dur=1"),
    ]
    let first = head.headerFields.filter { $0.name == .eTag }
    let fields =
      first + head.headerFields.filter { $0.name != .eTag }
      + others.compactMap { field in
        HTTPField.Name(field.name).map { HTTPField(name: $0, value: field.value) }
      }
    return HTTPResponse(status: .ok, headerFields: received(HTTPFields(fields.prefix(fieldCount))))
  }

  /// The fields, with values in separate memory, as when they come from the network.
  private static func received(_ fields: HTTPFields) -> HTTPFields {
    var received = HTTPFields()
    for field in fields { received.append(HTTPField(name: field.name, value: Array(field.value.utf8))) }
    return received
  }

  static func key(_ number: Int) -> StoreKey { StoreKey(CacheKey(request(number))?.bytes ?? []) }

  static let body = [UInt8](repeating: 0x61, count: 1024)

  static func exchange(_ head: HTTPResponse = head) throws -> CacheEngine.Exchange {
    let plan = engine.plan(
      for: request(0), policy: .useProtocolCachePolicy, candidates: [], now: now)
    guard case .forward(let forwarding) = plan else { throw Unprepared.plan }
    return CacheEngine.Exchange(
      forwarding: forwarding, candidates: [], result: .response(head), requestTime: now, responseTime: now)
  }

  /// A 304 to a request that revalidates a response with this head, read from its stored form.
  static func validation(of head: HTTPResponse) throws -> CacheEngine.Exchange {
    guard case .store(let received, _) = engine.outcome(of: try exchange(head)).storage,
      let stored = StoredResponse(decoding: received.encoded().span.bytes, contentLength: 1024)
    else { throw Unprepared.notStored }
    let later = now.advanced(by: .seconds(7200))
    let plan = engine.plan(
      for: request(0), policy: .reloadRevalidatingCacheData, candidates: [stored], now: later)
    guard case .forward(let forwarding) = plan else { throw Unprepared.plan }
    let validated = HTTPResponse(
      status: .notModified,
      headerFields: Self.received([
        .date: "Tue, 02 Jan 2024 05:04:08 GMT", .connection: "keep-alive", .cacheControl: cacheControl,
        .eTag: "\"5f3a-61c7e0d9b2a40\"", .lastModified: date, .server: "origin", .vary: "Accept-Encoding",
      ]))
    return CacheEngine.Exchange(
      forwarding: forwarding, candidates: [stored], result: .response(validated), requestTime: later,
      responseTime: later)
  }

  static let engine = CacheEngine(.init(kind: .shared))

  static func stored() throws -> StoredResponse {
    guard case .store(let stored, _) = engine.outcome(of: try exchange()).storage else {
      throw Unprepared.notStored
    }
    return stored
  }

  enum Unprepared: Error {
    case plan
    case notStored
    case notUpdated
  }
}
