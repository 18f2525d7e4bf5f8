// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// What must hold of a hit's short way: it serves what the plan serves, in the same form.
package enum HitProperties {
  /// Over requests that are mostly the one that the response was stored for.
  static func hits(_ bytes: [UInt8]) throws {
    _ = try count(bytes)
  }

  /// - Returns: how many requests were hits.
  package static func count(_ bytes: [UInt8]) throws -> Int {
    var numbers = InputNumbers(bytes)
    let choices = numbers.byte()
    var model = ModelCache(
      CacheEngine.Configuration(
        kind: choices & 1 == 0 ? .private : .shared, targets: choices & 2 == 0 ? [] : ["cdn-cache-control"],
        negotiatesLanguage: choices & 4 != 0))
    var first = numbers.request()
    first.scheme = "https"
    var result = numbers.response()
    if choices & 8 != 0 {
      first.method = .get
      result.status = .ok
      result.headerFields[.cacheControl] = "max-age=\(numbers.byte())"
    }
    try model.exchange(first, .response(result))
    for _ in 0..<4 where !numbers.isAtEnd {
      var request = first
      let change = numbers.byte()
      if change & 1 != 0 { request.method = change & 2 == 0 ? .head : .get }
      if change & 0x1C == 0 { request.headerFields = numbers.request().headerFields }
      let policy =
        change < 192 ? RequestCachePolicy.useProtocolCachePolicy : numbers.pick(RequestCachePolicy.allCases)
      try model.exchange(request, policy: policy, .failure)
      let step = numbers.byte()
      model.now = model.now.advanced(bySeconds: step < 240 ? Int64(step / 8) : -numbers.seconds() / 1000)
    }
    return model.hits
  }

  /// Whatever the bytes are, reading their front does not crash. Of what can be read it says what the plan says.
  static func front(_ bytes: [UInt8]) throws {
    let decoded = StoredResponse(decoding: bytes[...])
    let canDecode = bytes.withUnsafeBytes { StoredResponse.canDecode($0.bytes) }
    try require(canDecode == (decoded != nil), "decodable or not: \(bytes)")
    let times = [
      decoded?.facts.responseTime ?? Vocabulary.start, Timestamp(milliseconds: .min),
      Timestamp(milliseconds: .max),
    ]
    for kind in CacheEngine.Configuration.Kind.allCases {
      for time in times { try check(bytes, decoded, in: kind, at: time) }
    }
  }

  // Apart, and not inlined: the optimizer of Swift 6.3 stumbles over these loops within those.
  @inline(never)
  private static func check(
    _ bytes: [UInt8], _ decoded: StoredResponse?, in kind: CacheEngine.Configuration.Kind, at time: Timestamp
  ) throws {
    var model = ModelCache(kind: kind)
    model.isTrusted = false
    model.now = time
    for value in ["", "a", "é", "gzip, br"] {
      var request = HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: "/r")
      if !value.isEmpty { request.headerFields = [.accept: value, .acceptEncoding: value] }
      try model.checkHit(of: bytes, decoded, request, .useProtocolCachePolicy)
    }
  }
}

extension ModelCache {
  /// What decides beside the nominated fields.
  private static let deciding: [HTTPField.Name] =
    [
      .cacheControl, .ifNoneMatch, .ifModifiedSince, .range, .ifRange, .ifMatch, .ifUnmodifiedSince,
    ] + [HTTPField.Name("Pragma")].compactMap { $0 }

  /// The short way, where there is one candidate.
  mutating func checkHit(_ plan: CacheEngine.Plan, _ request: HTTPRequest, _ policy: RequestCachePolicy)
    throws
  {
    guard candidates.count == 1, let stored = candidates.first else { return }
    let encoded = stored.encoded()
    let hit = try checkHit(of: encoded, stored, request, policy)
    if hit != nil { hits += 1 }
    // The other way round, where it is plain: the same request again.
    guard case .serve(let service) = plan, isTrusted, request.headerFields == askedWith[0],
      request.method == .get, stored.parts == nil, !service.isStale, service.reason != .immutable,
      Self.deciding.allSatisfy({ request.headerFields[$0] == nil }),
      stored.selecting.fields.count <= 8,
      stored.selecting.fields.allSatisfy({ field in
        // A digest is compared the long way.
        !field.isDigest && request.headerFields.count { $0.name.canonicalName == field.name } <= 1
      })
    else { return }
    try require(hit != nil, "the long way for no reason: \(request), \(stored)")
  }

  @discardableResult
  func checkHit(
    of bytes: [UInt8], _ decoded: StoredResponse?, _ request: HTTPRequest, _ policy: RequestCachePolicy
  ) throws -> CacheEngine.Hit? {
    let hit = bytes.withUnsafeBytes {
      engine.hit(for: request, policy: policy, stored: $0.bytes, now: now)
    }
    guard let hit, let decoded else { return hit }
    let plan = engine.plan(for: request, policy: policy, candidates: [decoded], now: now)
    try require(plan == .serve(CacheEngine.Service(hit)), "\(hit), but \(plan) of \(decoded) for \(request)")
    return hit
  }
}
