// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// What the operations work on: a CDN's answer to a browser, as it often looks.
enum Samples {
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
  }
}
