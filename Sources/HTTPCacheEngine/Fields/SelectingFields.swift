// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// The fields that a stored response's `Vary` nominated, with the values in the request that it was stored for (RFC
/// 9111 §4.1).
package struct SelectingFields: Hashable, Sendable {
  /// One nominated field and its normalised value; `nil` if the request did not have it.
  package struct Field: Hashable, Sendable {
    package let name: String
    package let value: Octets?
    /// The original value, if the field had one line. A request with exactly this line has the same normalised value,
    /// so it need not be normalised. It does not affect which response is selected.
    let line: Octets?
    /// Whether ``value`` is a digest that replaces the normalised value, which must not be stored.
    package let isDigest: Bool

    init(name: String, value: Octets?, line: Octets? = nil, isDigest: Bool = false) {
      self.name = name
      self.value = value
      self.line = line
      self.isDigest = isDigest
    }

    package static func == (left: Field, right: Field) -> Bool {
      left.name == right.name && left.value == right.value && left.isDigest == right.isDigest
    }

    package func hash(into hasher: inout Hasher) {
      hasher.combine(name)
      hasher.combine(value)
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

  init(fields: some Collection<Field>, isUnmatchable: Bool) {
    kept = fields.count > 1 ? .several(Array(fields)) : fields.first.map { .one($0) } ?? .none
    self.isUnmatchable = isUnmatchable
  }

  private init(kept: Fields) {
    self.kept = kept
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
  /// - Parameters:
  ///   - withheld: the names, in lowercase, of fields whose values are kept only as digests.
  ///   - normalizes: see ``CacheEngine/Configuration/normalizes``.
  package init(
    _ vary: VaryField, of request: HTTPFields, withholding withheld: [String] = [],
    normalizing normalizes: Set<NegotiationField> = []
  ) {
    var configuration = CacheEngine.Configuration(kind: .shared)
    configuration.withheldFields = withheld
    configuration.normalizes = normalizes
    self = .nominated(by: vary, in: request, configuration)
  }

  /// Reads the nominated fields from the request.
  static func nominated(
    by vary: VaryField, in request: HTTPFields, _ configuration: CacheEngine.Configuration
  ) -> SelectingFields {
    // Not an initializer, because that would copy its arguments.
    switch vary {
    case .any: return SelectingFields(fields: [], isUnmatchable: true)
    case .names(let names):
      if names.isEmpty { return .none }
      if names.count == 1 {
        return SelectingFields(
          kept: .one(RequestSelection.field(named: names[0], in: request, configuration)))
      }
      var selection = RequestSelection()
      return SelectingFields(
        fields: names.map { selection.field(named: $0, in: request, configuration) }, isUnmatchable: false)
    }
  }

  /// The fields of a request that these fields select; `nil` if none does, or a value is kept as a digest only.
  package var request: HTTPFields? {
    if isUnmatchable { return nil }
    var request = HTTPFields()
    for field in fields {
      guard let value = field.line ?? field.value else { continue }
      guard !field.isDigest, let name = HTTPField.Name(field.name) else { return nil }
      request.append(value.field(name))
    }
    return request
  }

  /// The nominated names.
  var vary: VaryField { isUnmatchable ? .any : .names(fields.map(\.name)) }

  /// Whether the response that these fields select may answer a request.
  ///
  /// - Parameter selection: what has been read of the request.
  func match(
    _ request: HTTPFields, _ selection: inout RequestSelection, _ configuration: CacheEngine.Configuration
  ) -> Bool {
    if isUnmatchable { return false }
    switch kept {
    case .none: return true
    case .one(let field): return selection.meets(field, in: request, configuration)
    case .several(let fields):
      for field in fields where !selection.meets(field, in: request, configuration) { return false }
      return true
    }
  }

  /// Whether the response may answer a request that is compared with no other.
  package func match(_ request: HTTPFields, normalizing normalizes: Set<NegotiationField> = []) -> Bool {
    var (selection, configuration) = (RequestSelection(), CacheEngine.Configuration(kind: .shared))
    configuration.normalizes = normalizes
    return match(request, &selection, configuration)
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
}
