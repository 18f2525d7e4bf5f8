// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// The values of a request's fields that select stored responses (RFC 9111 §4.1).
///
/// Each is read and normalised once, however many responses are compared with it: normalising 15 KB of Accept-Encoding
/// for each of 64 variants took 60 ms, and the digest of 1 KB of cookies for each 7 ms.
///
/// Each method gets the same request and configuration. They are not stored here: to retain and release them took 300 of
/// the 5,100 instructions of a plan.
struct RequestSelection {
  /// The field that was asked for last, and its name: normally the only one.
  private var current = Value()
  private var currentName = ""
  /// The other fields that were asked for: a dictionary of one takes 1,500 instructions.
  private var others: [String: Value]?
  /// The positions of the fields, made when more than a few names are asked for.
  private var positions: [String: [Int]]?
  /// The number of fields of the request that were looked at, and of values that were normalised: a measure of the work.
  private(set) var work = (fieldsSeen: 0, valuesNormalized: 0)

  /// Number of names that are looked for among all fields, one after the other.
  private static let mostScans = 8

  private struct Value {
    /// The octets of the only line.
    var line: Octets?
    /// What all lines of one meaning have in common; `nil` if it has not been needed yet.
    var normalized: Octets??
    var digest: Octets?
  }

  /// Returns the field as it is stored with a response that it selects. A digest replaces a value that must not be stored.
  mutating func field(
    named name: String, in request: HTTPFields, _ configuration: CacheEngine.Configuration
  ) -> SelectingFields.Field {
    select(name, in: request)
    guard configuration.withheldNames.contains(name), let digest = digest(in: request, configuration) else {
      return SelectingFields.Field(
        name: name, value: normalized(in: request, configuration), line: current.line)
    }
    return SelectingFields.Field(name: name, value: digest, isDigest: true)
  }

  /// Returns the same for a single name, without what several need.
  @inline(__always)
  static func field(
    named name: String, in request: HTTPFields, _ configuration: CacheEngine.Configuration
  ) -> SelectingFields.Field {
    switch lines(of: name, in: request) {
    case .none: return SelectingFields.Field(name: name, value: nil)
    case .one(let position) where !configuration.withheldNames.contains(name):
      let text = request[position].value
      if configuration.normalizes.isEmpty, !isSingleton(name), let known = PreferenceField.known(text) {
        return SelectingFields.Field(name: name, value: known, line: Octets(ofASCII: text))
      }
      let line = Octets(valueAt: position, of: request)
      return SelectingFields.Field(name: name, value: normalized(line, name, configuration), line: line)
    case .one, .several:
      var selection = RequestSelection()
      return selection.field(named: name, in: request, configuration)
    }
  }

  /// Whether the request has the value of a stored field.
  mutating func meets(
    _ stored: SelectingFields.Field, in request: HTTPFields, _ configuration: CacheEngine.Configuration
  ) -> Bool {
    select(stored.name, in: request)
    if stored.isDigest { return digest(in: request, configuration) == stored.value }
    if let line = stored.line, line == current.line { return true }
    return normalized(in: request, configuration) == stored.value
  }

  /// Makes a field the current one, and reads it if it was not asked for before.
  private mutating func select(_ name: String, in request: HTTPFields) {
    if currentName.isEmpty {
      current = value(of: name, in: request)
    } else if name == currentName {
      return
    } else {
      others = others ?? [:]
      others?[currentName] = current
      current = others?[name] ?? value(of: name, in: request)
    }
    currentName = name
  }

  private mutating func digest(
    in request: HTTPFields, _ configuration: CacheEngine.Configuration
  ) -> Octets? {
    if current.digest == nil {
      current.digest = normalized(in: request, configuration).map { Octets(SHA256.hexDigest(of: $0.bytes)) }
    }
    return current.digest
  }

  /// Returns the field's lines combined, in the one spelling of all that mean the same; `nil` without the field.
  private mutating func normalized(
    in request: HTTPFields, _ configuration: CacheEngine.Configuration
  ) -> Octets? {
    if let known = current.normalized { return known }
    work.valuesNormalized += 1
    let name = currentName
    let octets = current.line ?? combinedValue(of: name, in: request)
    let result = octets.map { Self.normalized($0, name, configuration) }
    current.normalized = .some(result)
    return result
  }

