// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The directives of a `Cache-Control` field, of a request or a response (RFC 9111 §5.2).
///
/// Parsing is tolerant where the RFC is (§5.2: any case, arguments quoted or not). Everywhere else it chooses the more
/// restrictive meaning (§4.2.1): a repeated directive keeps its shortest time, and an invalid time counts as zero.
/// Invalid syntax, such as `private; max-age=60` or `no-store no-cache`, may only restrict: the cache honours the
/// directives in it that do, and ignores the others. Unknown directives are ignored (§5.2.3).
public struct CacheControl: Hashable, Sendable {
  /// Directives without an argument, or in their form without one.
  public struct Flags: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt32
    /// - Parameter rawValue: the bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// `no-cache`, in its form without field names (§5.2.1.4, §5.2.2.4).
    public static let noCache = Flags(rawValue: 1 << 0)
    /// `no-store` (§5.2.1.5, §5.2.2.5).
    public static let noStore = Flags(rawValue: 1 << 1)
    /// `no-transform` (§5.2.1.6, §5.2.2.6).
    public static let noTransform = Flags(rawValue: 1 << 2)
    /// `only-if-cached` (§5.2.1.7).
    public static let onlyIfCached = Flags(rawValue: 1 << 3)
    /// `must-revalidate` (§5.2.2.2).
    public static let mustRevalidate = Flags(rawValue: 1 << 4)
    /// `must-understand` (§5.2.2.3).
    public static let mustUnderstand = Flags(rawValue: 1 << 5)
    /// `private`, in its form without field names (§5.2.2.7).
    public static let isPrivate = Flags(rawValue: 1 << 6)
    /// `proxy-revalidate` (§5.2.2.8).
    public static let proxyRevalidate = Flags(rawValue: 1 << 7)
    /// `public` (§5.2.2.9).
    public static let isPublic = Flags(rawValue: 1 << 8)
    /// `immutable` (RFC 8246 §2).
    public static let immutable = Flags(rawValue: 1 << 9)
    /// `max-stale` without an argument: any staleness is accepted (§5.2.1.2).
    package static let anyStaleness = Flags(rawValue: 1 << 10)
    /// A `max-age` or `s-maxage` was not a number of seconds, and counts as 0 (§4.2.1).
    package static let invalidTime = Flags(rawValue: 1 << 11)

    // Invalid syntax restricts and permits nothing (§4.2.1). A valid form of these directives does both, so each has a
    // flag that only restricts.

    /// `private` in invalid syntax: it does not make a status code cacheable for a private cache (§3).
    package static let misplacedPrivate = Flags(rawValue: 1 << 12)
    /// `must-revalidate` in invalid syntax: it does not let a shared cache store a response to a request with
    /// Authorization (§3.5).
    package static let misplacedRevalidate = Flags(rawValue: 1 << 13)
    /// `must-understand` in invalid syntax: it does not override `no-store` (§5.2.2.3).
    package static let misplacedUnderstand = Flags(rawValue: 1 << 14)
    /// `max-age`, `s-maxage` or `min-fresh` in invalid syntax. Invalid freshness information makes a response stale
    /// (§4.2.1). In a request, it requires a revalidation of every stored response.
    package static let misplacedTime = Flags(rawValue: 1 << 15)
  }

  /// The directives without an argument.
  public var flags: Flags = []
  /// `max-age` (§5.2.1.1, §5.2.2.1).
  public var maxAge: DeltaSeconds?
  /// `s-maxage` (§5.2.2.10).
  public var sharedMaxAge: DeltaSeconds?
  /// `max-stale` with an argument (§5.2.1.2).
  public var maxStale: DeltaSeconds?
  /// `min-fresh` (§5.2.1.3).
  public var minFresh: DeltaSeconds?
  /// `stale-while-revalidate` (RFC 5861 §3).
  public var staleWhileRevalidate: DeltaSeconds?
  /// `stale-if-error` (RFC 5861 §4).
  public var staleIfError: DeltaSeconds?
  /// The field names of `no-cache="…"`, in lowercase (§5.2.2.4).
  package var noCacheFields: [String] {
    get { named?.noCache ?? [] }
    set { setNamed(Named(noCache: newValue, isPrivate: privateFields)) }
  }
  /// The field names of `private="…"`, in lowercase (§5.2.2.7).
  package var privateFields: [String] {
    get { named?.isPrivate ?? [] }
    set { setNamed(Named(noCache: noCacheFields, isPrivate: newValue)) }
  }

  /// Normally absent: `nil` is made, copied and released in less time than two empty arrays.
  private var named: Named?

  /// At least one of the two lists is not empty.
  struct Named: Hashable {
    var noCache: [String] = []
    var isPrivate: [String] = []
  }

  private mutating func setNamed(_ new: Named) {
    named = new.noCache.isEmpty && new.isPrivate.isEmpty ? nil : new
  }

  /// Makes an empty set of directives.
  public init() {}

  /// Parses one field value.
  public init(parsing value: String) {
    merge(value)
  }

  /// Parses the lines of a field that occurs more than once, as if they were one list.
  public init(parsing values: some Sequence<String>) {
    for value in values { merge(value) }
  }

  /// Whether a directive without an argument is present.
  package func contains(_ flag: Flags) -> Bool { flags.contains(flag) }
}

