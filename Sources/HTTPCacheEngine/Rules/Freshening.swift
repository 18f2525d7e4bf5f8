// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Bringing stored responses up to date with what the origin says of them (RFC 9111 §3.2, §4.3.4, §4.3.5).
enum Freshening {
  /// The candidates that a 304 response identifies, among those that could have been chosen (§4.3.4).
  ///
  /// - Parameters:
  ///   - initial: positions of those that could have been chosen, the most recent first.
  ///   - nominated: positions of those that the request's preconditions named.
  ///   - client: what the client asked, whose conditions may have been sent along.
  static func identified(
    by response: ResponseFields, among initial: [Int], nominated: [Int], candidates: [StoredResponse],
    client: RequestFields
  ) -> [Int] {
    if let tag = response.entityTag {
      if !tag.isWeak {
        return initial.filter { candidates[$0].entityTag?.matchesStrongly(tag) == true }
      }
      return initial.first { candidates[$0].entityTag?.matchesWeakly(tag) == true }.map { [$0] } ?? []
    }
    if let modified = response.lastModified.date {
      // A modification date is a weak validator unless proven otherwise (RFC 9110 §8.8.2.2).
      return initial.first { candidates[$0].modification?.date == modified }.map { [$0] } ?? []
    }
    // No validator in the 304. To the letter it identifies only a lone response without validators; but origins
    // leave them out, and an answer to a condition that named one response of ours can mean no other.
    if nominated.count == 1, client.addsNoTag(to: candidates[nominated[0]]) {
      return initial.filter(nominated.contains)
    }
    guard nominated.isEmpty, initial.count == 1, isUnchanged(candidates[initial[0]], since: client) else {
      return []
    }
    return initial
  }

  /// Whether a 304 without validators, to the client's own condition, says something of a stored response that has
  /// none either: it does if that was made after the date from which on the origin knows of no change.
  private static func isUnchanged(_ stored: StoredResponse, since client: RequestFields) -> Bool {
    guard !stored.facts.flags.contains(.hasValidator), client.ifNoneMatch == nil,
      let since = client.ifModifiedSince
    else { return false }
    return since <= HTTPDate(stored.facts.date)
  }

  /// The fields that say how the stored bytes are to be read, or that hold for these very bytes: their length and position,
  /// their coding, media type and language, and their digests.
  ///
  /// An update brings no bytes, so these stay as they were stored. The origin may have chosen another representation with
  /// the same weak validator: with that one's coding or type, the stored bytes are damaged, or are read as a script.
  /// §3.2 excepts Content-Length, and allows caches to leave out "fields necessary to ensure integrity of the stored
  /// response". Content-Location stays an update: it names the representation, and changes the meaning of no byte.
  private static let describingContent = [
    "content-length", "content-range", "content-encoding", "content-type", "content-language", "content-md5",
    "content-digest", "repr-digest", "digest",
  ]

  /// The fields of a response that update a stored one (§3.2).
  static func update(
    from head: HTTPResponse, _ configuration: CacheEngine.Configuration
  ) -> HTTPFields {
    ConnectionFields.removed(
      from: head.headerFields, excluding: describingContent, targets: configuration.targets)
  }

  /// The stored response with its fields updated (§3.2).
  ///
  /// - Parameters:
  ///   - request: the fields of the request that was answered with `head`: where the update changes what the
  ///     response varies on, it is these that select it from now on. Where it does not, the response stays that of the
  ///     request it was stored for, though another may have been answered with it (see ``LanguageNegotiation``).
  ///   - isReselected: whether the request's fields select the response in any case.
  static func updated(
    _ stored: StoredResponse, with head: HTTPResponse, request: HTTPFields, isReselected: Bool = false,
    requestTime: Timestamp, responseTime: Timestamp, configuration: CacheEngine.Configuration
  ) -> StoredResponse {
    let update = withDate(Self.update(from: head, configuration), at: responseTime)
    let updatedNames = Set(update.map(\.name.canonicalName))
    var fields = HTTPFields()
    fields.reserveCapacity(stored.kept.count + update.count)
    stored.kept.forEach { field in
      let name = field.name.canonicalName
      // An Age that came with the stored response says nothing of the validated one.
      if name != "age", !updatedNames.contains(name) { fields.append(field) }
    }
    for field in update { fields.append(field) }
    let vary = VaryField(parsing: fields[values: .vary])
    let selecting =
      stored.selecting.vary == vary && !isReselected
      ? stored.selecting : .nominated(by: vary, in: request, withholding: configuration.withheldNames)
    var updated = make(
      status: stored.status, fields: fields,
      ResponseFields.of(
        fields, now: responseTime, targets: configuration.targetNames, withheld: configuration.withheldNames),
      selecting: selecting,
      isDelimited: stored.facts.flags.contains(.isDelimited), requestTime: requestTime,
      responseTime: responseTime, configuration: configuration)
    updated.contentLength = stored.contentLength
    updated.parts = stored.parts
    return updated
  }

