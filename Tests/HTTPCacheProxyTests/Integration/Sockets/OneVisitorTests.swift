// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import HTTPCacheStore
import HTTPCaching
import Loopback
import Synchronization
import TestSupport
import Testing

@Suite("What was made for one visitor", .timeLimit(.minutes(10)))
struct OneVisitorTests {
  @Test(
    "No other visitor gets a page that had no lifetime, whatever seems to permit it",
    arguments: OneVisitor.Permission.allCases,
    [(isHTTP2: false, onDisk: false), (false, true), (true, false), (true, true)])
  func others(permission: OneVisitor.Permission, way: (isHTTP2: Bool, onDisk: Bool)) async throws {
    try await withTemporaryDirectory { directory in
      let isSecond = Atomic(false)
      try await HTTP2Tests.run(
        cache: { configuration in
          do { try permission.configure(&configuration) } catch { Issue.record(error) }
          if way.onDisk {
            configuration.store.directory = directory
            configuration.store.diskCapacity = 16 << 20
            configuration.store.memoryCapacity = 0
          }
        },
        origin: { request, connection in
          let form = OneVisitor.Form.allCases.first { request.hasPrefix("GET /\($0.rawValue) ") }
          let fields = (form?.fields ?? []).map { "\($0.name): \($0.value)\r\n" }.joined()
          guard isSecond.load(ordering: .relaxed) else {
            try await connection.send(ok("Anna's", fields))
            return true
          }
          switch permission.origin {
          case .up: try await connection.send(ok("Bert's", fields))
          case .failing:
            try await connection.send("HTTP/1.1 503 Unavailable\r\nContent-Length: 4\r\n\r\ndown")
          case .gone: return false
          }
          return true
        }
      ) { (proxy: ProxyFixture, client: HTTP2Client) async throws in
        func get(_ path: String, _ fields: [(name: String, value: String)]) async throws -> String {
          if way.isHTTP2 {
            let answer = try await client.send(
              HTTP2Tests.request(path, fields.map { ($0.name.lowercased(), $0.value) }))
            return String(decoding: answer.body, as: UTF8.self)
          }
          return try await proxy.get(path, fields.map { "\($0.name): \($0.value)\r\n" }.joined())
        }
        for form in OneVisitor.Form.allCases {
          expect(try await get("/\(form.rawValue)", []), endsWith: "Anna's")
        }
        isSecond.store(true, ordering: .relaxed)
        for form in OneVisitor.Form.allCases {
          let answer = try await get("/\(form.rawValue)", permission.fields)
          #expect(!answer.contains("Anna"), "\(form): \(answer)")
          if permission.origin == .up, permission != .onlyIfCached { expect(answer, endsWith: "Bert's") }
        }
      }
    }
  }
}
