import CXXHash

/// A reference to an entry that a table holds and counts by hand, so that a search can compare keys without taking one.
///
/// Counting is an atomic operation, and what comes after one waits for it: a hit that took its reference before it
/// compared would wait for two lines of memory, one after the other, instead of for both at once.
// Of an entry in one block it is the bits of the array, which is a single reference; of any other the bits of the object,
// plus one. Both are allocations of 16 bytes' alignment.
// Unchecked because of the pointer: what it points to is counted atomically and never changes.
struct EntryReference: @unchecked Sendable {
  /// Where an array's elements begin.
  private static let elementsOffset = 32
  /// Where it has how many they are.
  private static let countOffset = 16

  // A pointer, so that none at all takes no more room.
  private let bits: UnsafeRawPointer

  /// Takes a reference.
  init(_ entry: PackedEntry) {
    switch entry {
    case .whole(let block):
      let object = Unmanaged.passRetained(unsafeBitCast(block.bytes, to: AnyObject.self)).toOpaque()
      let elements = block.bytes.withUnsafeBytes { $0.baseAddress }
      precondition(
        elements == UnsafeRawPointer(object + Self.elementsOffset)
          && object.load(fromByteOffset: Self.countOffset, as: Int.self) == block.bytes.count,
        "an array is laid out otherwise")
      bits = UnsafeRawPointer(object)
    case .split(let entry):
      bits = UnsafeRawPointer(Unmanaged.passRetained(entry).toOpaque() + 1)
    }
  }

  @inline(__always)
  private var isWhole: Bool { UInt(bitPattern: bits) & 1 == 0 }

  @inline(__always)
  private var object: UnsafeRawPointer { isWhole ? bits : bits - 1 }

  /// The entry, with a reference of its own.
  @inline(__always)
  var entry: PackedEntry {
    if isWhole { return .whole(EntryBlock(unsafeBitCast(object, to: [UInt8].self))) }
    return .split(Unmanaged<SplitEntry>.fromOpaque(object).takeUnretainedValue())
  }

  /// The entry, with the reference that was held through this one.
  @inline(__always)
  func take() -> PackedEntry {
    if isWhole {
      return .whole(
        EntryBlock(
          unsafeBitCast(Unmanaged<AnyObject>.fromOpaque(object).takeRetainedValue(), to: [UInt8].self)))
    }
    return .split(Unmanaged<SplitEntry>.fromOpaque(object).takeRetainedValue())
  }

  /// Takes another reference.
  @inline(__always)
  func retain() {
    _ = Unmanaged<AnyObject>.fromOpaque(object).retain()
  }

  @inline(__always)
  func release() {
    Unmanaged<AnyObject>.fromOpaque(object).release()
  }

  /// What the entry occupies, in bytes: see ``PackedEntry/cost``.
  @inline(__always)
  var cost: Int {
    if isWhole {
      return PackedEntry.cost(ofWhole: object.load(fromByteOffset: Self.countOffset, as: Int.self))
    }
    return Unmanaged<SplitEntry>.fromOpaque(object)._withUnsafeGuaranteedRef { PackedEntry.split($0).cost }
  }

  /// Asks for the lines that a hit needs, so that they come at once: the count of references may lie in another than the
  /// key.
  @inline(__always)
  func prefetch() {
    store_prefetch(bits)
    store_prefetch(bits + 64)
  }

  /// Asks for the first bytes of the entry's memory, up to so many, to be written to.
  ///
  /// A copy into memory that nobody has used for long is soon made, but the next atomic operation waits until it is there:
  /// for a quarter of the time of an insert.
  @inline(__always)
  func prefetch(count: Int) {
    guard isWhole else { return }
    for offset in stride(from: 0, to: min(count, 2048), by: 64) { store_prefetch(bits + offset) }
  }

  /// Asks for what is needed to drop the entry.
  @inline(__always)
  func prefetchHeader() {
    store_prefetch(bits)
    store_prefetch(bits + Self.countOffset)
  }

  /// The head of the entry, good while the table holds it.
  @inline(__always)
  var head: EntryHead {
    if isWhole { return EntryHead(start: object + Self.elementsOffset) }
    return Unmanaged<SplitEntry>.fromOpaque(object)._withUnsafeGuaranteedRef { entry in
      entry.block.bytes.withUnsafeBytes { EntryHead($0) }
    }
  }
}
