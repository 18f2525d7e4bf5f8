import ArgumentParser
import Foundation
import Testing

@testable import CacheBench

@Suite(.timeLimit(.minutes(10))) struct ReportTests {
  @Test func `a table has text to the left and figures to the right`() {
    var table = Table(title: "Costs", header: ["what", "one", "µs"])
    table.rows = [["get", "1", "12.5"], ["a long name", "1,000"]]
    #expect(
      table.text == """
        Costs
        what           one    µs
        ------------------------
        get              1  12.5
        a long name  1,000

        """)
  }

  @Test func `figures have three digits and a unit`() {
    #expect(Format.duration(0) == "0.00 ns")
    #expect(Format.duration(152.4) == "152 ns")
    #expect(Format.duration(1_790) == "1.79 µs")
    #expect(Format.duration(5_230_000) == "5.23 ms")
    #expect(Format.duration(2e9) == "2.00 s")
    #expect(Format.rate(203) == "203/s")
    #expect(Format.rate(84_100) == "84.1 k/s")
    #expect(Format.rate(6_570_000) == "6.57 M/s")
    #expect(Format.bytes(575) == "575 B")
    #expect(Format.bytes(3 * 1_073_741_824) == "3.00 GiB")
    #expect(Format.times(1_066.4) == "1,066x")
    #expect(Format.percent(0.764) == "76.4 %")
    #expect(Format.count(1_234_567) == "1,234,567")
    #expect(Format.count(-100) == "-100")
  }

  /// A run as small as can be, of everything that `throughput` and `latency` measure.
  static func report(_ measuring: Measuring, _ flags: String = "") throws -> Report {
    let options = try StoreOptions.parse(
      "--keys 40 --disk-keys 4 --value-size 100 --tier both --rounds 2 --seconds 0.002 \(flags)"
        .split(separator: " ").map(String.init))
    let bench = StoreBench(options: options, measuring: measuring, progress: ProgressLine(isShown: false))
    let measurements = try bench.run()
    return Report(
      command: measuring.rawValue, machine: .current, parameters: Parameters(options),
      measurements: measurements, ratios: Ratio.all(of: measurements), notes: bench.notes)
  }

  @Test func `throughput measures ours and the yardsticks, and compares them`() throws {
    let report = try Self.report(.throughput)
    let ours = Set(report.measurements.filter { $0.cache == .ours }.map(\.action))
    #expect(ours == Set(Action.allCases).subtracting([.getAndRead, .mixed, .churn, .judge, .diskMixed]))
    let foundation = Set(report.measurements.filter { $0.cache == .urlCache }.map(\.action))
    #expect(foundation == [.get, .miss, .store, .storeAgain, .diskGet, .diskStore])
    let dictionary = Set(report.measurements.filter { $0.cache == .dictionary }.map(\.action))
    #expect(dictionary == [.get, .getByKey, .miss, .store, .storeAgain])
    let floor = Set(report.measurements.filter { $0.cache == .floor }.map(\.action))
    #expect(floor == [.get, .getByKey, .miss, .store])
    for one in report.measurements {
      #expect(one.operationsPerSecond > 0)
      #expect(one.operationsPerSecondByRound.count == 2)
      #expect(one.latency == nil)
    }
    let targets = report.ratios.filter { $0.target != nil }
    #expect(Set(targets.map(\.action)) == [.get, .storeAgain, .diskGet, .diskStore])
    #expect(targets.allSatisfy { $0.yardstick == .urlCache })
    #expect(report.measurements.first { $0.overhead != nil }?.cache == .ours)
  }

  @Test func `hits are all, and misses none`() throws {
    let report = try Self.report(.throughput, "--threads 2 --distribution uniform")
    for one in report.measurements {
      switch one.action {
      case .get, .getByKey, .decide, .diskGet: #expect(one.hitRatio == 1)
      case .miss: #expect(one.hitRatio == 0)
      default: #expect(one.hitRatio == nil)
      }
    }
  }

  @Test func `too small a capacity costs hits, and is no failure`() throws {
    let report = try Self.report(.throughput, "--capacity 10000")
    let get = try #require(report.measurements.first { $0.action == .get && $0.cache == .ours })
    #expect(try #require(get.hitRatio) < 1)
    #expect(report.measurements.contains { $0.action == .mixed && $0.cache == .ours })
    #expect(report.notes.contains { $0.contains("capacity") })
  }

  @Test func `latency has percentiles for each`() throws {
    let report = try Self.report(.latency)
    #expect(!report.measurements.isEmpty)
    #expect(report.measurements.allSatisfy { $0.latency != nil })
    #expect(report.text.contains("p99.9"))
    #expect(report.text.contains("reading the clock"))
  }

  @Test func `JSON is one document with units in its names`() throws {
    let report = try Self.report(.latency)
    let document = try #require(
      try JSONSerialization.jsonObject(with: Data(report.json().utf8)) as? [String: Any])
    #expect(
      Set(document.keys) == [
        "format", "command", "machine", "parameters", "measurements", "ratios", "session", "replays",
        "memory",
        "targets", "notes",
      ])
    #expect(document["format"] as? Int == 2)
    let machine = try #require(document["machine"] as? [String: Any])
    #expect((machine["cores"] as? Int ?? 0) > 0)
    #expect(machine["operatingSystem"] is String)
    #expect(machine["swiftCompiler"] is String)
    #expect(machine["clockNanoseconds"] is Double)
    let parameters = try #require(document["parameters"] as? [String: Any])
    #expect(parameters["keys"] as? Int == 40)
    #expect(parameters["valueBytes"] as? Int == 100)
    let measurements = try #require(document["measurements"] as? [[String: Any]])
    let first = try #require(measurements.first)
    for name in [
      "action", "cache", "measuring", "entries", "valueBytes", "threads", "operations",
      "operationsPerSecond", "operationsPerSecondByRound", "latency",
    ] { #expect(first[name] != nil, "\(name)") }
    let latency = try #require(first["latency"] as? [String: Any])
    #expect(
      Set(latency.keys) == [
        "p50Nanoseconds", "p90Nanoseconds", "p99Nanoseconds", "p999Nanoseconds", "maxNanoseconds",
      ])
    #expect(try JSONDecoder().decode(Report.self, from: Data(report.json().utf8)).ratios == report.ratios)
  }

  @Test func `a ratio says by how many times, and whether the target is met`() throws {
    func rounds(_ rate: Int) -> [Round] {
      [Round(operations: rate, successes: rate, nanoseconds: 1_000_000_000)]
    }
    func ratio(_ own: Int, _ other: Int) -> Ratio? {
      Ratio(
        of: .init(
          of: .get, on: .ours, rounds: rounds(own), measuring: .throughput, entries: 1, valueBytes: 1,
          threads: 1),
        to: .init(
          of: .get, on: .urlCache, rounds: rounds(other), measuring: .throughput, entries: 1, valueBytes: 1,
          threads: 1), target: 5)
    }
    let met = try #require(ratio(500, 100))
    #expect(met.timesAsFast == 5)
    #expect(met.basis == .throughput)
    #expect(ratio(0, 100) == nil)
    #expect(met.isMet == true)
    var missed = met
    missed.timesAsFast = 4.9
    #expect(missed.isMet == false)
    missed.target = nil
    #expect(missed.isMet == nil)
  }
}
