#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// An entry in an object of its own: its ``EntryHead``, key and metadata, and the body where that is small.
///
/// It never changes, so a hit takes a single reference. An array in its place would take 16 bytes more for each entry, and
/// 300 instructions more for an insert; what it is paid with is that its bytes cannot be handed out as `ArraySlice`
/// without a copy (a slice of anything but an array ends the process when who alone has it changes it). So large bodies
/// stay arrays (``SplitEntry``, ``EntryRecord``), and small ones are shown where they lie or copied.
// Unchecked because the object is a buffer that anybody could write to: it is filled before it is seen, and never after.
struct EntryBlock: @unchecked Sendable {
  final class Object: ManagedBuffer<Object.Words, UInt8> {
    /// As much of the head as is always there.
    struct Words {
      var words: (UInt64, UInt64, UInt64) = (0, 0, 0)
    }

    /// Where the head begins: behind the two words that every object has.
    @inline(__always)
    static var headOffset: Int { 2 * MemoryLayout<UnsafeRawPointer>.size }

    @inline(__always)
    fileprivate static func make(count: Int) -> Object {
      let object = create(minimumCapacity: max(0, count &- EntryHead.narrowSize)) { _ in Words() }
      return unsafeDowncast(object, to: Object.self)
    }
  }

  let object: Object

  @inline(__always)
  init(_ object: Object) {
    self.object = object
  }

  init(
    id: UInt64, revision: UInt64, variant: UInt64, storedAt: Int64, key: UnsafeRawBufferPointer,
    metadata: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer
  ) {
    let fields = EntryHead.Fields(
      id: id, revision: revision, variant: variant, storedAt: storedAt, keyCount: key.count,
      metadataCount: metadata.count, bodyCount: body.count)
    let keyStart = fields.headCount
    let metadataStart = keyStart + key.count
    let bodyStart = metadataStart + metadata.count
    object = Object.make(count: bodyStart + body.count)
    let target = UnsafeMutableRawPointer(mutating: Self.start(of: object))
    fields.write(to: target)
    if let bytes = key.baseAddress { memcpy(target + keyStart, bytes, key.count) }
    if let bytes = metadata.baseAddress { memcpy(target + metadataStart, bytes, metadata.count) }
    if let bytes = body.baseAddress { memcpy(target + bodyStart, bytes, body.count) }
  }

  @inline(__always)
  private static func start(of object: Object) -> UnsafeRawPointer {
    UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque()) + Object.headOffset
  }

  /// The head where it lies: good as long as the block lives, whose one allocation stays where it is.
  ///
  /// By a closure that is given it, the unknown work in it would make the compiler take a reference of its own, which costs
  /// more on every hit than finding the bytes.
  @inline(__always)
  var unsafeHead: EntryHead { EntryHead(start: Self.start(of: object)) }

  @inline(__always)
  func withHead<Result>(_ read: (EntryHead) -> Result) -> Result {
    withExtendedLifetime(object) { read(unsafeHead) }
  }

  var bodyCount: Int { withHead { $0.bodyCount } }

  /// From the head to the end of the body.
  var count: Int { withHead { $0.count } }
}