  private static func normalized(
    _ value: Octets, _ name: String, _ configuration: CacheEngine.Configuration
  ) -> Octets {
    if isSingleton(name) { return value }
    if configuration.normalizes.isEmpty, let text = value.ascii, let known = PreferenceField.known(text) {
      return known
    }
    guard let kind = NegotiationField(name: name) else {
      return withoutBlanks(value)
    }
    return PreferenceField.normalized(
      value, of: kind, beyondSpelling: configuration.normalizes.contains(kind))
  }

  /// Whether a field has one value, in which a comma separates nothing. In a field that is not known, it may separate the
  /// members of a list.
  private static func isSingleton(_ name: String) -> Bool {
    switch name.utf8.count {
    case 4: name == "from" || name == "host"
    case 6: name == "cookie" || name == "origin"
    case 7: name == "referer"
    case 10: name == "user-agent"
    case 13: name == "authorization"
    case 19: name == "proxy-authorization"
    default: false
    }
  }

  /// Returns a value without the whitespace around commas outside quotes, which has no meaning in a list (§4.1).
  private static func withoutBlanks(_ value: Octets) -> Octets {
    value.withBytes { bytes in
      guard bytes.contains(UInt8(ascii: ",")) else { return value }
      var text: [UInt8] = []
      text.reserveCapacity(bytes.count)
      var (isQuoted, isEscaped, followsComma) = (false, false, false)
      for position in 0..<bytes.count {
        let byte = bytes[position]
        if followsComma, byte.isOptionalWhitespace { continue }
        followsComma = !isQuoted && byte == UInt8(ascii: ",")
        if followsComma { while text.last?.isOptionalWhitespace == true { text.removeLast() } }
        if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
        isEscaped = isQuoted && !isEscaped && byte == UInt8(ascii: "\\")
        text.append(byte)
      }
      return Octets(text)
    }
  }

  // MARK: - Lines

  @inline(__always)
  private mutating func value(of name: String, in fields: HTTPFields) -> Value {
    if positions != nil || work.fieldsSeen >= Self.mostScans * fields.count,
      let positions = positions(of: name, in: fields)
    {
      return positions.count == 1
        ? Value(line: Octets(valueAt: positions[0], of: fields))
        : Value(line: nil, normalized: positions.isEmpty ? .some(nil) : nil)
    }
    // Without a list of positions: most fields have one line.
    work.fieldsSeen += fields.count
    return switch Self.lines(of: name, in: fields) {
    case .none: Value(line: nil, normalized: .some(nil))
    case .one(let position): Value(line: Octets(valueAt: position, of: fields))
    case .several: Value()
    }
  }

  /// How many lines a field has.
  private enum Lines {
    case none
    case one(position: Int)
    case several
  }

  @inline(__always)
  private static func lines(of name: String, in fields: HTTPFields) -> Lines {
    var lines = Lines.none
    let count = name.utf8.count
    // Compares the length first: comparing two texts takes a call.
    for position in fields.indices
    where fields[position].name.canonicalName.utf8.count == count
      && fields[position].name.canonicalName == name
    {
      guard case .none = lines else { return .several }
      lines = .one(position: position)
    }
    return lines
  }

  /// Returns the positions of a field's lines, once more than a few names have been asked for; `nil` before.
  private mutating func positions(of name: String, in fields: HTTPFields) -> [Int]? {
    if let positions { return positions[name] ?? [] }
    guard fields.count > 0 else { return nil }
    work.fieldsSeen += fields.count
    var found: [String: [Int]] = [:]
    for position in fields.indices {
      found[fields[position].name.canonicalName, default: []].append(position)
    }
    positions = found
    return found[name] ?? []
  }

  /// Returns several lines as one (RFC 9110 §5.3).
  private mutating func combinedValue(of name: String, in fields: HTTPFields) -> Octets? {
    var combined: [UInt8] = []
    var isFirst = true
    let known = positions?[name]
    if known == nil { work.fieldsSeen += fields.count }
    for position in known ?? Array(fields.indices) where fields[position].name.canonicalName == name {
      if !isFirst { combined += [UInt8(ascii: ","), 0x20] }
      isFirst = false
      fields[position].withOctets { bytes in
        let range = bytes.trimmed(bytes.whole)
        combined.append(bytes.extracting(range.start..<range.end))
      }
    }
    return isFirst ? nil : Octets(combined)
  }
}
