/// The bytes of an entry in memory: key, metadata and, where it is small, the body, in one allocation.
///
/// A record read from disk is one as it stands: its header before the key and its padding behind the body stay unused,
/// and are accounted for.
struct PackedEntry: Sendable {
  /// Bodies up to this size are copied in beside the head. Larger ones keep the allocation they came in.
  static let packedBodyLimit = 2048

  /// What an entry occupies beside its allocations: its slot, and two table places (the table is filled by half on
  /// average).
  static let indexOverhead = MemoryLayout<MemorySlot>.stride + 2 * MemoryLayout<UInt64>.stride

  private(set) var head: [UInt8]
  private var separateBody: [UInt8]
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
    separateBody = []
    self.keyOffset = Int32(keyOffset)
    self.keyCount = Int32(keyCount)
    self.metadataCount = Int32(metadataCount)
    packedBodyCount = Int32(bodyCount)
  }

  init(key: ArraySlice<UInt8>, metadata: ArraySlice<UInt8>, body: ArraySlice<UInt8>) {
    var separate: [UInt8]?
    if body.count > Self.packedBodyLimit {
      separate = Array(body)
    }
    self.init(key: key, metadata: metadata, packedBody: separate == nil ? body : [], separateBody: separate)
  }

  init(key: [UInt8], metadata: [UInt8], body: [UInt8]) {
    guard body.count > Self.packedBodyLimit else {
      self.init(key: key[...], metadata: metadata[...], packedBody: body[...], separateBody: nil)
      return
    }
    // An array that grew by appending may own up to twice what it shows.
    let slack = body.capacity - body.count
    let exact = slack > 64 ? Array(unsafeUninitializedCopy: body[...]) : body
    self.init(key: key[...], metadata: metadata[...], packedBody: [], separateBody: exact)
  }

  private init(
    key: ArraySlice<UInt8>, metadata: ArraySlice<UInt8>, packedBody: ArraySlice<UInt8>, separateBody: [UInt8]?
  ) {
    let count = key.count + metadata.count + packedBody.count
    head = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      var index = buffer[...].initialize(fromContentsOf: key)
      index = buffer[index...].initialize(fromContentsOf: metadata)
      index = buffer[index...].initialize(fromContentsOf: packedBody)
      initialized = index
    }
    self.separateBody = separateBody ?? []
    keyOffset = 0
    keyCount = Int32(key.count)
    metadataCount = Int32(metadata.count)
    packedBodyCount = separateBody == nil ? Int32(packedBody.count) : -1
  }

  /// The same key and body under other metadata.
  func replacingMetadata(_ metadata: [UInt8]) -> PackedEntry {
    if packedBodyCount < 0 {
      return PackedEntry(
        key: key, metadata: metadata[...], packedBody: [], separateBody: separateBody)
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
    guard packedBodyCount >= 0 else { return separateBody[...] }
    let start = Int(keyOffset) + Int(keyCount) + Int(metadataCount)
    return head[start..<start + Int(packedBodyCount)]
  }

  @inline(__always)
  func hasKey(_ key: StoreKey) -> Bool {
    head.matches(key.bytes, at: Int(keyOffset), count: Int(keyCount))
  }

  /// What the entry occupies, in bytes: its one or two allocations and ``indexOverhead``.
  ///
  /// Of lengths and not of capacities, so that the same entry always costs the same: `malloc` sometimes gives 16 bytes
  /// more than it was asked for.
  var cost: Int {
    let body = separateBody.isEmpty ? 0 : Self.allocationSize(separateBody.count)
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
