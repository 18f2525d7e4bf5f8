// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Converts responses to the stored form and back: see ``StoredForm``.
extension StoredResponse {
  /// Returns the bytes to store.
  ///
  /// - Complexity: O(*n*) in their number, normally with one allocation.
  public func encoded() -> [UInt8] { ByteWriter.bytes { write(to: &$0) } }

  /// Returns when the response in a stored form arrived; `nil` for any other bytes.
  package static func responseTime(in bytes: RawSpan) -> Timestamp? { StoredFront(bytes)?.facts.responseTime }

  private func write(to writer: inout ByteWriter) {
    var special: StoredForm.Special = []
    if parts != nil { special.insert(.inParts) }
    if selecting.isUnmatchable { special.insert(.unmatchable) }
    if !tags.isEmpty { special.insert(.tagged) }
    writer.write(StoredForm.version)
    writer.write(facts.lifetime.source.rawValue)
    writer.write(facts.flags.rawValue)
    writer.write(UInt16(status.code))
    writer.write(special.rawValue)
    writer.write(facts.lifetime.milliseconds)
    writer.write(facts.initialAge)
    writer.write(facts.responseTime.milliseconds)
    writer.write(facts.date.milliseconds)
    writer.write(UInt32(facts.staleWhileRevalidate.seconds))
    writer.write(UInt32(facts.staleIfError.seconds))
    writer.write(UInt32(selecting.count))
    selecting.forEach { Self.write($0, to: &writer) }
    writer.write(status.reasonPhrase)
    writer.write(UInt32(kept.count))
    kept.write(to: &writer)
    if let parts { Self.write(parts, to: &writer) }
    if facts.flags.contains(.hasGroups) {
      writer.write(UInt32(groups.count))
      for group in groups { writer.write(group) }
    }
    if !tags.isEmpty { writer.write(ByteWriter.bytes { tags.write(to: &$0) }) }
  }

  private static func write(_ field: SelectingFields.Field, to writer: inout ByteWriter) {
    func write(_ kind: StoredForm.SelectingKind, _ kept: Octets) {
      // Longer names do not occur in messages, and could not be read again. An empty name cannot be read either.
      let name = field.name.utf8.count <= StoredForm.longestSelectingName ? field.name : ""
      writer.write(UInt32(name.utf8.count) | UInt32(kind.rawValue) << 24)
      writer.write(UInt32(truncatingIfNeeded: kept.count))
      writer.append(name)
      writer.append(kept)
    }
    if field.isDigest { return write(.digest, field.value ?? "") }
    switch (field.line, field.value) {
    case (_, nil): write(.absent, "")
    case (nil, let value?): write(.lines, value)
    case (let line?, let value?) where line == value: write(.line, line)
    case (let line?, let value?):
      write(.lineAndValue, line)
      writer.write(value)
    }
  }

  private static func write(_ parts: StoredParts, to writer: inout ByteWriter) {
    writer.write(UInt32(parts.ranges.count))
    for range in parts.ranges {
      writer.write(range.lowerBound)
      writer.write(range.upperBound)
    }
    writer.write(parts.completeLength ?? -1)
    writer.write(UInt8(parts.isCombinable ? 1 : 0))
  }

  /// Reads the bytes from ``encoded()``; `nil` for any other bytes.
  ///
  /// - Parameters:
  ///   - bytes: the stored form.
  ///   - contentLength: the length of the stored content in bytes. It is not among the bytes, and ranges are cut from it.
  public init?(decoding bytes: ArraySlice<UInt8>, contentLength: Int64) {
    self.init(decoding: bytes)
    self.contentLength = contentLength
  }

  /// Reads the bytes from ``encoded()`` without copying them first; see ``init(decoding:contentLength:)-(ArraySlice<UInt8>,_)``.
  public init?(decoding bytes: RawSpan, contentLength: Int64) {
    self.init(decoding: bytes)
    self.contentLength = contentLength
  }

  /// Reads the bytes without the length of the content.
  package init?(decoding bytes: ArraySlice<UInt8>) {
    guard let decoded = bytes.withBytes({ StoredResponse(decoding: $0) }) else { return nil }
    self = decoded
  }

  /// The first bytes that no stored form begins with, in this version or a later one. A store marks records that are
  /// not responses by one of these.
  package static let reservedFirstBytes: ClosedRange<UInt8> = 0xF0...0xFF

  /// Whether ``init(decoding:)`` would read these bytes, without making the response.
  ///
  /// - Complexity: O(*n*) in the number of fields, without allocation if the content is complete.
  package static func canDecode(_ bytes: RawSpan) -> Bool {
    guard let layout = StoredLayout(bytes) else { return false }
    return layout.tags.map { ResponseTags.canDecode(bytes.extracting($0.start..<$0.end)) } ?? true
  }

  /// Reads the bytes without copying them first, and without the length of the content.
  package init?(decoding bytes: RawSpan) {
    guard let layout = StoredLayout(bytes) else { return nil }
    self.init(bytes, layout)
  }

