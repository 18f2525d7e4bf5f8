// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import Foundation

/// The sequence of keys in a generated trace, by the names of the flag `--generated`.
enum TracePattern: String, CaseIterable, Sendable, ExpressibleByArgument {
  /// A few keys are requested often, most seldom, from the first request to the last.
  case zipf
  /// Half of the requests are for keys that are requested only once. These are larger than the others, as downloads are.
  case web
  /// As zipf, but popularity changes: new keys become popular while others are forgotten.
  case shiftingZipf = "shifting-zipf"
  /// Requests for a hot set of a tenth of the keys, interrupted by scans of the other keys.
  case scan
  /// Passes over ranges of keys, of several lengths, each repeated several times.
  case loop
}

/// A generated sequence of requests. The same values give the same requests.
struct TraceGenerator {
  var pattern: TracePattern
  var keys: Int
  var requests: Int
  var seed: UInt64

  private static let exponent = 0.9
  /// The number of times that popularity changes.
  private static let shifts = 50

  /// The trace of these requests.
  var trace: Trace {
    var generator = SplitMix64(seed: seed)
    let numbers =
      switch pattern {
      case .zipf: popular(shifts: 0, using: &generator)
      case .web: web(using: &generator)
      case .shiftingZipf: popular(shifts: Self.shifts, using: &generator)
      case .scan: scans(using: &generator)
      case .loop: loops(using: &generator)
      }
    // Keys beyond the number of keys are those that are requested once.
    let sizes = (0...(numbers.max() ?? 0)).map { Self.size(using: &generator) * ($0 < keys ? 1 : 4) }
    return Trace(
      name: "\(pattern.rawValue), seed \(seed)", requests: numbers.map { (key: $0, bytes: sizes[$0]) })
  }

  /// Each shift gives a fiftieth of the keys another popularity.
  private func popular(shifts: Int, using generator: inout SplitMix64) -> [Int] {
    let sampler = ZipfSampler(count: keys, exponent: Self.exponent)
    var byRank = (0..<keys).shuffled(using: &generator)
    let period = shifts > 0 ? max(1, requests / (shifts + 1)) : .max
    return (0..<requests).map { number in
      if number > 0, number % period == 0 {
        for _ in 0..<max(1, keys / 100) {
          byRank.swapAt(
            Int.random(in: 0..<keys, using: &generator), Int.random(in: 0..<keys, using: &generator))
        }
      }
      return byRank[sampler.sample(using: &generator)]
    }
  }

  private func web(using generator: inout SplitMix64) -> [Int] {
    let sampler = ZipfSampler(count: keys, exponent: Self.exponent)
    return (0..<requests).map { number in
      Bool.random(using: &generator) ? keys + number : sampler.sample(using: &generator)
    }
  }

  /// After as many requests for the hot set as it has keys, a scan takes a twentieth of the other keys. Scans go on where the
  /// last one ended.
  private func scans(using generator: inout SplitMix64) -> [Int] {
    let hot = max(1, keys / 10)
    let sampler = ZipfSampler(count: hot, exponent: Self.exponent)
    var next = hot
    var numbers: [Int] = []
    while numbers.count < requests {
      for _ in 0..<hot { numbers.append(sampler.sample(using: &generator)) }
      for _ in 0..<(keys - hot + 19) / 20 {
        numbers.append(next)
        next = next + 1 < keys ? next + 1 : hot
      }
    }
    return Array(numbers.prefix(requests))
  }

  /// Each range has between a five-hundredth and half of the keys, and takes as many requests as half of the keys, but at
  /// least three passes.
  private func loops(using generator: inout SplitMix64) -> [Int] {
    var numbers: [Int] = []
    while numbers.count < requests {
      let length = max(1, Int(Double(keys) * 0.002 * pow(250, generator.nextUnit())))
      let start = Int.random(in: 0..<keys, using: &generator)
      for _ in 0..<max(3, keys / 2 / length) {
        numbers += (start..<start + length).map { $0 % keys }
      }
    }
    return Array(numbers.prefix(requests))
  }

  /// Returns a log-normal number of bytes, with a median of 2 KiB and a mean of 6 KiB.
  private static func size(using generator: inout SplitMix64) -> Int {
    // A normal number, by Box and Muller.
    let normal = (-2 * log(1 - generator.nextUnit())).squareRoot() * cos(2 * .pi * generator.nextUnit())
    return min(Trace.mostBytes / 4, max(1, Int(2048 * exp(1.5 * normal))))
  }
}
