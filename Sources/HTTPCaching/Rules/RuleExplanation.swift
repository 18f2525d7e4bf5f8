// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// What rules make of one request, for explanations.
package struct RuleExplanation: Sendable {
  /// The rules that match, in order, with the settings that decide: those that no rule before them names. A request that is
  /// excluded from the cache has few others.
  package var rules: [(name: String, settings: [(name: String, value: String)])] = []
  /// The request as it is looked up and sent.
  package var request: HTTPRequest
  /// The target that is part of the key; `nil` if the request has none.
  package var target: TargetURI?
  /// The partition; `nil` if no rule says it.
  package var partition: String?
  /// Judges the request and the responses to it.
  package var engine: CacheEngine

  /// - Parameter configuration: the settings that rules vary.
  package init(
    of request: HTTPRequest, by rules: CacheRules, _ configuration: CacheEngine.Configuration
  ) {
    self.request = request
    engine = CacheEngine(configuration)
    target = TargetURI(request)
    guard let table = RuleTable(rules, configuration), let ruled = table.ruled(request) else { return }
    var named: Set<String> = []
    for (index, matching) in table.matchingRules(request) {
      let rule = ruled.isBypassed ? matching.uncached(configuration.targets) : matching
      // A setting for some responses leaves the others to later rules.
      let settings = rule.settings.filter { !named.contains($0.name) && !$0.value.isEmpty }
      if !rule.match.isOfResponse { named.formUnion(settings.map(\.name)) }
      self.rules.append((rules.name(of: index), settings))
    }
    (self.request, partition, engine) = (ruled.rewritten(request), ruled.partition(of: request), ruled.engine)
    target = target.map { table.keyed($0) }
  }

  /// Returns a response as it is judged and passed on.
  package func response(_ head: HTTPResponse) -> HTTPResponse { engine.ruled(head, length: nil) }
}
