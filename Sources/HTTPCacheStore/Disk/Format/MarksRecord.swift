// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension Record {
  /// Encodes a record of marks: their table takes the place of the metadata.
  static func encode(_ marks: Invalidations.Marks, hasher: KeyHasher) -> (RecordHeader, [UInt8]) {
    var header = RecordHeader(
      kind: .marks, variant: marks.floor, id: marks.latest, revision: marks.latest)
    var table: [UInt8] = []
    table.reserveCapacity(marks.numbers.count * 16)
    for (hash, number) in marks.numbers {
      table += DiskFormat.littleEndianBytes(hash)
      table += DiskFormat.littleEndianBytes(number)
    }
    let record = encode(&header, metadata: table[...], hasher: hasher)
    return (header, record)
  }

  /// Returns the marks of a whole record; `nil` if it is damaged.
  static func marks(_ record: [UInt8], hasher: KeyHasher) -> Invalidations.Marks? {
    guard let header = verifiedHeader(record, hasher: hasher), header.kind == .marks else { return nil }
    let words = DiskFormat.words(Array(record[header.metadataRange]))
    var marks = Invalidations.Marks(floor: header.variant)
    for index in stride(from: 0, to: words.count - words.count % 2, by: 2) {
      marks.numbers[words[index]] = words[index + 1]
    }
    return marks
  }
}
