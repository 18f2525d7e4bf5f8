import ArgumentParser
import Conformance
import Foundation
import HTTPCacheEngine

/// `httpcache conform`.
struct ConformCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conform",
    abstract: "Run scenarios of cache behaviour against this cache, in virtual time.",
    discussion: """
      Takes a file in the format that the public suite of cache behaviour tests exports (http-tests/cache-tests, \
      `npm run export`). Prints how many scenarios passed, by suite and kind, and of each that failed what was \
      expected, what came, and the cache's reasons at each step. The scenarios ask for what a cache may do, so this one \
      serves stale responses when disconnected and negotiates languages, which are options of it.

        httpcache conform tests.json --cache shared
        httpcache conform tests.json --only freshness-max-age

      Exit status: 0 if no required scenario failed, 1 if one did, 64 for a wrong option, 65 for a file that is no \
      such suite, 66 for one that cannot be read.
      """)

  @Argument(help: "The file with the scenarios; standard input if it is -.", completion: .file())
  var file: String

  @Option(
    name: .customLong("cache"),
    help: "The kind of cache: private, shared, or cdn, which is shared and heeds CDN-Cache-Control.")
  var kind = Kind.shared

  enum Kind: String, CaseIterable, ExpressibleByArgument {
    case `private`
    case shared
    case cdn

    var runner: ScenarioRunner {
      switch self {
      case .private: ScenarioRunner(kind: .private)
      case .shared: ScenarioRunner(kind: .shared)
      case .cdn: ScenarioRunner(kind: .shared, targets: ["CDN-Cache-Control"])
      }
    }
  }

  @Option(help: ArgumentHelp("Run this scenario alone, and show its steps.", valueName: "id"))
  var only: String?

  @Flag(help: "Print one JSON document.")
  var json = false

  func run() async throws {
    let bytes: [UInt8]
    do {
      bytes = try Input.bytes(of: file)
    } catch {
      Input.complain(error.text(file: file))
      throw ExitCode(66)  // EX_NOINPUT of sysexits.h
    }
    let suites: [ScenarioSuite]
    do {
      suites = try chosen(from: ScenarioSuite.load(Data(bytes)))
    } catch {
      Input.complain("\(file == "-" ? "standard input" : file): \(error)")
      throw ExitCode(65)  // EX_DATAERR
    }
    let report = ConformReport(try await kind.runner.run(suites))
    print(json ? try report.json() : report.text(showsSteps: only != nil))
    if report.hasRequiredFailure { throw ExitCode.failure }
  }

  private func chosen(from suites: [ScenarioSuite]) throws -> [ScenarioSuite] {
    guard let only else { return suites }
    let found = suites.compactMap { suite in
      var suite = suite
      suite.tests.removeAll { $0.id != only }
      return suite.tests.isEmpty ? nil : suite
    }
    guard !found.isEmpty else { throw ConformError.noSuchScenario(only) }
    return found
  }
}

enum ConformError: Error, CustomStringConvertible {
  case noSuchScenario(String)

  var description: String {
    switch self {
    case .noSuchScenario(let id):
      "There is no scenario '\(id)'. Leave out --only to see which ones there are."
    }
  }
}
