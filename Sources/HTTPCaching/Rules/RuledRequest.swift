// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// What the rules that match a request decide together. It is shared by all requests that the same rules match.
final class RuledRequest: Sendable {
  /// Judges the requests and their responses.
  let engine: CacheEngine
  /// Judges what handlers of this process respond to them.
  let localEngine: CacheEngine
  /// Whether the cache takes no part.
  let isBypassed: Bool
  /// Whether a stored response may answer without a look at more than its front.
  let allowsPlainHits: Bool
  private let removedCookies: CacheRule.NameSelection?
  private let removedFields: [HTTPField.Name]
  /// The fields of ``CacheRule/uncached(_:)``.
  private let uncachedRemovedFields: [HTTPField.Name]
  private let uncachedRuling: CacheEngine.Ruling
  private let contentCodings: [String]?
  private let partitionCookie: String?
  private let partitionField: HTTPField.Name?

  /// - Parameter rules: the rules, in order.
  init(_ rules: [CacheRule], _ configuration: CacheEngine.Configuration) {
    isBypassed = rules.first { $0.isBypassed != nil && !$0.match.isOfResponse }?.isBypassed ?? false
    let uncached = rules.map { $0.uncached(configuration.targets) }
    uncachedRemovedFields = uncached.removedRequestFields
    var uncachedRuling = CacheEngine.Ruling()
    uncachedRuling.rules = uncached.flatMap(\.responseRules)
    self.uncachedRuling = uncachedRuling
    let rules = isBypassed ? uncached : rules
    /// For each setting, the first rule that names it decides.
    func first<Value>(_ path: KeyPath<CacheRule, Value?>) -> Value? {
      rules.lazy.compactMap { $0[keyPath: path] }.first
    }
    removedCookies = first(\.removedCookies)
    removedFields = rules.removedRequestFields
    contentCodings = first(\.contentCodings)?.map(\.lowercasedASCII)
    rewrites = removedCookies != nil || !removedFields.isEmpty || contentCodings != nil
    // Either separates; a rule that names both separates by the cookie.
    partitionCookie = first(\.partitionCookie)
    partitionField = first(\.partitionField).flatMap { HTTPField.Name($0) }
    var configuration = configuration
    if let reload = first(\.reload) { configuration.reload = reload }
    var ruling = CacheEngine.Ruling()
    ruling.isBypassed = isBypassed
    ruling.selectingNames = (first(\.keyFields) ?? []).map(\.lowercasedASCII)
    ruling.rules = rules.flatMap(\.responseRules)
    configuration.ruling = ruling
    // A response that was stored before the rule has other selecting fields.
    allowsPlainHits = !isBypassed && ruling.selectingNames.isEmpty
    engine = CacheEngine(configuration)
    localEngine = engine.local
  }

  /// Whether the request changes before it is looked up.
  private let rewrites: Bool

  /// Returns the request as it is looked up and sent.
  @inline(__always)
  func rewritten(_ request: HTTPRequest) -> HTTPRequest { rewrites ? rewriting(request) : request }

  /// Returns a request that the cache takes no part in, as it is sent.
  func rewrittenUncached(_ request: HTTPRequest) -> HTTPRequest {
    var request = request
    for name in uncachedRemovedFields { request.headerFields[fields: name] = [] }
    return request
  }

  /// Returns a response that this process makes, as it is sent. It keeps `no-store`, and the type of its content.
  func generated(_ head: HTTPResponse, length: Int? = nil) -> HTTPResponse {
    var changed = uncachedRuling.changing(head, length: length.map { Int64($0) })
    changed.headerFields[fields: .contentType] = head.headerFields[fields: .contentType]
    return changed
  }

  private func rewriting(_ request: HTTPRequest) -> HTTPRequest {
    var request = request
    for name in removedFields { request.headerFields[fields: name] = [] }
    if let removedCookies, request.headerFields.contains(.cookie) {
      request.headerFields[values: .cookie] = request.headerFields[values: .cookie].compactMap {
        Cookies.without(removedCookies, in: $0)
      }
    }
    if let contentCodings, request.headerFields.contains(.acceptEncoding) {
      let accepted = contentCodings.filter { ContentCoding.areAccepted([$0], by: request.headerFields) }
      request.headerFields[.acceptEncoding] = accepted.isEmpty ? nil : accepted.joined(separator: ", ")
    }
    return request
  }

