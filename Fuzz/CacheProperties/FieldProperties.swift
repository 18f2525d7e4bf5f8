// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes
import RawStructuredFieldValues

/// What must hold of the fields beyond RFC 9111: those of targets, groups, tags, parts, preferences and No-Vary-Search.
enum FieldProperties {
  private static func lines(_ bytes: [UInt8]) -> [String] {
    String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).map(
      String.init)
  }

  private static func fields(_ name: HTTPField.Name, _ lines: some Sequence<String>) -> HTTPFields {
    HTTPFields(lines.map { HTTPField(name: name, value: $0) })
  }

  private static func read(_ fields: HTTPFields, targets: [String] = []) -> ResponseFields {
    ResponseFields(fields, now: Vocabulary.start, targets: targets)
  }

  /// A targeted field governs exactly where it is a Dictionary with a member (RFC 9213 §2.1).
  static func targeted(_ bytes: [UInt8]) throws {
    var fields = fields(.cdnCacheControl, lines(bytes))
    let value = fields[values: .cdnCacheControl].joined(separator: ", ")
    fields[.cacheControl] = "only-if-cached"
    fields[.expires] = "0"
    let parsed = read(fields, targets: ["x", "cdn-cache-control"])
    let directives = parsed.cacheControl
    guard StructuredValue.dictionary(value).map({ !$0.isEmpty }) ?? (parsed.target != nil) else {
      try require(parsed.target == nil && directives.contains(.onlyIfCached), "governs: \(value)")
      return
    }
    try require(parsed.target == "cdn-cache-control" && parsed.expires == .absent, "ignored: \(value)")
    try require(!directives.contains(.onlyIfCached), "two fields govern: \(value)")
    for time in [
      directives.maxAge, directives.sharedMaxAge, directives.staleWhileRevalidate, directives.staleIfError,
    ] {
      if let time { try require((0...2_147_483_648).contains(time.seconds), "a time out of range: \(time)") }
    }
    for name in directives.noCacheFields + directives.privateFields {
      try require(HTTPField.Name(name) != nil, "no field name: \(name)")
    }
    fields[.cdnCacheControl] = value
    try require(
      read(fields, targets: ["cdn-cache-control"]).cacheControl == directives, "lines read in two ways")
    // What forbids something forbids it whatever stands before it.
    for (directive, flag) in [
      ("no-store", CacheControl.Flags.noStore), ("no-cache", .noCache), ("private", .isPrivate),
    ] {
      fields[.cdnCacheControl] = value + ", " + directive
      let flags = read(fields, targets: ["cdn-cache-control"]).cacheControl.flags
      try require(
        flags.contains(flag) || flags.contains(.noStore), "\(directive) lost behind \(value)")
    }
  }

  /// Groups are the Strings of a List, and each has a scope of its own (RFC 9875 §2).
  static func groups(_ bytes: [UInt8]) throws {
    let fields = fields(.cacheGroups, lines(bytes))
    let groups = read(fields).groups
    if let list = StructuredValue.strings(fields[values: .cacheGroups].joined(separator: ", ")) {
      try require(groups == list || groups.isEmpty, "other groups: \(groups)")
    } else {
      try require(groups.isEmpty, "groups of no list: \(groups)")
    }
    let written = groups.map { "\"" + $0.map { "\"\\".contains($0) ? "\\\($0)" : "\($0)" }.joined() + "\"" }
    try require(
      read([.cacheGroups: written.joined(separator: ", ")]).groups == groups, "unstable: \(written)")
    let key = CacheKey(TargetURI(scheme: "https", authority: "a.example", path: "/r"))
    var scopes: Set = [key.scope()]
    for group in Set(groups) {
      try require(scopes.insert(key.scope(group: group)).inserted, "two groups of one scope: \(group)")
    }
  }

  /// The lines are those of a field for tags; which, their length says. Different tags have different names, which a group
  /// may have, and are hidden and stored without a loss.
  static func tags(_ bytes: [UInt8]) throws {
    // No more than are stored.
    guard bytes.count < 8000 else { return }
    let name = [HTTPField.Name.surrogateKey, .cacheTag, .xkey][bytes.count % 3]
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
      HTTPField(name: name, value: Array($0))
    }
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    let isSeparator = { (byte: UInt8) in
      byte == 0x2C && name != .surrogateKey || isBlank(byte) && name != .cacheTag
    }
    var named: [[UInt8]: String] = [:]
    var all: [String] = []
    for line in lines {
      let tags = line.withUnsafeBytesOfValue { Array($0) }.split(whereSeparator: isSeparator)
        .map { Array($0.drop(while: isBlank).reversed().drop(while: isBlank).reversed()) }
        .filter { !$0.isEmpty }
      let names = ResponseTags.tags(in: line)
      try require(tags.count == names.count, "\(tags.count) tags, but \(names)")
      for (tag, name) in zip(tags, names) {
        try require(name.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } && !name.isEmpty, "not a name: \(name)")
        try require(named.updateValue(name, forKey: tag) ?? name == name, "two names of a tag: \(name)")
      }
      all += names
    }
    try require(Set(named.values).count == named.count, "one name of two tags: \(all)")
    var configuration = CacheEngine.Configuration(kind: .shared)
    configuration.tagFields = [name.rawName]
    var response = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"])
    for line in lines { response.headerFields.append(line) }
    var model = ModelCache(configuration)
    let request = HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: "/r")
    try model.exchange(request, .response(response))
    guard let stored = model.candidates.first else { throw Violation(description: "not stored: \(all)") }
    try require(stored.tags.all == all && stored.fields[name] == nil, "stored other tags: \(stored)")
    try require(StoredResponse(decoding: stored.encoded()[...])?.tags == stored.tags, "unstable: \(stored)")
  }

  static func contentRange(_ bytes: [UInt8]) throws {
    guard let range = ContentRange(parsing: String(decoding: bytes, as: UTF8.self)) else { return }
    try require(ContentRange(parsing: range.fieldValue) == range, "unstable: \(range.fieldValue)")
    switch range {
    case .bytes(let bytes, let length):
      try require(
        !bytes.isEmpty && bytes.lowerBound >= 0 && bytes.upperBound <= length ?? .max, "outside: \(bytes)")
    case .unsatisfied(let length): try require((0..<Int64.max).contains(length), "no length: \(length)")
    }
  }

  /// The first line is `No-Vary-Search`, the others are paths with queries.
  static func noVarySearch(_ bytes: [UInt8]) throws {
    let lines = lines(bytes)
    guard let rule = NoVarySearch(parsing: [lines[0]]) else { return }
    func uri(_ path: String) -> TargetURI {
      TargetURI(scheme: "http", authority: "a.example", path: path)
    }
    func key(_ uri: TargetURI) -> CacheKey { CacheKey(uri, by: rule, nonce: 7) }
    var paths: [String: Set<[UInt8]>] = [:]
    for line in lines.dropFirst().prefix(3) {
      let target = uri(line)
      let own = key(target)
      try require(own != CacheKey(target, by: rule, nonce: 8), "a nonce without effect")
      try require(own != CacheKey(target) && own != CacheKey.pathAnchor(target), "a key of two kinds")
      try require(own.scope(group: "a") == CacheKey(target).scope(group: "a"), "another scope")
      paths[String(target.path.utf8.prefix { $0 != UInt8(ascii: "?") }) ?? "", default: []].insert(own.bytes)
      let separator = target.path.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
      for name in try ignored(lines[0]).prefix(3) {
        try require(
          key(uri(target.path + separator + name + "=1")) == own, "an ignored parameter counts: \(name)")
      }
    }
    let keys = paths.values.reduce(0) { $0 + $1.count }
    try require(paths.values.reduce(into: Set()) { $0.formUnion($1) }.count == keys, "one key of two paths")
  }

  /// Names of parameters that a rule has ignored, as a query spells them.
  private static func ignored(_ rule: String) throws -> [String] {
    guard let members = StructuredValue.dictionary(rule) else { return [] }
    func strings(_ member: ItemOrInnerList?) -> [String]? {
      guard case .innerList(let list) = member else { return nil }
      return list.bareInnerList.compactMap {
        if case .string(let text) = $0.rfc9651BareItem { text } else { nil }
      }
    }
    if let names = strings(members["params"]) {
      return names.map { name in
        name.map { ["&": "%26", "=": "%3D", "#": "%23"][$0] ?? String($0) }.joined()
      }
    }
    // No name in the rule is as long as all of it.
    return members["except"] == nil ? [] : [String(repeating: "z", count: rule.utf8.count + 1)]
  }

  /// Each line is one of a preference field; which, the length says.
  static func preferences(_ bytes: [UInt8]) throws {
    let name = [
      HTTPField.Name.acceptLanguage, .accept, .acceptEncoding, .acceptLanguage,
    ][bytes.count % 4]
    let vary = VaryField.names([name.canonicalName])
    let fields = fields(name, lines(bytes))
    let selecting = SelectingFields(vary, of: fields)
    guard let value = selecting.fields.first?.value else {
      throw Violation(description: "a field that is not there")
    }
    let again = SelectingFields(vary, of: HTTPFields([value.field(name)]))
    try require(again.variantKey == selecting.variantKey, "unstable: \(value) became \(again.fields)")
    // Without quotes, commas separate members: by the setting, their order is no matter.
    let reduced = SelectingFields(vary, of: fields, normalizing: Set(NegotiationField.allCases))
    try require(reduced.variantKey != selecting.variantKey, "a reduced value is a plain one: \(value)")
    let combined = fields[values: name].joined(separator: ",")
    guard !combined.utf8.contains(UInt8(ascii: "\"")) else { return }
    let members = combined.split(separator: ",")
    for permuted in [Array(members.reversed()), Array(members.dropFirst() + members.prefix(1))] {
      let other = SelectingFields(
        vary, of: [name: permuted.joined(separator: " ,\t")], normalizing: Set(NegotiationField.allCases))
      try require(other.variantKey == reduced.variantKey, "the order counts: \(combined)")
      try require(other == reduced, "equal keys of different fields: \(combined)")
    }
  }

  /// Keys of QUERY requests: the first line is the path, then come fields, and the rest is content.
  static func derivedKeys(_ bytes: [UInt8]) throws {
    let lines = lines(bytes)
    var request = HTTPRequest(method: .query, scheme: "https", authority: "a.example", path: lines[0])
    if lines.count > 2 { request.headerFields[.contentType] = lines[1] }
    let content = (lines.last ?? "").utf8
    let partition = lines.count > 3 ? "p" : ""
    guard let uri = TargetURI(request),
      let key = CacheKey.query(request, content: content, nonce: 7, partition: partition)
    else { return }
    let plain = CacheKey(uri, partition: partition)
    let anchors = [
      CacheKey.queryAnchor(uri, partition: partition), .pathAnchor(uri, partition: partition),
    ]
    let others = [
      CacheKey.query(request, content: content + [0], nonce: 7, partition: partition),
      CacheKey.query(request, content: content, nonce: 8, partition: partition),
      CacheKey.query(request, content: content, nonce: 7, partition: partition + "q"),
    ].compactMap { $0 }
    let all = [key, plain] + anchors + others
    try require(Set(all.map(\.bytes)).count == 7, "one key of two kinds: \(uri.text)")
    for group in [nil, "a", lines[0]] {
      let scope = plain.scope(group: group)
      for key in [key] + anchors {
        try require(key.scope(group: group) == scope, "another scope: \(uri.text)")
      }
    }
  }
}

/// Structured fields as the library reads them, without the engine's limits.
enum StructuredValue {
  static func dictionary(_ value: String) -> OrderedMap<String, ItemOrInnerList>? {
    var parser = StructuredFieldValueParser(Array(value.utf8))
    return try? parser.parseDictionaryFieldValue()
  }

  static func strings(_ value: String) -> [String]? {
    var parser = StructuredFieldValueParser(Array(value.utf8))
    guard let list = try? parser.parseListFieldValue() else { return nil }
    return list.compactMap {
      if case .item(let item) = $0, case .string(let text) = item.rfc9651BareItem { text } else { nil }
    }
  }
}

extension HTTPField.Name {
  static let cdnCacheControl = known("CDN-Cache-Control")
  static let cacheGroups = known("Cache-Groups")
  static let surrogateKey = known("Surrogate-Key")
  static let cacheTag = known("Cache-Tag")
  static let xkey = known("xkey")
  static let cacheGroupInvalidation = known("Cache-Group-Invalidation")
  static let clearSiteData = known("Clear-Site-Data")

  private static func known(_ name: String) -> HTTPField.Name {
    guard let name = HTTPField.Name(name) else { preconditionFailure("\(name) is a token") }
    return name
  }
}
