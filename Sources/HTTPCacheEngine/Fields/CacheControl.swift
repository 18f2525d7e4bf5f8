/// The directives of a `Cache-Control` field, of a request or a response (RFC 9111 §5.2).
///
/// Parsing is tolerant where the RFC is (§5.2: any case, arguments quoted or not) and errs towards the more
/// restrictive meaning everywhere else (§4.2.1): a directive that occurs twice keeps its shortest time, and a time
/// that is no number counts as zero and sets ``Flags/invalidTime``. Unknown directives are ignored (§5.2.3).
public struct CacheControl: Hashable, Sendable {
  /// Directives without an argument, or in their form without one.
  public struct Flags: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32
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
    /// `max-stale` without an argument: any staleness will do (§5.2.1.2).
    public static let anyStaleness = Flags(rawValue: 1 << 10)
    /// A `max-age` or `s-maxage` was no number of seconds, and counts as 0 (§4.2.1).
    public static let invalidTime = Flags(rawValue: 1 << 11)

    /// Those with which less may be done than without.
    static let forbidding: Flags = [
      .noCache, .noStore, .noTransform, .mustRevalidate, .isPrivate, .proxyRevalidate,
    ]
  }

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
  public var noCacheFields: [String] {
    get { named?.noCache ?? [] }
    set { setNamed(Named(noCache: newValue, isPrivate: privateFields)) }
  }
  /// The field names of `private="…"`, in lowercase (§5.2.2.7).
  public var privateFields: [String] {
    get { named?.isPrivate ?? [] }
    set { setNamed(Named(noCache: noCacheFields, isPrivate: newValue)) }
  }

  /// There are none, as a rule, and nothing is made, copied and dropped in less time than two empty arrays.
  private var named: Named?

  /// Of either there is one at least.
  struct Named: Hashable {
    var noCache: [String] = []
    var isPrivate: [String] = []
  }

  private mutating func setNamed(_ new: Named) {
    named = new.noCache.isEmpty && new.isPrivate.isEmpty ? nil : new
  }

  public init() {}

  /// Parses one field value.
  public init(parsing value: String) {
    merge(value)
  }

  /// Parses the lines of a field that occurs more than once, as if they were one list.
  public init(parsing values: some Sequence<String>) {
    for value in values { merge(value) }
  }

  public func contains(_ flag: Flags) -> Bool { flags.contains(flag) }
}

// MARK: - Parsing

extension CacheControl {
  /// Adds the directives of another field line.
  ///
  /// - Complexity: O(*n*) in the length of the value; allocates only for field names as arguments.
  public mutating func merge(_ value: String) {
    value.withFieldBytes { bytes in
      var members = ListMembers(bytes.whole)
      while let member = members.next(in: bytes) {
        guard let equals = members.equals else {
          add(bytes, name: member, argument: nil)
          continue
        }
        let name = bytes.trimmed(ByteRange(start: member.start, end: equals))
        // Whitespace before "=" is no valid syntax. The directive is meant, but its argument is not to be trusted.
        let start = name.end == equals ? equals + 1 : member.end
        add(bytes, name: name, argument: ByteRange(start: start, end: member.end))
      }
      if let quote = members.openQuote { addForbidding(bytes, behind: quote) }
    }
  }

  /// Adds what forbids something in the text behind a quote that nothing closes. It is no valid syntax; but what its sender
  /// wrote there may well have been directives, and of what conflicts the most restrictive is honoured (§4.2.1).
  private mutating func addForbidding(_ bytes: Span<UInt8>, behind quote: Int) {
    var hidden = CacheControl()
    var start = quote + 1
    // By commas alone, for quotes have lost their meaning.
    while start < bytes.count {
      let rest = ByteRange(start: start, end: bytes.count)
      let end = bytes.firstIndex(of: UInt8(ascii: ","), in: rest) ?? bytes.count
      let member = bytes.trimmed(ByteRange(start: start, end: end))
      let equals = bytes.firstIndex(of: UInt8(ascii: "="), in: member) ?? member.end
      hidden.add(bytes, name: ByteRange(start: member.start, end: equals), argument: nil)
      start = end + 1
    }
    flags.formUnion(hidden.flags.intersection(.forbidding))
  }

