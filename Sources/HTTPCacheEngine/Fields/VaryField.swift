// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// The field names that a response's `Vary` nominates (RFC 9110 §12.5.5).
package enum VaryField: Hashable, Sendable {
  /// `Vary: *`, alone or among names: the stored response matches no request (RFC 9111 §4.1).
  case any
  /// The names in lowercase, sorted, without duplicates; empty if the response does not vary.
  case names([String])

  /// Parses the field's lines; a member that is not a token makes the whole value unmatchable, like `*`.
  package init(parsing lines: some Sequence<String>) {
    var names = Names()
    for line in lines { names.add(line) }
    self = names.field()
  }

  /// Returns the names together with another.
  func adding(_ name: String) -> VaryField {
    guard case .names(let names) = self, !names.contains(name) else { return self }
    return .names((names + [name]).sorted())
  }

  /// The names of the lines read so far.
  struct Names {
    private var names: [String] = []
    private var isAny = false
    /// The most frequent value, as a constant that needs no separate memory.
    private static let acceptEncoding = ["accept-encoding"]

    @inline(__always)
    mutating func add(_ line: String) {
      if !isAny { isAny = !line.withFieldBytes { add($0) } }
    }

    /// Adds the names of a line; returns `false` for a value that no request matches.
    @inline(__always)
    private mutating func add(_ bytes: Span<UInt8>) -> Bool {
      // Normally one name, and normally this one.
      if bytes.matches("accept-encoding", in: bytes.whole) {
        if names.isEmpty { names = Self.acceptEncoding } else { names.append("accept-encoding") }
        return true
      }
      return addOthers(bytes)
    }

    private mutating func addOthers(_ bytes: Span<UInt8>) -> Bool {
      if bytes.count > 1, bytes.isToken(bytes.whole) {
        append(bytes.lowercasedString(bytes.whole))
        return true
      }
      var members = ListMembers(bytes.whole)
      while let member = members.next(in: bytes) {
        // `*` is a character of tokens.
        if member.count == 1, bytes[member.start] == UInt8(ascii: "*") { return false }
        if !bytes.isToken(member) { return false }
        append(bytes.lowercasedString(member))
      }
      return true
    }

    private mutating func append(_ name: String) {
      // Reserves space for one, and not for as many as an array grows by.
      if names.isEmpty { names = [name] } else { names.append(name) }
    }

    var isEmpty: Bool { names.isEmpty && !isAny }

    /// The result. Ends the use of these names, so that no reference to them is counted.
    consuming func field() -> VaryField {
      if isAny { return .any }
      if names.count < 2 { return .names(names) }
      var unique: [String] = []
      for name in names.sorted() where name != unique.last { unique.append(name) }
      return .names(unique)
    }
  }
}

