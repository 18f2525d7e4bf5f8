// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HTTPCacheProxy

@Suite("What is known of the origin", .timeLimit(.minutes(10)))
struct OriginHealthTests {
  private enum Step: Sendable {
    case success
    case failure
    case probe(OriginError.Kind?)
    /// Seconds.
    case wait(Int64)
  }

  @Test(
    "The origin is ready after a recent answer, or after a recent successful probe",
    arguments: [
      ([], nil), ([.success], .ready), ([.failure], .unreachable(.responseTimeout)),
      ([.success, .failure], .ready), ([.failure, .success], .ready),
      ([.success, .wait(10)], .ready), ([.success, .wait(11)], nil),
      ([.success, .wait(9), .failure, .wait(2)], .unreachable(.responseTimeout)),
      ([.failure, .wait(11)], nil), ([.probe(nil)], .ready), ([.probe(nil), .wait(2)], nil),
      ([.probe(.connectionRefused)], .unreachable(.connectionRefused)),
      ([.probe(.connectionRefused), .wait(2)], nil), ([.probe(.connectionRefused), .success], .ready),
      ([.probe(nil), .failure], .unreachable(.responseTimeout)),
    ] as [([Step], OriginHealth.State?)])
  private func knowledge(steps: [Step], state: OriginHealth.State?) {
    var health = OriginHealth()
    var now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    for step in steps {
      switch step {
      case .success: health.exchangeEnded(nil, at: now)
      case .failure: health.exchangeEnded(.responseTimeout, at: now)
      case .probe(let kind): health.probeEnded(kind, at: now)
      case .wait(let seconds): now = now + .seconds(seconds)
      }
    }
    #expect(health.state(at: now) == state)
  }

  @Test("The admin port reports whether the origin is ready, and why not")
  func readiness() async throws {
    let loop = EmbeddedEventLoop()
    let context = try ProxyContext.embedded(on: loop)
    func ask() async -> AdminRequest.Answer {
      let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/ready")
      return await AdminRequest(head, content: [], context).answer()
    }
    let server = try #require(context.sites.table.sites.first?.origin.servers.first)
    await #expect(throws: OriginError.self) {
      try await server.counting { throw OriginError(.connectionTerminated, "the origin is gone") }
    }
    let failed = await ask()
    #expect(failed.status == 503)
    #expect(failed.text == "the origin does not answer: connection_terminated\n")
    try await server.counting {}
    let answered = await ask()
    #expect(answered.status == 200)
    #expect(answered.text == "ready\n")
  }
}
