// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCacheEngine
import HTTPCaching
import HTTPTypes

/// `httpcache explain`.
struct ExplainCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Explain what a cache does with a response, and why.",
    discussion: """
      Reads the heads of a request and its response: as curl -i, curl -v or wget -S print them, as the developer tools of a \
      browser show them (copy the headers, formatted or raw), or as plain text. If the input has several responses, as with \
      redirects, it explains the last one.

      The first line is the result. The causes to change follow, the most severe first, each with a fix. Then comes what \
      each kind of cache does, with the section of the RFC.

        curl -sv -o /dev/null https://example.com/ 2>&1 | httpcache explain
        wget -SO /dev/null https://example.com/ 2>&1 | httpcache explain
        curl -si https://example.com/ | httpcache explain --url https://example.com/ --after 3600

      With --json, the input and the output have one JSON object on each line:

        {"cache": "shared", "policy": "useProtocolCachePolicy",
         "request": {"method": "GET", "url": "https://example.com/",
           "headers": [["Accept", "*/*"]]},
         "response": {"status": 200,
           "headers": [["Cache-Control", "max-age=60"], ["ETag", "\\"a\\""]]},
         "later": {"afterSeconds": 90, "request": {"url": "https://example.com/",
           "headers": [["Accept", "*/*"]]}},
         "options": {"heuristics": true}}

      becomes (each object on one line)

        {"stored": true, "storedReason": {"code": "storedWithLifetime",
           "section": "RFC 9111 §3", "text": "…"},
         "freshnessLifetime": 60, "heuristic": false, "age": 90,
         "plan": "validate", "planReason": {"code": "stale",
           "section": "RFC 9111 §4.2", "text": "…"},
         "conditionalHeaders": [["If-None-Match", "\\"a\\""]],
         "verdict": "Private caches: cached for 1 minute (60 s).",
         "notes": [{"code": "…", "severity": "warning", "text": "…", "fix": "…"}]}

      Only request.url and response.status are required. By default, the cache is private, the method is GET, and the later \
      request repeats the first one at once. policy is the policy of the later request. The request is sent and the \
      response arrives at the same moment: options.now (an HTTP date), else the response's Date, else the current time. \
      Times are whole seconds, rounded down. freshnessLifetime is null if the response is not stored or has no lifetime. \
      plan is serve, validate, forward, fail or serveAndRevalidate. conditionalHeaders are the conditions of the \
      revalidation request. notes are ranked: error, warning, hint. A line that cannot be read becomes \
      {"error": "…", "line": n}. The lines after it are still answered, and the exit status is 1. Blank lines are skipped.

      Exit status: 0 if the input was explained, 1 if a line of --json could not be read, 64 for an invalid option, 65 for \
      input that is not an HTTP head, 66 for a file that cannot be read.
      """)

  @Argument(help: "File to read; - is standard input.", completion: .file())
  var file = "-"

  @Option(name: .customLong("cache"), help: "Kind of cache: private, shared or both.")
  var kind = Kinds.both

  @Option(
    help:
      "URL of the request, if the input has only a response. Its scheme also decides between http and https.")
  var url: String?

  @Option(help: "Cache policy of the repeated request.")
  var policy = RequestCachePolicy.useProtocolCachePolicy

  @Option(
    help: ArgumentHelp(
      "Also explain the same request, repeated after this time, in seconds.", valueName: "seconds"))
  var after: Int64?

  @Option(
    help: ArgumentHelp(
      "Time of arrival of the response, as an HTTP date (default: its Date field).", valueName: "date"))
  var now: String?

  @Option(
    name: .customLong("target"),
    help: ArgumentHelp(
      "Field that overrides Cache-Control (RFC 9213), such as CDN-Cache-Control; may be repeated, in order of precedence.",
      valueName: "name"))
  var targets: [String] = []

  @Option(
    help: ArgumentHelp(
      "Configuration file of the proxy, whose `rules:` are followed.", valueName: "file"),
    completion: .file())
  var rules: String?

  @Flag(help: "Explain every response of the input, not only the last one.")
  var all = false

  @Flag(help: "Read and write JSON, one object on each line.")
  var json = false

  enum Kinds: String, CaseIterable, ExpressibleByArgument {
    case `private`
    case shared
    case both

    var kinds: [CacheEngine.Configuration.Kind] {
      switch self {
      case .private: [.private]
      case .shared: [.shared]
      case .both: [.private, .shared]
      }
    }
  }

  func validate() throws {
    if json,
      kind != .both || url != nil || policy != .useProtocolCachePolicy || after != nil || now != nil || all
        || rules != nil
    {
      throw ValidationError(
        "--json cannot be combined with --cache, --url, --policy, --after, --now, --rules or --all; set them in each line"
      )
    }
    if let after, after < 0 { throw ValidationError("--after: expected 0 or more seconds, found \(after)") }
    if let url, Self.target(url) == nil {
      throw ValidationError("--url: expected a URL such as https://example.com/path, found '\(url)'")
    }
    if let now, HTTPDate(parsing: now, now: Input.systemTime) == nil {
      throw ValidationError("--now: expected a date such as 'Sun, 06 Nov 1994 08:49:37 GMT', found '\(now)'")
    }
  }

  func run() throws {
    let name = file == "-" ? "standard input" : file
    if json { return try runOnLines(name: name) }
    let bytes: [UInt8]
    do {
      bytes = try Input.bytes(of: file)
    } catch {
      Input.complain(error.text(file: name))
      throw ExitCode(66)  // EX_NOINPUT of sysexits.h
    }
    let rules = try rules.map { try RulesFile.read($0) } ?? CacheRules()
    do {
      let text = try explanation(
        of: bytes, systemTime: Input.systemTime, rules: rules, isStyled: Input.isTerminalOutput)
      print(text, terminator: "")
    } catch {
      Input.complain(error.text(file: name))
      throw ExitCode(65)  // EX_DATAERR
    }
  }

  private func runOnLines(name: String) throws {
    var answers = JSONLines()
    do {
      var input = try InputLines(path: file, limit: JSONLines.lineLimit)
      while let lines = try input.next() {
        let systemTime = Input.systemTime
        for line in lines {
          if let answer = try answers.answer(line, systemTime: systemTime) { try Input.put(answer) }
        }
      }
    } catch let error as InputError {
      Input.complain(error.text(file: name))
      throw ExitCode(66)  // EX_NOINPUT
    }
    if answers.hasFailed { throw ExitCode.failure }
  }

  /// Returns the whole output for an input.
  func explanation(
    of bytes: [UInt8], systemTime: Timestamp, rules: CacheRules = CacheRules(), isStyled: Bool = false
  ) throws(InputError) -> String {
    let exchanges = try HeadParser.exchanges(in: bytes)
    let explainer = Explainer(
      kinds: kind.kinds, policy: policy, after: after,
      now: now.flatMap { HTTPDate(parsing: $0, now: systemTime)?.timestamp }, systemTime: systemTime,
      url: url.flatMap(Self.target), targets: targets, rules: rules)
    let writer = ExplanationText(isStyled: isStyled)
    let chosen = all ? Array(exchanges.indices) : [exchanges.count - 1]
    return chosen.map { position in
      var explanation = explainer.explain(exchanges[position], after: Array(exchanges[..<position]))
      if !all, position > 0 {
        let codes = exchanges[..<position].map { String($0.response.status.code) }
        explanation.notes.insert(
          "This is the last of \(exchanges.count) responses; before it: \(codes.joined(separator: ", ")). "
            + "Use --all to explain every one.", at: 0)
      }
      return writer.text(explanation)
    }.joined(separator: "\n")
  }

  /// Returns the target of a URL. `example.com/path` counts as http, as in curl.
  static func target(_ text: String) -> TargetURI? {
    let reference = text.contains("://") ? text : "http://" + text
    guard let uri = TargetURI(scheme: "http", authority: "example.com", path: "/").resolving(reference),
      uri.scheme == "http" || uri.scheme == "https", !uri.text.contains(" ")
    else { return nil }
    return uri
  }
}

extension RequestCachePolicy: ExpressibleByArgument {}
