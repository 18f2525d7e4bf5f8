// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import HTTPTypes
import NIOHPACK

/// Makes the fields of responses of HTTP/2 (RFC 9113 §8.3.2).
///
/// NIOHPACK has fields as UTF-8: other octets of a value go out as the characters of ISO 8859-1 that they are.
struct HTTP2ResponseFields {
  /// What is added to `Via`; see ``ResponseWriter/via``.
  private let via: String
  private let dates: DateCache

  init(name: String, dates: DateCache) {
    (via, self.dates) = (ResponseWriter(name: name, dates: dates).via, dates)
  }

  func fields(of head: ResponseHead) -> HPACKHeaders {
    switch head.heading {
    case .made(let response, let status): fields(of: head, response, status)
    case .stored(let stored): fields(of: stored, head.framing) ?? fields(of: head, stored.response, nil)
    }
  }

  /// An interim response has no framing, and nothing is added to it (RFC 9110 §15.2).
  func fields(ofInterim response: HTTPResponse) -> HPACKHeaders {
    var fields = Self.begin(response.status.code)
    response.headerFields.forEachEndToEnd { field in
      if FieldKind(field.name) != .contentLength { fields.add(field) }
    }
    return fields
  }

  static func fields(ofTrailers trailers: HTTPFields) -> HPACKHeaders {
    var fields = HPACKHeaders()
    for field in trailers { fields.add(field) }
    return fields
  }

  private static func begin(_ statusCode: Int) -> HPACKHeaders {
    var fields = HPACKHeaders()
    fields.reserveCapacity(16)
    fields.add(name: ":status", value: String(statusCode))
    return fields
  }

  private func fields(
    of head: ResponseHead, _ response: HTTPResponse, _ status: CacheStatus?
  ) -> HPACKHeaders {
    var fields = Self.begin(head.statusCode)
    var framed = FramedFields(framing: head.framing, statusCode: head.statusCode)
    func add(_ field: HTTPField, to fields: inout HPACKHeaders) {
      switch framed.replacement(of: FieldKind(field.name)) {
      case .none: fields.add(field)
      case .nothing: break
      case .length(let count): fields.addLength(count)
      }
    }
    if head.isStored {
      for field in response.headerFields { add(field, to: &fields) }
    } else {
      response.headerFields.forEachEndToEnd { add($0, to: &fields) }
    }
    end(&fields, framed, status)
    return fields
  }

  /// Makes the fields from the stored form of a head; `nil` if they must be made from the response.
  private func fields(of stored: StoredHeading, _ framing: ResponseFraming) -> HPACKHeaders? {
    var fields = HPACKHeaders()
    var framed = FramedFields(framing: framing, statusCode: stored.statusCode)
    var (hasAge, isReadable) = (false, true)
    func addAge(to fields: inout HPACKHeaders) {
      if hasAge { return }
      hasAge = true
      fields.add(name: "age", value: String(stored.ageInSeconds), indexing: .nonIndexable)
    }
    let isRead = stored.read { code, _ in
      fields = Self.begin(code)
    } line: { kind, name, value in
      // The current age takes the place of the stored one (RFC 9111 §5.1).
      if kind == .age { return addAge(to: &fields) }
      switch framed.replacement(of: kind) {
      case .none:
        guard let name = FieldNames.canonicalName(name) else {
          isReadable = false
          return
        }
        let text = value.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        fields.add(name: name, value: text, indexing: .of(name, kind))
      case .nothing: break
      case .length(let count): fields.addLength(count)
      }
    }
    guard isRead, isReadable else { return nil }
    addAge(to: &fields)
    end(&fields, framed, stored.cacheStatus)
    return fields
  }

  /// Adds what follows the fields of the response.
  private func end(_ fields: inout HPACKHeaders, _ framed: FramedFields, _ status: CacheStatus?) {
    if let status {
      fields.add(name: "cache-status", value: status.fieldValue, indexing: .nonIndexable)
    }
    if let length = framed.missingLength { fields.addLength(length) }
    if !framed.hasDate { fields.add(name: "date", value: dates.value) }
    fields.add(name: "via", value: via)
  }
}

extension HPACKHeaders {
  fileprivate mutating func add(_ field: HTTPField) {
    add(
      name: field.name.canonicalName, value: field.value,
      indexing: .of(field.name.canonicalName, FieldKind(field.name)))
  }

  fileprivate mutating func addLength(_ count: Int) {
    add(name: "content-length", value: String(count), indexing: .nonIndexable)
  }
}

extension HPACKIndexing {
  /// Whether other responses on the connection may refer to a field. Only fields with few values are in the table, which has
  /// room for some dozens (RFC 7541 §2.3.2): its size is the client's choice.
  fileprivate static func of(_ name: String, _ kind: FieldKind) -> HPACKIndexing {
    switch kind {
    // Secrets are in no table whose size shows whether a guess is right (RFC 7541 §7.1).
    case .setCookie: .neverIndexed
    case .cacheControl, .contentEncoding, .date, .vary: .indexable
    default: isFrequent(name) ? .indexable : .nonIndexable
    }
  }

  private static func isFrequent(_ name: String) -> Bool {
    // A comparison of names with different lengths takes less time than a hash.
    switch name {
    case "accept-ranges", "content-type", "referrer-policy", "server", "strict-transport-security",
      "x-content-type-options", "x-frame-options":
      true
    default: false
    }
  }
}
