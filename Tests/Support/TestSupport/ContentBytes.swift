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
