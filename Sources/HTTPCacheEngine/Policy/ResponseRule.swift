// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

extension CacheEngine {
  /// What an operator decides about some responses, in the place of the origin or of a default.
  ///
  /// `HTTPCaching` makes these from its `CacheRules`, for each request from the rules that match it.
  package struct ResponseRule: Hashable, Sendable {
    /// The responses that the rule concerns.
    package var condition = Condition()
    /// What it decides about them.
    package var decision = Decision()

    package init() {}
  }
}

extension CacheEngine.ResponseRule {
  /// A condition on a response; each part that is empty or `nil` is met by all.
  package struct Condition: Hashable, Sendable {
    /// Status codes.
    package var statuses: [ClosedRange<Int>] = []
    /// Media types in lowercase, without parameters; the subtype may be `*`.
    package var mediaTypes: [String] = []
    /// The length of the content in bytes. A response whose length is unknown does not meet it.
    package var lengths: ClosedRange<Int64>?

    package init() {}

    /// Whether all responses meet it.
    package var isEmpty: Bool { statuses.isEmpty && mediaTypes.isEmpty && lengths == nil }

    func isMet(by response: Subject) -> Bool {
      if !statuses.isEmpty, !statuses.contains(where: { $0.contains(response.status) }) { return false }
      if let lengths {
        guard let length = response.length, lengths.contains(length) else { return false }
      }
      if mediaTypes.isEmpty { return true }
      guard let type = response.mediaType else { return false }
      return mediaTypes.contains { pattern in
        guard pattern.utf8.last == UInt8(ascii: "*") else { return pattern == type }
        return type.utf8.starts(with: pattern.utf8.dropLast())
      }
    }
  }

  /// What conditions are about: a response that has arrived, or a stored one.
  struct Subject {
    var status: Int
    var mediaType: String?
    var length: Int64?

    init(_ head: HTTPResponse, length: Int64?) {
      status = head.status.code
      mediaType = head.headerFields[.contentType].map { Self.mediaType($0) }
      self.length = length ?? head.headerFields[.contentLength].flatMap { Int64($0) }
    }

    init(_ stored: StoredResponse) {
      status = stored.status.code
      mediaType = stored.value(of: .contentType).map { Self.mediaType($0) }
      length = stored.completeLength ?? stored.contentLength
    }

    /// The value without its parameters, in lowercase (RFC 9110 §8.3.1).
    private static func mediaType(_ value: String) -> String {
      let type = value.utf8.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") }
      return Substring(type).filter { $0 != " " && $0 != "\t" }.lowercasedASCII
    }
  }

  /// Settings; `nil` leaves one as it is.
  package struct Decision: Hashable, Sendable {
    /// The freshness lifetime, from the arrival of the response on.
    package var lifetime: Lifetime?
    package var usesHeuristics: Bool?
    /// The share of the time since the last modification that a response is fresh, in percent (RFC 9111 §4.2.2).
    package var heuristicPercent: Int?
    package var heuristicMaximum: Duration?
    /// Whether the responses are not stored.
    package var isRefused: Bool?
    /// Maximum length of content that is stored, in bytes.
    package var maximumLength: Int64?
    /// `stale-while-revalidate` where the origin said nothing (RFC 5861 §3).
    package var grace: DeltaSeconds?
    /// `stale-if-error` in addition to the origin's (RFC 5861 §4).
    package var staleIfError: DeltaSeconds?
    /// What counts as an error for ``staleIfError``.
    package var errors: ErrorSet?
    /// Whether ``grace`` and ``staleIfError`` also concern responses with `must-revalidate`, `proxy-revalidate` or
    /// `s-maxage`.
    package var overrulesMustRevalidate: Bool?
    package var setCookie: CacheEngine.SetCookieUse?
    /// Whether ``lifetime`` also concerns responses with `no-cache`.
    package var reusesNoCache: Bool?
    /// Whether responses with `no-store` are stored.
    package var storesNoStore: Bool?
    /// Whether a shared cache stores responses with `private`.
    package var sharesPrivate: Bool?
    /// Whether a shared cache stores responses to requests with `Authorization` whose origin does not permit it.
    package var sharesAuthorized: Bool?
    /// See ``CacheEngine/Configuration/tagFields``.
    package var tagFields: [String]?
    /// See ``CacheEngine/Configuration/showsTags``.
    package var showsTags: Bool?
    /// Fields that are removed before the response is judged, stored or passed on.
    package var removedFields: [HTTPField.Name]?
    /// Fields that replace those of the same names likewise.
    package var setFields: HTTPFields?

    package init() {}

    /// Takes from a later rule what this decision leaves open.
    package mutating func fill(from later: Decision) {
      lifetime = lifetime ?? later.lifetime
      usesHeuristics = usesHeuristics ?? later.usesHeuristics
      heuristicPercent = heuristicPercent ?? later.heuristicPercent
      heuristicMaximum = heuristicMaximum ?? later.heuristicMaximum
      isRefused = isRefused ?? later.isRefused
      maximumLength = maximumLength ?? later.maximumLength
      grace = grace ?? later.grace
      staleIfError = staleIfError ?? later.staleIfError
      errors = errors ?? later.errors
      overrulesMustRevalidate = overrulesMustRevalidate ?? later.overrulesMustRevalidate
      setCookie = setCookie ?? later.setCookie
      reusesNoCache = reusesNoCache ?? later.reusesNoCache
      storesNoStore = storesNoStore ?? later.storesNoStore
      sharesPrivate = sharesPrivate ?? later.sharesPrivate
      sharesAuthorized = sharesAuthorized ?? later.sharesAuthorized
      tagFields = tagFields ?? later.tagFields
      showsTags = showsTags ?? later.showsTags
      removedFields = removedFields ?? later.removedFields
      setFields = setFields ?? later.setFields
    }
  }

