// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching

/// A purge request from an authorised client, and its response.
///
/// If any part of it is invalid, the response is an error and nothing is purged.
struct PurgeRequest: Sendable {
  /// Maximum URLs of one request.
  private static let targetLimit = 1000
  /// Maximum patterns of one request: each is compared with each stored URL. While rules make partitions, each URL is.
  private static let patternLimit = 100
  /// Maximum groups and tags of one request; of some origins, counted for each. A soft purge of a group of an origin is a
  /// pass over all that is stored, and so is a hard one in every partition.
  static func groupLimit(isSoft: Bool, ofOrigins: Bool, _ makesPartitions: Bool) -> Int {
    (isSoft || makesPartitions) && ofOrigins ? patternLimit : targetLimit
  }

  /// Maximum bytes of a pattern.
  private static let patternLength = 2000

  private typealias Fault = AdminParameters.Fault

  private let query: String
  private let content: [UInt8]
  private let wantsJSON: Bool
  private let context: ProxyContext

  /// - Parameter content: one URL per line, or a form with the same parameters as the query.
  init(query: Substring, content: [UInt8], wantsJSON: Bool, _ context: ProxyContext) {
    self.query = String(query)
    self.content = content
    self.wantsJSON = wantsJSON
    self.context = context
  }

  func answer() async -> AdminRequest.Answer {
    do throws(Fault) {
      let purge = try purge()
      let repeated = await purge.repeated(context)
      let count = await purge.run(context)
      let reach = await Purge.confirm(context)
      let reloading = repeated.map { purge.load($0, context) }
      return wantsJSON
        ? AdminRequest.Answer(type: "application/json", text: purge.json(count, reach, reloading))
        : AdminRequest.Answer(text: purge.text(count, reach, reloading))
    } catch {
      return AdminRequest.Answer(
        status: 400,
        text: """
          \(error.text)
          POST /purge?url=http://HOST/PATH, as clients use it; repeat url, or send one URL per line as the content
          POST /purge?prefix=http://HOST/PATH or ?glob=http://HOST/*.css; both may be repeated
          POST /purge?tag=NAME or ?group=NAME for all hosts; repeat them, or add host=HOST or origin=http://HOST/ for one
          POST /purge?origin=http://HOST/ or ?host=HOST, ?site=NAME, ?since=SECONDS for what was stored since then (Unix time), or ?all
          With soft, stored responses become stale instead of being removed: POST /purge?all&soft
          With warm, and rate=NUMBER per second, what was purged is loaded again: POST /purge?site=NAME&warm&rate=50

          """)
    }
  }

  // MARK: - Reading it