  private mutating func add(_ bytes: Span<UInt8>, name: ByteRange, argument: ByteRange?) {
    // The length tells most directives apart, so that a directive is compared with one or two names only.
    switch name.count {
    case 6:
      if bytes.matches("public", in: name) { flags.insert(.isPublic) }
    case 7:
      if bytes.matches("max-age", in: name) {
        addTime(bytes, argument, isShared: false)
      } else if bytes.matches("private", in: name) {
        addFields(bytes, argument: argument, unqualified: .isPrivate, to: \.isPrivate)
      }
    case 8:
      if bytes.matches("no-cache", in: name) {
        addFields(bytes, argument: argument, unqualified: .noCache, to: \.noCache)
      } else if bytes.matches("no-store", in: name) {
        flags.insert(.noStore)
      } else if bytes.matches("s-maxage", in: name) {
        addTime(bytes, argument, isShared: true)
      }
    case 9:
      if bytes.matches("immutable", in: name) {
        flags.insert(.immutable)
      } else if bytes.matches("max-stale", in: name) {
        addMaxStale(bytes, argument)
      } else if bytes.matches("min-fresh", in: name), let time = Self.time(bytes, argument) {
        minFresh = Swift.max(minFresh ?? 0, time)
      }
    case 12:
      if bytes.matches("no-transform", in: name) { flags.insert(.noTransform) }
    case 14:
      if bytes.matches("only-if-cached", in: name) {
        flags.insert(.onlyIfCached)
      } else if bytes.matches("stale-if-error", in: name) {
        Self.addWindow(bytes, argument, to: &staleIfError)
      }
    case 15:
      if bytes.matches("must-revalidate", in: name) {
        flags.insert(.mustRevalidate)
      } else if bytes.matches("must-understand", in: name) {
        flags.insert(.mustUnderstand)
      }
    case 16:
      if bytes.matches("proxy-revalidate", in: name) { flags.insert(.proxyRevalidate) }
    case 22:
      if bytes.matches("stale-while-revalidate", in: name) {
        Self.addWindow(bytes, argument, to: &staleWhileRevalidate)
      }
    default:
      break  // Unknown: ignored (§5.2.3).
    }
  }

  /// A lifetime: the shortest counts, and one that is no number counts as 0.
  private mutating func addTime(_ bytes: Span<UInt8>, _ argument: ByteRange?, isShared: Bool) {
    let value = Self.time(bytes, argument)
    if value == nil { flags.insert(.invalidTime) }
    let shortest = Swift.min((isShared ? sharedMaxAge : maxAge) ?? .infinity, value ?? 0)
    if isShared { sharedMaxAge = shortest } else { maxAge = shortest }
  }

  /// A permission to be stale: the shortest counts, and one that is no number permits nothing.
  private static func addWindow(
    _ bytes: Span<UInt8>, _ argument: ByteRange?, to directive: inout DeltaSeconds?
  ) {
    directive = Swift.min(directive ?? .infinity, time(bytes, argument) ?? 0)
  }

  private mutating func addMaxStale(_ bytes: Span<UInt8>, _ argument: ByteRange?) {
    if argument == nil {
      flags.insert(.anyStaleness)
    } else if let time = Self.time(bytes, argument) {
      maxStale = Swift.min(maxStale ?? .infinity, time)
    }
  }

  mutating func addFields(
    _ bytes: Span<UInt8>, argument: ByteRange?, unqualified: Flags,
    to directive: WritableKeyPath<Named, [String]>
  ) {
    var names: [String] = []
    if let argument {
      var members = ListMembers(bytes.unquoted(argument))
      while let name = members.next(in: bytes) {
        // What is no field name leaves the whole argument in doubt: the form without one forbids more.
        for index in name.start..<name.end where !bytes[index].isTokenCharacter {
          flags.insert(unqualified)
          return
        }
        names.append(bytes.string(name).lowercased())
      }
    }
    if names.isEmpty {
      flags.insert(unqualified)
    } else {
      // Where they are: there may be any number of such directives, each of which would copy the names of all before it.
      if named == nil { named = Named() }
      named?[keyPath: directive] += names
    }
  }

  private static func time(_ bytes: Span<UInt8>, _ argument: ByteRange?) -> DeltaSeconds? {
    guard let argument else { return nil }
    return DeltaSeconds(parsing: bytes, in: bytes.unquoted(argument))
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

  /// The inside of a quoted string; any other range as it is.
  func unquoted(_ range: ByteRange) -> ByteRange {
    guard range.count >= 2, self[range.start] == UInt8(ascii: "\""),
      self[range.end - 1] == UInt8(ascii: "\"")
    else { return range }
    return ByteRange(start: range.start + 1, end: range.end - 1)
  }
}
