import ArgumentParser

/// How often which key is asked for.
enum Distribution: String, CaseIterable, Codable, Sendable, ExpressibleByArgument {
  /// A few keys often, most seldom, as on the web.
  case zipf
  /// All equally often.
  case uniform
}

/// Key numbers drawn beforehand, so that drawing is no part of what is measured.
struct KeySequence: Sendable {
  static let defaultLength = 1 << 18

  let indices: [UInt32]

  /// - Parameter stream: another number gives another sequence of the same seed, for each thread its own.
  init(
    keys: Int, distribution: Distribution, exponent: Double, seed: UInt64, stream: Int,
    length: Int = defaultLength
  ) {
    var generator = SplitMix64(seed: seed &+ UInt64(stream) &* 0xD1B5_4A32_D192_ED03)
    switch distribution {
    case .uniform:
      indices = (0..<length).map { _ in UInt32(Int.random(in: 0..<keys, using: &generator)) }
    case .zipf:
      // Popular keys are to lie anywhere in memory, not side by side: the same shuffle for all threads.
      let order = Self.shuffle(keys: keys, seed: seed)
      let sampler = ZipfSampler(count: keys, exponent: exponent)
      indices = (0..<length).map { _ in order[sampler.sample(using: &generator)] }
    }
  }

  /// Every key once.
  static func shuffle(keys: Int, seed: UInt64) -> [UInt32] {
    var generator = SplitMix64(seed: seed ^ 0x5DEE_CE66)
    return (0..<UInt32(keys)).shuffled(using: &generator)
  }
}
