// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes

/// Runs scenarios against the cache in virtual time, with an origin in memory and no sockets.
struct ScenarioRunner: Sendable {
  /// The result of a scenario.
  enum Result: Hashable, Sendable {
    case passed
    case failed(String)
    /// The scenario could not be set up, so its result means nothing.
    case setup(String)
    /// A scenario that it depends on did not pass.
    case dependency(String)
    /// It applies to another kind of cache, or needs features that this runner lacks.
    case notApplicable

    var isPass: Bool { self == .passed }
  }

  struct Report: Sendable {
    var suite: String
    var scenario: Scenario
    var result: Result
    /// The actions of the cache at each step, and why.
    var trace: [String]
  }

  private let configuration: HTTPCache.Configuration
  private let entry: (any ScenarioEntry)?

  /// - Parameters:
  ///   - targets: the cache's target list (RFC 9213); with one, scenarios for CDNs are run too.
  ///   - entry: sends the requests to the cache; `nil` calls the cache itself.
  init(
    kind: CacheEngine.Configuration.Kind, targets: [String] = [], through entry: (any ScenarioEntry)? = nil
  ) {
    self.entry = entry
    var configuration = HTTPCache.Configuration(kind: kind)
    // The suite tests the behaviour of a cache without its origin, for caches that may serve stale responses (RFC 9111
    // §4.2.4).
    configuration.rules.whenDisconnected = .unlessForbidden
    // The scenarios state what the RFC permits a private cache.
    configuration.rules.separatesCredentials = false
    configuration.rules.targets = targets
    // They state what a request requires.
    configuration.rules.reload = .honor
    self.configuration = configuration
  }

  /// Runs all scenarios of a file.
  func run(_ suites: [ScenarioSuite]) async throws -> [Report] {
    var reports: [Report] = []
    for suite in suites {
      for scenario in suite.tests {
        var (result, trace) = (Result.notApplicable, [String]())
        if isApplicable(scenario) {
          if let obstacle = entry?.obstacle(to: scenario) {
            trace = [obstacle]
          } else {
            (result, trace) = try await run(scenario)
          }
        }
        reports.append(Report(suite: suite.name, scenario: scenario, result: result, trace: trace))
      }
    }
    return Self.settleDependencies(reports)
  }

  func isApplicable(_ scenario: Scenario) -> Bool {
    if scenario.isForBrowsersOnly { return false }
    if scenario.isForCDNsOnly, configuration.rules.targets.isEmpty { return false }
    if configuration.rules.kind == .private, scenario.isNotForBrowsers { return false }
    return scenario.caches.isEmpty || scenario.caches.contains(configuration.rules.kind.rawValue)
      || (scenario.caches.contains("cdn") && !configuration.rules.targets.isEmpty)
  }

  static func settleDependencies(_ reports: [Report]) -> [Report] {
    let results = Dictionary(
      reports.map { ($0.scenario.id, $0.result) }, uniquingKeysWith: { first, _ in first })
    return reports.map { report in
      guard report.result != .notApplicable,
        let missing = report.scenario.dependsOn.first(where: { results[$0].map { !$0.isPass } ?? false })
      else { return report }
      var report = report
      report.result = .dependency(missing)
      return report
    }
  }

  // MARK: - One scenario

  private typealias Answer = (head: HTTPResponse, body: String)
  private static let noAnswer: Answer = (HTTPResponse(status: .gatewayTimeout), "")

  /// Runs one scenario with its own cache.
  func run(_ scenario: Scenario) async throws -> (Result, trace: [String]) {
    let clock = VirtualClock(Timestamp(seconds: 1_700_000_000))
    let cache = HTTPCache(
      store: try CacheStore(.init(memoryCapacity: 1 << 20)), configuration: configuration(for: scenario),
      clock: clock)
    let origin = ScenarioOrigin(scenario, clock: clock)
    var trace: [String] = []
    var previous: HTTPResponse?
    var answers: [HTTPResponse] = []
    for (index, step) in scenario.steps.enumerated() {
      let request = Self.request(step, number: index + 1, of: scenario, previous: previous)
      let interim = InterimLog()
      let content = Array((step.text("request_body") ?? "").utf8)
      let policy =
        step.text("policy").flatMap(RequestCachePolicy.init(rawValue:)) ?? .useProtocolCachePolicy
      var (answer, story): (Answer, StepStory)
      do {
        if let entry {
          let reply = try await entry.answer(
            to: request, content: content, policy: policy, of: scenario, from: cache, origin: origin)
          story = StepStory(reply.head, isWhole: reply.isWhole)
          answer = (
            reply.head, Self.text(reply.content, of: reply.head, isMade: story.cacheStatus.contains("hit"))
          )
          trace.append("step \(index + 1): \(story.described(reply.head))")
        } else {
          let response = try await cache.respond(
            to: request, body: MessageBody(content), policy: policy, interim: { interim.add($0) }
          ) { forwarded, content in
            let content = String(decoding: try await content.collect(upTo: 1 << 20), as: UTF8.self)
            return try await origin.answer(forwarded, content: content)
          }
          story = StepStory(response)
          answer = (response.head, await Self.content(of: response, &story))
          trace.append("step \(index + 1): \(story.described(response))")
        }
        // A shared cache generates a response; a private one throws the transport's error.
        if step.text("expected_source") == "error" {
          if story.isGenerated(answer.head) { story.source = "error" }
        } else if !story.isWhole {
          answer = Self.noAnswer
        }
      } catch {
        (answer, story) = (Self.noAnswer, StepStory(error))
        trace.append("step \(index + 1): \(error)")
      }
      // Work in the background belongs to this step, and must end at its time.
      try await cache.fetches.emptied()
      story.originRequests = origin.requests.count
      let check = AnswerCheck(
        scenario: scenario, step: step, number: index + 1, head: answer.head, interim: interim.heads,
        body: answer.body)
      let isExpectedError = story.source == "error" && step.text("expected_source") == "error"
      let hasAnswer = !isExpectedError || (!story.isWhole && step["expected_response_text"] != nil)
      if let problem = (hasAnswer ? check.problem(previousStart: clock.now) : nil)
        ?? story.problem(step).map({ .failed("step \(index + 1): \($0)") })
      {
        return (problem, trace)
      }
      previous = answer.head
      answers.append(answer.head)
      clock.advance(seconds: step.flag("pause_after") ? 3 : step["advance_after"]?.integer ?? 0)
    }
    return (
      RecordCheck(scenario: scenario, records: origin.requests, answers: answers).problem() ?? .passed, trace
    )
  }