  /// Returns the partition of a request, by the value of a cookie or field; `nil` if it has none, or no rule says it.
  ///
  /// - Parameter request: the request as the client sent it.
  func partition(of request: HTTPRequest) -> String? {
    if let partitionCookie {
      // All values: of several, origins take the first or the last.
      let values = request.headerFields[values: .cookie].flatMap {
        Cookies.values(of: partitionCookie, in: $0)
      }
      return values.isEmpty ? nil : SHA256.hexDigest(of: values.joined(separator: ";").utf8)
    }
    guard let partitionField, let value = request.headerFields[partitionField] else { return nil }
    return engine.configuration.withheldFields.contains(partitionField.canonicalName)
      ? SHA256.hexDigest(of: value.utf8) : value
  }
}

extension [CacheRule] {
  /// The request fields that the rules remove.
  fileprivate var removedRequestFields: [HTTPField.Name] {
    (lazy.compactMap(\.removedRequestFields).first ?? []).compactMap { HTTPField.Name($0) }
  }
}

extension CacheRule {
  /// Fields of credentials and about caching, without the targeted fields.
  private static let cachingFields: Set = [
    "authorization", "proxy-authorization", "cookie", "cookie2", "set-cookie", "set-cookie2", "age",
    "cache-control",
    "cache-group-invalidation", "cache-groups", "etag", "expires", "if-match", "if-modified-since",
    "if-none-match",
    "if-range", "if-unmodified-since", "last-modified", "no-vary-search", "pragma", "surrogate-control",
    "vary",
    "x-accel-expires",
  ]

  /// Returns what of the rule concerns messages that the cache takes no part in: those of bypassed requests, and the
  /// responses that this process makes.
  ///
  /// The fields that protect origin and client stay in force. Credentials pass: a rule that removes the cookies of all pages
  /// would sign out the users whom another rule excludes for a cookie. Fields about caching pass, as no rule decides on it.
  ///
  /// - Parameter targets: the target list of `CacheEngine.Configuration.targets`.
  func uncached(_ targets: [String]) -> CacheRule {
    func isKept(_ name: String) -> Bool {
      let name = name.lowercasedASCII
      return !Self.cachingFields.contains(name) && !name.hasSuffix("-cache-control")
        && !targets.contains { $0.lowercasedASCII == name }
    }
    var rule = CacheRule(name: name)
    (rule.match, rule.isBypassed) = (match, isBypassed)
    rule.removedRequestFields = removedRequestFields?.filter(isKept)
    rule.removedResponseFields = removedResponseFields?.filter(isKept)
    rule.setResponseFields = setResponseFields?.filter { isKept($0.name) }
    return rule
  }

  /// The statuses that a lifetime is for, unless the rule names others: those of content and of permanent redirects.
  private static let lastingStatuses: [ClosedRange<Int>] = [
    200...200, 203...204, 206...206, 300...301, 308...308,
  ]

  /// What the rule decides about responses.
  fileprivate var responseRules: [CacheEngine.ResponseRule] {
    var rules: [CacheEngine.ResponseRule] = []
    func add(_ statuses: [ClosedRange<Int>], _ decide: (inout CacheEngine.ResponseRule.Decision) -> Void) {
      var rule = CacheEngine.ResponseRule()
      rule.condition.statuses = statuses
      rule.condition.mediaTypes = match.mediaTypes.map(\.lowercasedASCII)
      rule.condition.lengths = match.sizes.map { Int64($0.lowerBound)...Int64($0.upperBound) }
      decide(&rule.decision)
      if rule.decision != .init() { rules.append(rule) }
    }
    for status in statusLifetimes ?? [] {
      add([status.statuses]) { $0.lifetime = .init(status.lifetime, isDefault: false) }
    }
    // An error must not last as long as the content that was requested, nor a redirect to a user's language or to a sign-in.
    add(match.statuses.isEmpty ? Self.lastingStatuses : match.statuses) { decision in
      decision.lifetime =
        lifetime.map { .init($0, isDefault: false) } ?? defaultLifetime.map { .init($0, isDefault: true) }
    }
    add(match.statuses) { decision in
      decision.usesHeuristics = usesHeuristics
      decision.heuristicPercent = heuristicPercent
      decision.heuristicMaximum = heuristicMaximum
      // A rule for requests keeps the cache out of them altogether.
      decision.isRefused = match.isOfResponse || isBypassed == false ? isBypassed : nil
      decision.maximumLength = maximumSize.map { Int64($0) }
      decision.grace = grace.map { DeltaSeconds($0.wholeSeconds) }
      decision.staleIfError = staleIfError.map { DeltaSeconds($0.wholeSeconds) }
      decision.errors = errors.map { .init(statuses: $0.statuses, includesFailures: $0.includesFailures) }
      decision.overrulesMustRevalidate = servesStaleDespiteMustRevalidate
      decision.setCookie = setCookie
      decision.reusesNoCache = reusesNoCache
      decision.storesNoStore = storesNoStore
      decision.sharesPrivate = sharesPrivate
      decision.sharesAuthorized = sharesAuthorized
      decision.tagFields = tagFields
      decision.showsTags = showsTags
      decision.removedFields = removedResponseFields?.compactMap { HTTPField.Name($0) }
      decision.setFields = setResponseFields.map { fields in
        HTTPFields(
          fields.compactMap { field in
            HTTPField.Name(field.name).map { HTTPField(name: $0, value: field.value) }
          })
      }
    }
    return rules
  }
}

