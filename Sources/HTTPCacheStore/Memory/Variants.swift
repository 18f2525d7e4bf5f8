// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The places of a key's variants, the one with the greatest id first.
///
/// The common cases, no variant and a single one, need no allocation.
struct Variants: Sequence, Sendable {
  /// -1 if there is none.
  private(set) var first = -1
  // Optional, because the references to an empty array are counted like those to any other.
  private var others: [Int]?

  var isEmpty: Bool { first < 0 }
  var count: Int { isEmpty ? 0 : 1 + (others?.count ?? 0) }
  var last: Int { others?.last ?? first }

  mutating func append(_ index: Int) {
    guard !isEmpty else {
      first = index
      return
    }
    if others == nil { others = [] }
    others?.append(index)
  }

  mutating func sort(by areInOrder: (Int, Int) -> Bool) {
    var all = Array(self)
    all.sort(by: areInOrder)
    first = all.removeFirst()
    others = all
  }

  struct Iterator: IteratorProtocol {
    fileprivate let variants: Variants
    fileprivate var position = 0

    mutating func next() -> Int? {
      guard position < variants.count else { return nil }
      defer { position += 1 }
      return position == 0 ? variants.first : variants.others?[position - 1]
    }
  }

  func makeIterator() -> Iterator { Iterator(variants: self) }
}
