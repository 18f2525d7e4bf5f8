// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Requests to an origin that does not answer", .timeLimit(.minutes(10)))
struct WithholdingTests {
  private struct Away: Error {}

  /// What is stored, a request 100 seconds later, and whether it is withheld, because the stored response answers.
  struct Course: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// `Cache-Control` of the stored response; `nil` if none is stored.
    var stored: String?
    var method = HTTPRequest.Method.get
    var fields: HTTPFields = [:]
    var isWithheld: Bool
  }

  static let courses = [
    Course(testDescription: "nothing is stored", isWithheld: false),
    Course(testDescription: "stale, permitted", stored: "max-age=1, stale-if-error=600", isWithheld: true),
    Course(
      testDescription: "HEAD", stored: "max-age=1, stale-if-error=600", method: .head, isWithheld: true),
    Course(testDescription: "stale, not permitted", stored: "max-age=1", isWithheld: false),
    Course(
      testDescription: "stale, permitted no longer", stored: "max-age=1, stale-if-error=10", isWithheld: false
    ),
    Course(
      testDescription: "must-revalidate", stored: "max-age=1, must-revalidate, stale-if-error=600",
      isWithheld: false),
    Course(
      testDescription: "a reload", stored: "max-age=600, stale-if-error=600",
      fields: [.cacheControl: "no-cache"], isWithheld: false),
    Course(
      testDescription: "fresh, but too old for the request", stored: "max-age=600, stale-if-error=600",
      fields: [.cacheControl: "max-age=10"], isWithheld: true),
    Course(
      testDescription: "an unsafe method", stored: "max-age=1, stale-if-error=600", method: .post,
      isWithheld: false),
  ]

  @Test(
    "A request is withheld if a stored response may answer, and sent otherwise", arguments: courses,
    [false, true])
  func withheld(_ course: Course, onDisk: Bool) async throws {
    try await withTemporaryDirectory { directory in
      let setting = try Setting(directory: onDisk ? directory : nil) { $0.rules.whenDisconnected = .nothing }
      if let stored = course.stored {
        let origin = MemoryOrigin { _, _ in .ok("stored", [.cacheControl: stored]) }
        _ = try await setting.get(from: origin)
      }
      setting.clock.advance(seconds: 100)
      var request = HTTPRequest.get(fields: course.fields)
      request.method = course.method
      let origin = MemoryOrigin { _, _ in .ok("new", [.cacheControl: "no-store"]) }
      let answer = try await setting.cache.respond(
        to: request, body: .empty, policy: .useProtocolCachePolicy, interim: nil,
        on: BlockingExecutor.shared, withhold: { $0() ? Away() : nil }, transport: origin.transport)
      let text = try await answer.text
      #expect(origin.requests.count == (course.isWithheld ? 0 : 1))
      #expect(text == (course.method == .head ? "" : course.isWithheld ? "stored" : "new"))
    }
  }

  @Test("A request that may be answered does not wait for an equal one that is sent")
  func waiting() async throws {
    let setting = try Setting()
    let fields: HTTPFields = [.cacheControl: "max-age=1, stale-if-error=600"]
    _ = try await setting.get(from: MemoryOrigin { _, _ in .ok("stored", fields) })
    setting.clock.advance(seconds: 100)
    let held = Gate()
    let origin = MemoryOrigin(holding: [held], each: 1) { .ok("\($1)", fields) }
    let first = Task { try await setting.get(from: origin) }
    await held.arrived(1)
    let second = try await setting.cache.respond(
      to: .get(), body: .empty, policy: .useProtocolCachePolicy, interim: nil, on: BlockingExecutor.shared,
      withhold: { $0() ? Away() : nil }, transport: origin.transport)
    #expect(try await second.text == "stored" && second.reason == .staleIfError)
    held.open()
    #expect(try await first.value.text == "1" && origin.requests.count == 1)
  }
}
