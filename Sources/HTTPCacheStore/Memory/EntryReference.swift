import CStorePrimitives

/// A reference to an entry that a table holds and counts by hand, so that a search can compare keys without taking one.
///
/// Counting is an atomic operation, and what comes after one waits for it: a hit that took its reference before it
/// compared would wait for two lines of memory, one after the other, instead of for both at once.
// The bits of the object that holds the entry, and in the lowest of them what it is: allocations are of 16 bytes'
// alignment.
// Unchecked because of the pointer: what it points to is counted atomically and never changes.
struct EntryReference: @unchecked Sendable {
  private enum Kind {
    static let mask: UInt = 3
    static let split = 1
    static let record = 2
  }

  /// Where an array's elements begin: behind the words of an object, their count and the capacity.
  private static var elementsOffset: Int { 4 * MemoryLayout<Int>.size }

  // A pointer, so that none at all takes no more room.
  private let bits: UnsafeRawPointer

  /// Takes a reference.
  init(_ entry: PackedEntry) {
    switch entry {
    case .whole(let block):
      bits = UnsafeRawPointer(Unmanaged.passRetained(block.object).toOpaque())
    case .record(let record):
      let object = Unmanaged.passRetained(unsafeBitCast(record.bytes, to: AnyObject.self)).toOpaque()
      let elements = record.bytes.withUnsafeBytes { $0.baseAddress }
      precondition(
        elements == UnsafeRawPointer(object + Self.elementsOffset), "an array is laid out otherwise")
      bits = UnsafeRawPointer(object + Kind.record)
    case .split(let entry):
      bits = UnsafeRawPointer(Unmanaged.passRetained(entry).toOpaque() + Kind.split)
    }
  }

  @inline(__always)
  private var isWhole: Bool { UInt(bitPattern: bits) & Kind.mask == 0 }

  @inline(__always)
  private var isSplit: Bool { UInt(bitPattern: bits) & Kind.mask == UInt(Kind.split) }

  @inline(__always)
  private var object: UnsafeRawPointer { bits - Int(UInt(bitPattern: bits) & Kind.mask) }

  /// The entry, with a reference of its own.
  var entry: PackedEntry {
    retain()
    return take()
  }

  /// The entry, with the reference that was held through this one.
  @inline(__always)
  func take() -> PackedEntry {
    if isWhole {
      return .whole(EntryBlock(Unmanaged<EntryBlock.Object>.fromOpaque(bits).takeRetainedValue()))
    }
    if isSplit { return .split(Unmanaged<SplitEntry>.fromOpaque(object).takeRetainedValue()) }
    let array = Unmanaged<AnyObject>.fromOpaque(object).takeRetainedValue()
    return .record(EntryRecord(unsafeBitCast(array, to: [UInt8].self)))
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
  var cost: Int { isWhole ? PackedEntry.cost(ofWhole: head.count) : entry.cost }

  /// Asks for the lines that a hit needs, so that they come at once: those from the count of references to the end of a key
  /// of so many bytes. With one of 64 these are two or three, as entries begin anywhere in a line; the third is 8 % of a hit.
  @inline(__always)
  func prefetch(keyCount: Int) {
    store_prefetch(bits)
    store_prefetch(bits + 64)
    store_prefetch(bits + (EntryBlock.Object.headOffset &+ EntryHead.narrowSize &+ keyCount &- 1))
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
    // The last of the words that say what it occupies, which may lie in another line.
    store_prefetch(bits + EntryBlock.Object.headOffset + 8)
  }

  /// The head of the entry, good while the table holds it.
  @inline(__always)
  var head: EntryHead {
    if isWhole { return EntryHead(start: bits + EntryBlock.Object.headOffset) }
    if isSplit {
      return Unmanaged<SplitEntry>.fromOpaque(object)._withUnsafeGuaranteedRef { $0.block.unsafeHead }
    }
    return EntryHead(start: object + Self.elementsOffset)
  }
}
