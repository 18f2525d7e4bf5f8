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

  // A pointer, so that none at all takes no more room.
  private let bits: UnsafeRawPointer

  /// Takes a reference.
  init(_ entry: PackedEntry) {
    switch entry {
    case .whole(let block):
      let object = Unmanaged.passRetained(unsafeBitCast(block.bytes, to: AnyObject.self)).toOpaque()
      let elements = block.bytes.withUnsafeBytes { $0.baseAddress }
      precondition(
        elements == UnsafeRawPointer(object + Self.elementsOffset), "an array is laid out otherwise")
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

  /// The entry, with the table's reference.
  func take() -> PackedEntry {
    let entry = entry
    release()
    return entry
  }

  func release() {
    Unmanaged<AnyObject>.fromOpaque(object).release()
  }

  /// Asks for the lines that a hit needs, so that they come at once: the count of references may lie in another than the
  /// key.
  @inline(__always)
  func prefetch() {
    store_prefetch(bits)
    store_prefetch(bits + 64)
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
