// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import HTTPTypes
import TransportSecurity

/// Runs scenarios in real time, over sockets, through a proxy: concurrently, and each at its own pace.
///
/// Scenarios that take longer than ``LiveRunner/patience`` are skipped, as are those that no client can send.
struct LiveRunner: Sendable {
  /// The cache under test.
  struct Target: Sendable {
    var host: String
    var port: Int
    /// Encrypts the connections; `nil` if nothing does.
    var encryption: ClientContext?
    /// Whether requests are sent with HTTP/2.
    var usesHTTP2: Bool

    init(host: String, port: Int, encryption: ClientContext? = nil, usesHTTP2: Bool = false) {
      self.host = host
      self.port = port
      self.encryption = encryption
      self.usesHTTP2 = usesHTTP2
    }
  }

  /// Makes a proxy with these settings to an origin on this port of the loopback; `nil` if it does not support them.
  typealias Opening =
    @Sendable (_ settings: HTTPCache.Configuration, _ options: ScenarioOptions, _ originPort: Int)
    async throws -> Target?

  /// Maximum seconds that a scenario may take.
  static let patience: Int64 = 12

  private let runner: ScenarioRunner
  private let extra: [(String, String)]
  private let originPort: Int
  private let originEncryption: ServerContext?
  private let originUsesHTTP2: Bool
  private let open: Opening

  /// - Parameters:
  ///   - runner: decides which scenarios apply, and the cache's settings for each.
  ///   - extra: fields to add to every request unless the scenario sets them: those of a certain client.
  ///   - originPort: the origin's port; 0 for any free one.
  ///   - originEncryption: encrypts the connections of the origin; `nil` if nothing does.
  ///   - originUsesHTTP2: whether the origin has HTTP/2, and no other version.
  init(
    _ runner: ScenarioRunner, extra: [(String, String)] = [], originPort: Int = 0,
    originEncryption: ServerContext? = nil, originUsesHTTP2: Bool = false, open: @escaping Opening
  ) {
    self.originUsesHTTP2 = originUsesHTTP2
    self.originEncryption = originEncryption
    self.runner = runner
    self.extra = extra
    self.originPort = originPort
    self.open = open
  }

  func run(_ suites: [ScenarioSuite]) async throws -> [ScenarioRunner.Report] {
    let origin = try await LiveOrigin.start(
      port: originPort, encryption: originEncryption, usesHTTP2: originUsesHTTP2)
    var targets: [ScenarioOptions: Target?] = [:]
    var jobs: [(suite: String, scenario: Scenario, target: Target?)] = []
    for suite in suites {
      for scenario in suite.tests {
        var target: Target?
        if runner.isApplicable(scenario), Self.isPossible(scenario) {
          if targets[scenario.options] == nil {
            let settings = runner.configuration(for: scenario)
            targets[scenario.options] = .some(try await open(settings, scenario.options, origin.port))
          }
          target = targets[scenario.options] ?? nil
        }
        jobs.append((suite.name, scenario, target))
      }
    }
    let reports = await withTaskGroup(of: (Int, ScenarioRunner.Report).self) { group in
      // Times in whole seconds start at a full second, so that rounding loses none; some dozens at a time. Handshakes take
      // their time: fewer with them.
      let atATime = originEncryption == nil ? 50 : 20
      let base = LiveClock().now.milliseconds / 1000 * 1000 + 1000
      var started = 0
      for (index, job) in jobs.enumerated() {
        guard let target = job.target else {
          group.addTask {
            (index, .init(suite: job.suite, scenario: job.scenario, result: .notApplicable, trace: []))
          }
          continue
        }
        let start = Timestamp(
          milliseconds: base + Int64(started / atATime * 1000 + started % atATime * 300 / atATime + 20))
        started += 1
        group.addTask {
          let (result, trace) = await run(job.scenario, target, origin, start: start)
          return (index, .init(suite: job.suite, scenario: job.scenario, result: result, trace: trace))
        }
      }
      var reports: [(Int, ScenarioRunner.Report)] = []
      for await report in group { reports.append(report) }
      return reports.sorted { $0.0 < $1.0 }.map(\.1)
    }
    await origin.stop()
    return ScenarioRunner.settleDependencies(reports)
  }

