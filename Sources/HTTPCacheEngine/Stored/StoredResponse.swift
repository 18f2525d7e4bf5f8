// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// A stored response without its content: the head for reuse, and the facts that decide on reuse.
public struct StoredResponse: Hashable, Sendable {
  /// The status code and phrase.
  public var status: HTTPResponse.Status
  /// The fields that may be stored: without those of a connection (RFC 9111 §3.1).
  ///
  /// - Complexity: O(*n*) if the response was read from its stored form, or if some of the received fields are not
  ///   stored: the fields are made here.
  public var fields: HTTPFields {
    get { kept.fields }
    set { kept = KeptFields(newValue) }
  }
  var kept: KeptFields
  /// The request's values of the fields that `Vary` nominates.
  package var selecting: SelectingFields
  package var facts: ReuseFacts
  /// The length of the stored content in bytes, from which ranges are cut; `nil` before the response was stored.
  public package(set) var contentLength: Int64?
  /// The stored ranges of the representation; `nil` if it is complete (RFC 9111 §3.3).
  ///
  /// A partial response has the status and the fields of the 200 response that it becomes when complete. So it has no
  /// `Content-Range`, and `Content-Length` is the complete length, if known.
  package var parts: StoredParts?
  /// The groups of the response (RFC 9875 §2): normally none.
  package var groups: [String] {
    didSet { if groups.isEmpty { facts.flags.remove(.hasGroups) } else { facts.flags.insert(.hasGroups) } }
  }
  /// The tags of the response: normally none. Fields that clients do not get are not among ``fields``, so a hit need not
  /// skip them.
  package var tags: ResponseTags

  /// - Parameter groups: the groups, in agreement with ``ReuseFacts/Flags/hasGroups``.
  init(
    status: HTTPResponse.Status, kept: KeptFields, selecting: SelectingFields, facts: ReuseFacts,
    groups: [String] = [], tags: ResponseTags = ResponseTags()
  ) {
    self.status = status
    self.kept = kept
    self.selecting = selecting
    self.facts = facts
    self.groups = groups
    self.tags = tags
  }

  /// Returns the head to answer with, with `Age` if the response is used without a revalidation (RFC 9111 §4, §5.1).
  ///
  /// - Parameter age: the current age, which is rounded down to seconds; `nil` omits `Age`.
  public func response(age: Duration?) -> HTTPResponse { response(ageInSeconds: age?.wholeSeconds) }

  package func response(ageInSeconds: Int64?) -> HTTPResponse {
    var response = HTTPResponse(status: status, headerFields: fields)
    response.headerFields[.age] = ageInSeconds.map { String($0) }
    return response
  }

  /// Returns a 304 response for a client that already has this representation (RFC 9110 §15.4.5).
  ///
  /// It contains the fields that the RFC requires, and the validators, but neither content nor fields that describe it.
  func notModifiedResponse(ageInSeconds: Int64?) -> HTTPResponse {
    var response = HTTPResponse(status: .notModified)
    for field in fields where field.name.canonicalName.withFieldBytes({ $0.isNameInNotModified }) {
      response.headerFields.append(field)
    }
    response.headerFields[.age] = ageInSeconds.map { String($0) }
    return response
  }

  /// Identifies the variant: responses to requests that `Vary` distinguishes have different keys (RFC 9111 §4.1). Store
  /// the response under its ``CacheKey`` and this.
  public var variantKey: [UInt8] { selecting.variantKey }

  /// Returns the current age, rounded down to seconds (RFC 9111 §4.2.3).
  public func age(at now: Timestamp) -> Duration { .seconds(facts.ageInSeconds(at: now)) }

  /// Returns the remaining freshness lifetime, in whole seconds; zero or less if the response is stale (RFC 9111 §4.2).
  public func remainingLifetime(at now: Timestamp) -> Duration { .seconds(facts.remainingSeconds(at: now)) }

  // The same values as in ``fields``, without composing those.

  /// Returns the values of the lines of one name.
  package func values(of name: HTTPField.Name) -> [String] { kept.values(of: name) }

  /// Returns the lines of one name as one value; `nil` if there are none.
  package func value(of name: HTTPField.Name) -> String? {
    let lines = kept.values(of: name)
    return lines.isEmpty ? nil : lines.count == 1 ? lines[0] : lines.joined(separator: ", ")
  }

  /// Adapts the fields to a replaced content: its length differs, and digests of the received content are invalid (RFC
  /// 9530 §2, §3).
  package mutating func replaceContent(count: Int) {
    if fields[.contentLength] != nil { fields[.contentLength] = String(count) }
    for name in ["Content-Digest", "Repr-Digest", "Digest", "Content-MD5"].compactMap({ HTTPField.Name($0) })
    {
      fields[name] = nil
    }
  }

  var entityTag: EntityTag? { kept.entityTag }

  /// `Last-Modified`, if it is a date in one of HTTP's formats.
  var lastModified: (date: HTTPDate, text: String)? { kept.lastModified(at: facts.responseTime) }

  /// `Last-Modified`, if it is a recognisable date, with the exact text to send back (RFC 9111 §4.3.1, RFC 9110
  /// §13.1.3).
  var modification: (date: HTTPDate, text: String)? { kept.modification(at: facts.responseTime) }
}

extension Span<UInt8> {
  /// Whether this is the name, in any case, of a field that a 304 response has (RFC 9110 §15.4.5).
  var isNameInNotModified: Bool {
    func has(_ text: StaticString) -> Bool { matches(text, in: whole) }
    return switch count {
    case 4: has("date") || has("etag") || has("vary") || has("link")
    case 6: has("server")
    case 7: has("expires")
    case 10: has("set-cookie")
    case 12: has("cache-status")
    case 13: has("cache-control") || has("last-modified")
    case 16: has("content-location")
    default: false
    }
  }
}
