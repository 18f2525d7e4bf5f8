import ArgumentParser

/// Which tiers are measured.
enum TierChoice: String, CaseIterable, Codable, Sendable, ExpressibleByArgument {
  case memory
  case both
}

/// The flags that `throughput` and `latency` share.
@dynamicMemberLookup
struct StoreOptions: ParsableArguments {
  @Option(help: "The number of entries in memory.")
  var keys = 10_000

  @Option(help: "The threads that do the same at the same time.")
  var threads = 1

  @Option(help: "Memory only, or memory and disk, in a temporary directory.")
  var tier = TierChoice.memory

  @Option(help: "The number of entries on disk, where tier is both.")
  var diskKeys = 100

  @Option(
    help:
      "The bytes that our cache may occupy in memory; room for everything unless given. Adds 'get, or store'."
  )
  var capacity: Int?

  @OptionGroup var run: RunOptions

  static let mostKeys = 100_000_000

  func validate() throws {
    try Limits.require(keys, "keys", in: 1...Self.mostKeys)
    try Limits.require(threads, "threads", in: 1...256)
    try Limits.require(diskKeys, "disk-keys", in: 1...1_000_000)
    if let capacity { try Limits.require(capacity, "capacity", in: 1...(1 << 40)) }
    try requireMemory(keys, "keys", forFoundation: includesURLCache)
    if tier == .both { try requireMemory(diskKeys, "disk-keys", forFoundation: includesURLCacheOnDisk) }
  }

  private func requireMemory(_ keys: Int, _ name: String, forFoundation: Bool) throws {
    let needed = Dataset.footprint(keys: keys, valueSize: run.valueSize, forFoundation: forFoundation)
    try Limits.requireMemory(
      needed.map { Double($0) }, "--\(name) \(keys) with --value-size \(run.valueSize)")
  }

  var includesURLCache: Bool { keys <= FoundationCache.mostKeys }
  var includesURLCacheOnDisk: Bool { diskKeys <= FoundationCache.mostKeysOnDisk }

  /// The shared flags, as if they were these.
  subscript<Value>(dynamicMember path: KeyPath<RunOptions, Value>) -> Value { run[keyPath: path] }
}
