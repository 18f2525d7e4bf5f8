// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import HTTPTypes

/// A way into the cache, such as an adapter for a client: it sends the requests of scenarios.
protocol ScenarioEntry: Sendable {
  /// Returns why a scenario cannot run this way; `nil` if it can.
  func obstacle(to scenario: Scenario) -> String?

  /// Sends a request through a cache that has its responses from an origin.
  ///
  /// - Throws: an error, if the client gets one instead of a response.
  func answer(
    to request: HTTPRequest, content: [UInt8], policy: RequestCachePolicy, of scenario: Scenario,
    from cache: HTTPCache, origin: ScenarioOrigin
  ) async throws -> ScenarioReply
}

/// What a client gets.
struct ScenarioReply: Sendable {
  var head: HTTPResponse
  var content: [UInt8]
  /// Whether the content is complete.
  var isWhole: Bool

  init(head: HTTPResponse, content: [UInt8], isWhole: Bool = true) {
    (self.head, self.content, self.isWhole) = (head, content, isWhole)
  }
}

extension Scenario {
  /// Whether a step has a feature, by its name in the format.
  func uses(_ name: String) -> Bool { steps.contains { $0[name] != nil } }

  /// Whether a step is sent to another scheme than http.
  var usesTLS: Bool { steps.contains { $0.text("url")?.hasPrefix("https:") == true } }
}
