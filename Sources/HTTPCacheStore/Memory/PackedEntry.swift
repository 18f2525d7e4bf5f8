/// The bytes of an entry in memory: key, metadata and, where it is small, the body, in one allocation.
///
/// A record read from disk is one as it stands: its header before the key and its padding behind the body stay unused,
/// and are accounted for.
struct PackedEntry: Sendable {
  /// Bodies up to this size are copied in beside the head. Larger ones keep the allocation they came in: copying 1 KiB
  /// into fresh memory was a quarter of an insert.
  static let packedBodyLimit = 512

  /// What an entry occupies beside its allocations: its slot, and two table places (the table is filled by half on
  /// average).
  static let indexOverhead = MemoryLayout<MemorySlot>.stride + 2 * MemoryLayout<UInt64>.stride

  private(set) var head: [UInt8]
  /// `nil` where the body is in `head`: no reference to count at every copy.
  private var separateBody: [UInt8]?
  private var keyOffset: Int32
  private var keyCount: Int32
  private var metadataCount: Int32
  /// The length of the body when it is in `head`, -1 when it is separate.
  private var packedBodyCount: Int32

  /// What a free slot holds.
  static let empty = PackedEntry(record: [], keyOffset: 0, keyCount: 0, metadataCount: 0, bodyCount: 0)

  /// Uses a record as it stands: key, metadata and body one after the other from `keyOffset`.
  init(record: [UInt8], keyOffset: Int, keyCount: Int, metadataCount: Int, bodyCount: Int) {
    head = record
    separateBody = nil
    self.keyOffset = Int32(keyOffset)
    self.keyCount = Int32(keyCount)
    self.metadataCount = Int32(metadataCount)
    packedBodyCount = Int32(bodyCount)
  }

  init(key: ArraySlice<UInt8>, metadata: ArraySlice<UInt8>, body: ArraySlice<UInt8>) {
    let separate = body.count > Self.packedBodyLimit ? Array(body) : nil
    self = key.withUnsafeBufferPointer { key in
      metadata.withUnsafeBufferPointer { metadata in
        body.withUnsafeBufferPointer { body in
          PackedEntry(
            key: key, metadata: metadata, body: separate == nil ? body : nil, separateBody: separate)
        }
      }
    }
  }

  init(key: [UInt8], metadata: [UInt8], body: [UInt8]) {
    var separate: [UInt8]?
    if body.count > Self.packedBodyLimit {
      // An array that grew by appending may own up to twice what it shows.
      let slack = body.capacity - body.count
      separate = slack > 64 ? Array(unsafeUninitializedCopy: body[...]) : body
    }
    self = key.withUnsafeBufferPointer { key in
      metadata.withUnsafeBufferPointer { metadata in
        body.withUnsafeBufferPointer { body in
          PackedEntry(
            key: key, metadata: metadata, body: separate == nil ? body : nil, separateBody: separate)
        }
      }
    }
  }

  /// By pointers: three slices cost six counted references, a tenth of an insert.
  private init(
    key: UnsafeBufferPointer<UInt8>, metadata: UnsafeBufferPointer<UInt8>, body: UnsafeBufferPointer<UInt8>?,
    separateBody: [UInt8]?
  ) {
    let bodyCount = body?.count ?? 0
    let count = key.count + metadata.count + bodyCount
    head = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      var index = buffer[...].initialize(fromContentsOf: key)
      index = buffer[index...].initialize(fromContentsOf: metadata)
      if let body { index = buffer[index...].initialize(fromContentsOf: body) }
      initialized = index
    }
    self.separateBody = separateBody
    keyOffset = 0
    keyCount = Int32(key.count)
    metadataCount = Int32(metadata.count)
    packedBodyCount = separateBody == nil ? Int32(bodyCount) : -1
  }

  /// The same key and body under other metadata.
  func replacingMetadata(_ metadata: [UInt8]) -> PackedEntry {
    if let separateBody {
      return key.withUnsafeBufferPointer { key in
        metadata.withUnsafeBufferPointer { metadata in
          PackedEntry(key: key, metadata: metadata, body: nil, separateBody: separateBody)
        }
      }
    }
    return PackedEntry(key: key, metadata: metadata[...], body: body)
  }

  var key: ArraySlice<UInt8> {
    head[Int(keyOffset)..<Int(keyOffset) + Int(keyCount)]
  }

  var metadata: ArraySlice<UInt8> {
    let start = Int(keyOffset) + Int(keyCount)
    return head[start..<start + Int(metadataCount)]
  }

  var body: ArraySlice<UInt8> {
    if let separateBody { return separateBody[...] }
    let start = Int(keyOffset) + Int(keyCount) + Int(metadataCount)
    return head[start..<start + Int(packedBodyCount)]
  }

  var bodyCount: Int { separateBody?.count ?? Int(packedBodyCount) }

  @inline(__always)
  func hasKey(_ key: StoreKey) -> Bool {
    head.matches(key.bytes, at: Int(keyOffset), count: Int(keyCount))
  }

  /// What the entry occupies, in bytes: its one or two allocations and ``indexOverhead``.
  ///
  /// Of lengths and not of capacities, so that the same entry always costs the same: `malloc` sometimes gives 16 bytes
  /// more than it was asked for.
  var cost: Int {
    let body = separateBody.map { Self.allocationSize($0.count) } ?? 0
    return Self.allocationSize(head.count) + body + Self.indexOverhead
  }

  /// What `malloc` takes for an array: the array's header of 32 bytes, 8 of `malloc`'s own, in steps of 16.
  private static func allocationSize(_ count: Int) -> Int {
    (count + 32 + 8 + 15) & ~15
  }
}

extension [UInt8] {
  /// A copy without slack, even where copying would only take another reference.
  fileprivate init(unsafeUninitializedCopy bytes: ArraySlice<UInt8>) {
    self.init(unsafeUninitializedCapacity: bytes.count) { buffer, initialized in
      initialized = buffer[...].initialize(fromContentsOf: bytes)
    }
  }
}
