// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Updates stored responses with the fields of new ones (RFC 9111 §3.2, §4.3.4, §4.3.5).
enum Freshening {
  /// Returns the candidates that a 304 response identifies, among the initial set (§4.3.4).
  ///
  /// - Parameters:
  ///   - initial: positions of the responses that could have been selected, the most recent first.
  ///   - nominated: position of the response that the request's preconditions named.
  ///   - client: the client's request, whose conditions may have been sent along.
  static func identified(
    by response: ResponseFields, among initial: [Int], nominated: Int?, candidates: [StoredResponse],
    client: RequestFields
  ) -> [Int] {
    if let tag = response.entityTag {
      if !tag.isWeak {
        func isConfirmed(_ candidate: Int) -> Bool {
          candidates[candidate].entityTag?.matchesStrongly(tag) == true
        }
        // Normally one, without an array of its own.
        return initial.count == 1 && isConfirmed(initial[0]) ? initial : initial.filter(isConfirmed)
      }
      return initial.first { candidates[$0].entityTag?.matchesWeakly(tag) == true }.map { [$0] } ?? []
    }
    if let modified = response.lastModified.date {
      // A modification date is a weak validator unless proven otherwise (RFC 9110 §8.8.2.2).
      return initial.first { candidates[$0].modification?.date == modified }.map { [$0] } ?? []
    }
    // No validator in the 304. Literally it then identifies only a single response without validators, but some origins
    // omit them. If the condition named the response of the cache alone, the 304 can only mean that one.
    if let nominated {
      return client.addsNoTag(to: candidates[nominated]) ? initial.filter { $0 == nominated } : []
    }
    guard initial.count == 1, isUnchanged(candidates[initial[0]], since: client) else { return [] }
    return initial
  }

  /// Returns the candidate that a 304 response with a strong entity tag confirms, although the stored tag is weak.
  ///
  /// This departs from §4.3.4, in which such a tag identifies nothing. A server whose filter compresses a response marks
  /// its tag as weak (nginx, since RFC 9110 §8.8.1 requires it), and the filter does not see a 304, which has the tag of
  /// the file. If the request named a single tag, of a single stored response, the 304 cannot mean another.
  static func weaklyIdentified(
    by response: ResponseFields, nominated: Int?, candidates: [StoredResponse], client: RequestFields
  ) -> Int? {
    guard let tag = response.entityTag, !tag.isWeak, let nominated,
      let own = candidates[nominated].entityTag, own.isWeak, own.matchesWeakly(tag),
      client.addsNoTag(to: candidates[nominated])
    else { return nil }
    return nominated
  }

  /// Returns the fields of an update without those that describe a representation: it may be that of the file, and the
  /// stored one that of the filter.
  static func withoutRepresentation(_ fields: HTTPFields, updating stored: StoredResponse) -> HTTPFields {
    var fields = fields
    for name in [HTTPField.Name.eTag, .lastModified, .contentLocation] { fields[fields: name] = [] }
    // The filter's `Accept-Encoding` stays nominated.
    if fields.contains(.vary) { fields[values: .vary] += stored.values(of: .vary) }
    return fields
  }

  /// Whether a 304 without validators, to the client's own condition, validates a stored response without validators.
  /// It does if that response was made after the date since which the origin reports no change.
  private static func isUnchanged(_ stored: StoredResponse, since client: RequestFields) -> Bool {
    guard !stored.facts.flags.contains(.hasValidator), client.ifNoneMatch == nil,
      let since = client.ifModifiedSince
    else { return false }
    return since <= HTTPDate(stored.facts.date)
  }

  /// Returns the fields of a response that may update a stored one (§3.2), with the time of receipt if Date is missing.
  ///
  /// Among them are those that stay as they are stored (see ``FieldKind/staysInUpdate``).
  static func update(
    _ fields: HTTPFields, _ response: ResponseFields, arrival: Timestamp,
    _ configuration: CacheEngine.Configuration
  ) -> HTTPFields {
    if !response.namesOthers, response.date != .absent { return fields }
    let listed =
      response.namesOthers ? ConnectionFields.named(by: fields, targets: configuration.targets) : []
    return withDate(HTTPFields(fields.lazy.filter { !listed.contains($0.name.canonicalName) }), at: arrival)
  }

  /// A stored response with the fields of an update.
  struct Revision {
    var candidate: Int
    var response: StoredResponse
    /// Whether all fields may be stored.
    var isStoredAsIs: Bool
    /// Why it must not be stored.
    var obstacle: CacheEngine.Reason?
  }

