import HTTPTypes

/// What the rules of caching need of a request's fields, taken out in one pass.
struct RequestFields {
  var cacheControl = CacheControl()
  var ifNoneMatch: EntityTagCondition?
  var ifModifiedSince: HTTPDate?
  var hasAuthorization = false
  /// The ranges asked for; `nil` if there are none, or none that count.
  var range: RangeField?
  /// Whether there is a Range field at all: such a request is not changed into one for another range.
  var hasRangeField = false
  /// If-Range: an entity tag or a date, as received.
  var ifRange: String?
  /// If-Match or If-Unmodified-Since: not for a cache to evaluate (RFC 9111 §4.3.2).
  var hasOriginPrecondition = false

  init(_ request: HTTPRequest, now: Timestamp) {
    var noneMatch: [String] = []
    var pragmaNoCache = false
    var hasCacheControl = false
    var modifiedSinceLines = 0
    var rangeLines = 0
    for field in request.headerFields {
      switch field.name.canonicalName {
      case "cache-control":
        hasCacheControl = true
        cacheControl.merge(field.value)
      case "pragma":
        // The one directive Pragma ever had (§5.4) has the name and syntax of Cache-Control's.
        if CacheControl(parsing: field.value).contains(.noCache) { pragmaNoCache = true }
      case "if-none-match": noneMatch.append(field.value)
      case "if-modified-since":
        // More than one line is no date, and ignored (RFC 9110 §13.1.3).
        ifModifiedSince = modifiedSinceLines == 0 ? HTTPDate(parsing: field.value, now: now) : nil
        modifiedSinceLines += 1
      case "authorization": hasAuthorization = true
      // Only GET has ranges (RFC 9110 §14.2), and QUERY, which has all that GET has.
      case "range" where request.method.isRetrieval:
        range = rangeLines == 0 ? RangeField(parsing: field.value) : nil
        rangeLines += 1
        hasRangeField = true
      case "if-range": ifRange = field.value
      case "if-match", "if-unmodified-since": hasOriginPrecondition = true
      default: break
      }
    }
    if !noneMatch.isEmpty { ifNoneMatch = EntityTagCondition(parsing: noneMatch) }
    // In a request no-cache has no argument (§5.2.1.4); one that has some is meant as it stands in the name.
    if !cacheControl.noCacheFields.isEmpty { cacheControl.flags.insert(.noCache) }
    // §5.4: Pragma counts only where Cache-Control does not speak.
    if pragmaNoCache, !hasCacheControl { cacheControl.flags.insert(.noCache) }
  }
}
