// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPTypes

/// Rules, prepared so that those for a request are found fast.
///
/// Nearly all requests pay for nothing else than a comparison of two words for each rule by path or host. What a set of
/// rules decides together is made once, and found again by the set.
final class RuleTable: Sendable {
  let rules: CacheRules
  /// The rules, in order. One that restricts and decides other things, too, is in two parts, as they match in different ways.
  private let parts: [(index: Int, rule: CacheRule)]
  /// Those for any path first, and then the others by the second byte of their paths.
  private let probes: [RuleProbe]
  /// Where the probes for a second byte begin; those of the next byte follow.
  private let starts: [Int]
  /// The patterns of the probes.
  private let texts: [UInt8]
  private let conditions: [RequestCondition]
  /// Whether some rules are for one site.
  private let hasSites: Bool
  /// The positions of the rules of the key.
  private let targetRules: [Int]
  /// What single parts decide, by their position: most requests are matched by one.
  private let single: [RuledRequest]
  private let combined = Mutex<[RuleSet: RuledRequest]>([:])
  /// The parts that keep responses from others: they match in any form of a path, all others in two. See ``RulePath``.
  private let restricting: RuleSet
  /// Whether some of them have paths, for which a path in capitals is read in lower case, too.
  private let restrictsPaths: Bool
  private let configuration: CacheEngine.Configuration
  let counts: RuleCounts

  /// So many combinations are kept; after that, they are made again.
  private static let mostCombined = 1024

  /// - Returns: `nil` without rules.
  init?(_ rules: CacheRules, _ configuration: CacheEngine.Configuration) {
    guard !rules.rules.isEmpty else { return nil }
    self.rules = rules
    self.configuration = configuration
    let parts = rules.rules.enumerated().flatMap { index, rule in rule.parts.map { (index: index, rule: $0) }
    }
    self.parts = parts
    conditions = parts.map { RequestCondition($0.rule.match) }
    hasSites = rules.siteOfRule.contains { $0 != nil }
    var texts: [UInt8] = []
    let probes = parts.enumerated().flatMap { position, part in
      RuleProbe.all(
        of: part.rule.match, index: position, site: rules.siteOfRule[part.index],
        isRestricting: part.rule.isRestricting, texts: &texts)
    }
    self.texts = texts
    var sorted = probes.filter { $0.secondByte == nil }
    var starts: [Int] = []
    for byte in UInt8.min...UInt8.max {
      starts.append(sorted.count)
      sorted += probes.filter { $0.secondByte == byte }
    }
    self.probes = sorted
    self.starts = starts + [sorted.count]
    targetRules = parts.indices.filter {
      parts[$0].rule.ignoredParameters != nil || parts[$0].rule.sortsParameters != nil
    }
    var restricting = RuleSet(capacity: parts.count)
    for position in parts.indices where parts[position].rule.isRestricting { restricting.insert(position) }
    self.restricting = restricting
    restrictsPaths = parts.contains { $0.rule.isRestricting && !$0.rule.match.paths.isEmpty }
    // The second part matches only with the first.
    counts = RuleCounts(
      parts.indices.map {
        $0 > 0 && parts[$0 - 1].index == parts[$0].index ? nil : rules.name(of: parts[$0].index)
      })
    single = parts.map { RuledRequest([$0.rule], configuration) }
  }

  /// Returns what the rules decide about a request; `nil` if none matches.
  ///
  /// - Parameter isCounted: whether this is the first time for the request.
  func ruled(_ request: HTTPRequest, isCounted: Bool = true) -> RuledRequest? {
    let matching = matching(request)
    if matching.isEmpty { return nil }
    if isCounted { counts.count(matching) }
    if let only = matching.only { return single[only] }
    return combined.withLock { combined in
      if let known = combined[matching] { return known }
      if combined.count >= Self.mostCombined { combined.removeAll() }
      let ruled = RuledRequest(
        parts.indices.filter { matching.contains($0) }.map { parts[$0].rule }, configuration)
      combined[matching] = ruled
      return ruled
    }
  }

  /// The parts that match a request, whatever its response.
  func matching(_ request: HTTPRequest) -> RuleSet {
    matching(request.authority ?? "", request.path ?? "/", request)
  }