  /// Whether a client can send the scenario and wait for its end.
  private static func isPossible(_ scenario: Scenario) -> Bool {
    if scenario.isVirtualOnly { return false }
    var seconds: Int64 = 0
    for step in scenario.steps {
      if step["policy"] != nil { return false }
      // Another scheme needs another connection, and another proxy.
      if step.text("url")?.hasPrefix("https:") == true { return false }
      if pause(behind: step) < 0 { return false }
      seconds += pause(behind: step) + (step["response_pause"]?.integer ?? 0)
    }
    return seconds <= patience
  }

  private static func pause(behind step: Step) -> Int64 {
    step.flag("pause_after") ? 3 : step["advance_after"]?.integer ?? 0
  }

  // MARK: - One scenario

  private func run(
    _ scenario: Scenario, _ target: Target, _ live: LiveOrigin, start: Timestamp
  ) async -> (ScenarioRunner.Result, [String]) {
    let clock = LiveClock()
    let origin = ScenarioOrigin(scenario, clock: clock)
    live.add(origin, for: scenario.id)
    var (trace, answers): ([String], [HTTPResponse]) = ([], [])
    var next = start
    for (index, step) in scenario.steps.enumerated() {
      await clock.wait(until: next)
      var request = ScenarioRunner.request(
        step, number: index + 1, of: scenario, previous: answers.last,
        // Scenarios share the cache, and some share paths; a scenario with an explicit host needs the cache to itself.
        authority: scenario.mentions("origin.test") ? "origin.test" : "\(scenario.id).test")
      for (name, value) in extra where request.headerFields[named: name] == nil {
        request.headerFields.append(named: name, value)
      }
      let answer: LiveClient.Answer
      do {
        answer = try await LiveClient.send(
          request, body: Array((step.text("request_body") ?? "").utf8), to: target,
          within: 15)
      } catch {
        return (.failed("step \(index + 1): no connection to the cache: \(error)"), trace)
      }
      guard let head = answer.head else {
        return (.failed("step \(index + 1): the cache closed the connection without a response"), trace)
      }
      var story = StepStory(head, isWhole: answer.isWhole)
      trace.append("step \(index + 1): \(story.described(head))")
      if let expected = step["expected_origin_requests"]?.integer {
        // Work in the background takes time; a second at most.
        for _ in 0..<50 where Int64(origin.requests.count) < expected {
          try? await Task.sleep(for: .milliseconds(20))
        }
      }
      story.originRequests = origin.requests.count
      let isExpectedError =
        step.text("expected_source") == "error" && (!answer.isWhole || [502, 504].contains(head.status.code))
      let check = AnswerCheck(
        scenario: scenario, step: step, number: index + 1, head: head, interim: answer.interim,
        body: ScenarioRunner.text(answer.body, of: head, isMade: story.cacheStatus.contains("hit")),
        isLive: true)
      let hasAnswer = !isExpectedError || (!answer.isWhole && step["expected_response_text"] != nil)
      if hasAnswer, !answer.isWhole, !isExpectedError {
        return (.failed("step \(index + 1): the response ended early"), trace)
      }
      if let problem = (hasAnswer ? check.problem(previousStart: clock.now) : nil)
        ?? story.problem(step).map({ .failed("step \(index + 1): \($0)") })
      {
        return (problem, trace)
      }
      answers.append(head)
      next = clock.now.advanced(bySeconds: Self.pause(behind: step))
    }
    return (
      RecordCheck(scenario: scenario, records: origin.requests, answers: answers).problem() ?? .passed, trace
    )
  }
}

/// Real time.
struct LiveClock: ScenarioClock {
  var now: Timestamp { SystemCacheClock.shared.now }

  func pass(seconds: Int64) async {
    guard seconds > 0 else { return }
    try? await Task.sleep(for: .seconds(seconds))
  }

  func wait(until time: Timestamp) async {
    let left = time.milliseconds - now.milliseconds
    if left > 0 { try? await Task.sleep(for: .milliseconds(left)) }
  }
}