/// The fields that a stored response's `Vary` nominated, with the values in the request that it was stored for (RFC
/// 9111 §4.1).
package struct SelectingFields: Hashable, Sendable {
  /// One nominated field and its normalised value; `nil` if the request did not have it.
  package struct Field: Hashable, Sendable {
    package let name: String
    package let value: String?
    /// The original value, if the field had one line. A request with exactly this line has the same normalised value,
    /// so it need not be normalised. It does not affect which response is selected.
    let line: String?
    /// Whether ``value`` is a digest that replaces the normalised value, which must not be stored.
    package let isDigest: Bool

    init(name: String, value: String?, line: String? = nil, isDigest: Bool = false) {
      self.name = name
      self.value = value
      self.line = line
      self.isDigest = isDigest
    }

    /// Reads the field from a request.
    ///
    /// - Parameter isWithheld: whether its value must not be stored.
    static func named(_ name: String, in request: HTTPFields, isWithheld: Bool) -> Field {
      if isWithheld, let digest = SelectingFields.digest(of: name, in: request) {
        return Field(name: name, value: digest, isDigest: true)
      }
      let line = SelectingFields.onlyLine(of: name, in: request)
      return Field(
        name: name, value: SelectingFields.normalizedValue(of: name, in: request, onlyLine: line), line: line)
    }

    package static func == (left: Field, right: Field) -> Bool {
      left.name == right.name && left.value == right.value && left.isDigest == right.isDigest
    }

    package func hash(into hasher: inout Hasher) {
      hasher.combine(name)
      hasher.combine(value)
    }

    func match(_ request: HTTPFields) -> Bool {
      if isDigest { return SelectingFields.digest(of: name, in: request) == value }
      let other = SelectingFields.onlyLine(of: name, in: request)
      if let line, line == other { return true }
      return SelectingFields.normalizedValue(of: name, in: request, onlyLine: other) == value
    }
  }

  /// Normally one field: to make and release an array for it took 400 of the 7,300 instructions of judging a response.
  private enum Fields: Hashable {
    case none
    case one(Field)
    /// At least two.
    case several([Field])
  }

  private let kept: Fields
  /// Whether the response varies on `*`, and can never be selected.
  package let isUnmatchable: Bool

  package static let none = SelectingFields(fields: [], isUnmatchable: false)

  init(fields: [Field], isUnmatchable: Bool) {
    kept = fields.count > 1 ? .several(fields) : fields.first.map { .one($0) } ?? .none
    self.isUnmatchable = isUnmatchable
  }

  private init(_ field: Field) {
    kept = .one(field)
    isUnmatchable = false
  }

  /// The fields, sorted by name.
  package var fields: [Field] {
    switch kept {
    case .none: []
    case .one(let field): [field]
    case .several(let fields): fields
    }
  }

  var count: Int {
    switch kept {
    case .none: 0
    case .one: 1
    case .several(let fields): fields.count
    }
  }

  /// Calls `body` with each of ``fields``, without making an array.
  @inline(__always)
  func forEach(_ body: (Field) -> Void) {
    switch kept {
    case .none: break
    case .one(let field): body(field)
    case .several(let fields): for field in fields { body(field) }
    }
  }

  /// Reads the nominated fields from the request.
  ///
  /// - Parameter withheld: the names, in lowercase, of fields whose values are kept only as digests.
  package init(_ vary: VaryField, of request: HTTPFields, withholding withheld: [String] = []) {
    self = .nominated(by: vary, in: request, withholding: FieldNameSet(withheld))
  }

  static func nominated(
    by vary: VaryField, in request: HTTPFields, withholding withheld: FieldNameSet
  ) -> SelectingFields {
    // Not an initializer, because that would copy its arguments.
    switch vary {
    case .any: return SelectingFields(fields: [], isUnmatchable: true)
    case .names(let names):
      if names.isEmpty { return .none }
      if names.count == 1 {
        return SelectingFields(.named(names[0], in: request, isWithheld: withheld.contains(names[0])))
      }
      return SelectingFields(
        fields: names.map { .named($0, in: request, isWithheld: withheld.contains($0)) },
        isUnmatchable: false)
    }
  }

  /// The nominated names.
  var vary: VaryField { isUnmatchable ? .any : .names(fields.map(\.name)) }

  /// Whether the response that these fields select may answer a request.
  package func match(_ request: HTTPFields) -> Bool {
    if isUnmatchable { return false }
    return switch kept {
    case .none: true
    case .one(let field): field.match(request)
    case .several(let fields): fields.allSatisfy { $0.match(request) }
    }
  }

  /// Bytes that are equal exactly for equal selecting fields: they identify the variants of one resource.
  package var variantKey: [UInt8] {
    ByteWriter.bytes { key in
      if isUnmatchable { key.write(UInt8(ascii: "*")) }
      forEach { field in
        key.append(field.name)
        if let value = field.value {
          key.write(UInt8(ascii: field.isDigest ? "#" : ":"))
          key.append(value)
        }
        key.write(0 as UInt8)  // No field value contains NUL (RFC 9110 §5.5).
      }
    }
  }

  /// Returns the SHA-256 digest of a field's normalised value; `nil` if a request does not have it.
  fileprivate static func digest(of name: String, in fields: HTTPFields) -> String? {
    normalizedValue(of: name, in: fields, onlyLine: onlyLine(of: name, in: fields)).map {
      SHA256.hexDigest(of: $0.utf8)
    }
  }

  /// Returns the field's lines combined, without whitespace around commas. Fields with a known meaning get one spelling
  /// for all equivalent values: such values are allowed to differ (§4.1).
  ///
  /// - Parameter line: the only line of the field, if it has just one.
  private static func normalizedValue(
    of name: String, in fields: HTTPFields, onlyLine line: String?
  ) -> String? {
    let isPreference = PreferenceField.has(name: name)
    if isPreference, let line, let value = PreferenceField.simple(line) { return value }
    let value = combinedValue(of: name, in: fields)
    return isPreference ? value.map(PreferenceField.normalized) : value
  }

  /// Returns the value of a field's only line in a request; `nil` if there are none, or several.
  fileprivate static func onlyLine(of name: String, in fields: HTTPFields) -> String? {
    var only: Int?
    let count = name.utf8.count
    // Compares the length first: comparing two texts takes a call.
    for position in fields.indices
    where fields[position].name.canonicalName.utf8.count == count
      && fields[position].name.canonicalName == name
    {
      if only != nil { return nil }
      only = position
    }
    return only.map { fields[$0].value }
  }

  private static func combinedValue(of name: String, in fields: HTTPFields) -> String? {
    var combined: String?
    for field in fields where field.name.canonicalName == name {
      var value = ""
      field.value.withFieldBytes { bytes in
        var members = ListMembers(bytes.whole)
        while let member = members.next(in: bytes) {
          if !value.isEmpty { value += "," }
          value += bytes.string(member)
        }
      }
      if let before = combined, !before.isEmpty, !value.isEmpty {
        combined = before + "," + value
      } else {
        combined = (combined ?? "") + value
      }
    }
    return combined
  }
}
