import ArgumentParser
import Foundation

/// The flags of the workloads in memory.
@dynamicMemberLookup
struct HotOptions: ParsableArguments {
  @Option(help: "The number of distinct keys, of 64 bytes each.")
  var keys = 1_000_000

  @Option(
    help: "The most threads: 1, 2, 4… up to this are measured; as many as cores, 8 at most, unless given.")
  var threads = min(8, max(1, ProcessInfo.processInfo.activeProcessorCount))

  @Option(help: "The capacity of 'mixed' and 'churn', as a share of the keys.")
  var capacity = 0.1

  @Option(help: "The shards of our store, a power of two; chosen by the store unless given.")
  var shards: Int?

  @OptionGroup var run: RunOptions

  func validate() throws {
    try Limits.require(keys, "keys", in: 1...StoreOptions.mostKeys)
    try Limits.require(threads, "threads", in: 1...256)
    try Limits.requireShards(shards)
    try Limits.requireShare(capacity, "capacity")
    guard keys >= threads else {
      throw ValidationError("--threads is \(threads), and there are only \(keys) keys: give more keys")
    }
    // Bodies of all keys once, for the capacity in each of four caches, and keys and tables.
    let perKey = Double(run.valueSize) * (1 + 4 * capacity) + 1500 + 150 * Double(threads)
    try Limits.requireMemory(perKey * Double(keys), "--keys \(keys) with --value-size \(run.valueSize)")
  }

  /// 1, 2, 4… and the most.
  var threadCounts: [Int] {
    sequence(first: 1) { $0 * 2 }.prefix { $0 < threads } + [threads]
  }

  var capacityEntries: Int { max(1, Int(Double(keys) * capacity)) }

  /// The shared flags, as if they were these.
  subscript<Value>(dynamicMember path: KeyPath<RunOptions, Value>) -> Value { run[keyPath: path] }
}
