// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// The fields of a response that the rules of caching need, read in one pass.
///
/// `HTTPFields` looks up names one by one. A single pass over a response of a dozen fields is several times cheaper
/// than lookups by name, and every rule reads the same parsed result.
package struct ResponseFields: Hashable, Sendable {
  /// A date field: absent, valid, or invalid.
  package enum DateField: Hashable, Sendable {
    case absent
    case invalid
    case date(HTTPDate)

    init(_ text: String, now: Timestamp) {
      self = HTTPDate.parsed(text, now: now).map(DateField.date) ?? .invalid
    }

    package var date: HTTPDate? {
      if case .date(let date) = self { date } else { nil }
    }
  }

  /// The directives of `Cache-Control`, or of the targeted field that replaces it.
  package var cacheControl = CacheControl()
  /// The name, in lowercase, of the targeted field that replaces `Cache-Control` and `Expires` (RFC 9213 §2.2); `nil`
  /// if there is none.
  package var target: String?
  /// `Expires` (RFC 9111 §5.3). More than one line is invalid, unless all are equal.
  package var expires: DateField = .absent
  /// `Date` (RFC 9110 §6.6.1).
  package var date: DateField = .absent
  /// `Last-Modified` (RFC 9110 §8.8.2).
  ///
  /// - Complexity: it is parsed at each access. No rule reads it if there are an entity tag and a lifetime.
  package var lastModified: DateField {
    get { modified.field }
    set { modified = .parsed(newValue) }
  }
  /// `Last-Modified`, if it is a recognisable date, in one of HTTP's formats or in another.
  var modification: HTTPDate? { modified.recognised }
  /// `Age` (RFC 9111 §5.1): the first member of the field, or `nil` if that is not a number.
  package var age: DeltaSeconds?
  /// `ETag` (RFC 9110 §8.8.3).
  package var entityTag: EntityTag?
  package var vary: VaryField = .names([])
  /// `Cache-Groups` (RFC 9875 §2): the groups of the response.
  package var groups: [String] = []
  /// The tags of the response, by ``CacheEngine/Configuration/tagFields``: normally none.
  package var tags = ResponseTags()
  /// `Content-Length`, if it is a number.
  package var contentLength: Int64?
  /// Whether the message contains the end of its content (RFC 9112 §6.3).
  var isDelimited = false

  /// The freshness lifetime that the application or a rule sets; see ``overrule(lifetime:_:)``.
  private(set) var ownLifetime: FreshnessLifetime?

  // The properties of the fields that are read once more when they are stored.

  /// The number of lines of `Content-Length`.
  var contentLengthLines = 0
  /// Whether there is a content coding.
  var hasContentCoding = false
  /// Whether there is a `Clear-Site-Data`.
  var clearsSiteData = false
  /// Whether there is a `Set-Cookie`.
  var setsCookie = false
  /// Whether `X-Accel-Expires: 0` or `Surrogate-Control: no-store` forbids storing to a shared cache. nginx and CDNs read these
  /// fields; no other value of them counts.
  private(set) var forbidsShared = false
  /// The fields that are never stored: those that concern one connection only (RFC 9111 §3.1), and those that are
  /// withheld.
  var omitted = FieldPositions()
  /// Whether any fields are withheld.
  var hasWithheld = false
  /// Whether `Connection` names further fields, which may have to be removed.
  var namesOthers = false
  private var modified = Modified.parsed(.absent)
  /// Whether the validators cannot be read from these fields, because their lines contradict each other.
  private var hasOddValidator = false

  /// - Parameters:
  ///   - now: needed for two-digit years only.
  ///   - targets: the target list of ``CacheEngine/Configuration/targets``.
  ///   - tags: ``CacheEngine/Configuration/tagFields``.
  package init(_ fields: HTTPFields, now: Timestamp, targets: [String], tags: [String] = []) {
    read(fields, now: now, targets: FieldNameSet(targets), withheld: .none, tags: FieldNameSet(tags))
  }

  /// Makes the result for a response without fields.
  init() {}

  /// - Parameter lifetime: the lifetime that the application sets, in milliseconds.
  static func of(
    _ fields: HTTPFields, now: Timestamp, lifetime: Int64?, _ configuration: CacheEngine.Configuration
  ) -> ResponseFields {
    // Not an initializer, because that would make a copy at its end.
    var response = ResponseFields()
    response.read(
      fields, now: now, targets: configuration.targetNames, withheld: configuration.withheldNames,
      tags: configuration.tagNames)
    response.overrule(lifetime: lifetime, configuration.ruling)
    return response
  }

  /// Replaces what the origin says by what the application, or a rule, has decided.
  ///
  /// - Parameter lifetime: the lifetime that the application sets, in milliseconds. It replaces the origin's times, and the
  ///   directives that forbid storing or any use without a revalidation.
  @inline(__always)
  mutating func overrule(lifetime: Int64?, _ ruling: @autoclosure () -> CacheEngine.Ruling?) {
    if let lifetime {
      setLifetime(FreshnessLifetime(milliseconds: lifetime, source: .application))
      cacheControl.flags.remove(.noStore)
      forbidsShared = false
    }
    if let ruling = ruling() { overrule(ruling.decision, hasLifetime: lifetime != nil) }
  }

  @inline(never)
  private mutating func overrule(_ decision: CacheEngine.ResponseRule.Decision, hasLifetime: Bool) {
    if decision.storesNoStore == true {
      cacheControl.flags.remove(.noStore)
      forbidsShared = false
    }
    if decision.sharesPrivate == true { cacheControl.flags.subtract([.isPrivate, .misplacedPrivate]) }
    guard let lifetime = decision.lifetime, !hasLifetime else { return }
    // Pages for one user often have `no-cache` and nothing else that restricts: no rule shares them by accident.
    if lifetime.isDefault ? saysLifetime : cacheControl.contains(.noCache) && decision.reusesNoCache != true {
      return
    }
    setLifetime(FreshnessLifetime(milliseconds: lifetime.milliseconds, source: .rule))
  }

  private mutating func setLifetime(_ lifetime: FreshnessLifetime) {
    ownLifetime = lifetime
    expires = .absent
    cacheControl.flags.subtract([.noCache, .invalidTime, .misplacedTime])
    // An explicit lifetime allows any status code that the cache understands to be stored (RFC 9111 §3).
    cacheControl.maxAge = DeltaSeconds(lifetime.milliseconds / 1000)
  }

  /// Whether the origin says how long the response is fresh, or that it never is.
  private var saysLifetime: Bool {
    cacheControl.maxAge != nil || cacheControl.sharedMaxAge != nil || expires != .absent
      || !cacheControl.flags.isDisjoint(with: [.noCache, .noStore, .invalidTime, .misplacedTime])
  }

  /// - Parameters:
  ///   - withheld: the names of fields that are not stored.
  ///   - tagged: the names of fields with tags.
  ///   - isUpdate: whether only the fields that update a stored response are read.
  mutating func read(
    _ fields: HTTPFields, now: Timestamp, targets: FieldNameSet, withheld: FieldNameSet,
    tags tagged: FieldNameSet, isUpdate: Bool = false
  ) {
    var varyNames = VaryField.Names()
    // Normally there are none.
    var groupLines: [String]?
    var targeted: [String: [String]]?
    var ageSeen = false
    let otherLengths = targets.otherLengths | withheld.otherLengths | tagged.otherLengths
    let letters = targets.letters | withheld.letters | tagged.letters
    let ruledLengths = targets.ruledLengths | withheld.ruledLengths
    // By position: a loop over fields copies each, including its name, and most are not needed.
    for position in fields.indices {
      // The name is not kept in a variable: counting references to it took 350 instructions for ten fields.
      let kind = FieldKind(fields[position].name.canonicalName)
      let lengths = kind == .other ? otherLengths : ruledLengths
      if lengths & FieldNameSet.length(of: fields[position].name.canonicalName) != 0,
        letters & FieldNameSet.letter(of: fields[position].name.canonicalName) != 0
      {
        let name = fields[position].name.canonicalName
        if targets.contains(name) {
          if !kind.governs {
            if targeted == nil { targeted = [:] }
            targeted?[name, default: []].append(fields[position].value)
          }
        } else {
          if withheld.contains(name), kind != .cacheControl, kind != .vary, !kind.isOfConnection {
            // Fields that decide on reuse are always stored.
            omitted.insert(position)
            hasWithheld = true
          }
          if kind == .other, tagged.contains(name) { tags.add(fields[position]) }
        }
      }
      if isUpdate, kind.staysInUpdate { continue }
      switch kind {
      case .other: continue
      case .cacheControl: cacheControl.merge(fields[position].value)
      case .expires: Self.add(fields[position].value, to: &expires, now: now)
      case .date: addDate(fields[position].value, now: now)
      case .lastModified:
        if case .parsed(.absent) = modified {
          modified = .text(fields[position].value, now: now)
        } else {
          hasOddValidator = true
          Self.add(fields[position].value, to: &lastModified, now: now)
        }
      case .age where !ageSeen:
        // §5.1: the first member of a list counts, and an invalid one is ignored.
        ageSeen = true
        age = fields[position].value.withFieldBytes { bytes in
          var members = ListMembers(bytes.whole)
          return members.next(in: bytes).flatMap { DeltaSeconds(parsing: bytes, in: $0) }
        }
      case .entityTag where entityTag == nil:
        entityTag = EntityTag(parsingValueAt: position, of: fields)
        if entityTag == nil { hasOddValidator = true }
      case .vary: varyNames.add(fields[position].value)
      case .cacheGroups:
        if groupLines == nil { groupLines = [] }
        groupLines?.append(fields[position].value)
      case .contentLength:
        contentLength = Self.number(fields[position].value)
        contentLengthLines += 1
        isDelimited = true
      case .contentEncoding:
        if !fields[position].value.withFieldBytes({ $0.matches("identity", in: $0.whole) }) {
          hasContentCoding = true
        }
      case .clearSiteData: clearsSiteData = true
      case .setCookie: setsCookie = true
      case .accelExpires:
        forbidsShared =
          forbidsShared || fields[position].value.withFieldBytes { $0.matches("0", in: $0.trimmed($0.whole)) }
      case .surrogateControl:
        forbidsShared =
          forbidsShared
          || fields[position].value.withFieldBytes { bytes in
            var members = ListMembers(bytes.whole)
            while let member = members.next(in: bytes) {
              if bytes.matches("no-store", in: member) { return true }
            }
            return false
          }
      case .transferEncoding:
        omitted.insert(position)
        isDelimited = true
      case .hopByHop: omitted.insert(position)
      case .connection:
        omitted.insert(position)
        if !ConnectionFields.namesNoOthers(fields[position].value) { namesOthers = true }
      case .close: namesOthers = true
      default: break
      }
    }
    if let targeted { choose(from: targeted, targets.names) }
    if !varyNames.isEmpty { vary = varyNames.field() }
    if let groupLines { groups = (try? StructuredField.strings(groupLines)) ?? [] }
  }

  /// Whether a conditional request can be made from this response (RFC 9111 §4.3.1).
  package var hasValidator: Bool { entityTag != nil || modified.recognised != nil }

  /// The length of the content, if the message contains it exactly once.
  var onlyLength: Int64? { contentLengthLines == 1 ? contentLength : nil }

  /// Whether the stored fields have the same validators, length and coding as these.
  var isStoredAsIs: Bool {
    !namesOthers && !hasWithheld && !hasOddValidator && cacheControl.noCacheFields.isEmpty
      && cacheControl.privateFields.isEmpty
  }

  /// Returns the same as ``StoredResponse/strongValidator`` for fields that are stored unchanged (``isStoredAsIs``).
  func hasStrongValidator(date: Timestamp) -> Bool {
    if let entityTag { return !entityTag.isWeak }
    return lastModified.date.map { date.seconds > $0.secondsSince1970 } ?? false
  }

  /// The first of the target list with a valid value governs, and Cache-Control and Expires are ignored (RFC 9213
  /// §2.2).
  private mutating func choose(from targeted: [String: [String]], _ targets: [String]) {
    for name in targets {
      guard let directives = targeted[name].flatMap({ CacheControl(targeted: $0) }) else { continue }
      (target, cacheControl, expires) = (name, directives, .absent)
      return
    }
  }

  /// Returns the same as `Int64(text)`, which takes three times as long for digits alone.
  @inline(__always)
  private static func number(_ text: String) -> Int64? {
    let digits: Int64? = text.withFieldBytes { bytes in
      guard bytes.count > 0, bytes.count <= 18 else { return nil }
      var value: Int64 = 0
      for index in 0..<bytes.count {
        let digit = bytes[index] &- 0x30
        guard digit <= 9 else { return nil }
        value = value &* 10 &+ Int64(digit)
      }
      return value
    }
    return digits ?? Int64(text)
  }

  /// Of several values, the oldest counts: the response is at least as old as that.
  private mutating func addDate(_ value: String, now: Timestamp) {
    let added = DateField(value, now: now)
    guard let present = date.date else {
      if date == .absent || added.date != nil { date = added }
      return
    }
    if let other = added.date { date = .date(Swift.min(present, other)) }
  }

  private static func add(_ value: String, to field: inout DateField, now: Timestamp) {
    let parsed = DateField(value, now: now)
    field = field == .absent || field == parsed ? parsed : .invalid
  }

  /// A date field that is parsed on demand.
  private enum Modified: Hashable {
    case parsed(DateField)
    case text(String, now: Timestamp)

    var field: DateField {
      switch self {
      case .parsed(let field): field
      case .text(let text, let now): DateField(text, now: now)
      }
    }

    /// The date, in one of HTTP's formats or in another recognisable one.
    var recognised: HTTPDate? {
      switch self {
      case .parsed(let field): field.date
      case .text(let text, let now): HTTPDate.recognised(text, now: now)
      }
    }

    static func == (left: Modified, right: Modified) -> Bool { left.field == right.field }

    func hash(into hasher: inout Hasher) { hasher.combine(field) }
  }
}
