import ArgumentParser

/// Which tiers are measured.
enum TierChoice: String, CaseIterable, Codable, Sendable, ExpressibleByArgument {
  case memory
  case both
}

/// The flags that `throughput` and `latency` share.
struct StoreOptions: ParsableArguments {
  @Option(help: "The number of entries in memory.")
  var keys = 10_000

  @Option(help: "The bytes of each body.")
  var valueSize = 1024

  @Option(help: "How often which key is asked for.")
  var distribution = Distribution.zipf

  @Option(help: "The exponent of the zipf distribution.")
  var zipfExponent = 0.99

  @Option(help: "The threads that do the same at the same time.")
  var threads = 1

  @Option(help: "The seconds to measure each action of each cache for, all rounds together.")
  var seconds = 1.0

  @Option(help: "The rounds in which the caches take turns.")
  var rounds = 5

  @Option(help: "The seed of keys and values; the same seed, the same sequence.")
  var seed: UInt64 = 1

  @Option(help: "Memory only, or memory and disk, in a temporary directory.")
  var tier = TierChoice.memory

  @Option(help: "The number of entries on disk, where tier is both.")
  var diskKeys = 100

  @Option(
    help:
      "The bytes that our cache may occupy in memory; room for everything unless given. Adds 'get, or store'."
  )
  var capacity: Int?

  @Flag(help: "Print one JSON document.")
  var json = false

  static let mostKeys = 100_000_000
  static let mostBytes = 1 << 30

  func validate() throws {
    try Limits.require(keys, "keys", in: 1...Self.mostKeys)
    try Limits.require(valueSize, "value-size", in: 1...Self.mostBytes)
    try Limits.require(threads, "threads", in: 1...256)
    try Limits.require(rounds, "rounds", in: 1...1000)
    try Limits.require(diskKeys, "disk-keys", in: 1...1_000_000)
    if let capacity { try Limits.require(capacity, "capacity", in: 1...(1 << 40)) }
    try Limits.requireSeconds(seconds)
    try Limits.requireExponent(zipfExponent)
    try requireMemory(keys, "keys", forFoundation: includesURLCache)
    if tier == .both { try requireMemory(diskKeys, "disk-keys", forFoundation: includesURLCacheOnDisk) }
  }

  private func requireMemory(_ keys: Int, _ name: String, forFoundation: Bool) throws {
    let needed = Dataset.footprint(keys: keys, valueSize: valueSize, forFoundation: forFoundation)
    try Limits.requireMemory(needed.map { Double($0) }, "--\(name) \(keys) with --value-size \(valueSize)")
  }

  var includesURLCache: Bool { keys <= FoundationCache.mostKeys }
  var includesURLCacheOnDisk: Bool { diskKeys <= FoundationCache.mostKeysOnDisk }
}
