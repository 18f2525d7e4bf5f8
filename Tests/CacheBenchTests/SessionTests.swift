import Testing

@testable import CacheBench

@Suite(.timeLimit(.minutes(10))) struct SessionTests {
  @Test func `each kind of request reaches the origin as often as it has to`() async throws {
    let bench = SessionBench(requests: 3, valueSize: 200, progress: ProgressLine(isShown: false))
    let scenarios = try await bench.run()
    #expect(scenarios.map(\.kind) == Scenario.Kind.allCases)
    for scenario in scenarios {
      #expect(scenario.requests == 3)
      switch scenario.kind {
      case .plain, .miss, .validated: #expect(scenario.originRequests == 3)
      case .hit, .stale, .directRespond, .directStored: #expect(scenario.originRequests == 0)
      }
    }
    let report = Report(
      command: "session", machine: .current, parameters: Parameters(requests: 3, valueBytes: 200),
      session: scenarios, targets: Scenario.targets(of: scenarios))
    #expect(report.targets.map(\.limit) == [2, 20, 20, 20])
    #expect(report.targets.allSatisfy { ($0.figure ?? 0) > 0 })
    #expect(report.text.contains("a fresh hit through URLSession, against a request to a loopback server"))
    #expect(report.text.contains("validated by 304"))
    #expect(try report.json().contains("\"originRequests\" : 3"))
  }
}
