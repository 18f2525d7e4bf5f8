// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCacheEngine
import HTTPCacheProxy
import TransportSecurity

/// `httpcache conform`.
struct ConformCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conform",
    abstract: "Run scenarios of cache behaviour against this cache, in virtual time or over sockets.",
    discussion: """
      Reads files in the format that the public suite of cache behaviour tests exports (http-tests/cache-tests, \
      `npm run export`). Prints how many scenarios passed, by suite and kind. For each failed scenario, it prints what was \
      expected, what arrived, and the cache's reason at each step. The cache serves stale responses when disconnected, \
      because the scenarios require it. All other settings have their defaults.

        httpcache conform tests.json --cache shared
        httpcache conform tests.json --only freshness-max-age
        httpcache conform tests.json --live

      With --live, the scenarios run in real time over sockets, through proxies that the command starts, all at once; with \
      --certificate FILE, over TLS. With \
      --through HOST:PORT, they run through a proxy that is already running. Its origin must be 127.0.0.1 at --origin-port. \
      With --through asynchttpclient or --through hummingbird, they run in virtual time through that adapter. The command \
      must have been built with the package trait of that name. Scenarios that cannot run this way are listed with the reason.

      Exit status: 0 if no required scenario failed, 1 if one did, 64 for an invalid option, 65 for a file that is not such \
      a suite, 66 for a file that cannot be read.
      """)

  @Argument(help: "Files with scenarios; - is standard input.", completion: .file())
  var files: [String]

  @Option(
    name: .customLong("cache"),
    help: "Kind of cache: private, shared, or cdn, which is shared and honours CDN-Cache-Control.")
  var kind = Kind.shared

  enum Kind: String, CaseIterable, ExpressibleByArgument {
    case `private`
    case shared
    case cdn

    var runner: ScenarioRunner { runner(through: nil) }

    /// - Parameter entry: sends the requests to the cache; `nil` calls the cache itself.
    func runner(through entry: (any ScenarioEntry)?) -> ScenarioRunner {
      ScenarioRunner(
        kind: self == .private ? .private : .shared, targets: self == .cdn ? ["CDN-Cache-Control"] : [],
        through: entry)
    }
  }

  @Option(help: ArgumentHelp("Run only this scenario, and print its steps.", valueName: "id"))
  var only: String?

  @Flag(help: "Run in real time, over sockets, through proxies that the command starts.")
  var live = false

  @Option(
    help: ArgumentHelp(
      "Run in real time through this proxy, which is already running, or in virtual time through an adapter: asynchttpclient or hummingbird.",
      valueName: "host:port|adapter"))
  var through: String?

  @Option(
    help: ArgumentHelp(
      "PEM file with a certificate: the proxies of --live use TLS with it, with clients and with the origin.",
      valueName: "file"),
    completion: .file())
  var certificate: String?

  @Option(
    help: ArgumentHelp(
      "PEM file with the private key of --certificate (default: the file of the certificate).",
      valueName: "file"),
    completion: .file())
  var key: String?

  @Flag(help: "Send the requests of a live run with HTTP/2; without --certificate, with prior knowledge.")
  var http2 = false

  @Flag(help: "Let the origin of a live run have HTTP/2, and no other version.")
  var originHttp2 = false

  @Option(help: ArgumentHelp("Port of the origin of a live run; 0 for any free port.", valueName: "port"))
  var originPort = 0

  @Option(
    name: .customLong("field"),
    help: ArgumentHelp(
      "Field to add to each request that has no field of this name; only for live runs; may be repeated.",
      valueName: "name: value"))
  var extra: [String] = []

  @Option(
    help: ArgumentHelp(
      "Field in which order and letter case mean nothing to the origin, as for 'proxy'; may be repeated.",
      valueName: "field"))
  var normalizes: [NegotiationField] = []

  @Flag(help: "Print the results as one JSON document.")
  var json = false

  func run() async throws {
    var read: [(name: String, bytes: [UInt8])] = []
    for file in files {
      do {
        read.append((file == "-" ? "standard input" : file, try Input.bytes(of: file)))
      } catch {
        Input.complain(error.text(file: file))
        throw ExitCode(66)  // EX_NOINPUT of sysexits.h
      }
    }
    var suites: [ScenarioSuite]
    do {
      suites = try ScenarioFile.read(read)
    } catch {
      Input.complain("\(error)")
      throw ExitCode(65)  // EX_DATAERR
    }
    for scenario in suites.flatMap(\.tests) where scenario.expectsNothing {
      Input.complain(
        "warning: the scenario '\(scenario.id)' expects nothing but the usual status and content")
    }
    do {
      suites = try chosen(from: suites.map(configured))
    } catch {
      Input.complain("\(files.joined(separator: ", ")): \(error)")
      throw ExitCode(65)
    }
    let report = ConformReport(try await reports(suites))
    print(json ? try report.json() : report.text(showsSteps: only != nil))
    if report.hasRequiredFailure { throw ExitCode.failure }
  }

  private func configured(_ suite: ScenarioSuite) -> ScenarioSuite {
    var suite = suite
    if !normalizes.isEmpty {
      for index in suite.tests.indices where suite.tests[index].options.normalizes == nil {
        suite.tests[index].options.normalizes = Set(normalizes)
      }
    }
    return suite
  }

  private func reports(_ suites: [ScenarioSuite]) async throws -> [ScenarioRunner.Report] {
    let adapter = through.flatMap { Adapter(rawValue: $0) }
    guard !http2 || live || through != nil && adapter == nil else {
      throw ValidationError("--http2: expected --live, or --through HOST:PORT, which is missing")
    }
    guard !originHttp2 || live else {
      throw ValidationError("--origin-http2: expected --live, which is missing")
    }
    guard live || through != nil else { return try await kind.runner.run(suites) }
    if let name = through, let adapter {
      guard adapter.supports(kind) else {
        throw ValidationError(
          "--through \(name): a server's cache is shared; add --cache shared or --cache cdn")
      }
      return try await adapter.run { entry in try await kind.runner(through: entry).run(suites) }
    }
    let fields = try extra.map { text in
      guard let colon = text.firstIndex(of: ":"), colon > text.startIndex else {
        throw ValidationError("--field: expected 'name: value', found '\(text)'")
      }
      return (String(text[..<colon]), text[text.index(after: colon)...].trimmedOfBlanks)
    }
    let tls = certificate.map { ProxyConfiguration.TLS.Certificate(file: $0, keyFile: key) }
    guard tls != nil || key == nil else { throw ValidationError("--key needs --certificate") }
    guard tls == nil || through == nil else {
      throw ValidationError("--certificate: expected --live, found --through")
    }
    let proxies: any LiveProxies
    do {
      proxies =
        try through.map { OneProxy(try ProxyConfiguration.Address(parsing: $0), usesHTTP2: http2) }
        ?? ProxyFarm(tls, usesHTTP2: http2, originUsesHTTP2: originHttp2)
    } catch let error as ProxyConfiguration.ValidationError {
      throw ValidationError("--through: \(error)")
    }
    let encryption: ServerContext?
    do {
      encryption = try tls.map {
        var tls = ServerTLS([.init(file: $0.file, keyFile: $0.keyFile)])
        if originHttp2 { tls.protocols = ["h2"] }
        return try ServerContext(tls)
      }
    } catch let error as TLSFault {
      throw ValidationError("--\(error.part == .key && key != nil ? "key" : "certificate"): \(error)")
    }
    let reports = try await LiveRunner(
      kind.runner, extra: fields, originPort: originPort, originEncryption: encryption,
      originUsesHTTP2: originHttp2
    ) {
      settings, options, port in
      try await proxies.open(settings, options, originPort: port)
    }.run(suites)
    await proxies.close()
    return reports
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

/// The adapters that scenarios can run through.
enum Adapter: String, CaseIterable {
  case asynchttpclient
  case hummingbird

  /// Whether the adapter works with a kind of cache.
  func supports(_ kind: ConformCommand.Kind) -> Bool {
    switch self {
    case .asynchttpclient: true
    // A server has many users.
    case .hummingbird: kind != .private
    }
  }

  /// Runs `body` with a way into the cache through the adapter.
  func run<Result>(_ body: (any ScenarioEntry) async throws -> Result) async throws -> Result {
    switch self {
    case .asynchttpclient:
      #if AsyncHTTPClient
        return try await AsyncHTTPClientEntry.with(body)
      #else
        throw ValidationError(
          "--through asynchttpclient: the command was built without this adapter; build it with --traits CommandLine,AsyncHTTPClient"
        )
      #endif
    case .hummingbird:
      #if Hummingbird
        return try await body(HummingbirdEntry())
      #else
        throw ValidationError(
          "--through hummingbird: the command was built without this adapter; build it with --traits CommandLine,Hummingbird"
        )
      #endif
    }
  }
}

enum ConformError: Error, CustomStringConvertible {
  case noSuchScenario(String)

  var description: String {
    switch self {
    case .noSuchScenario(let id):
      "no scenario '\(id)'; run without --only to list all scenarios"
    }
  }
}
