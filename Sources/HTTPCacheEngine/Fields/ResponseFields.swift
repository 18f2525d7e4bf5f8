// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// What the rules of caching need of a response's fields, taken out in one pass.
///
/// `HTTPFields` looks names up one by one; a single walk over a response of a dozen fields is several times cheaper
/// than keyed lookups, and every rule reads the same parsed result.
package struct ResponseFields: Hashable, Sendable {
  /// A date field: absent, or present and perhaps invalid.
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

  /// The directives of `Cache-Control`, or of the targeted field that takes its place.
  package var cacheControl = CacheControl()
  /// The name, in lowercase, of the targeted field that governs caching in place of `Cache-Control` and `Expires`
  /// (RFC 9213 §2.2); `nil` if none does.
  package var target: String?
  /// `Expires` (RFC 9111 §5.3). More than one line is invalid, unless all say the same.
  package var expires: DateField = .absent
  /// `Date` (RFC 9110 §6.6.1).
  package var date: DateField = .absent
  /// `Last-Modified` (RFC 9110 §8.8.2).
  ///
  /// - Complexity: it is parsed where it is asked for. No rule asks where there are an entity tag and a lifetime.
  package var lastModified: DateField {
    get { modified.field }
    set { modified = .parsed(newValue) }
  }
  /// `Age` (RFC 9111 §5.1): the first member of the field, or `nil` where that is no number.
  package var age: DeltaSeconds?
  /// `ETag` (RFC 9110 §8.8.3).
  package var entityTag: EntityTag?
  package var vary: VaryField = .names([])
  /// `Cache-Groups` (RFC 9875 §2): the groups that the response is in.
  package var groups: [String] = []
  /// `Content-Length`, where it is a number.
  package var contentLength: Int64?
  /// Whether the message says where its content ends (RFC 9112 §6.3).
  var isDelimited = false

  // What of the fields is asked once more when they are stored.

  /// How many lines of `Content-Length` there are.
  var contentLengthLines = 0
  /// Whether there is a content coding.
  var hasContentCoding = false
  /// Whether there is a `Clear-Site-Data`.
  var clearsSiteData = false
  /// Whether there is a `Set-Cookie`.
  var setsCookie = false
  /// The fields that are not stored whatever the message says: those that concern one connection only (RFC 9111 §3.1),
  /// and those that are withheld.
  var omitted = FieldPositions()
  /// Whether any are withheld.
  var hasWithheld = false
  /// Whether other fields may have to go with those of the connection: `Connection` names some.
  var namesOthers = false
  private var modified = Modified.parsed(.absent)
  /// Whether the validators are not to be read off these fields: there is a line that says otherwise than another.
  private var hasOddValidator = false

  /// - Parameters:
  ///   - now: needed for two-digit years only.
  ///   - targets: the target list of ``CacheEngine/Configuration/targets``.
  package init(_ fields: HTTPFields, now: Timestamp, targets: [String]) {
    read(fields, now: now, targets: FieldNameSet(targets), withheld: .none)
  }

  /// Of no field.
  init() {}

  /// - Parameter withheld: the names of fields that are not stored.
  static func of(
    _ fields: HTTPFields, now: Timestamp, targets: FieldNameSet, withheld: FieldNameSet
  ) -> ResponseFields {
    // No initializer, which would make a copy at its end.
    var response = ResponseFields()
    response.read(fields, now: now, targets: targets, withheld: withheld)
    return response
  }

  mutating func read(
    _ fields: HTTPFields, now: Timestamp, targets: FieldNameSet, withheld: FieldNameSet
  ) {
    var varyNames = VaryField.Names()
    // There are none of these, as a rule.
    var groupLines: [String]?
    var targeted: [String: [String]]?
    var ageSeen = false
    let otherLengths = targets.otherLengths | withheld.otherLengths
    let letters = targets.letters | withheld.letters
    let ruledLengths = targets.ruledLengths | withheld.ruledLengths
    // By position: a loop over fields takes a copy of each, names and all, of which most are not looked at.
    for position in fields.indices {
      // The name is not held on to: to count references to it and back took 350 instructions of ten fields.
      let kind = FieldKind(fields[position].name.canonicalName)
      if kind.isOfConnection { omitted.insert(position) }
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
        } else if withheld.contains(name), kind != .cacheControl, kind != .vary, !kind.isOfConnection {
          // What decides on reuse is stored all the same.
          omitted.insert(position)
          hasWithheld = true
        }
      }
      switch kind {
      case .other: continue
      case .cacheControl: cacheControl.merge(fields[position].value)
      case .expires: Self.add(fields[position].value, to: &expires, now: now)
      case .date: Self.add(fields[position].value, to: &date, now: now)
      case .lastModified:
        if case .parsed(.absent) = modified {
          modified = .text(fields[position].value, now: now)
        } else {
          hasOddValidator = true
          Self.add(fields[position].value, to: &lastModified, now: now)
        }
      case .age where !ageSeen:
        // §5.1: the first member of a list counts, and one that is invalid is ignored.
        ageSeen = true
        age = fields[position].value.withFieldBytes { bytes in
          var members = ListMembers(bytes.whole)
          return members.next(in: bytes).flatMap { DeltaSeconds(parsing: bytes, in: $0) }
        }
      case .entityTag where entityTag == nil:
        entityTag = EntityTag(parsing: fields[position].value)
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
      case .transferEncoding:
        isDelimited = true
      case .connection:
        if !ConnectionFields.namesNoOthers(fields[position].value) { namesOthers = true }
      case .close: namesOthers = true
      default: break
      }
    }
    if let targeted { choose(from: targeted, targets.names) }
    if !varyNames.isEmpty { vary = varyNames.field }
    if let groupLines { groups = (try? StructuredField.strings(groupLines)) ?? [] }
  }

  /// Whether a conditional request can be made from this response (RFC 9111 §4.3.1).
  package var hasValidator: Bool { entityTag != nil || modified.isRecognisable }

  /// The length that the message gives its content, if it does so once.
  var onlyLength: Int64? { contentLengthLines == 1 ? contentLength : nil }

  /// Whether what is stored of the fields has the validators, the length and the coding that these have.
  var isStoredAsIs: Bool {
    !namesOthers && !hasWithheld && !hasOddValidator && cacheControl.noCacheFields.isEmpty
      && cacheControl.privateFields.isEmpty
  }

  /// As ``StoredResponse/strongValidator`` has it of what ``isStoredAsIs``.
  func hasStrongValidator(date: Timestamp) -> Bool {
    if let entityTag { return !entityTag.isWeak }
    return lastModified.date.map { date.seconds > $0.secondsSince1970 } ?? false
  }

  /// The first of the target list with a valid value governs, and Cache-Control and Expires are as if they were not
  /// there (RFC 9213 §2.2).
  private mutating func choose(from targeted: [String: [String]], _ targets: [String]) {
    for name in targets {
      guard let directives = targeted[name].flatMap({ CacheControl(targeted: $0) }) else { continue }
      (target, cacheControl, expires) = (name, directives, .absent)
      return
    }
  }

  /// What `Int64` makes of a text, which takes three times as long for digits alone.
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

  private static func add(_ value: String, to field: inout DateField, now: Timestamp) {
    let parsed = DateField(value, now: now)
    field = field == .absent || field == parsed ? parsed : .invalid
  }

  /// A date field that is parsed when it is asked for.
  private enum Modified: Hashable {
    case parsed(DateField)
    case text(String, now: Timestamp)

    var field: DateField {
      switch self {
      case .parsed(let field): field
      case .text(let text, let now): DateField(text, now: now)
      }
    }

    /// Whether it is a date, in one of HTTP's formats or not.
    var isRecognisable: Bool {
      switch self {
      case .parsed(let field): field.date != nil
      case .text(let text, let now): HTTPDate.recognised(text, now: now) != nil
      }
    }

    static func == (left: Modified, right: Modified) -> Bool { left.field == right.field }

    func hash(into hasher: inout Hasher) { hasher.combine(field) }
  }
}