  /// A stored response from the fields of a response just received.
  ///
  /// - Parameters:
  ///   - parsed: of these very fields.
  ///   - isDelimited: what is known of the content beside them.
  static func make(
    status: HTTPResponse.Status, fields: HTTPFields, _ parsed: ResponseFields, selecting: SelectingFields,
    isDelimited: Bool = false, requestTime: Timestamp, responseTime: Timestamp,
    configuration: CacheEngine.Configuration
  ) -> StoredResponse {
    let kept = kept(of: fields, parsed, responseTime: responseTime, configuration)
    // Made in one piece: to change it would take a copy of it.
    return StoredResponse(
      status: status, kept: kept, selecting: selecting,
      facts: .of(
        status: status.code, response: parsed,
        // What is kept out of the store validates nothing.
        hasValidator: parsed.isStoredAsIs ? parsed.hasValidator : kept.hasValidator(at: responseTime),
        isDelimited: isDelimited, requestTime: requestTime, responseTime: responseTime,
        configuration: configuration),
      groups: parsed.groups)
  }

  /// What is stored of these fields (§3.1).
  private static func kept(
    of fields: HTTPFields, _ parsed: ResponseFields, responseTime: Timestamp,
    _ configuration: CacheEngine.Configuration
  ) -> KeptFields {
    // The named fields are kept out of the store; the rest may be reused without them.
    let isShared = configuration.kind == .shared
    if !parsed.namesOthers, parsed.omitted.isExact, parsed.cacheControl.noCacheFields.isEmpty,
      !isShared || parsed.cacheControl.privateFields.isEmpty
    {
      let kept = KeptFields(fields, without: parsed.omitted)
      if parsed.date != .absent, !parsed.hasWithheld { return kept }
      return KeptFields(withDate(kept.fields, at: responseTime))
    }
    let withheld =
      parsed.cacheControl.noCacheFields + (isShared ? parsed.cacheControl.privateFields : [])
      + configuration.withheldNames.names
    let kept = ConnectionFields.removed(
      from: fields, excluding: withheld, namesOthers: parsed.namesOthers, targets: configuration.targets)
    return KeptFields(withDate(kept, at: responseTime))
  }

  /// A recipient with a clock adds the time of receipt where Date is missing (RFC 9110 §6.6.1).
  private static func withDate(_ fields: HTTPFields, at time: Timestamp) -> HTTPFields {
    guard fields[.date] == nil else { return fields }
    var fields = fields
    fields[.date] = HTTPDate(time).fieldValue
    return fields
  }

  /// Whether a HEAD response describes the same representation as a stored GET response (§4.3.5).
  static func headMatches(_ head: ResponseFields, _ stored: StoredResponse) -> Bool {
    if let tag = head.entityTag, stored.entityTag != tag { return false }
    if let modified = head.lastModified.date, stored.modification?.date != modified { return false }
    guard let length = head.contentLength,
      let storedLength = stored.value(of: .contentLength).flatMap({ Int64($0) }) ?? stored.completeLength
    else { return true }
    return length == storedLength
  }
}

extension RequestFields {
  /// Whether no entity tag of the client's goes to the origin beside those of this response (§4.3.2): a browser most often
  /// has the very one that is stored here.
  fileprivate func addsNoTag(to stored: StoredResponse) -> Bool {
    // `*` does not go along.
    guard case .tags(let tags) = ifNoneMatch else { return true }
    return tags.allSatisfy { $0 == stored.entityTag }
  }
}
