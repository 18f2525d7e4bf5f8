/// A cache as the measurements see it: operations on keys by their numbers.
protocol BenchCache: Sendable {
  /// The operation, which says whether it found or stored what it was to; `nil` if this cache has none such.
  func operation(_ action: Action) -> (@Sendable (_ key: Int) -> Bool)?
  /// Brings what a store is given into the processor's cache, where it is when it has just arrived.
  func warm(_ key: Int)
  /// Bytes of memory per entry beyond key and body, where the cache can tell.
  var overhead: EntryOverhead? { get }
  /// Lets go of files.
  func close()
}

/// What an entry occupies in memory beyond its key and its body.
struct EntryOverhead: Codable, Hashable, Sendable {
  /// All of it, the response's head included.
  var bytesBeyondKeyAndBody: Double
  /// The response's head as it is stored.
  var bytesOfHead: Double
}

extension BenchCache {
  var overhead: EntryOverhead? { nil }
  func close() {}
  func warm(_ key: Int) {}
}
