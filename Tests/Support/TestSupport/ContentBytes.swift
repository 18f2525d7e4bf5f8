// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A prime number of bytes, so that no power of two is a multiple of it.
private let period = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 9) }

/// Returns bytes that differ by place: the same for the same place. Unoptimised code copies them faster than it computes.
package func contentBytes(_ count: Int, from start: Int = 0) -> [UInt8] {
  var bytes: [UInt8] = []
  bytes.reserveCapacity(count)
  var place = start % period.count
  while bytes.count < count {
    let end = min(period.count, place + count - bytes.count)
    bytes += period[place..<end]
    place = 0
  }
  return bytes
}

/// Returns bytes that differ by number and by place, made of blocks.
package func pattern(_ number: Int, _ size: Int) -> [UInt8] {
  guard size > 0 else { return [] }
  let block = patternBlocks[number & 255]
  return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
    let bytes = UnsafeMutableRawBufferPointer(buffer)
    block.withUnsafeBytes { block in
      for start in stride(from: 0, to: size, by: 256) {
        let end = min(size, start + 256)
        let place = start / 256
        UnsafeMutableRawBufferPointer(rebasing: bytes[start..<end]).copyMemory(
          from: UnsafeRawBufferPointer(rebasing: block[..<(end - start)]))
        bytes[end - 1] = UInt8(truncatingIfNeeded: place)
        if end - start > 1 { bytes[end - 2] = UInt8(truncatingIfNeeded: place >> 8 ^ number ^ number >> 8) }
      }
    }
    count = size
  }
}

/// What patterns are made of, by the last byte of their number.
private let patternBlocks: [[UInt8]] = (0..<256).map { (number: Int) -> [UInt8] in
  (0..<256).map { (place: Int) -> UInt8 in UInt8(truncatingIfNeeded: place &* 31 ^ number &* 131) }
}
