// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import Yams

/// Options of `httpcache proxy` in a YAML file. Names are as on the command line without the dashes. A repeatable
/// option has a list, and a flag has `true` or `false`.
///
/// ```yaml
/// # A comment.
/// origin: http://127.0.0.1:8000
/// memory: 1GB
/// stale-when-disconnected: false
/// ```
struct ConfigurationFile {
  /// An option, as equivalent arguments of a command line.
  struct Entry {
    var option: String
    var line: Int
    var arguments: [String]
  }

  private(set) var entries: [Entry] = []

  /// An error in a file, and its line.
  struct Fault: Error {
    var line: Int
    var text: String
  }

  /// Reads the file, and passes each of its options to ArgumentParser.
  init(_ text: String, options: OptionList) throws(Fault) {
    do {
      guard let root = try Yams.compose(yaml: text) else { return }
      if root.null != nil { return }
      guard case .mapping(let mapping) = root else {
        throw Fault(line: root.mark?.line ?? 1, text: "expected `name: value` lines")
      }
      for (key, value) in mapping { entries.append(try Self.entry(key, value, options)) }
    } catch {
      // YAML's own error for the earlier form would explain nothing.
      throw Self.earlierForm(text, options) ?? (error as? Fault) ?? Self.fault(of: error, in: text)
    }
  }

  // MARK: - An option

  private static func entry(_ key: Node, _ value: Node, _ options: OptionList) throws -> Entry {
    let line = key.mark?.line ?? 1
    guard case .scalar(let name) = key else {
      throw Fault(line: line, text: "expected the name of an option, found \(kind(key))")
    }
    guard let option = options[name.string], name.string != "help" else {
      throw Fault(line: line, text: unknown(name.string))
    }
    guard option.name != "config" else {
      throw Fault(line: line, text: "config: only the command line can name a configuration file")
    }
    guard option.name == name.string else {
      throw Fault(line: line, text: "expected `\(option.name): false`, found `\(name.string)`")
    }
    let arguments = try arguments(option, value, line: line)
    do {
      _ = try ProxyOptions.parse(arguments)
    } catch {
      throw Fault(line: line, text: invalid(option, value, error))
    }
    return Entry(option: option.name, line: line, arguments: arguments)
  }

  private static func arguments(_ option: OptionList.Option, _ value: Node, line: Int) throws -> [String] {
    if option.isFlag {
      guard let isOn = value.bool else {
        throw Fault(line: line, text: "\(option.name): expected true or false, found \(shown(value))")
      }
      if isOn { return ["--\(option.name)"] }
      return option.hasOpposite ? ["--no-\(option.name)"] : []
    }
    var values = [value]
    if case .sequence(let sequence) = value {
      guard option.isRepeating else {
        throw Fault(line: line, text: "\(option.name): expected one value, found a list")
      }
      values = Array(sequence)
    }
    return try values.map { value in
      guard case .scalar(let scalar) = value, value.null == nil, !scalar.string.isEmpty else {
        throw Fault(
          line: value.mark?.line ?? line, text: "\(option.name): expected a value, found \(shown(value))")
      }
      return "--\(option.name)=\(scalar.string)"
    }
  }

  private static func kind(_ node: Node) -> String {
    switch node {
    case .scalar: node.null != nil ? "nothing" : "a value"
    case .sequence: "a list"
    case .mapping: "a mapping"
    case .alias: "an alias"
    }
  }

  private static func shown(_ node: Node) -> String {
    if case .scalar(let scalar) = node, node.null == nil { "'\(scalar.string)'" } else { kind(node) }
  }

  // MARK: - Errors

  /// ArgumentParser knows similar names.
  private static func unknown(_ name: String) -> String {
    let text = "unknown option '\(name)'"
    do {
      _ = try ProxyOptions.parse(["--\(name)"])
    } catch {
      let parts = ProxyOptions.message(for: error).split(separator: "Did you mean '--", maxSplits: 1)
      if parts.count == 2, let near = parts[1].split(separator: "'").first {
        return "\(text); did you mean '\(near)'?"
      }
    }
    return "\(text); `httpcache proxy --help` lists the options"
  }

  private static func invalid(_ option: OptionList.Option, _ value: Node, _ error: any Error) -> String {
    let expected: String
    switch option.valueName {
    case "size": expected = "a size, such as 512MB or 10GB"
    case "count": expected = "a whole number"
    case "seconds": expected = "a number of seconds"
    case _ where !option.allowed.isEmpty: expected = option.allowed.joined(separator: ", ")
    default: return ProxyOptions.message(for: error)
    }
    return "\(option.name): expected \(expected), found \(shown(value))"
  }

  /// Returns the error for a file with lines of `name = value`, the form that earlier versions read.
  private static func earlierForm(_ text: String, _ options: OptionList) -> Fault? {
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .enumerated()
    {
      let line = line.drop(while: \.isWhitespace)
      let name = String(line.prefix { $0.isLetter || $0 == "-" })
      guard let option = options[name] else { continue }
      let rest = line.dropFirst(name.count).drop(while: \.isWhitespace)
      let shown = line.prefix { !$0.isNewline }
      if rest.first == "=" {
        // The token is not shown, because the error may be written to a log.
        if ProxyControl.secret.contains(option.name) {
          return Fault(line: index + 1, text: "expected `\(name): TOKEN`, found `\(name) = …`")
        }
        let value = rest.dropFirst().drop(while: \.isWhitespace)
        return Fault(line: index + 1, text: "expected `\(name): \(value)`, found `\(shown)`")
      }
      if rest.isEmpty, option.isFlag {
        let value = name == option.name
        return Fault(line: index + 1, text: "expected `\(option.name): \(value)`, found `\(shown)`")
      }
    }
    return nil
  }

  private static func fault(of error: any Error, in text: String) -> Fault {
    switch error as? YamlError {
    case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
      .composer(let context, let problem, let mark, _):
      // YAML reports a missing colon or an open quote on a line after the faulty one.
      let isMissedLater = ["simple key", "quoted scalar"].contains { context?.text.contains($0) == true }
      let line = isMissedLater ? context?.mark.line : mark.line
      let text = [context?.text, problem].compactMap { $0 }.joined(separator: ", ")
      return Fault(line: line ?? mark.line, text: "not valid YAML: \(text)")
    case .duplicatedKeysInMapping(let names, let context):
      return Fault(line: context.mark.line, text: "'\(names.first ?? "")' is set more than once; remove one")
    case .reader(let problem, let offset, _, _):
      let line = text.prefix(offset ?? 0).count(where: \.isNewline) + 1
      return Fault(line: line, text: "not valid YAML: \(problem)")
    default: return Fault(line: 1, text: "not valid YAML: \(error)")
    }
  }
}
