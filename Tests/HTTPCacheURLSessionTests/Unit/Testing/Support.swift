// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import HTTPCacheTesting
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A request to a URL of plain parts.
func request(_ url: String, method: HTTPRequest.Method = .get, fields: HTTPFields = [:]) -> HTTPRequest? {
  let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
  guard parts.count == 4 else { return nil }
  return HTTPRequest(
    method: method, scheme: String(parts[0].dropLast()), authority: String(parts[2]), path: "/" + parts[3],
    headerFields: fields)
}

func makeCache(clock: any CacheClock = TestClock()) throws -> HTTPCache {
  HTTPCache(store: try CacheStore(.init(memoryCapacity: 4 << 20)), configuration: .init(), clock: clock)
}

extension HTTPCache {
  func get(
    _ url: String, policy: RequestCachePolicy = .useProtocolCachePolicy, fields: HTTPFields = [:],
    through transport: @escaping Transport = { _, _ in throw URLError(.notConnectedToInternet) }
  ) async throws -> (text: String, response: CachedResponse) {
    guard let request = request(url, fields: fields) else { throw URLError(.badURL) }
    let response = try await respond(to: request, policy: policy, transport: transport)
    return (String(decoding: try await response.body.collect(upTo: .max), as: UTF8.self), response)
  }
}
