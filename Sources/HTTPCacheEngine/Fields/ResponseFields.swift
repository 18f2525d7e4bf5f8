import HTTPTypes

/// What the rules of caching need of a response's fields, taken out in one pass.
///
/// `HTTPFields` looks names up one by one; a single walk over a response of a dozen fields is several times cheaper
/// than keyed lookups, and every rule reads the same parsed result.
public struct ResponseFields: Hashable, Sendable {
  /// A date field: absent, or present and perhaps invalid.
  public enum DateField: Hashable, Sendable {
    case absent
    case invalid
    case date(HTTPDate)

    public var date: HTTPDate? {
      if case .date(let date) = self { date } else { nil }
    }
  }

  /// The directives of `Cache-Control`, or of the targeted field that takes its place.
  public var cacheControl = CacheControl()
  /// The name, in lowercase, of the targeted field that governs caching in place of `Cache-Control` and `Expires`
  /// (RFC 9213 §2.2); `nil` if none does.
  public var target: String?
  /// `Expires` (RFC 9111 §5.3). More than one line is invalid, unless all say the same.
  public var expires: DateField = .absent
  /// `Date` (RFC 9110 §6.6.1).
  public var date: DateField = .absent
  /// `Last-Modified` (RFC 9110 §8.8.2).
  public var lastModified: DateField = .absent
  /// The `Last-Modified` value as received: it is sent back to the letter (RFC 9110 §13.1.3).
  public var lastModifiedText: String?
  /// `Age` (RFC 9111 §5.1): the first member of the field, or `nil` where that is no number.
  public var age: DeltaSeconds?
  /// `ETag` (RFC 9110 §8.8.3).
  public var entityTag: EntityTag?
  public var vary: VaryField = .names([])
  /// `Cache-Groups` (RFC 9875 §2): the groups that the response is in.
  public var groups: [String] = []
  /// `Content-Length`, where it is a number.
  public var contentLength: Int64?
  /// Whether the message says where its content ends (RFC 9112 §6.3).
  var isDelimited = false

  /// - Parameters:
  ///   - now: needed for two-digit years only.
  ///   - targets: the target list of ``CacheEngine/Configuration/targets``.
  public init(_ fields: HTTPFields, now: Timestamp, targets: [String]) {
    var varyLines: [String] = []
    var groupLines: [String] = []
    var targeted: [String: [String]] = [:]
    var ageSeen = false
    for field in fields {
      switch field.name.canonicalName {
      case "cache-control": cacheControl.merge(field.value)
      case "expires": Self.add(field.value, to: &expires, now: now)
      case "date": Self.add(field.value, to: &date, now: now)
      case "last-modified":
        Self.add(field.value, to: &lastModified, now: now)
        lastModifiedText = field.value
      case "age" where !ageSeen:
        // §5.1: the first member of a list counts, and one that is invalid is ignored.
        ageSeen = true
        age = field.value.withFieldBytes { bytes in
          var members = ListMembers(bytes.whole)
          return members.next(in: bytes).flatMap { DeltaSeconds(parsing: bytes, in: $0) }
        }
      case "etag" where entityTag == nil: entityTag = EntityTag(parsing: field.value)
      case "vary": varyLines.append(field.value)
      case "cache-groups": groupLines.append(field.value)
      case "content-length":
        contentLength = Int64(field.value)
        isDelimited = true
      case "transfer-encoding": isDelimited = true
      case let name where !targets.isEmpty && targets.contains(name):
        targeted[name, default: []].append(field.value)
      default: break
      }
    }
    if !targeted.isEmpty { choose(from: targeted, targets) }
    if !varyLines.isEmpty { vary = VaryField(parsing: varyLines) }
    if !groupLines.isEmpty { groups = (try? StructuredField.strings(groupLines)) ?? [] }
    if lastModified.date == nil { lastModifiedText = nil }
  }

  /// Whether a conditional request can be made from this response (RFC 9111 §4.3.1).
  public var hasValidator: Bool { entityTag != nil || lastModified.date != nil }

  /// The first of the target list with a valid value governs, and Cache-Control and Expires are as if they were not
  /// there (RFC 9213 §2.2).
  private mutating func choose(from targeted: [String: [String]], _ targets: [String]) {
    for name in targets {
      guard let directives = targeted[name].flatMap({ CacheControl(targeted: $0) }) else { continue }
      (target, cacheControl, expires) = (name, directives, .absent)
      return
    }
  }

  private static func add(_ value: String, to field: inout DateField, now: Timestamp) {
    let parsed = HTTPDate(parsing: value, now: now).map(DateField.date) ?? .invalid
    field = field == .absent || field == parsed ? parsed : .invalid
  }
}
