import ArgumentParser
import Foundation

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
    try require(keys, "keys", in: 1...Self.mostKeys)
    try require(valueSize, "value-size", in: 1...Self.mostBytes)
    try require(threads, "threads", in: 1...256)
    try require(rounds, "rounds", in: 1...1000)
    try require(diskKeys, "disk-keys", in: 1...1_000_000)
    if let capacity { try require(capacity, "capacity", in: 1...(1 << 40)) }
    guard seconds.isFinite, seconds > 0, seconds <= 3600 else {
      throw ValidationError("--seconds is \(seconds); give more than 0, and 3600 at most")
    }
    guard zipfExponent.isFinite, zipfExponent > 0, zipfExponent <= 10 else {
      throw ValidationError(
        "--zipf-exponent is \(zipfExponent); give more than 0, and 10 at most (for 0, --distribution uniform)"
      )
    }
    try requireMemory(keys, "keys", forFoundation: includesURLCache)
    if tier == .both { try requireMemory(diskKeys, "disk-keys", forFoundation: includesURLCacheOnDisk) }
  }

  private func require(_ value: Int, _ name: String, in range: ClosedRange<Int>) throws {
    guard range.contains(value) else {
      throw ValidationError("--\(name) is \(value); give \(range.lowerBound) to \(range.upperBound)")
    }
  }

  private func requireMemory(_ keys: Int, _ name: String, forFoundation: Bool) throws {
    let available = Int(clamping: ProcessInfo.processInfo.physicalMemory / 4 * 3)
    let needed = Dataset.footprint(keys: keys, valueSize: valueSize, forFoundation: forFoundation)
    guard let needed, needed <= available else {
      throw ValidationError(
        "--\(name) \(keys) with --value-size \(valueSize) needs \(needed.map { Format.bytes(Double($0)) } ?? "far too much") "
          + "of memory, and there is room for \(Format.bytes(Double(available))): give fewer keys or smaller values"
      )
    }
  }

  var includesURLCache: Bool { keys <= FoundationCache.mostKeys }
  var includesURLCacheOnDisk: Bool { diskKeys <= FoundationCache.mostKeysOnDisk }
}