  private func purge() throws(Fault) -> Purge {
    var (targets, patterns, groups) = ([TargetURI](), [TargetPattern](), [String]())
    var (origins, isSoft) = ([TargetURI](), false)
    var (warms, rate) = (false, Double?.none)
    var whole: [(name: String, HTTPCache.Selection)] = []
    let parameters = try AdminParameters.read(query, content)
    for (name, value) in parameters {
      switch name {
      case "url": targets.append(try Self.target(value, name))
      case "origin": origins.append(try Self.target(value, name))
      case "host":
        guard !value.utf8.contains(UInt8(ascii: "/")) else {
          throw Fault("host: expected HOST or HOST:PORT, found '\(value.prefix(200))'.")
        }
        origins.append(try Self.target("\(context.scheme)://\(value)", name))
      case "glob": patterns.append(.glob(try Self.pattern(value, name)))
      case "prefix":
        try Self.refuseUserInformation(value, name)
        patterns.append(.prefix(try Self.pattern(value, name)))
      case "group", "tag":
        guard !value.isEmpty else { throw Fault("\(name): expected a name, found nothing.") }
        groups.append(value)
      case "since":
        guard value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
          let time = Int64(value), time <= 1 << 40
        else {
          throw Fault("since: expected seconds since 1970, found '\(value.prefix(200))'.")
        }
        whole.append((name, .since(Timestamp(seconds: time))))
      case "site": whole.append((name, try site(value)))
      case "all": if try AdminParameters.flag(value, name) { whole.append((name, .all)) }
      case "soft": isSoft = try AdminParameters.flag(value, name)
      case "warm": warms = try AdminParameters.flag(value, name)
      case "rate": rate = try WarmRequest.rate(value)
      default: throw Fault("unknown parameter '\(name)'.")
      }
    }
    let targetLimit = context.cache.makesPartitions ? Self.patternLimit : Self.targetLimit
    guard targets.count <= targetLimit else { throw Fault("expected at most \(targetLimit) URLs.") }
    guard patterns.count + origins.count <= Self.patternLimit else {
      throw Fault("expected at most \(Self.patternLimit) patterns or origins.")
    }
    var selections: [HTTPCache.Selection]
    if groups.isEmpty {
      selections = origins.map { .origin(of: $0) } + targets.map { .target($0) }
    } else {
      let owners = origins + targets
      let limit = Self.groupLimit(isSoft: isSoft, ofOrigins: !owners.isEmpty, context.cache.makesPartitions)
      guard groups.count * max(1, owners.count) <= limit else {
        throw Fault("expected at most \(limit) tags and groups, counted for each origin.")
      }
      selections = Purge.selections(ofGroups: groups, in: owners)
    }
    if !patterns.isEmpty {
      guard groups.isEmpty else { throw Fault("tag and group cannot be combined with prefix or glob.") }
      selections.append(.patterns(patterns))
    }
    for (name, selection) in whole {
      guard selections.isEmpty else {
        throw Fault("\(name) cannot be combined with other parameters than soft, warm and rate.")
      }
      selections.append(selection)
    }
    guard !selections.isEmpty else {
      throw Fault("expected url, prefix, glob, tag, group, origin, host, site, since or all.")
    }
    if rate != nil, !warms { throw Fault("rate: add warm, or remove it.") }
    return Purge(
      selections: selections, isSoft: isSoft, description: Self.summary(parameters),
      warmingRate: warms ? rate ?? WarmingList.usualRate : nil)
  }

  private func site(_ name: String) throws(Fault) -> HTTPCache.Selection {
    let table = context.sites.table
    guard !name.isEmpty, let position = table[name] else {
      let names = table.sites.map(\.name).filter { !$0.isEmpty }.joined(separator: ", ")
      throw Fault(
        "site: expected \(names.isEmpty ? "no such parameter: the sites have no names" : "one of \(names)"), found '\(name.prefix(200))'."
      )
    }
    return .site(position, in: table.scopes)
  }

  /// Returns the parameters for the log.
  private static func summary(_ parameters: [(name: String, value: String)]) -> String {
    let named = parameters.filter { !["soft", "warm", "rate"].contains($0.name) }
    let rest = named.count > 10 ? " and \(named.count - 10) more" : ""
    return named.prefix(10).map { $0.value.isEmpty ? $0.name : "\($0.name) \($0.value)" }.joined(
      separator: ", ")
      + rest
  }

  private static func target(_ text: String, _ name: String) throws(Fault) -> TargetURI {
    guard let target = TargetURI(absolute: text), target.scheme == "http" || target.scheme == "https",
      // Requests for other targets are refused, so nothing is stored for them.
      target.isUnambiguous
    else {
      throw Fault("\(name): expected http://HOST/PATH or https://HOST/PATH, found '\(text.prefix(200))'.")
    }
    try refuseUserInformation(text, name)
    return target
  }

  /// Requests with user information are refused, so nothing is stored for such a URL.
  private static func refuseUserInformation(_ text: String, _ name: String) throws(Fault) {
    // As bytes: a combining character behind the @ would make it another `Character`.
    let parts = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 3, omittingEmptySubsequences: false)
    let authority = parts.dropFirst(2).first?.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    if authority?.contains(UInt8(ascii: "@")) == true {
      throw Fault("\(name): expected http://HOST/PATH without user information; remove the text up to the @.")
    }
  }

  private static func pattern(_ text: String, _ name: String) throws(Fault) -> String {
    guard !text.isEmpty, text.utf8.count <= patternLength else {
      throw Fault("\(name): expected 1 to \(patternLength) bytes.")
    }
    return text
  }
}
