// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// A stored response without its content: the head as it may be reused, and what decides on reuse.
public struct StoredResponse: Hashable, Sendable {
  /// The status code and phrase.
  public var status: HTTPResponse.Status
  /// The fields that may be stored: those of a connection are gone (RFC 9111 §3.1).
  ///
  /// - Complexity: O(*n*) where some of those received are not stored, for they are taken out here.
  public var fields: HTTPFields {
    get { kept.fields }
    set { kept = KeptFields(newValue) }
  }
  var kept: KeptFields
  /// What the request said in the fields that `Vary` nominates.
  package var selecting: SelectingFields
  package var facts: ReuseFacts
  /// The length of the stored content in bytes, where whoever keeps it has said so: ranges are cut from it.
  public var contentLength: Int64?
  /// Which bytes of the representation are stored; `nil` if all are (RFC 9111 §3.3).
  ///
  /// A partial response has the status and the fields of the 200 response that it becomes when it is complete: without
  /// `Content-Range`, and with the length of the whole, if known, in `Content-Length`.
  package var parts: StoredParts?
  /// The groups that the response is in (RFC 9875 §2): none, as a rule.
  package var groups: [String] {
    didSet { if groups.isEmpty { facts.flags.remove(.hasGroups) } else { facts.flags.insert(.hasGroups) } }
  }

  /// - Parameter groups: as ``ReuseFacts/Flags/hasGroups`` has it.
  init(
    status: HTTPResponse.Status, kept: KeptFields, selecting: SelectingFields, facts: ReuseFacts,
    groups: [String] = []
  ) {
    self.status = status
    self.kept = kept
    self.selecting = selecting
    self.facts = facts
    self.groups = groups
  }

  /// The head to answer with, with `Age` if the response is used without validation (RFC 9111 §4, §5.1).
  ///
  /// - Parameter age: the current age, which is rounded down to seconds; `nil` leaves `Age` out.
  public func response(age: Duration?) -> HTTPResponse { response(ageInSeconds: age?.wholeSeconds) }

  package func response(ageInSeconds: Int64?) -> HTTPResponse {
    var response = HTTPResponse(status: status, headerFields: fields)
    response.headerFields[.age] = ageInSeconds.map { String($0) }
    return response
  }

  /// A 304 response for a client that has this representation already (RFC 9110 §15.4.5).
  ///
  /// It carries the fields that the RFC asks for, and the validators; never content or what describes it.
  func notModifiedResponse(ageInSeconds: Int64?) -> HTTPResponse {
    var response = HTTPResponse(status: .notModified)
    kept.forEach { field in
      switch field.name.canonicalName {
      case "cache-control", "content-location", "date", "etag", "expires", "vary", "last-modified",
        "set-cookie", "cache-status", "link", "server":
        response.headerFields.append(field)
      default: break
      }
    }
    response.headerFields[.age] = ageInSeconds.map { String($0) }
    return response
  }

  /// Identifies the variant: responses to requests that `Vary` tells apart have different keys (RFC 9111 §4.1). Store the
  /// response under its ``CacheKey`` and this.
  public var variantKey: [UInt8] { selecting.variantKey }

  /// The current age, rounded down to seconds (RFC 9111 §4.2.3).
  public func age(at now: Timestamp) -> Duration { .seconds(facts.ageInSeconds(at: now)) }

  /// How much longer the response is fresh, in whole seconds; zero or less if it is stale (RFC 9111 §4.2).
  public func remainingLifetime(at now: Timestamp) -> Duration { .seconds(facts.remainingSeconds(at: now)) }

  // As ``fields`` has them, which these do not put together.

  /// The values of the lines of one name.
  package func values(of name: HTTPField.Name) -> [String] { kept.values(of: name) }

  /// The lines of one name as one value; `nil` without any.
  package func value(of name: HTTPField.Name) -> String? {
    let lines = kept.values(of: name)
    return lines.isEmpty ? nil : lines.count == 1 ? lines[0] : lines.joined(separator: ", ")
  }

  /// Says that other content is stored than came: its length is another, and digests of what came do not hold
  /// (RFC 9530 §2, §3).
  package mutating func replaceContent(count: Int) {
    if fields[.contentLength] != nil { fields[.contentLength] = String(count) }
    for name in ["Content-Digest", "Repr-Digest", "Digest", "Content-MD5"].compactMap({ HTTPField.Name($0) })
    {
      fields[name] = nil
    }
  }

  var entityTag: EntityTag? { kept.entityTag }

  /// `Last-Modified`, where it is a date in one of HTTP's formats.
  var lastModified: (date: HTTPDate, text: String)? { kept.lastModified(at: facts.responseTime) }

  /// `Last-Modified`, where it is a recognisable date, with the text to send back to the letter (RFC 9111 §4.3.1,
  /// RFC 9110 §13.1.3).
  var modification: (date: HTTPDate, text: String)? { kept.modification(at: facts.responseTime) }
}
