// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheHummingbird
import HTTPTypes
import Hummingbird
import Synchronization
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("What was made for one visitor", .timeLimit(.minutes(10)))
struct OneVisitorTests {
  @Test(
    "A route gives no other visitor a page that had no lifetime, whatever seems to permit it",
    arguments: OneVisitor.Permission.allCases, [false, true])
  func others(permission: OneVisitor.Permission, revalidates: Bool) async throws {
    let isSecond = Atomic(false)
    let setting = try Setting(configure: { configuration in
      do { try permission.configure(&configuration) } catch { Issue.record(error) }
    }).caching()
    for form in OneVisitor.Form.allCases {
      setting.router.get(RouterPath(form.rawValue)) { _, _ in
        var fields = HTTPFields()
        for field in form.fields {
          if let name = HTTPField.Name(field.name) { fields[name] = field.value }
        }
        guard isSecond.load(ordering: .relaxed) else { return Response("Anna's", .ok, fields) }
        switch permission.origin {
        case .up: return Response("Bert's", .ok, fields)
        case .failing: return Response("down", .serviceUnavailable)
        case .gone: throw CancellationError()
        }
      }
    }
    try await setting.run(revalidates: revalidates) { (server: Server) async throws in
      for form in OneVisitor.Form.allCases {
        #expect(try await server.send(.get, "/\(form.rawValue)").text == "Anna's")
      }
      isSecond.store(true, ordering: .relaxed)
      for form in OneVisitor.Form.allCases {
        let reply = try await server.send(
          .get, "/\(form.rawValue)", permission.fields.map { ($0.name, $0.value) })
        #expect(!reply.text.contains("Anna"), "\(form)")
        if permission.origin == .up, permission != .onlyIfCached { #expect(reply.text == "Bert's") }
      }
    }
  }
}