  /// Reads the content, as far as it arrives. `boundary` replaces the text that separates the parts of a multipart
  /// response, because the cache picks an unpredictable one.
  private static func content(of response: CachedResponse, _ story: inout StepStory) async -> String {
    var bytes: [UInt8] = []
    do {
      for try await chunk in response.body { bytes += chunk }
    } catch {
      story.source = "error"
      story.isWhole = false
    }
    return text(bytes, of: response.head, isMade: response.source != .network)
  }

  /// - Parameter isMade: whether the cache has made the parts of a multipart response.
  static func text(_ bytes: [UInt8], of head: HTTPResponse, isMade: Bool) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    let prefix = "multipart/byteranges; boundary="
    guard isMade, let type = head.headerFields[.contentType], type.hasPrefix(prefix) else { return text }
    return text.replacing(type.dropFirst(prefix.count), with: "boundary")
  }

  /// Returns the cache's settings for a scenario.
  func configuration(for scenario: Scenario) -> HTTPCache.Configuration {
    var configuration = configuration
    let options = scenario.options
    options.usesHeuristics.map { configuration.rules.usesHeuristics = $0 }
    options.whenDisconnected.map { configuration.rules.whenDisconnected = $0 }
    options.usesNoVarySearch.map { configuration.rules.usesNoVarySearch = $0 }
    options.negotiatesLanguage.map { configuration.rules.negotiatesLanguage = $0 }
    options.normalizes.map { configuration.rules.normalizes = $0 }
    options.acceptsStrongTagForWeak.map { configuration.rules.acceptsStrongTagForWeak = $0 }
    options.setCookie.map { configuration.rules.setCookie = $0 }
    options.clearsSiteData.map { configuration.rules.clearsSiteData = $0 }
    options.targets.map { configuration.rules.targets = $0 }
    options.reload.map { configuration.rules.reload = $0 }
    options.rules.map { configuration.cacheRules = $0 }
    options.name.map { configuration.name = $0 }
    options.showsKeys.map { configuration.showsKeys = $0 }
    return configuration
  }

  static func request(
    _ step: Step, number: Int, of scenario: Scenario, previous: HTTPResponse?,
    authority: String = "origin.test"
  ) -> HTTPRequest {
    var path = "/test/\(scenario.id)"
    if let file = step.text("filename") { path += "/\(file)" }
    if let query = step.text("query_arg") { path += "?\(query)" }
    let method = step.text("request_method").flatMap(HTTPRequest.Method.init(rawValue:)) ?? .get
    var target = TargetURI(scheme: "http", authority: authority, path: path)
    if let reference = step.text("url"), let other = target.resolving(reference) { target = other }
    var request = HTTPRequest(
      method: method, scheme: target.scheme, authority: target.authority, path: target.path)
    for field in step.fields("request_headers") {
      var value = field.value.text ?? field.value.integer.map { String($0) } ?? ""
      if step.flag("magic_ims"), field.name.lowercased() == "if-modified-since",
        let offset = field.value.integer,
        let base = previous?.headerFields[named: "Server-Now"].flatMap({ Int64($0) })
      {
        value = HTTPDate(Timestamp(milliseconds: base).advanced(bySeconds: offset)).fieldValue
      }
      request.headerFields.append(named: field.name, value)
    }
    request.headerFields.append(named: "Test-ID", scenario.id)
    request.headerFields.append(named: "Req-Num", String(number))
    return request
  }
}

/// Records the interim responses that reached the client.
final class InterimLog: Sendable {
  private let log = Mutex<[HTTPResponse]>([])
  var heads: [HTTPResponse] { log.withLock { $0 } }
  func add(_ head: HTTPResponse) { log.withLock { $0.append(head) } }
}
