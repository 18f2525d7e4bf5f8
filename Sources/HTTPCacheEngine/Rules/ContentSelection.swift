// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

extension CacheEngine {
  /// The part of a stored response's content that answers a request.
  public enum ContentSelection: Hashable, Sendable {
    /// All of it.
    case whole
    /// None: the client already has this representation, and gets 304 (Not Modified) (RFC 9111 §4.3.2).
    case notModified
    /// These ranges, in a 206 (Partial Content) response (RFC 9110 §15.3.7), and the length of the content, if known.
    case ranges([Range<Int64>], of: Int64?)
    /// None of the requested ranges exists: 416 (RFC 9110 §15.5.17), with the length of the content.
    case unsatisfiable(length: Int64)

    /// Evaluates preconditions first, then the range (RFC 9110 §13.2.2).
    ///
    /// Returns `nil` if only parts are stored, and the request needs bytes outside of them. The parts must not be used
    /// then, not even to answer a precondition (RFC 9111 §3.3).
    static func of(_ stored: StoredResponse, for request: RequestFields) -> ContentSelection? {
      // Not an initializer, because that would copy both.
      guard let parts = stored.parts else {
        return Preconditions.isNotModified(stored, for: request)
          ? .notModified : cut(stored, request) ?? .whole
      }
      guard let selection = cut(stored, parts, request) else { return nil }
      return Preconditions.isNotModified(stored, for: request) ? .notModified : selection
    }

    /// Ranges are cut only from a stored 200 with a known length.
    private static func cut(_ stored: StoredResponse, _ request: RequestFields) -> ContentSelection? {
      guard let range = request.range, stored.status == .ok, let length = stored.contentLength,
        request.ifRange.map({ Preconditions.holds(ifRange: $0, for: stored) }) ?? true
      else { return nil }
      let ranges = range.resolved(length: length)
      // The last bytes of an empty content are the complete content (§14.1.2), and Content-Range cannot express that.
      if length == 0, range.hasSuffix { return nil }
      guard !ranges.isEmpty else { return .unsatisfiable(length: length) }
      return total(ranges) <= length ? .ranges(ranges, of: length) : nil
    }

    /// Returns ranges that all lie within stored parts.
    private static func cut(
      _ stored: StoredResponse, _ parts: StoredParts, _ request: RequestFields
    ) -> ContentSelection? {
      guard let range = request.range,
        request.ifRange.map({ parts.isCombinable && Preconditions.holds(ifRange: $0, for: stored) }) ?? true
      else { return nil }
      let ranges: [Range<Int64>]
      if let length = parts.completeLength {
        ranges = range.resolved(length: length)
        if ranges.isEmpty { return .unsatisfiable(length: length) }
      } else {
        guard let bounded = range.bounded else { return nil }
        ranges = bounded
      }
      guard ranges.allSatisfy({ parts.storedRange(of: $0) != nil }), total(ranges) <= parts.count else {
        return nil
      }
      return .ranges(ranges, of: parts.completeLength)
    }

    /// Ranges whose sum exceeds the content would be an attack, or a mistake (§14.2): the complete content is cheaper.
    private static func total(_ ranges: [Range<Int64>]) -> Int64 {
      ranges.reduce(Int64(0)) { $0.saturatingAdded(Int64($1.count)) }
    }
  }
}

extension CacheEngine {
  /// A piece of the content of a response that is composed from a stored one.
  public enum ContentPiece: Hashable, Sendable {
    /// These bytes: the text between the parts of a multipart response.
    case text(String)
    /// This range of the stored content.
    case stored(Range<Int64>)
  }
}

extension StoredResponse {
  /// Returns the head that answers with a selection of the content.
  ///
  /// - Parameters:
  ///   - selection: the part of the content that the request gets.
  ///   - age: the value of `Age`, which is rounded down to seconds; `nil` omits it.
  ///   - boundary: separates the parts of a multipart response (RFC 2046 §5.1.1): an unpredictable token, so that no
  ///     content contains it.
  public func response(
    _ selection: CacheEngine.ContentSelection, age: Duration?, boundary: String
  ) -> HTTPResponse {
    response(selection, ageInSeconds: age?.wholeSeconds, boundary: boundary)
  }

  package func response(
    _ selection: CacheEngine.ContentSelection, ageInSeconds: Int64?, boundary: String
  ) -> HTTPResponse {
    switch selection {
    case .whole: return response(ageInSeconds: ageInSeconds)
    case .notModified: return notModifiedResponse(ageInSeconds: ageInSeconds)
    case .unsatisfiable(let length):
      return HTTPResponse(
        status: .rangeNotSatisfiable,
        headerFields: [
          .contentRange: ContentRange.unsatisfied(length: length).fieldValue, .contentLength: "0",
        ])
    case .ranges(let ranges, let length):
      var response = response(ageInSeconds: ageInSeconds)
      response.status = .partialContent
      response.headerFields = PartialContent.withoutDigests(response.headerFields)
      if ranges.count == 1, let range = ranges.first {
        response.headerFields[.contentRange] = ContentRange.bytes(range, of: length).fieldValue
        response.headerFields[.contentLength] = String(range.count)
      } else {
        response.headerFields[.contentType] = "multipart/byteranges; boundary=" + boundary
        let bytes = pieces(of: selection, boundary: boundary).reduce(0) { $0 + $1.count }
        response.headerFields[.contentLength] = String(bytes)
      }
      return response
    }
  }

  /// Returns the pieces of that response's content, in order; empty if it has none.
  ///
  /// All of a content is one piece, which ends at `Int64.max` if ``contentLength`` is `nil`.
  public func pieces(of selection: CacheEngine.ContentSelection, boundary: String) -> [CacheEngine
    .ContentPiece]
  {
    if case .whole = selection { return [.stored(0..<(contentLength ?? .max))] }
    guard case .ranges(let ranges, let length) = selection else { return [] }
    /// Returns the position of a range of the representation in the stored content.
    func stored(_ range: Range<Int64>) -> CacheEngine.ContentPiece {
      .stored(parts == nil ? range : parts?.storedRange(of: range) ?? 0..<0)
    }
    if ranges.count == 1 { return [stored(ranges[0])] }
    var pieces: [CacheEngine.ContentPiece] = []
    for range in ranges {
      var head = "\(pieces.isEmpty ? "" : "\r\n")--\(boundary)\r\n"
      if let type = fields[.contentType] { head += "Content-Type: \(type)\r\n" }
      head += "Content-Range: \(ContentRange.bytes(range, of: length).fieldValue)\r\n\r\n"
      pieces += [.text(head), stored(range)]
    }
    pieces.append(.text("\r\n--\(boundary)--\r\n"))
    return pieces
  }
}

extension CacheEngine.ContentPiece {
  /// The length in bytes.
  public var count: Int64 {
    switch self {
    case .text(let text): Int64(text.utf8.count)
    case .stored(let range): Int64(range.count)
    }
  }
}
