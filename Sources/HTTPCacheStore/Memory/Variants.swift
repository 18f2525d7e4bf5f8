/// The slots of a key's variants, the one with the greatest id first.
///
/// The common ones, none and a single one, need no allocation.
struct Variants: Sequence, Sendable {
  /// `MemorySlot.none` when there is none.
  private(set) var first = MemorySlot.none
  private var others: [Int32] = []

  var isEmpty: Bool { first == MemorySlot.none }
  var count: Int { isEmpty ? 0 : 1 + others.count }
  var last: Int32 { others.last ?? first }

  mutating func append(_ index: Int32) {
    if isEmpty { first = index } else { others.append(index) }
  }

  mutating func sort(by areInOrder: (Int32, Int32) -> Bool) {
    var all = Array(self)
    all.sort(by: areInOrder)
    first = all.removeFirst()
    others = all
  }

  struct Iterator: IteratorProtocol {
    fileprivate let variants: Variants
    fileprivate var position = 0

    mutating func next() -> Int32? {
      guard position < variants.count else { return nil }
      defer { position += 1 }
      return position == 0 ? variants.first : variants.others[position - 1]
    }
  }

  func makeIterator() -> Iterator { Iterator(variants: self) }
}