  /// Returns a stored response with its fields updated (§3.2).
  ///
  /// - Parameters:
  ///   - response: the parsed form of the update.
  ///   - client: the client's request. If the update changes what the response varies on, its fields select it from now
  ///     on. Otherwise its selecting fields stay, though another request may have been answered with it (see
  ///     ``LanguageNegotiation``).
  static func revision(
    of candidate: Int, by update: HTTPFields, _ response: ResponseFields, _ exchange: CacheEngine.Exchange,
    _ client: RequestFields, _ configuration: CacheEngine.Configuration
  ) -> Revision {
    // The candidate is not kept in a variable, which would be a copy.
    let (candidates, arrival) = (exchange.candidates, exchange.arrival)
    let merge = FieldMerge(
      Self.update(update, response, arrival: arrival, configuration), into: candidates[candidate].kept.lines,
      configuration)
    // Declared here, because a returned value would be copied.
    var parsed = ResponseFields()
    parsed.read(
      merge.ruling, now: arrival, targets: configuration.targetNames, withheld: configuration.withheldNames,
      tags: configuration.tagNames, isUpdate: true)
    parsed.tags = candidates[candidate].tags.updated(by: parsed.tags)
    parsed.overrule(lifetime: exchange.lifetime, configuration.ruling)
    let request = exchange.forwarding.original.headerFields
    let vary = VariantSelection.names(of: parsed, for: request, configuration)
    let kept =
      parsed.isStoredAsIs
      ? KeptFields(merge.lines)
      : kept(
        of: merge.lines.fields,
        .of(merge.lines.fields, now: arrival, lifetime: exchange.lifetime, configuration), arrival: arrival,
        configuration)
    var updated = make(
      status: candidates[candidate].status, kept, parsed,
      selecting: candidates[candidate].selecting.vary == vary
        ? candidates[candidate].selecting : .nominated(by: vary, in: request, configuration),
      isDelimited: candidates[candidate].facts.flags.contains(.isDelimited), times: exchange.times,
      configuration: configuration)
    updated.contentLength = candidates[candidate].contentLength
    updated.parts = candidates[candidate].parts
    func obstacle(_ stored: ResponseFields) -> CacheEngine.Reason? {
      Storability.obstacle(
        method: .get, request: client, status: updated.status.code, response: stored, arrival: arrival,
        configuration: configuration)
    }
    let obstacle =
      parsed.isStoredAsIs
      ? obstacle(parsed)
      : obstacle(.of(updated.fields, now: arrival, lifetime: exchange.lifetime, configuration))
    return Revision(
      candidate: candidate, response: updated, isStoredAsIs: parsed.isStoredAsIs, obstacle: obstacle)
  }

  /// Makes a stored response.
  ///
  /// - Parameters:
  ///   - parsed: the parsed form of the fields that ``kept(of:_:arrival:_:)`` made the stored ones from.
  ///   - isDelimited: whether earlier fields delimited the stored content, if these fields are an update.
  static func make(
    status: HTTPResponse.Status, _ kept: KeptFields, _ parsed: ResponseFields, selecting: SelectingFields,
    isDelimited: Bool = false, times: ExchangeTimes, configuration: CacheEngine.Configuration
  ) -> StoredResponse {
    // Made in one piece: a change would copy it.
    StoredResponse(
      status: status, kept: kept, selecting: selecting,
      facts: .of(
        status: status.code, response: parsed,
        // Fields that are not stored validate nothing.
        hasValidator: parsed.isStoredAsIs ? parsed.hasValidator : kept.hasValidator(at: times.arrival),
        isDelimited: isDelimited, times: times, configuration: configuration),
      groups: parsed.groups,
      tags: parsed.tags.isEmpty ? parsed.tags : ResponseTags().updated(by: parsed.tags))
  }

  /// Returns the stored part of these fields (§3.1).
  static func kept(
    of fields: HTTPFields, _ parsed: ResponseFields, arrival: Timestamp,
    _ configuration: CacheEngine.Configuration
  ) -> KeptFields {
    // The named fields are not stored; the rest may be reused without them.
    let isShared = configuration.kind == .shared
    if !parsed.namesOthers, parsed.omitted.isExact, parsed.cacheControl.noCacheFields.isEmpty,
      !isShared || parsed.cacheControl.privateFields.isEmpty
    {
      let kept = KeptFields(fields, without: parsed.omitted)
      if parsed.date != .absent, !parsed.hasWithheld { return kept }
      return KeptFields(withDate(kept.fields, at: arrival))
    }
    let withheld =
      parsed.cacheControl.noCacheFields + (isShared ? parsed.cacheControl.privateFields : [])
      + configuration.withheldNames.names
    let kept = ConnectionFields.removed(
      from: fields, excluding: withheld, namesOthers: parsed.namesOthers, targets: configuration.targets)
    return KeptFields(withDate(kept, at: arrival))
  }

  /// Adds the time of receipt if Date is missing, as a recipient with a clock does (RFC 9110 §6.6.1).
  private static func withDate(_ fields: HTTPFields, at time: Timestamp) -> HTTPFields {
    guard fields[.date] == nil else { return fields }
    var fields = fields
    fields.append(HTTPField(name: .date, value: HTTPDate(time).fieldValue))
    return fields
  }

  /// Returns whether a HEAD response describes the same representation as a stored GET response (§4.3.5); `nil` if it proves
  /// neither.
  ///
  /// By the letter of §4.3.5, a response without validators contradicts nothing, and should update the stored one. Then a
  /// monitor that sends HEAD would keep a page forever, whatever GET would return. An equal length proves nothing either.
  static func headMatches(_ head: ResponseFields, _ stored: StoredResponse) -> Bool? {
    let (tag, modified) = (head.entityTag, head.modification)
    if let tag, stored.entityTag != tag { return false }
    if let modified, stored.modification?.date != modified { return false }
    if let length = head.contentLength,
      let storedLength = stored.value(of: .contentLength).flatMap({ Int64($0) }) ?? stored.completeLength,
      length != storedLength
    {
      return false
    }
    return tag == nil && modified == nil ? nil : true
  }
}

extension RequestFields {
  /// Whether none of the client's entity tags is sent to the origin besides those of this response (§4.3.2). Browsers
  /// usually have exactly the tag that is stored here.
  fileprivate func addsNoTag(to stored: StoredResponse) -> Bool {
    // `*` is not sent along.
    guard case .tags(let tags) = ifNoneMatch else { return true }
    return tags.allSatisfy { $0 == stored.entityTag }
  }
}