  /// A freshness lifetime.
  package struct Lifetime: Hashable, Sendable {
    package var milliseconds: Int64
    /// Whether it is only for responses in which the origin says nothing about one.
    package var isDefault: Bool

    package init(milliseconds: Int64, isDefault: Bool) {
      (self.milliseconds, self.isDefault) = (milliseconds, isDefault)
    }
  }

  /// Statuses and failures of an origin.
  package struct ErrorSet: Hashable, Sendable {
    package var statuses: [ClosedRange<Int>]
    /// Whether a connection that fails, or breaks before a head has arrived, counts.
    package var includesFailures: Bool

    package init(statuses: [ClosedRange<Int>], includesFailures: Bool) {
      (self.statuses, self.includesFailures) = (statuses, includesFailures)
    }
  }
}

extension CacheEngine {
  /// What rules decide for the requests that a configuration is for.
  package struct Ruling: Hashable, Sendable {
    /// Whether the cache takes no part in the requests.
    package var isBypassed = false
    /// Names of request fields, in lowercase, that select stored responses as if `Vary` nominated them.
    package var selectingNames: [String] = []
    /// Decisions about responses; for each setting, the first that names it counts.
    package var rules: [ResponseRule] = []
    /// Their decision about the response that has arrived.
    var decision = ResponseRule.Decision()
    /// Their decision about the stored response that is used in its place.
    var storedDecision = ResponseRule.Decision()

    package init() {}

    func decision(about response: ResponseRule.Subject) -> ResponseRule.Decision {
      var decision = ResponseRule.Decision()
      for rule in rules where rule.condition.isMet(by: response) { decision.fill(from: rule.decision) }
      return decision
    }
  }

  /// Judges an exchange by what rules decide about this response, and about the stored one that was selected.
  @inline(never)
  func outcome(of exchange: Exchange, by ruling: Ruling) -> Outcome {
    var ruling = ruling
    let stored = exchange.forwarding.selected.map { ResponseRule.Subject(exchange.candidates[$0]) }
    if let stored { ruling.storedDecision = ruling.decision(about: stored) }
    if case .response(let head) = exchange.result {
      // A 304 tells nothing of the content that it confirms.
      ruling.decision =
        head.status == .notModified && stored != nil
        ? ruling.storedDecision : ruling.decision(about: .init(head, length: exchange.contentLength))
    }
    ruling.rules = []
    var configuration = configuration
    let decision = ruling.decision
    if let usesHeuristics = decision.usesHeuristics { configuration.usesHeuristics = usesHeuristics }
    if let percent = decision.heuristicPercent { configuration.heuristicPercent = percent }
    if let maximum = decision.heuristicMaximum { configuration.heuristicMaximum = maximum }
    if let setCookie = decision.setCookie { configuration.setCookie = setCookie }
    if let tagFields = decision.tagFields { configuration.tagFields = tagFields }
    if let showsTags = decision.showsTags { configuration.showsTags = showsTags }
    configuration.ruling = ruling
    return CacheEngine(configuration).outcome(of: exchange)
  }

  /// How long a stored response may be used stale, in seconds: while it is revalidated, and if the origin fails. For
  /// explanations.
  package func staleSeconds(of stored: StoredResponse) -> (whileRevalidate: Int64, ifError: Int64) {
    let decision = configuration.ruling?.decision(about: .init(stored))
    let own = (stored.facts.staleWhileRevalidate.seconds, stored.facts.staleIfError.seconds)
    guard StaleUse.mayOthersPermit(stored.facts, configuration.kind) else { return own }
    return (
      own.0 > 0 ? own.0 : decision?.grace?.seconds ?? 0,
      Swift.max(own.1, decision?.staleIfError?.seconds ?? 0)
    )
  }

  /// Maximum bytes of content that rules allow a response to be stored with; `nil` if they do not say it.
  package func maximumLength(of head: HTTPResponse) -> Int? {
    configuration.ruling?.decision(about: .init(head, length: nil)).maximumLength.map { Int(clamping: $0) }
  }

  /// Returns the origin's response with the fields that rules remove and set.
  ///
  /// - Parameter validated: the stored response that a 304 may confirm, which decides in its place.
  package func ruled(_ head: HTTPResponse, length: Int64?, validated: StoredResponse? = nil) -> HTTPResponse {
    guard let ruling = configuration.ruling else { return head }
    let stored = head.status == .notModified ? validated : nil
    return ruling.changing(head, as: stored.map { .init($0) } ?? .init(head, length: length))
  }
}

extension CacheEngine.Ruling {
  /// Returns a response that this process makes, with the fields that rules remove and set.
  package func changing(_ head: HTTPResponse, length: Int64? = nil) -> HTTPResponse {
    changing(head, as: .init(head, length: length))
  }

  /// - Parameter subject: what the conditions of the rules are about.
  fileprivate func changing(
    _ head: HTTPResponse, as subject: @autoclosure () -> CacheEngine.ResponseRule.Subject
  ) -> HTTPResponse {
    if rules.isEmpty { return head }
    let decision = decision(about: subject())
    guard decision.removedFields != nil || decision.setFields != nil else { return head }
    var head = head
    for name in decision.removedFields ?? [] { head.headerFields[fields: name] = [] }
    for field in decision.setFields ?? [:] { head.headerFields[fields: field.name] = [] }
    for field in decision.setFields ?? [:] { head.headerFields.append(field) }
    return head
  }
}
