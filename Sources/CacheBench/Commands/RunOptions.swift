import ArgumentParser

/// The flags that all that is measured in memory shares: what the entries are like, and how long and in what form.
struct RunOptions: ParsableArguments {
  @Option(help: "The bytes of each body.")
  var valueSize = 1024

  @Option(help: "How often which key is asked for.")
  var distribution = Distribution.zipf

  @Option(help: "The exponent of the zipf distribution.")
  var zipfExponent = 0.99

  @Option(help: "The seconds to measure each action of each cache for, all rounds together.")
  var seconds = 1.0

  @Option(help: "The rounds in which the caches take turns.")
  var rounds = 5

  @Option(help: "The seed of keys and values; the same seed, the same sequence.")
  var seed: UInt64 = 1

  @Flag(help: "Print one JSON document.")
  var json = false

  static let mostBytes = 1 << 30

  func validate() throws {
    try Limits.require(valueSize, "value-size", in: 1...Self.mostBytes)
    try Limits.require(rounds, "rounds", in: 1...1000)
    try Limits.requireSeconds(seconds)
    try Limits.requireExponent(zipfExponent)
  }
}