  private init?(_ bytes: RawSpan, _ layout: StoredLayout) {
    guard let front = StoredFront(bytes) else { return nil }
    var tags = ResponseTags()
    if let range = layout.tags {
      guard let read = ResponseTags(decoding: bytes.extracting(range.start..<range.end)) else { return nil }
      tags = read
    }
    var reader = StoredFormReader(position: StoredForm.frontCount)
    let isUnmatchable = front.special.contains(.unmatchable)
    let selecting: SelectingFields
    if front.selectingCount == 1 {
      // Normally: without an array.
      guard let field = SelectingFields.Field(&reader, bytes) else { return nil }
      selecting = SelectingFields(fields: CollectionOfOne(field), isUnmatchable: isUnmatchable)
    } else {
      var fields: [SelectingFields.Field] = []
      for _ in 0..<front.selectingCount {
        guard let field = SelectingFields.Field(&reader, bytes) else { return nil }
        fields.append(field)
      }
      selecting = SelectingFields(fields: fields, isUnmatchable: isUnmatchable)
    }
    self.init(
      status: .init(code: front.status, reasonPhrase: bytes.string(layout.phrase)),
      kept: KeptFields(StoredLines(count: layout.fieldCount, bytes: bytes.array(layout.fields))),
      selecting: selecting, facts: front.facts,
      groups: layout.groups.isEmpty ? [] : layout.groups.map { bytes.string($0) }, tags: tags)
    parts = layout.parts
  }
}

extension ByteWriter {
  /// Writes one field.
  @inline(__always)
  mutating func writeField(at position: Int, of fields: HTTPFields) {
    let number = FieldNameTable.number(of: fields[position].name)
    write(number)
    if number == 0 { write(fields[position].name.rawName) }
    // Normally the text is available. A value that is not UTF-8 is not ASCII as a text either, and is stored unchanged.
    if !write(ascii: fields[position].value) { writeValue(of: fields[position]) }
  }
}

extension SelectingFields.Field {
  fileprivate init?(_ reader: inout StoredFormReader, _ bytes: RawSpan) {
    guard let field = reader.selecting(bytes) else { return nil }
    let line = field.line.map { bytes.octets($0) }
    self.init(
      name: bytes.string(field.name),
      value: field.kind == .line ? line : field.value.map { bytes.octets($0) },
      line: line, isDigest: field.kind == .digest)
  }
}

extension HTTPFields {
  /// - Parameters:
  ///   - reader: positioned at the first field of bytes that can be decoded.
  ///   - count: the number of stored fields.
  ///   - age: replaces the stored `Age`; `nil` leaves it.
  ///   - added: fields to append after all others.
  init?(
    _ reader: inout StoredFormReader, _ bytes: RawSpan, count: Int, age: HTTPField? = nil,
    adding added: [HTTPField] = []
  ) {
    self.init()
    reserveCapacity(count + added.count + (age == nil ? 0 : 1))
    var age = age
    let replacesAge = age != nil
    for _ in 0..<count {
      guard let line = reader.line(bytes), let field = bytes.field(line) else { return nil }
      if replacesAge, FieldKind(field.name) == .age {
        // The first takes its place; there are no others.
        if let own = age.take() { append(own) }
      } else {
        append(field)
      }
    }
    if let age { append(age) }
    for field in added { append(field) }
  }
}

extension HTTPResponse {
  /// Makes the head of a stored response that answers without a revalidation and as a whole. The result is the same as
  /// from `StoredResponse.response(age:)`, but comes directly from the bytes.
  ///
  /// - Parameters:
  ///   - stored: the bytes from ``StoredResponse/encoded()``; `nil` is returned for any other.
  ///   - age: `Age` in whole seconds.
  ///   - isNotModified: whether the head is that of a 304 response.
  ///   - added: fields to append after all others.
  package init?(
    stored: RawSpan, ageInSeconds: Int64, isNotModified: Bool = false, adding added: [HTTPField] = []
  ) {
    if isNotModified {
      guard let response = StoredResponse(decoding: stored) else { return nil }
      self = response.notModifiedResponse(ageInSeconds: ageInSeconds)
      for field in added { headerFields.append(field) }
      return
    }
    guard let layout = StoredLayout(stored), let front = StoredFront(stored) else { return nil }
    var reader = StoredFormReader(position: layout.fields.start)
    guard
      let fields = HTTPFields(
        &reader, stored, count: layout.fieldCount, age: HTTPField(name: .age, value: String(ageInSeconds)),
        adding: added)
    else { return nil }
    self.init(
      status: Status(code: front.status, reasonPhrase: stored.string(layout.phrase)), headerFields: fields)
  }
}

extension StoredResponse {
  /// The status code of a response in its stored form; `nil` for any other bytes.
  package static func statusCode(of stored: RawSpan) -> Int? { StoredFront(stored)?.status }

