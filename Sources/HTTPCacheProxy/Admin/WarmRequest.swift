// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// A request from an authorised client that fills the cache, and its response.
///
/// If any part of it is invalid, or there is no room for all URLs, the response is an error and nothing is loaded.
struct WarmRequest {
  private typealias Fault = AdminParameters.Fault

  let query: String
  let content: [UInt8]
  let wantsJSON: Bool
  let context: ProxyContext

  func answer() -> AdminRequest.Answer {
    do throws(Fault) {
      let wanted = try wanted()
      switch context.warmer.add(wanted.targets, rate: wanted.rate, to: wanted.list, context) {
      case .added: return Self.progress(context, wantsJSON: wantsJSON, showsProblems: true, status: 202)
      case .full:
        return AdminRequest.Answer(
          status: 429,
          text:
            "There is no room for \(wanted.targets.count) more URLs. Send them later: GET /warm says how many wait.\n"
        )
      case .over:
        return AdminRequest.Answer(
          status: 409, text: "The proxy has another list: it was started again, or the list was ended.\n")
      case .closed: return .stopping
      }
    } catch {
      return AdminRequest.Answer(
        status: 400,
        text: """
          \(error.text)
          POST /warm?url=http://HOST/PATH, as clients use it; repeat url, or send one URL per line as the content
          With header=NAME:VALUE, the requests have this field; repeat it for others
          With rate=NUMBER, at most so many requests per second are sent, and 10 without it

          """)
    }
  }

  private func wanted() throws(Fault) -> (targets: [WarmingList.Target], rate: Double, list: UInt32?) {
    var (urls, fields, rate, list) = ([String](), HTTPFields(), WarmingList.usualRate, UInt32?.none)
    for (name, value) in try AdminParameters.read(query, content) {
      switch name {
      case "url": urls.append(value)
      case "header": fields.append(try Self.field(value))
      case "rate": rate = try Self.rate(value)
      case "list":
        guard let number = UInt32(value) else { throw Fault("list: expected the number of a list.") }
        list = number
      default: throw Fault("unknown parameter '\(name)'.")
      }
    }
    guard !urls.isEmpty else { throw Fault("expected at least one URL.") }
    let targets = urls.map { WarmingList.Target(url: $0, fields: fields) }
    for target in targets {
      do throws(MessageFault) {
        _ = try ClientRequest(target, context)
      } catch {
        var plain = target
        plain.fields = HTTPFields()
        if (try? ClientRequest(plain, context)) != nil { throw Fault("header: \(error.reason).") }
        throw Fault(
          "url: expected \(context.scheme)://HOST/PATH, as clients use it, found '\(target.url.prefix(200))': \(error.reason)."
        )
      }
    }
    return (targets, rate, list)
  }

  static func rate(_ text: String) throws(AdminParameters.Fault) -> Double {
    guard let rate = Double(text), WarmingList.rates.contains(rate) else {
      throw Fault(
        "rate: expected 0.1 to 1000 requests per second, found '\(text.prefix(200))'."
      )
    }
    return rate
  }

  private static func field(_ text: String) throws(Fault) -> HTTPField {
    let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
    guard let colon, let name = HTTPField.Name(String(text[..<colon])) else {
      throw Fault("header: expected NAME:VALUE, found '\(text.prefix(200))'.")
    }
    let value = text[text.utf8.index(after: colon)...].trimmingOptionalWhitespace
    // What is not UTF-8 was replaced.
    guard HTTPField.isValidValue(value), !value.unicodeScalars.contains("\u{FFFD}") else {
      throw Fault(
        "header: expected NAME:VALUE in UTF-8 and without control characters, found '\(text.prefix(200))'.")
    }
    guard !Self.refused.contains(name.canonicalName) else {
      throw Fault("header: with \(name), nothing would be stored; remove it.")
    }
    return HTTPField(name: name, value: value)
  }

  /// The fields with which a request asks for less than a response, or for one that is not stored.
  private static let refused: Set = [
    "range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    "cache-control", "pragma",
  ]

  /// Returns what has become of the URLs.
  ///
  /// - Parameter showsProblems: whether to name those that are not loaded, which are clients' after a purge.
  static func progress(
    _ context: ProxyContext, wantsJSON: Bool, showsProblems: Bool, status: Int = 200
  ) -> AdminRequest.Answer {
    var progress = context.warmer.progress
    if !showsProblems { progress.problems = [] }
    return wantsJSON
      ? AdminRequest.Answer(status: status, type: "application/json", text: "\(progress.json)\n")
      : AdminRequest.Answer(status: status, text: progress.text)
  }
}

extension WarmingList.Progress {
  var json: JSONText {
    .map(
      [("list", .integer(Int(list)))] + counts.map { ($0.name, .integer($0.value)) } + [
        (
          "problems",
          .list(problems.map { .map([("url", .string($0.url)), ("reason", .string($0.reason))]) })
        )
      ])
  }

  /// The counts of all URLs, by what has become of them.
  var counts: [(name: String, value: Int)] {
    [
      ("waiting", waiting), ("running", running), ("stored", stored), ("fresh", fresh),
      ("notStored", notStored), ("failed", failed), ("dropped", dropped),
    ]
  }

  fileprivate var text: String {
    guard all > 0 else { return "No URLs have been loaded.\n" }
    let rest = notStored + failed - problems.count
    let lines =
      [
        "\(all == 1 ? "1 URL" : "\(all) URLs"): "
          + counts.map { "\($0.value) \($0.name)" }.joined(separator: ", ")
      ]
      + problems.map { "\($0.url): \($0.reason)" } + (rest > 0 ? ["and \(rest) more"] : [])
    return lines.joined(separator: "\n") + "\n"
  }
}
