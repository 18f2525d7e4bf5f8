// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheAsyncHTTPClient
import HTTPCaching
import HTTPTypes
import Loopback
import Synchronization
import TestSupport
import Testing

@Suite("What was made for one visitor", .timeLimit(.minutes(10)))
struct OneVisitorTests {
  @Test(
    "A shared cache gives no other caller a page that had no lifetime, whatever seems to permit it",
    arguments: OneVisitor.Permission.allCases, [false, true])
  func others(permission: OneVisitor.Permission, onDisk: Bool) async throws {
    try await withTemporaryDirectory { directory in
      let isSecond = Atomic(false)
      try await Fixture.with(
        .shared,
        cacheOptions: { configuration in
          do { try permission.configure(&configuration) } catch { Issue.record(error) }
        }, disk: onDisk ? directory : nil
      ) { request in
        let form = OneVisitor.Form.allCases.first { request.target == "/\($0.rawValue)" }
        var fields = HTTPFields()
        for field in form?.fields ?? [] {
          if let name = HTTPField.Name(field.name) { fields[name] = field.value }
        }
        guard isSecond.load(ordering: .relaxed) else { return .init(fields: fields, body: "Anna's") }
        return switch permission.origin {
        case .up: .init(fields: fields, body: "Bert's")
        case .failing: .init(status: 503, fields: [:], body: "down")
        case .gone: .init(fields: [:], body: "", ending: .noResponse)
        }
      } test: { (fixture: Fixture) async throws in
        for form in OneVisitor.Form.allCases {
          #expect(try await fixture.get("/\(form.rawValue)").body == "Anna's")
        }
        isSecond.store(true, ordering: .relaxed)
        for form in OneVisitor.Form.allCases {
          let answer = try? await fixture.get(
            "/\(form.rawValue)", permission.fields.map { ($0.name, $0.value) })
          #expect(answer?.body != "Anna's", "\(form)")
          if permission.origin == .up, permission != .onlyIfCached { #expect(answer?.body == "Bert's") }
        }
      }
    }
  }

  @Test(
    "Two accounts with one tag each get their own",
    arguments: [CacheEngine.Configuration.Kind.private, .shared])
  func accounts(kind: CacheEngine.Configuration.Kind) async throws {
    try await Fixture.with(kind) { request in
      let account = request.fields[.authorization] ?? ""
      let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]
      if request.fields[.ifNoneMatch] == "\"1\"" { return .init(status: 304, fields: fields, body: "") }
      return .init(fields: fields, body: account)
    } test: { (fixture: Fixture) async throws in
      for account in ["Bearer anna", "Bearer bert", "Bearer anna", "Bearer bert"] {
        #expect(try await fixture.get("/me", [("Authorization", account)]).body == account)
      }
      fixture.clock.advance(seconds: 61)
      for account in ["Bearer bert", "Bearer anna"] {
        #expect(try await fixture.get("/me", [("Authorization", account)]).body == account)
      }
    }
  }
}