  /// The rules that match a request, with their positions; of one of which only a part matches, that part.
  func matchingRules(_ request: HTTPRequest) -> [(index: Int, rule: CacheRule)] {
    let set = matching(request)
    return rules.rules.enumerated().compactMap { index, rule in
      let own = parts.indices.filter { parts[$0].index == index }
      let found = own.filter { set.contains($0) }
      return found.first.map { (index, found.count == own.count ? rule : parts[$0].rule) }
    }
  }

  /// - Parameter request: `nil` for the rules that match by host and path only.
  @inline(__always)
  private func matching(_ authority: String, _ path: String, _ request: HTTPRequest?) -> RuleSet {
    var set = RuleSet(capacity: conditions.count)
    let site = hasSites ? rules.sites.scope(ofAuthority: authority, path: path) ?? -1 : -1
    path.withFieldBytes { path in
      authority.withFieldBytes { authority in
        let host = authority.extracting(0..<authority.hostCount)
        if let (end, mayHaveCapitals) = path.plainPath {
          let path = path.extracting(0..<end)
          find(path, host, site, request, &set)
          if restrictsPaths, mayHaveCapitals, path.hasCapitals {
            findLoosely([RulePath.lowercasedASCII(path)], host, site, request, &set)
          }
          return
        }
        let (plain, resolved) = (RulePath.plain(path), RulePath.resolved(path))
        var others = set
        find(plain.span, host, site, request, &set)
        find(resolved.span, host, site, request, &others)
        set.unite(with: others, where: restricting)
        if restrictsPaths {
          findLoosely(RulePath.loose(path).filter { $0 != resolved }, host, site, request, &set)
        }
      }
    }
    return set
  }

  /// Adds the rules that restrict and match a path in one of some forms.
  @inline(never)
  private func findLoosely(
    _ paths: [[UInt8]], _ host: Span<UInt8>, _ site: Int, _ request: HTTPRequest?, _ set: inout RuleSet
  ) {
    for path in paths {
      var found = RuleSet(capacity: conditions.count)
      find(path.span, host, site, request, &found)
      set.insert(found, where: restricting)
    }
  }

  /// Fifty rules by path cost a hit no more than those that begin with the same letter: with a comparison for each, finding
  /// took 660 instructions, and now 150.
  private func find(
    _ path: Span<UInt8>, _ host: Span<UInt8>, _ site: Int, _ request: HTTPRequest?, _ set: inout RuleSet
  ) {
    let (pathWord, hostWord) = (path.firstWord, host.lastWord)
    let second = Int(pathWord >> 8 & 0xFF)
    func find(in range: Range<Int>) {
      for position in range where probes[position].mayMatch(pathWord, hostWord, site) {
        add(probes[position], path, host, request, &set)
      }
    }
    find(in: 0..<starts[0])
    find(in: starts[second]..<starts[second + 1])
  }

  private func add(
    _ probe: RuleProbe, _ path: Span<UInt8>, _ host: Span<UInt8>, _ request: HTTPRequest?,
    _ set: inout RuleSet
  ) {
    let texts = texts
    guard !set.contains(probe.index), probe.matches(path, host, texts.span) else { return }
    if !probe.isSufficient {
      guard let request, conditions[probe.index].isMet(by: request) else { return }
    }
    set.insert(probe.index)
  }

  /// Returns the target that stands for a target by the rules that match it.
  func keyed(_ target: TargetURI) -> TargetURI {
    guard !targetRules.isEmpty, target.path.utf8.contains(UInt8(ascii: "?")) else { return target }
    // Such rules match by host and path only.
    let set = matching(target.authority, target.path, nil)
    guard !set.isEmpty else { return target }
    // For each of the two settings, the first rule that names it decides.
    var (ignores, sorts) = (false, false)
    var keyed = target
    for index in targetRules where set.contains(index) {
      let rule = parts[index].rule
      if !ignores, let names = rule.ignoredParameters {
        ignores = true
        keyed = TargetRule.dropping(names)(keyed)
      }
      if !sorts, let isSorted = rule.sortsParameters {
        sorts = true
        if isSorted { keyed = TargetRule.sortingParameters(keyed) }
      }
    }
    return keyed
  }