  /// Reads the head of a response in its stored form, without making fields of it: what is only written on to a
  /// connection took 37,600 of the 100,000 instructions of a hit in the proxy as fields.
  ///
  /// - Parameters:
  ///   - isNotModified: whether the head is that of ``notModifiedResponse(ageInSeconds:)``.
  ///   - status: gets the status code and the reason phrase, before all lines.
  ///   - line: gets the kind, the name and the value of each field, in their order.
  /// - Returns: `false` if the bytes are not a stored form, or a value has characters other than printable ASCII,
  ///   which `HTTPField` may not leave as they are. Some of the lines may have been read by then.
  package static func readHead(
    _ stored: RawSpan, isNotModified: Bool, status: (Int, RawSpan) -> Void,
    line: (FieldKind, RawSpan, RawSpan) -> Void
  ) -> Bool {
    guard let front = StoredFront(stored), var reader = StoredFormReader(afterSelectingOf: stored, front),
      let phrase = reader.text(stored), stored.isPrintableASCII(phrase), let count = reader.count(stored)
    else { return false }
    if isNotModified {
      let response = HTTPResponse.Status.notModified
      response.reasonPhrase.withFieldBytes { status(response.code, $0.bytes) }
    } else {
      status(front.status, stored.extracting(phrase.start..<phrase.end))
    }
    for _ in 0..<count {
      guard let read = reader.line(stored), stored.isPrintableASCII(read.value) else { return false }
      let value = stored.extracting(read.value.start..<read.value.end)
      if read.number == 0 {
        let (kind, isInNotModified) = stored.nameFacts(read.name)
        if isInNotModified || !isNotModified {
          line(kind, stored.extracting(read.name.start..<read.name.end), value)
        }
      } else {
        FieldNameTable.withName(numbered: read.number) { kind, isInNotModified, name in
          if isInNotModified || !isNotModified { line(kind, name, value) }
        }
      }
    }
    return true
  }

  /// Whether a condition is a single plain entity tag, and the same text as the one of a response in its stored form.
  static func isTagged(_ condition: HTTPField, _ stored: RawSpan) -> Bool {
    condition.withOctets { condition in
      let isWeak =
        condition.count > 2 && condition[0] == UInt8(ascii: "W") && condition[1] == UInt8(ascii: "/")
      guard (isWeak ? condition.extracting(2...) : condition).isPlainQuoted, let front = StoredFront(stored),
        var reader = StoredFormReader(afterSelectingOf: stored, front), reader.text(stored) != nil,
        let count = reader.count(stored)
      else { return false }
      for _ in 0..<count {
        guard let line = reader.line(stored) else { return false }
        let kind =
          line.number == 0 ? stored.nameFacts(line.name).kind : FieldNameTable.kind(numbered: line.number)
        // The first line counts.
        if kind == .entityTag {
          return stored.extracting(line.value.start..<line.value.end).isSame(as: condition.bytes)
        }
      }
      return false
    }
  }
}

/// What follows the selecting fields of a stored form. It exists only for bytes that are entirely a stored form, but for
/// the tags: a hit does not look into them.
private struct StoredLayout {
  let phrase: ByteRange
  let fieldCount: Int
  let fields: ByteRange
  let parts: StoredParts?
  let groups: [ByteRange]
  let tags: ByteRange?

  init?(_ bytes: RawSpan) {
    guard let front = StoredFront(bytes), var reader = StoredFormReader(afterSelectingOf: bytes, front),
      let phrase = reader.text(bytes),
      let fieldCount = reader.count(bytes), fieldCount <= StoredForm.mostFields,
      let fields = reader.lines(fieldCount, bytes)
    else { return nil }
    var parts: StoredParts?
    if front.special.contains(.inParts) {
      parts = Self.parts(&reader, bytes)
      if parts == nil { return nil }
    }
    var groups: [ByteRange] = []
    if front.facts.flags.contains(.hasGroups) {
      guard let count = reader.count(bytes) else { return nil }
      // Reserves nothing for the count: it may be any number, and the bytes run out first.
      for _ in 0..<count {
        guard let group = reader.text(bytes) else { return nil }
        groups.append(group)
      }
    }
    var tags: ByteRange?
    if front.special.contains(.tagged) {
      tags = reader.text(bytes)
      if tags == nil { return nil }
    }
    guard reader.position == bytes.byteCount else { return nil }
    (self.phrase, self.fieldCount, self.fields) = (phrase, fieldCount, fields)
    (self.parts, self.groups, self.tags) = (parts, groups, tags)
  }

  private static func parts(_ reader: inout StoredFormReader, _ bytes: RawSpan) -> StoredParts? {
    guard let count = reader.count(bytes), count <= StoredParts.limit else { return nil }
    var ranges: [Range<Int64>] = []
    for _ in 0..<count {
      guard let start = reader.number(bytes), let end = reader.number(bytes), start < end else { return nil }
      ranges.append(start..<end)
    }
    guard let length = reader.number(bytes), let isCombinable = reader.byte(bytes) else { return nil }
    return StoredParts(
      ranges: ranges, completeLength: length < 0 ? nil : length, isCombinable: isCombinable != 0)
  }
}
