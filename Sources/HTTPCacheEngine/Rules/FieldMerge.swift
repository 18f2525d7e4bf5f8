// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Updates the fields of a stored response with those of a newer response, line by line (RFC 9111 §3.2).
///
/// The first new line of a name takes the place of the stored lines of that name, and further lines follow at the end.
/// The lines that stay are copied as bytes: normally most of them, because a 304 repeats what was stored.
struct FieldMerge {
  /// All lines.
  private(set) var lines: StoredLines
  /// The update, followed by the other lines that rules may use.
  private(set) var ruling: HTTPFields

  /// The mark of a line of the update that is done, besides the number of its name, which is smaller.
  private static let done: UInt8 = 0x80
  /// Stands for the number of a name whose stored lines stay.
  private static let staying: UInt8 = 0x7F

  init(_ update: HTTPFields, into stored: StoredLines, _ configuration: CacheEngine.Configuration) {
    ruling = update
    var (count, ruled) = (0, HTTPFields())
    let bytes = ByteWriter.bytes(expecting: stored.bytes.count + 128) { writer in
      // Again from the start, if the bytes did not fit.
      (count, ruled) = (0, HTTPFields())
      var (names, hasAge) = ([UInt8](), false)
      names.reserveCapacity(update.count)
      for position in update.indices {
        let number = FieldNameTable.number(ofLowercase: update[position].name.canonicalName)
        let kind =
          number != 0
          ? FieldNameTable.outline(numbered: number).kind : FieldKind(update[position].name.canonicalName)
        if kind == .age { hasAge = true }
        names.append(kind.staysInUpdate ? Self.staying : number)
      }
      let span = stored.bytes.span
      var reader = StoredFormReader(position: 0)
      // The start of the lines that stay and are still to be copied.
      var start = 0
      for _ in 0..<stored.count {
        let end = reader.position
        guard let line = reader.line(span.bytes) else { break }
        let outline = line.outline(span)
        let place = outline.kind.staysInUpdate ? nil : Self.place(of: line, span, update, names)
        // The Age of the stored response does not apply to the validated one.
        if outline.kind.isOfConnection || outline.kind == .age && !hasAge
          || place.map({ names[$0] & Self.done != 0 }) ?? false
        {
          writer.append(span.extracting(start..<end))
          start = reader.position
          continue
        }
        count += 1
        if let place {
          names[place] |= Self.done
          let value = span.extracting(line.value.start..<line.value.end)
          if Octets.isSameASCII(valueAt: place, of: update, as: value) { continue }
          writer.append(span.extracting(start..<end))
          writer.writeField(at: place, of: update)
          start = reader.position
        } else if outline.kind != .other && !outline.kind.staysInUpdate
          || configuration.targetNames.mayContain(outline) || configuration.withheldNames.mayContain(outline)
          || configuration.tagNames.mayContain(outline),
          let field = span.bytes.field(line)
        {
          ruled.append(field)
        }
      }
      writer.append(span.extracting(start..<reader.position))
      for position in names.indices where names[position] < Self.staying {
        writer.writeField(at: position, of: update)
        count += 1
      }
    }
    lines = StoredLines(count: count, bytes: bytes)
    if !ruled.isEmpty { ruling += ruled }
  }

  /// Returns the position of the update's first line with the name of a stored line.
  private static func place(
    of line: StoredLine, _ bytes: Span<UInt8>, _ update: HTTPFields, _ names: [UInt8]
  ) -> Int? {
    let number = line.number == 0 ? 0 : FieldNameTable.lowercase(line.number)
    for position in names.indices where names[position] & staying != staying {
      let other = names[position] & ~done
      if number == 0 ? line.isNamed(update[position].name, other, bytes) : other == number { return position }
    }
    return nil
  }
}