extension CacheEngine.ResponseRule.Lifetime {
  fileprivate init(_ lifetime: Duration, isDefault: Bool) {
    self.init(milliseconds: lifetime.wholeMilliseconds, isDefault: isDefault)
  }
}

/// `Cookie` (RFC 6265 §5.4): `name=value; name=value`.
enum Cookies {
  /// Returns a field value without some cookies; `nil` if none are left.
  static func without(_ names: CacheRule.NameSelection, in value: String) -> String? {
    let kept = pairs(value).filter { !names.contains($0.name) }
    return kept.isEmpty ? nil : kept.map(\.pair).joined(separator: "; ")
  }

  static func values(of name: String, in value: String) -> [String] {
    pairs(value).filter { $0.name.utf8.elementsEqual(name.utf8) }.map { String($0.value) }
  }

  static func contain(_ name: String, in value: String) -> Bool {
    pairs(value).contains { $0.name.matches(name: name) }
  }

  /// By octets: as a `Character`, an equals sign with a combining mark behind it is another one.
  private static func pairs(_ value: String) -> [(name: Substring, value: Substring, pair: Substring)] {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    return value.utf8.split(separator: UInt8(ascii: ";")).compactMap { part in
      let pair = part.drop(while: isBlank)
      if pair.isEmpty { return nil }
      let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
      // Some origins leave out blanks before the equals sign.
      let name = pair[..<end].lastIndex { !isBlank($0) }.map { pair[...$0] } ?? pair[..<pair.startIndex]
      return (Substring(name), Substring(pair[end...].dropFirst()), Substring(pair))
    }
  }
}

/// What a rule requires of a request beyond its host and path.
struct RequestCondition: Sendable {
  private let methods: [String]
  private let fields: [(name: HTTPField.Name, values: [String])]
  private let cookies: [String]
  private let parameters: [String]
  /// Whether all requests meet it.
  let isEmpty: Bool

  init(_ match: CacheRule.Match) {
    (methods, cookies, parameters) = (match.methods, match.cookies, match.parameters)
    fields = match.fields.compactMap { condition in
      HTTPField.Name(condition.name).map { ($0, condition.values) }
    }
    isEmpty = methods.isEmpty && fields.isEmpty && cookies.isEmpty && parameters.isEmpty
  }

  func isMet(by request: HTTPRequest) -> Bool {
    if isEmpty { return true }
    if !methods.isEmpty, !methods.contains(request.method.rawValue) { return false }
    if !fields.isEmpty {
      let isMet = fields.contains { name, values in
        values.isEmpty
          ? request.headerFields.contains(name)
          : request.headerFields[values: name].contains { value in
            values.contains { $0.utf8.elementsEqual(value.utf8) }
          }
      }
      if !isMet { return false }
    }
    if !cookies.isEmpty {
      let lines = request.headerFields[values: .cookie]
      guard lines.contains(where: { line in cookies.contains { Cookies.contain($0, in: line) } }) else {
        return false
      }
    }
    if parameters.isEmpty { return true }
    guard let path = request.path, let mark = path.utf8.firstIndex(of: UInt8(ascii: "?")) else {
      return false
    }
    return path.utf8[path.utf8.index(after: mark)...].split(separator: UInt8(ascii: "&")).contains {
      parameter in
      // As origins read it: `+` is a blank, and PHP drops the blanks before a name and what is in brackets.
      let bytes = parameter.prefix { $0 != UInt8(ascii: "=") }.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }
      let plain = RulePath.plain(bytes.span).drop { $0 == 0x20 }.prefix { $0 != UInt8(ascii: "[") }
      let name = String(decoding: plain, as: UTF8.self)[...]
      return parameters.contains { name.matches(name: $0) }
    }
  }
}
