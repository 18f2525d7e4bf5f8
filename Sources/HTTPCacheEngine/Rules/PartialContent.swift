// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Stores, completes and combines parts of a representation (RFC 9111 §3.3, §3.4; RFC 9110 §15.3.7.3).
enum PartialContent {
  /// The bytes that a single-part 206 response carries.
  struct Part: Hashable {
    var range: Range<Int64>
    var completeLength: Int64?

    var isWhole: Bool { completeLength.map { range == 0..<$0 } ?? false }
  }

  /// Returns the part in a 206 response; `nil` if its position is not clear.
  ///
  /// Several parts in one `multipart/byteranges` are not separated. Content with a coding has no position: the
  /// positions refer to the coded bytes, and a transport may have decoded them.
  ///
  /// - Parameter length: the length of the content, if already known.
  static func part(of head: HTTPResponse, length: Int64?) -> Part? {
    let ranges = head.headerFields[values: .contentRange]
    guard head.status == .partialContent, ranges.count == 1, !hasContentCoding(head.headerFields),
      case .bytes(let range, let completeLength)? = ContentRange(parsing: ranges[0])
    else { return nil }
    let type = head.headerFields[.contentType] ?? ""
    guard !type.lowercasedASCII.hasPrefix("multipart/byteranges") else { return nil }
    let lengths = head.headerFields[values: .contentLength]
    guard lengths.allSatisfy({ Int64($0) == Int64(range.count) }), length ?? Int64(range.count) == range.count
    else { return nil }
    return Part(range: range, completeLength: completeLength)
  }

  /// Whether the content has a content coding, so that its bytes are not those that other clients may get.
  static func hasContentCoding(_ fields: HTTPFields) -> Bool {
    hasContentCoding(fields[values: .contentEncoding])
  }

  static func hasContentCoding(_ lines: [String]) -> Bool {
    lines.contains { $0.lowercasedASCII != "identity" }
  }

  /// Removes the digests of this one message's content, which hold neither for other parts nor for the whole (RFC 9530
  /// §2).
  static func withoutDigests(_ fields: HTTPFields) -> HTTPFields {
    HTTPFields(
      fields.filter { $0.name.canonicalName != "content-digest" && $0.name.canonicalName != "content-md5" })
  }

  // MARK: - Representations

  /// The relation of a response to the representation of a stored response.
  enum Relation {
    /// The same representation: they have a strong validator in common.
    case same
    /// Another representation.
    case different
    case unknown
  }

  static func relation(of new: StoredResponse, to stored: StoredResponse) -> Relation {
    if differ(new.entityTag, new.lastModified?.date, from: stored) { return .different }
    guard new.hasStrongValidator, stored.parts?.isCombinable ?? stored.hasStrongValidator,
      // Equal dates, if neither has a tag; a tag of only one of them proves nothing about the other.
      new.entityTag == stored.entityTag
    else { return .unknown }
    // A representation has one length; a response with another length is not trusted.
    let lengths = [new.completeLength, stored.completeLength].compactMap { $0 }
    let end = Swift.max(new.parts?.ranges.last?.upperBound ?? 0, stored.parts?.ranges.last?.upperBound ?? 0)
    return Set(lengths).count <= 1 && lengths.allSatisfy({ end <= $0 }) ? .same : .unknown
  }

  /// Whether the validators of a response are those of another representation than a stored response.
  private static func differ(_ tag: EntityTag?, _ date: HTTPDate?, from stored: StoredResponse) -> Bool {
    if let tag, let storedTag = stored.entityTag { return !tag.matchesWeakly(storedTag) }
    guard let date, let storedDate = stored.lastModified?.date else { return false }
    return date != storedDate
  }

  /// Whether a 206 or 416 response shows another representation than a stored one, by its validators or its length.
  static func shows(
    _ head: HTTPResponse, _ response: ResponseFields, anotherThan stored: StoredResponse
  ) -> Bool {
    if differ(response.entityTag, response.lastModified.date, from: stored) { return true }
    guard let storedLength = stored.completeLength else { return false }
    return switch head.headerFields[.contentRange].flatMap({ ContentRange(parsing: $0) }) {
    case .bytes(_, let length): length.map { $0 != storedLength } ?? false
    case .unsatisfied(let length): length != storedLength
    case nil: false
    }
  }

  // MARK: - Completing

  /// Returns the request for the bytes that a stored response lacks. They must be a single range, and there must be a
  /// strong validator: without one, nothing may be combined (§3.4).
  static func completion(
    of candidate: Int, _ stored: StoredResponse, for request: HTTPRequest, client: RequestFields
  ) -> (request: HTTPRequest, completion: CacheEngine.Completion)? {
    guard request.method.isRetrieval, !client.hasRangeField, let parts = stored.parts, parts.isCombinable,
      let validator = stored.strongValidator, let gap = parts.onlyGap
    else { return nil }
    var request = request
    let last = gap.end.flatMap { $0 == parts.completeLength ? nil : String($0 - 1) }
    request.headerFields[.range] = "bytes=\(gap.first)-\(last ?? "")"
    request.headerFields[fields: .ifRange] = [validator.field(.ifRange)]
    return (request, CacheEngine.Completion(candidate: candidate, first: gap.first, end: gap.end))
  }

  /// Whether a part is exactly the range that a completion lacks.
  static func completes(_ completion: CacheEngine.Completion, _ parts: StoredParts, _ part: Part) -> Int64? {
    guard let length = parts.completeLength ?? part.completeLength, part.range.lowerBound == completion.first,
      part.range.upperBound == completion.end ?? length
    else { return nil }
    return length
  }

  // MARK: - Combining

  /// To combine stored bytes with received ones, at most this many stored bytes are copied...
  private static let copyLimit: Int64 = 8 << 20
  /// ... or this many for each received byte.
  private static let copyFactor: Int64 = 8

  static func isWorthCopying(_ stored: Int64, for received: Int64) -> Bool {
    stored <= Swift.max(copyLimit, received.saturatingMultiplied(by: copyFactor))
  }
}

extension StoredResponse {
  /// The validator that names exactly this representation in `If-Range`. It is an entity tag that is not weak, or,
  /// without any tag, a strong date (RFC 9110 §8.8.1, §13.1.5).
  var strongValidator: Octets? {
    if let tag = entityTag { return tag.isWeak ? nil : Octets(tag.fieldBytes) }
    guard kept.values(of: .eTag).isEmpty, let modified = lastModified,
      facts.date.seconds > modified.date.secondsSince1970
    else { return nil }
    return Octets(modified.text)
  }

  var hasStrongValidator: Bool { strongValidator != nil }

  /// The length of the whole representation, if known.
  var completeLength: Int64? { parts == nil ? contentLength : parts?.completeLength }

  /// Returns this response with other bytes of the same representation; `nil` if there are too many separate ranges.
  ///
  /// If they are the complete representation, the result is a complete 200 (OK) with the complete Content-Length (RFC
  /// 9110 §15.3.7.3).
  func with(_ ranges: [Range<Int64>], completeLength: Int64?, isCombinable: Bool) -> StoredResponse? {
    var response = self
    response.fields[.contentLength] = completeLength.map { String($0) }
    if let completeLength, ranges == [0..<completeLength] {
      response.parts = nil
    } else {
      guard
        let parts = StoredParts(ranges: ranges, completeLength: completeLength, isCombinable: isCombinable)
      else { return nil }
      response.parts = parts
    }
    response.contentLength = ranges.reduce(0) { $0 + Int64($1.count) }
    return response
  }
}
