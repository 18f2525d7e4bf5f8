// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Something that must hold of the engine, or of rules, for whatever input.
///
/// The seeded tests and the fuzzer run the same properties: the tests for a moment at every `make test`, the fuzzer for as
/// long as one likes.
package struct Property: Sendable {
  /// What the input is.
  package enum Input: Sendable {
    /// A field value, or several in lines.
    case text
    /// Numbers from which messages are put together.
    case numbers
    /// A stored response as bytes.
    case stored
  }

  package let name: String
  package let input: Input
  package let check: @Sendable ([UInt8]) throws -> Void

  /// All properties. A fuzzer's input begins with the position of one, so new ones go to the end.
  package static let all: [Property] = [
    Property(name: "directives", input: .text, check: ParserProperties.directives),
    Property(name: "dates", input: .text, check: ParserProperties.dates),
    Property(name: "entityTags", input: .text, check: ParserProperties.entityTags),
    Property(name: "ranges", input: .text, check: ParserProperties.ranges),
    Property(name: "selectingFields", input: .text, check: ParserProperties.selectingFields),
    Property(name: "uris", input: .text, check: ParserProperties.uris),
    Property(name: "heads", input: .text, check: ParserProperties.heads),
    Property(name: "storedForm", input: .stored, check: CodingProperties.storedForm),
    Property(name: "cacheStatus", input: .numbers, check: CodingProperties.cacheStatus),
    Property(name: "entryPoints", input: .numbers, check: EntryPointProperties.entryPoints),
    Property(name: "loosening", input: .numbers, check: LooseningProperty.loosening),
    Property(name: "targeted", input: .text, check: FieldProperties.targeted),
    Property(name: "groups", input: .text, check: FieldProperties.groups),
    Property(name: "contentRange", input: .text, check: FieldProperties.contentRange),
    Property(name: "noVarySearch", input: .text, check: FieldProperties.noVarySearch),
    Property(name: "preferences", input: .text, check: FieldProperties.preferences),
    Property(name: "derivedKeys", input: .text, check: FieldProperties.derivedKeys),
    Property(name: "hits", input: .numbers, check: HitProperties.hits),
    Property(name: "front", input: .stored, check: HitProperties.front),
    Property(name: "reading", input: .text, check: ReadingProperty.reading),
    Property(name: "separating", input: .numbers, check: LooseningProperty.separating),
    Property(name: "cacheStatusText", input: .text, check: CodingProperties.cacheStatusText),
    Property(name: "octets", input: .text, check: OctetProperty.values),
    Property(name: "tags", input: .text, check: FieldProperties.tags),
    Property(name: "rules", input: .numbers, check: RuleProperties.matching),
    Property(name: "ruleTexts", input: .numbers, check: RuleProperties.texts),
  ]

  /// Checks the property at the position that is the first byte against the other bytes.
  ///
  /// - Returns: whether there is such a property.
  @discardableResult
  package static func check(choosing bytes: [UInt8]) throws -> Bool {
    guard let first = bytes.first, all.indices.contains(Int(first)) else { return false }
    try all[Int(first)].check(Array(bytes.dropFirst()))
    return true
  }
}

/// A property does not hold.
package struct Violation: Error, CustomStringConvertible {
  package let description: String
}

/// - Throws: a ``Violation`` if it is not so.
func require(_ holds: Bool, _ what: @autoclosure () -> String) throws {
  if !holds { throw Violation(description: what()) }
}
