/// Something that must hold of the engine for whatever input.
///
/// The seeded tests and the fuzzer run the same properties: the tests for a moment at every `make test`, the fuzzer for as
/// long as one likes.
public struct Property: Sendable {
  /// What the input is.
  public enum Input: Sendable {
    /// A field value, or several in lines.
    case text
    /// Numbers from which messages are put together.
    case numbers
    /// A stored response as bytes.
    case stored
  }

  public let name: String
  public let input: Input
  public let check: @Sendable ([UInt8]) throws -> Void

  /// All properties. A fuzzer's input begins with the position of one, so new ones go to the end.
  public static let all: [Property] = [
    Property(name: "directives", input: .text, check: ParserProperties.directives),
    Property(name: "dates", input: .text, check: ParserProperties.dates),
    Property(name: "entityTags", input: .text, check: ParserProperties.entityTags),
    Property(name: "ranges", input: .text, check: ParserProperties.ranges),
    Property(name: "selectingFields", input: .text, check: ParserProperties.selectingFields),
    Property(name: "uris", input: .text, check: ParserProperties.uris),
    Property(name: "heads", input: .text, check: ParserProperties.heads),
    Property(name: "storedForm", input: .stored, check: CodingProperties.storedForm),
    Property(name: "cacheStatus", input: .numbers, check: CodingProperties.cacheStatus),
    Property(name: "doors", input: .numbers, check: DoorProperties.doors),
    Property(name: "loosening", input: .numbers, check: LooseningProperty.loosening),
  ]

  /// Checks the property that the first byte chooses against the others.
  public static func check(choosing bytes: [UInt8]) throws {
    guard let first = bytes.first else { return }
    try all[Int(first) % all.count].check(Array(bytes.dropFirst()))
  }
}

/// A property does not hold.
public struct Violation: Error, CustomStringConvertible {
  public let description: String
}

/// - Throws: a ``Violation`` if it is not so.
func require(_ holds: Bool, _ what: @autoclosure () -> String) throws {
  if !holds { throw Violation(description: what()) }
}
