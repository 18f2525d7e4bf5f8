// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCaching
import HTTPTypes

/// `httpcache rules`.
struct RulesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rules",
    abstract: "Show which rules of a configuration file match a URL, and what follows.",
    discussion: """
      Reads the rules of a configuration file of `httpcache proxy`, and shows for each URL which of them match a request for \
      it, which settings decide, what the origin gets, and under which URL the response is stored.

        httpcache rules --config proxy.yaml https://www.example.com/static/app.js
        httpcache rules --config proxy.yaml --header 'Cookie: session=1' https://www.example.com/

      To see what becomes of a response, pass its head to `httpcache explain --rules`.

      Exit status: 0 if the rules are valid, 64 for an invalid option, 66 for a file that cannot be read, 78 for a file that \
      is invalid.
      """)

  @Option(
    help: ArgumentHelp("Configuration file with `rules:`.", valueName: "file"), completion: .file())
  var config: String

  @Option(
    name: .customLong("header"),
    help: ArgumentHelp("Field of the request; may be repeated.", valueName: "name: value"))
  var fields: [String] = []

  @Option(help: "Method of the request.")
  var method = "GET"

  @Argument(help: "URLs to show the rules for; without one, the rules are only checked.")
  var urls: [String] = []

  func validate() throws {
    for field in fields where Self.field(field) == nil {
      throw ValidationError("--header: expected a field such as 'Cookie: a=1', found '\(field)'")
    }
    guard HTTPRequest.Method(rawValue: method) != nil else {
      throw ValidationError("--method: expected a method such as GET, found '\(method)'")
    }
    for url in urls where ExplainCommand.target(url) == nil {
      throw ValidationError("expected a URL such as https://example.com/path, found '\(url)'")
    }
  }

  func run() throws {
    let rules = try RulesFile.read(config)
    if urls.isEmpty {
      return print("valid, with \(rules.rules.count) \(rules.rules.count == 1 ? "rule" : "rules")")
    }
    print(text(by: rules))
  }

  /// Returns the output for all URLs.
  func text(by rules: CacheRules) -> String {
    urls.compactMap { text(of: $0, by: rules) }.joined(separator: "\n\n")
  }

  private func text(of url: String, by rules: CacheRules) -> String? {
    guard let target = ExplainCommand.target(url), let method = HTTPRequest.Method(rawValue: method) else {
      return nil
    }
    var request = HTTPRequest(
      method: method, scheme: target.scheme, authority: target.authority, path: target.path)
    for field in fields.compactMap(Self.field) { request.headerFields.append(field) }
    let explanation = RuleExplanation(of: request, by: rules, .init(kind: .shared))
    var lines = ["\(method.rawValue) \(target.text)"]
    if rules.hasSites {
      guard let site = rules.site(of: request) else { return lines[0] + "\n  no site: 421" }
      lines[0] += ", of the site \(site)"
    }
    if explanation.rules.isEmpty { lines.append("  no rule matches") }
    for rule in explanation.rules {
      lines.append("  \(rule.name)")
      lines += rule.settings.map { "    \($0.name): \($0.value)" }
      if rule.settings.isEmpty { lines.append("    nothing more") }
    }
    if let key = explanation.target, key != target { lines.append("  stored as \(key.text)") }
    if let partition = explanation.partition { lines.append("  in the partition \(partition)") }
    let (before, after) = (request.headerFields, explanation.request.headerFields)
    for name in Set(before.map(\.name)).sorted(by: { $0.rawName < $1.rawName })
    where before[values: name] != after[values: name] {
      lines.append("  the origin gets \(name.rawName): \(after[name] ?? "nothing")")
    }
    return lines.joined(separator: "\n")
  }

  private static func field(_ text: String) -> HTTPField? {
    let parts = text.split(separator: ":", maxSplits: 1)
    guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else { return nil }
    let value = String(parts[1].drop { $0 == " " })
    return HTTPField.isValidValue(value) ? HTTPField(name: name, value: value) : nil
  }
}

/// The rules of a configuration file.
enum RulesFile {
  /// Reads the file; an error ends the process with the statuses of `httpcache proxy`.
  static func read(_ path: String) throws -> CacheRules {
    do throws(ProxySettings.Fault) {
      return try ProxySettings.read(["--config=\(path)"]).rules
    } catch {
      Input.complain(error.description)
      throw ExitCode(error.status)
    }
  }
}
