// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import Testing

@testable import BenchmarkHarness
@testable import CacheBenchServers

#if canImport(FoundationXML)
  import FoundationXML
#endif

@Suite(.timeLimit(.minutes(10))) struct ReportPageTests {
  private static let everything = SampleReport.make()

  private func file(_ report: Report, name: String = "a.json") throws -> ReportFile {
    try ReportFile(name: name, bytes: Array(report.json().utf8), path: name)
  }

  private func isWellFormed(_ text: String) -> Bool {
    XMLParser(data: Data(text.utf8)).parse()
  }

  @Test func `every target is measured and has a verdict`() throws {
    let report = Self.everything
    #expect(report.targets.count == 16)
    for one in report.targets { #expect(one.isMet != nil, "\(one.what)") }
    #expect(report.text.contains("get and read a byte of the body, 1 thread: time against the floor"))
    #expect(report.text.contains("met"))
  }

  @Test func `without a trace, the targets for its hit ratio are not measured`() throws {
    var report = Self.everything
    report.measurements.removeAll { $0.kind == .replay }
    let rows = report.memoryTargets.filter { $0.what.hasPrefix("hit ratio on the trace") }
    #expect(rows.map(\.verdict) == ["not measured", "not measured"])
  }

  @Test func `a target is met at exactly its limit`() {
    #expect(Target("", .atMost, 2, 2).isMet == true)
    #expect(Target("", .atLeast, 2, 2).isMet == true)
    #expect(Target("", .atMost, 2, 2.1).isMet == false)
    #expect(Target("", .atLeast, 2, 1.9).isMet == false)
  }

  @Test func `a report is unchanged after encoding and decoding`() throws {
    let report = Self.everything
    let again = try file(report).report
    #expect(try again.json() == report.json())
    #expect(again.targets == report.targets)
    #expect(again.measurements == report.measurements)
    #expect(again.text == report.text)
  }

  @Test func `the page has a plot of each kind, is well-formed, and loads no resources`() throws {
    let html = ReportPage(files: [try file(Self.everything)]).html
    #expect(isWellFormed(html))
    for text in [
      "Throughput", "Latency", "Hit ratio by capacity", "Memory", "Targets", "<svg", "<polyline",
      "prefers-color-scheme: dark", "name=\"viewport\"", "HTTPCacheEngine, S3-FIFO", "floor, in C", "threads",
      "99.9",
    ] { #expect(html.contains(text), "\(text)") }
    for text in ["<script", "http://", "https://", "url(", "@import", "src="] {
      #expect(!html.contains(text), "\(text)")
    }
  }

  @Test func `the command writes the page to a file, and reports errors by exit status`() throws {
    try TemporaryDirectory.with { directory in
      let (results, page) = (directory + "/results.json", directory + "/page.html")
      try Data(Self.everything.json().utf8).write(to: URL(fileURLWithPath: results))
      try ReportCommand.parse([results, "-o", page]).run()
      let written = try String(contentsOfFile: page, encoding: .utf8)
      #expect(isWellFormed(written))
      #expect(written.contains("results.json"))
      for (arguments, status) in [
        ([results, directory + "/none.json", "-o", page], 66), ([page, "-o", page], 65),
        ([results, "-o", directory + "/none/page.html"], 73),
      ] {
        let error = #expect(throws: ExitCode.self) { try ReportCommand.parse(arguments).run() }
        #expect(error?.rawValue == Int32(status))
      }
    }
  }

  @Test func `the command writes each plot to an SVG file of its own`() throws {
    try TemporaryDirectory.with { directory in
      let (results, folder) = (directory + "/results.json", directory + "/plots/new")
      let report = Self.everything
      try Data(report.json().utf8).write(to: URL(fileURLWithPath: results))
      try ReportCommand.parse([results, "--svg", folder]).run()
      let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      #expect(names.count == Pictures(report: report).groups.flatMap(\.pictures).count)
      #expect(
        names.contains { $0.hasPrefix("results-latency-get") }
          && names.contains { $0.hasPrefix("results-throughput-get") })
      for name in names {
        let svg = try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
        #expect(isWellFormed(svg), "\(name)")
        #expect(svg.contains("class=\"title\"") && svg.contains("prefers-color-scheme: dark"))
        #expect(svg.contains("<polyline") || svg.contains("fill=\"currentColor\""), "\(name)")
        for text in ["<script", "https://", "url(", "@import", "src="] {
          #expect(!svg.contains(text), "\(text)")
        }
      }
      #expect(throws: (any Error).self) {
        try ReportCommand.parse([results, "--svg", folder, "-o", "page.html"])
      }
    }
  }

  @Test func `several files are shown one below the other`() throws {
    let report = Self.everything
    let session = Report(command: "session", notes: ["the second"])
    let html = ReportPage(files: [try file(report), try file(session, name: "b.json")]).html
    #expect(isWellFormed(html))
    #expect(html.contains("a.json"))
    #expect(html.contains("session · b.json"))
    #expect(html.contains("the second"))
  }

  @Test func `text from a file is escaped in the page`() throws {
    let evil = "<script>alert('\"&')</script>\u{0}\u{1B}[31m\u{202E}"
    var report = Self.everything
    report.command = evil
    report.notes = [evil]
    report.machine.processor = evil
    report.machine.operatingSystem = evil
    report.machine.swiftCompiler = evil
    for index in report.targets.indices {
      report.targets[index].what = evil
      report.targets[index].note = evil
    }
    for index in report.measurements.indices where report.measurements[index].kind == .replay {
      report.measurements[index].trace = evil
    }
    let html = ReportPage(files: [try file(report, name: evil)]).html
    #expect(isWellFormed(html))
    #expect(!html.contains("<script"))
    #expect(html.contains("&lt;script&gt;alert(&#39;&quot;&amp;&#39;)"))
    for scalar in ["\u{0}", "\u{1B}", "\u{202E}"] as [Unicode.Scalar] {
      #expect(!html.unicodeScalars.contains(scalar))
      #expect(!report.text.unicodeScalars.contains(scalar))
    }
  }

  @Test func `extreme figures leave the page well-formed`() throws {
    var report = Self.everything
    let figures = [0, -1, 1e300, -1e300, 1e15, .leastNonzeroMagnitude]
    for index in report.measurements.indices {
      // Each figure another, so that every pair meets.
      for (number, metric) in Metric.allCases.enumerated() {
        report.measurements[index][metric] = figures[(index + number) % figures.count]
      }
      report.measurements[index].latencyCurve = [
        .init(percent: figures[index % figures.count], nanoseconds: .max), .init(percent: 50, nanoseconds: 0),
      ]
    }
    for index in report.targets.indices { report.targets[index].figure = figures[index % figures.count] }
    let html = ReportPage(files: [try file(report)]).html
    #expect(isWellFormed(html))
    #expect(!html.contains("nan"))
    #expect(!html.contains("inf\""))
    #expect(!report.text.isEmpty)
  }

  @Test(arguments: [
    ("", "empty"), ("{", "not valid JSON"), ("[]", "wrong type"), ("{}", "'format' is missing"),
    ("{\"format\": 2}", "format 2"), ("{\"format\": 3}", "'command' is missing"),
    ("{\"format\": \"3\"}", "'format' has the wrong type"), ("\u{0}\u{1}", "not valid JSON"),
  ])
  func `a file that is not a report is refused with the reason`(text: String, named: String) throws {
    let error = #expect(throws: FileError.self) {
      _ = try ReportFile(name: "x.json", bytes: Array(text.utf8), path: "x.json")
    }
    #expect(error?.exitCode == ExitCode(65))
    #expect(error?.description.contains(named) == true, "\(error?.description ?? "")")
    #expect(error?.description.hasPrefix("x.json: ") == true)
  }

  @Test func `an unknown value is named in the error`() throws {
    let json = try Self.everything.json()
      .replacingOccurrences(of: "\"kind\" : \"latency\"", with: "\"kind\" : \"guess\"")
    let error = #expect(throws: FileError.self) {
      _ = try ReportFile(name: "x", bytes: Array(json.utf8), path: "x")
    }
    #expect(error?.description.contains("kind") == true)
  }

  @Test func `the marks of an axis enclose its figures`() {
    let linear = Scale.linear([3, 11, 17], fromZero: true) { "\($0)" }
    #expect(linear.marks.first?.value == 0)
    #expect((linear.marks.last?.value ?? 0) >= 17)
    #expect((3...7).contains(linear.marks.count))
    #expect(linear.position(0) == 0)
    let part = Scale.linear([0.55, 0.61], fromZero: false) { "\($0)" }
    #expect((part.marks.first?.value ?? 1) <= 0.55)
    #expect((part.marks.first?.value ?? 0) > 0.4)
    let logarithmic = Scale.logarithmic([30, 4000]) { "\($0)" }
    #expect(logarithmic.marks.map { $0.value } == [10, 100, 1000, 10000])
    #expect(logarithmic.position(0) == 0 || logarithmic.position(0) == nil)
    let nines = Scale.nines
    #expect(abs((nines.position(99) ?? 0) - 0.5) < 1e-9)
    #expect((nines.position(100) ?? 0) > 0.999)
    let steps = Scale.steps([2, 1, 2]) { "\($0)" }
    #expect(steps.marks.map { $0.value } == [1, 2])
    #expect(steps.position(7) == nil)
  }

  @Test func `the store by the number of entries has curves of time, and of the bytes of an entry`() {
    var report = Report(command: "scale")
    report.measurements = [10_000.0, 100_000].flatMap { entries in
      [(Action.churn, 500.0), (.diskOpen, 2e7)].map { action, time in
        var one = BenchMeasurement(
          .scale, action, .oursS3FIFO, [.entries: entries, .processorNanoseconds: time * entries / 10_000])
        if action == .diskOpen { one[.memoryBytesPerEntry] = 38 }
        return one
      }
    }
    #expect(
      Pictures(report: report).groups.flatMap(\.pictures).map(\.title) == [
        "store and evict, in memory", "disk, opening", "disk, opening: bytes of memory for an entry",
      ])
  }
}