  /// Whether a rule gives requests a partition.
  var makesPartitions: Bool { rules.rules.contains { $0.partitionCookie != nil || $0.partitionField != nil } }

  /// Whether the key of a request may be that of another target.
  var mayChangeKeys: Bool { !targetRules.isEmpty }
}

extension CacheRule {
  /// Whether the rule keeps responses from others.
  fileprivate var isRestricting: Bool { isBypassed == true || separates }

  private var separates: Bool { partitionCookie != nil || partitionField != nil || keyFields != nil }

  /// The rule; if it separates responses and decides other things, too, what separates, and the rest. A lifetime must not come
  /// to paths that only some origins take for those of the rule. Beside a bypass, other settings have no effect.
  fileprivate var parts: [CacheRule] {
    guard separates, isBypassed != true, !match.paths.isEmpty else { return [self] }
    var (separating, rest) = (CacheRule(name: name), self)
    separating.match = match
    (separating.partitionCookie, separating.partitionField) = (partitionCookie, partitionField)
    separating.keyFields = keyFields
    (rest.partitionCookie, rest.partitionField, rest.keyFields) = (nil, nil, nil)
    return rest.settings.isEmpty ? [self] : [separating, rest]
  }
}

extension TargetRule {
  /// Drops the selected parameters of the query.
  fileprivate static func dropping(_ names: CacheRule.NameSelection) -> TargetRule {
    switch names {
    case .all: .ignoringQuery
    case .named(let names): .droppingParameters(names)
    case .allBut(let names): .keepingParameters(names)
    }
  }
}

/// A set of rules, by their positions.
struct RuleSet: Hashable, Sendable {
  private var first: UInt64 = 0
  /// Empty with 64 rules at most.
  private var rest: [UInt64]

  init(capacity: Int) { rest = capacity <= 64 ? [] : Array(repeating: 0, count: (capacity - 1) / 64) }

  var isEmpty: Bool { first == 0 && rest.allSatisfy { $0 == 0 } }

  /// The position of the only rule; `nil` if there are several, or it is beyond the first 64.
  var only: Int? {
    first.nonzeroBitCount == 1 && rest.allSatisfy { $0 == 0 } ? first.trailingZeroBitCount : nil
  }

  func contains(_ index: Int) -> Bool {
    index < 64 ? first >> UInt64(index) & 1 != 0 : rest[index / 64 - 1] >> UInt64(index % 64) & 1 != 0
  }

  mutating func insert(_ index: Int) {
    if index < 64 { first |= 1 << UInt64(index) } else { rest[index / 64 - 1] |= 1 << UInt64(index % 64) }
  }

  /// Keeps what both sets contain, and of some rules what either does.
  mutating func unite(with other: RuleSet, where some: RuleSet) {
    first = first & other.first | (first | other.first) & some.first
    for index in rest.indices {
      rest[index] = rest[index] & other.rest[index] | (rest[index] | other.rest[index]) & some.rest[index]
    }
  }

  /// Inserts what the other set contains of some rules.
  mutating func insert(_ other: RuleSet, where some: RuleSet) {
    first |= other.first & some.first
    for index in rest.indices { rest[index] |= other.rest[index] & some.rest[index] }
  }

  func forEach(_ body: (Int) -> Void) {
    var bits = first
    while bits != 0 {
      body(bits.trailingZeroBitCount)
      bits &= bits - 1
    }
    for (word, var bits) in rest.enumerated() {
      while bits != 0 {
        body((word + 1) * 64 + bits.trailingZeroBitCount)
        bits &= bits - 1
      }
    }
  }
}

/// How often each rule matched a request.
final class RuleCounts: Sendable {
  private final class Count: Sendable {
    let name: String?
    let requests = Atomic<Int>(0)

    init(_ name: String?) { self.name = name }
  }

  private let counts: [Count]

  /// - Parameter names: `nil` for what is not shown.
  init(_ names: [String?]) { counts = names.map { Count($0) } }

  @inline(__always)
  func count(_ set: RuleSet) {
    set.forEach { counts[$0].requests.wrappingAdd(1, ordering: .relaxed) }
  }

  var all: [(name: String, requests: Int)] {
    counts.compactMap { count in count.name.map { ($0, count.requests.load(ordering: .relaxed)) } }
  }
}
