extension ArraySlice<UInt8> {
  /// A slice of bytes that an object owns and never changes, without a copy.
  ///
  /// The standard library makes such slices itself, of Objective-C's arrays, and copies them before they are changed. It
  /// has no public way to make one, so this one is put together from the four words that a slice is. Should a library
  /// have other ones, the bytes are copied.
  ///
  /// - Parameters:
  ///   - owner: keeps the bytes where they are as long as it lives.
  ///   - start: the first of the bytes.
  ///   - count: how many they are.
  /// - Complexity: O(1), and one reference to the owner.
  init(of owner: AnyObject, at start: UnsafeRawPointer, count: Int) {
    guard SliceWords.areKnown else {
      self = withExtendedLifetime(owner) { Array(UnsafeRawBufferPointer(start: start, count: count))[...] }
      return
    }
    self = unsafeBitCast(
      SliceWords(owner: owner, base: start, startIndex: 0, endIndexAndFlag: UInt(count) << 1),
      to: ArraySlice<UInt8>.self)
  }
}

/// What a slice consists of (`_SliceBuffer` in the standard library).
private struct SliceWords {
  let owner: AnyObject
  /// Where the element 0 is, or would be.
  let base: UnsafeRawPointer
  let startIndex: Int
  /// The lowest bit says that the owner is an array's storage, which may be changed where it is if nobody else has it.
  let endIndexAndFlag: UInt

  /// Whether a slice of this library is laid out so, as one shows that is made in the usual way.
  static let areKnown: Bool = {
    guard
      MemoryLayout<SliceWords>.size == MemoryLayout<ArraySlice<UInt8>>.size,
      MemoryLayout<SliceWords>.alignment == MemoryLayout<ArraySlice<UInt8>>.alignment
    else { return false }
    let array = [UInt8](0..<9)
    let slice = array[2..<7]
    let first = array.withUnsafeBytes { $0.baseAddress }
    // As words first: only what is an object may be taken for one.
    let words = withUnsafeBytes(of: slice) { $0.load(as: (UInt, UInt, Int, UInt).self) }
    let storage = UInt(bitPattern: unsafeBitCast(array, to: UnsafeRawPointer.self))
    return words.0 == storage && words.1 == UInt(bitPattern: first) && words.2 == 2 && words.3 == 7 << 1 | 1
  }()
}