// MARK: - Parsing

extension CacheControl {
  /// Adds the directives of another field line.
  ///
  /// - Complexity: O(*n*) in the length of the value; allocates only for field names as arguments.
  package mutating func merge(_ value: String) {
    value.withFieldBytes { bytes in
      var members = ListMembers(bytes.whole)
      while true {
        if let simple = members.nextSimple(in: bytes) {
          let argument = simple.number.map { Argument(range: $0.range, seconds: DeltaSeconds($0.value)) }
          if add(bytes, name: simple.name, argument: argument) != .known, !bytes.isToken(simple.name) {
            addMisplaced(bytes, in: simple.whole)
          }
          continue
        }
        guard let member = members.next(in: bytes) else { break }
        guard let equals = members.equals else {
          if add(bytes, name: member, argument: nil) != .known, !bytes.isToken(member) {
            addMisplaced(bytes, in: member)
          }
          continue
        }
        let name = bytes.trimmed(ByteRange(start: member.start, end: equals))
        // Whitespace before "=" is invalid syntax. The directive counts, but its argument is not trusted.
        let start = name.end == equals ? equals + 1 : member.end
        let argument = ByteRange(start: start, end: member.end)
        let seconds = DeltaSeconds(parsing: bytes, in: bytes.unquoted(argument))
        switch add(bytes, name: name, argument: Argument(range: argument, seconds: seconds)) {
        case .known: break
        case .invalidArgument where bytes.isArgument(argument): break
        case .invalidArgument: addMisplaced(bytes, in: ByteRange(start: equals, end: member.end))
        case .unknown where bytes.isToken(name) && bytes.isArgument(argument): break
        case .unknown: addMisplaced(bytes, in: member)
        }
      }
    }
  }

  /// The argument of a directive.
  private struct Argument {
    var range: ByteRange
    /// The argument as a time, if it is one.
    var seconds: DeltaSeconds?
  }

  /// The result of reading a member of the list.
  private enum Reading {
    /// A known directive in its proper form.
    case known
    /// A known directive with an invalid argument. The consequences are recorded.
    case invalidArgument
    /// Any other member.
    case unknown
  }

  /// Adds the restrictions in a part of the value with invalid syntax: directives with other separators than commas,
  /// within quotes, or after an unclosed quote. The sender meant them, and of conflicting directives the most
  /// restrictive is honoured (§4.2.1). A permission counts only in valid syntax.
  private mutating func addMisplaced(_ bytes: Span<UInt8>, in part: ByteRange) {
    var start = part.start
    while start < part.end {
      guard bytes[start].isTokenCharacter else {
        start += 1
        continue
      }
      var word = ByteRange(start: start, end: start)
      while word.end < part.end, bytes[word.end].isTokenCharacter { word.end += 1 }
      addMisplaced(bytes, word: word)
      start = word.end
    }
  }

  private mutating func addMisplaced(_ bytes: Span<UInt8>, word: ByteRange) {
    switch word.count {
    case 7:
      if bytes.matches("private", in: word) { flags.insert(.misplacedPrivate) }
      if bytes.matches("max-age", in: word) { flags.insert(.misplacedTime) }
    case 8:
      if bytes.matches("no-cache", in: word) { flags.insert(.noCache) }
      if bytes.matches("no-store", in: word) { flags.insert(.noStore) }
      if bytes.matches("s-maxage", in: word) { flags.insert(.misplacedTime) }
    case 9:
      if bytes.matches("min-fresh", in: word) { flags.insert(.misplacedTime) }
    case 12:
      if bytes.matches("no-transform", in: word) { flags.insert(.noTransform) }
    case 15:
      if bytes.matches("must-revalidate", in: word) { flags.insert(.misplacedRevalidate) }
      if bytes.matches("must-understand", in: word) { flags.insert(.misplacedUnderstand) }
    case 16:
      if bytes.matches("proxy-revalidate", in: word) { flags.insert(.proxyRevalidate) }
    default: break
    }
  }

