import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes

/// Runs scenarios against the cache in virtual time, with an origin in memory and no sockets.
public struct ScenarioRunner: Sendable {
  /// What came of a scenario.
  public enum Result: Hashable, Sendable {
    case passed
    case failed(String)
    /// The scenario could not be set up, so that it says nothing.
    case setup(String)
    /// One that it depends on did not pass.
    case dependency(String)
    /// It is for another kind of cache, or needs what this runner does not have.
    case notApplicable

    public var isPass: Bool { self == .passed }
  }

  public struct Report: Sendable {
    public var suite: String
    public var scenario: Scenario
    public var result: Result
    /// What the cache did at each step, and why.
    public var trace: [String]
  }

  private let configuration: HTTPCache.Configuration

  /// - Parameter targets: the cache's target list (RFC 9213); with one, scenarios for CDNs are run too.
  public init(kind: CacheEngine.Configuration.Kind, targets: [String] = []) {
    var configuration = HTTPCache.Configuration(kind: kind)
    // The suite asks what a cache does that has lost its origin: one that may serve stale (RFC 9111 §4.2.4).
    configuration.rules.servesStaleWhenDisconnected = true
    configuration.rules.targets = targets
    self.configuration = configuration
  }

  /// Runs all scenarios of a file.
  public func run(_ suites: [ScenarioSuite]) async throws -> [Report] {
    var reports: [Report] = []
    for suite in suites {
      for scenario in suite.tests {
        var (result, trace) = (Result.notApplicable, [String]())
        if isApplicable(scenario) { (result, trace) = try await run(scenario) }
        reports.append(Report(suite: suite.name, scenario: scenario, result: result, trace: trace))
      }
    }
    return settleDependencies(reports)
  }

  private func isApplicable(_ scenario: Scenario) -> Bool {
    if scenario.isForBrowsersOnly { return false }
    if scenario.isForCDNsOnly, configuration.rules.targets.isEmpty { return false }
    if configuration.rules.kind == .private, scenario.isNotForBrowsers { return false }
    // Interim responses do not pass through a transport of this package: that is a server's affair.
    return !scenario.steps.contains { $0["expected_interim_responses"] != nil }
  }

  private func settleDependencies(_ reports: [Report]) -> [Report] {
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

  /// Runs one scenario with a cache of its own.
  public func run(_ scenario: Scenario) async throws -> (Result, trace: [String]) {
    let clock = VirtualClock(Timestamp(seconds: 1_700_000_000))
    let cache = HTTPCache(
      store: try CacheStore(.init(memoryCapacity: 1 << 20)), configuration: configuration, clock: clock)
    let origin = ScenarioOrigin(scenario, clock: clock)
    var trace: [String] = []
    var previous: HTTPResponse?
    var answers: [HTTPResponse] = []
    for (index, step) in scenario.steps.enumerated() {
      let request = request(step, number: index + 1, of: scenario, previous: previous)
      let answer: (head: HTTPResponse, body: String)
      do {
        let response = try await cache.respond(to: request) { forwarded, _ in try origin.answer(forwarded) }
        let bytes = try await response.body.collect(upTo: 1 << 20)
        answer = (response.head, String(decoding: bytes, as: UTF8.self))
        trace.append(
          "step \(index + 1): \(response.source) \(response.head.status.code), \(response.reason)"
            + (response.storage.map { "; \($0)" } ?? ""))
      } catch {
        answer = (HTTPResponse(status: .gatewayTimeout), "")
        trace.append("step \(index + 1): \(error)")
      }
      let check = AnswerCheck(
        scenario: scenario, step: step, number: index + 1, head: answer.head, body: answer.body)
      if let problem = check.problem(previousStart: clock.now) { return (problem, trace) }
      previous = answer.head
      answers.append(answer.head)
      if step.flag("pause_after") { clock.advance(seconds: 3) }
    }
    return (
      RecordCheck(scenario: scenario, records: origin.requests, answers: answers).problem() ?? .passed, trace
    )
  }

  private func request(
    _ step: Step, number: Int, of scenario: Scenario, previous: HTTPResponse?
  ) -> HTTPRequest {
    var path = "/test/\(scenario.id)"
    if let file = step.text("filename") { path += "/\(file)" }
    if let query = step.text("query_arg") { path += "?\(query)" }
    let method = step.text("request_method").flatMap(HTTPRequest.Method.init(rawValue:)) ?? .get
    var request = HTTPRequest(method: method, scheme: "http", authority: "origin.test", path: path)
    for field in step.fields("request_headers") {
      var value = field.value.text ?? field.value.integer.map { String($0) } ?? ""
      if step.flag("magic_ims"), field.name.lowercased() == "if-modified-since",
        let offset = field.value.integer,
        let base = previous?.headerFields[named: "Server-Now"].flatMap({ Int64($0) })
      {
        value = HTTPDate(Timestamp(milliseconds: base).advanced(bySeconds: offset)).imfFixdate
      }
      request.headerFields.append(named: field.name, value)
    }
    request.headerFields.append(named: "Test-ID", scenario.id)
    request.headerFields.append(named: "Req-Num", String(number))
    return request
  }
}
