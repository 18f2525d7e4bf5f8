// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Positions among the fields of a message: of the first 64 each a bit, of any others only that there are some.
struct FieldPositions: Hashable, Sendable {
  private var bits: UInt64 = 0
  /// Whether all that were inserted are known by their positions.
  private(set) var isExact = true

  @inline(__always)
  mutating func insert(_ position: Int) {
    if position < 64 { bits |= 1 << UInt64(position) } else { isExact = false }
  }

  @inline(__always)
  func contains(_ position: Int) -> Bool { position < 64 && bits >> UInt64(position) & 1 != 0 }

  var isEmpty: Bool { bits == 0 && isExact }
  /// How many of the positions are known.
  var count: Int { bits.nonzeroBitCount }
}

/// The fields of a stored response: those that came, less what is not stored of them (RFC 9111 §3.1).
///
/// What is left out is marked and no more. Taking `Connection` out of ten fields copies the other nine, which was a quarter of
/// what it takes to judge a response; and all that becomes of them as a rule is that they are written to the stored form.
struct KeptFields: Sendable {
  private let received: HTTPFields
  private let omitted: FieldPositions

  /// - Parameter omitted: exact.
  init(_ received: HTTPFields, without omitted: FieldPositions = FieldPositions()) {
    self.received = received
    self.omitted = omitted
  }

  /// The fields that are kept.
  ///
  /// - Complexity: O(*n*) where some are left out.
  var fields: HTTPFields {
    if omitted.isEmpty { return received }
    var kept = HTTPFields()
    kept.reserveCapacity(count)
    forEach { kept.append($0) }
    return kept
  }

  var count: Int { received.count - omitted.count }

  /// Calls `body` with each field that is kept.
  func forEach(_ body: (HTTPField) -> Void) {
    forEachPosition { body($0[$1]) }
  }

  /// Calls `body` with the position of each field that is kept, and the fields among which it has it: of a field that is
  /// handed on, all parts are copied, needed or not.
  @inline(__always)
  func forEachPosition(_ body: (HTTPFields, Int) -> Void) {
    for position in received.indices where !omitted.contains(position) { body(received, position) }
  }

  /// The values of the lines of one name.
  func values(of name: HTTPField.Name) -> [String] {
    var values: [String] = []
    for position in received.indices
    where received[position].name == name && !omitted.contains(position) {
      values.append(received[position].value)
    }
    return values
  }

  // As `ResponseFields` takes them: the first line of ETag, and lines of Last-Modified that do not differ. Joined by
  // commas they would be another value.

  var entityTag: EntityTag? { values(of: .eTag).first.flatMap { EntityTag(parsing: $0) } }

  /// - Parameter now: needed for two-digit years only.
  func lastModified(at now: Timestamp) -> (date: HTTPDate, text: String)? {
    let lines = values(of: .lastModified)
    guard let text = lines.first, lines.allSatisfy({ $0 == text }),
      let date = HTTPDate(parsing: text, now: now)
    else { return nil }
    return (date, text)
  }

  /// The same of a date in any recognisable format: what a condition can be made of (§4.3.1).
  func modification(at now: Timestamp) -> (date: HTTPDate, text: String)? {
    let lines = values(of: .lastModified)
    guard let text = lines.first, lines.allSatisfy({ $0 == text }),
      let date = HTTPDate.recognised(text, now: now)
    else { return nil }
    return (date, text)
  }

  func hasValidator(at now: Timestamp) -> Bool { entityTag != nil || modification(at: now) != nil }
}

/// However they came to be.
extension KeptFields: Hashable {
  static func == (left: KeptFields, right: KeptFields) -> Bool { left.fields == right.fields }

  func hash(into hasher: inout Hasher) { hasher.combine(fields) }
}