  private mutating func add(_ bytes: Span<UInt8>, name: ByteRange, argument: Argument?) -> Reading {
    // The length excludes most directives, so that a directive is compared with one or two names only.
    switch name.count {
    case 6:
      if bytes.matches("public", in: name) { return add(bytes, .isPublic, argument) }
    case 7:
      if bytes.matches("max-age", in: name) { return addTime(argument, isShared: false) }
      if bytes.matches("private", in: name) {
        return addFields(bytes, argument: argument?.range, unqualified: .isPrivate, to: \.isPrivate)
          ? .known : .invalidArgument
      }
    case 8:
      if bytes.matches("no-cache", in: name) {
        return addFields(bytes, argument: argument?.range, unqualified: .noCache, to: \.noCache)
          ? .known : .invalidArgument
      }
      if bytes.matches("no-store", in: name) { return add(bytes, .noStore, argument) }
      if bytes.matches("s-maxage", in: name) { return addTime(argument, isShared: true) }
    case 9:
      if bytes.matches("immutable", in: name) { return add(bytes, .immutable, argument) }
      if bytes.matches("max-stale", in: name) { return addMaxStale(argument) }
      if bytes.matches("min-fresh", in: name) {
        // How long is unknown, so the request goes to the origin.
        let value = argument?.seconds
        minFresh = Swift.max(minFresh ?? 0, value ?? .infinity)
        return value == nil ? .invalidArgument : .known
      }
    case 12:
      if bytes.matches("no-transform", in: name) { return add(bytes, .noTransform, argument) }
    case 14:
      if bytes.matches("only-if-cached", in: name) { return add(bytes, .onlyIfCached, argument) }
      if bytes.matches("stale-if-error", in: name) {
        return Self.addWindow(argument, to: &staleIfError)
      }
    case 15:
      if bytes.matches("must-revalidate", in: name) { return add(bytes, .mustRevalidate, argument) }
      if bytes.matches("must-understand", in: name) { return add(bytes, .mustUnderstand, argument) }
    case 16:
      if bytes.matches("proxy-revalidate", in: name) { return add(bytes, .proxyRevalidate, argument) }
    case 22:
      if bytes.matches("stale-while-revalidate", in: name) {
        return Self.addWindow(argument, to: &staleWhileRevalidate)
      }
    default:
      break  // Unknown: ignored (§5.2.3).
    }
    return .unknown
  }

  /// Adds a directive that takes no argument: an argument does not disable it.
  private mutating func add(_ bytes: Span<UInt8>, _ flag: Flags, _ argument: Argument?) -> Reading {
    if let argument, !bytes.isArgument(argument.range) { return .unknown }
    flags.insert(flag)
    return .known
  }

  /// Adds a lifetime: the shortest counts, and an invalid one counts as 0.
  private mutating func addTime(_ argument: Argument?, isShared: Bool) -> Reading {
    let value = argument?.seconds
    if value == nil { flags.insert(.invalidTime) }
    let shortest = Swift.min((isShared ? sharedMaxAge : maxAge) ?? .infinity, value ?? 0)
    if isShared { sharedMaxAge = shortest } else { maxAge = shortest }
    return value == nil ? .invalidArgument : .known
  }

  /// Adds a permission to use a stale response: the shortest counts, and an invalid one permits nothing.
  private static func addWindow(_ argument: Argument?, to directive: inout DeltaSeconds?) -> Reading {
    let value = argument?.seconds
    directive = Swift.min(directive ?? .infinity, value ?? 0)
    return value == nil ? .invalidArgument : .known
  }

  private mutating func addMaxStale(_ argument: Argument?) -> Reading {
    if argument == nil {
      flags.insert(.anyStaleness)
    } else if let time = argument?.seconds {
      maxStale = Swift.min(maxStale ?? .infinity, time)
    } else {
      return .invalidArgument
    }
    return .known
  }

  /// - Returns: `true` if the argument is absent or consists of field names only.
  mutating func addFields(
    _ bytes: Span<UInt8>, argument: ByteRange?, unqualified: Flags,
    to directive: WritableKeyPath<Named, [String]>
  ) -> Bool {
    var names: [String] = []
    if let argument {
      var members = ListMembers(bytes.unquoted(argument))
      while let name = members.next(in: bytes) {
        // An invalid field name makes the whole argument doubtful: the form without one forbids more.
        for index in name.start..<name.end where !bytes[index].isTokenCharacter {
          flags.insert(unqualified)
          return false
        }
        names.append(bytes.lowercasedString(name))
      }
    }
    if names.isEmpty {
      flags.insert(unqualified)
    } else {
      // Recorded by position: there may be any number of such directives, and each would copy the names of all before
      // it.
      if named == nil { named = Named() }
      named?[keyPath: directive] += names
    }
    return true
  }
}

extension Span where Element == UInt8 {
  func firstIndex(of byte: UInt8, in range: ByteRange) -> Int? {
    var index = range.start
    while index < range.end {
      if self[index] == byte { return index }
      index += 1
    }
    return nil
  }

  /// Returns the inside of a quoted string; any other range unchanged.
  func unquoted(_ range: ByteRange) -> ByteRange {
    guard range.count >= 2, self[range.start] == UInt8(ascii: "\""),
      self[range.end - 1] == UInt8(ascii: "\"")
    else { return range }
    return ByteRange(start: range.start + 1, end: range.end - 1)
  }

  /// Whether a range is a token or a quoted string, as arguments are (RFC 9111 §5.2).
  func isArgument(_ range: ByteRange) -> Bool {
    !range.isEmpty && (isToken(range) || isQuotedString(range))
  }

  /// Whether a range is exactly one quoted string (RFC 9110 §5.6.4).
  private func isQuotedString(_ range: ByteRange) -> Bool {
    guard range.count >= 2, self[range.start] == UInt8(ascii: "\"") else { return false }
    var position = range.start + 1
    while position < range.end - 1 {
      if self[position] == UInt8(ascii: "\"") { return false }
      position += self[position] == UInt8(ascii: "\\") ? 2 : 1
    }
    return position == range.end - 1 && self[position] == UInt8(ascii: "\"")
  }
}
