// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// Contenders that do the same in turns, round by round, so that other work on the machine affects all alike.
package struct Contest {
  /// A contender, and how it runs a round.
  package struct Entrant {
    package var name: Contender
    package var play: (Turn) throws -> [Score]

    package init(name: Contender, play: @escaping (Turn) throws -> [Score]) {
      (self.name, self.play) = (name, play)
    }
  }

  /// One entrant's turn in a round.
  package struct Turn {
    package let loop: Loop
    /// Nanoseconds for each action.
    package let slice: UInt64
    /// Reports the next action to the progress line.
    package let begin: (Action) -> Void
  }

  /// The result of an action, and figures in addition to those of its rounds.
  package struct Score {
    package var action: Action
    package var rounds: [Round]
    package var figures: [Metric: Double] = [:]
  }

  package var entrants: [Entrant]
  /// ``Measurement/Kind/throughput`` or ``Measurement/Kind/latency``.
  package var kind: Measurement.Kind
  package var rounds: Int
  /// The time for one action of one entrant, in all rounds together.
  package var seconds: Double
  package var batch: Int
  /// Figures that all measurements share: entries, bytes, threads.
  package var conditions: [Metric: Double]
  /// Whether the capacity of the package's cache may be too small for all entries.
  package var isBounded = false

  package init(
    entrants: [Entrant], kind: Measurement.Kind = .throughput, rounds: Int, seconds: Double, batch: Int = 16,
    conditions: [Metric: Double]
  ) {
    (self.entrants, self.kind, self.rounds) = (entrants, kind, rounds)
    (self.seconds, self.batch, self.conditions) = (seconds, batch, conditions)
  }

  /// - Returns: a measurement for each action of each entrant, in the order in which they were scored.
  package func run(_ progress: ProgressLine) throws -> [Measurement] {
    defer { progress.clear() }
    var scores = [[Score]](repeating: [], count: entrants.count)
    for round in 0..<rounds {
      for offset in entrants.indices {
        // Each round begins with another entrant.
        let number = (round + offset) % entrants.count
        let name = entrants[number].name
        let turn = Turn(
          loop: Loop(timesEach: kind == .latency, batch: batch),
          slice: UInt64(max(1, seconds * 1e9 / Double(rounds)))
        ) { action in
          progress.show(
            "\(action.rawValue), threads \(Int(conditions[.threads] ?? 1)), \(kind.rawValue), round \(round + 1) of "
              + "\(rounds): \(name.rawValue)")
        }
        for score in try entrants[number].play(turn) {
          try check(score, of: name)
          if let known = scores[number].firstIndex(where: { $0.action == score.action }) {
            scores[number][known].rounds += score.rounds
          } else {
            scores[number].append(score)
          }
        }
      }
    }
    return zip(entrants, scores).flatMap { entrant, scores in
      scores.map { score in
        var measurement = Measurement(kind, score.action, entrant.name, rounds: score.rounds)
        for figures in [conditions, score.figures] { measurement.figures.merge(figures) { $1 } }
        return measurement
      }
    }
  }

  private func check(_ score: Score, of name: Contender) throws {
    guard let expected = score.action.mustSucceed(isBounded: isBounded && name == .ours) else { return }
    let (operations, successes) = score.rounds.reduce((0, 0)) { ($0.0 + $1.operations, $0.1 + $1.successes) }
    let failures = expected ? operations - successes : successes
    guard failures == 0 else {
      throw BenchError.failed(
        action: score.action, contender: name, failures: failures, operations: operations)
    }
  }
}

/// An operation over a sequence of keys on each of several threads. A round continues where the previous round ended.
package final class Track: Sendable {
  private let threads: [(positions: [UInt32], operation: Operation)]
  private let done: Mutex<[Int]>

  package init(_ threads: [(positions: [UInt32], operation: Operation)]) {
    self.threads = threads
    done = Mutex([Int](repeating: 0, count: threads.count))
  }

  package func run(_ turn: Contest.Turn) -> Round {
    let (loop, slice) = (turn.loop, turn.slice)
    return ThreadTeam.run(threads.count) { [self] thread in
      let (positions, operation) = threads[thread]
      let round = loop.run(for: slice, over: positions, from: done.withLock { $0[thread] }, operation)
      done.withLock { $0[thread] += round.operations }
      return round
    }
  }
}

extension Contest.Entrant {
  /// Does one action, round after round.
  package init(_ name: Contender, _ action: Action, _ track: Track, figures: [Metric: Double] = [:]) {
    self.init(name: name) { turn in
      turn.begin(action)
      return [Contest.Score(action: action, rounds: [track.run(turn)], figures: figures)]
    }
  }
}

/// The rounds of entrants whose caches are made and filled again in each round.
package struct Filling: Sendable {
  /// The order in which a cache is filled.
  package var order: [UInt32]
  /// The keys of the other actions: a sequence for each thread.
  package var sequences: [KeySequence]
  package var valueSize: Int
  /// Each filling takes a new cache, and a small cache is full at once.
  package var mostPerRound: Int

  package init(order: [UInt32], sequences: [KeySequence], valueSize: Int, mostPerRound: Int = 200) {
    (self.order, self.sequences) = (order, sequences)
    (self.valueSize, self.mostPerRound) = (valueSize, mostPerRound)
  }

  /// - Parameters:
  ///   - filling: the action that fills a cache.
  ///   - actions: the actions of the full cache; those that the cache cannot do are left out.
  ///   - make: makes an empty cache; the directory is empty and used for nothing else.
  package func entrant(
    _ name: Contender, by filling: Action, then actions: [Action],
    _ make: @escaping (_ directory: String) throws -> any BenchCache
  ) -> Contest.Entrant {
    Contest.Entrant(name: name) { turn in
      turn.begin(filling)
      var others: [Contest.Score] = []
      var overhead: [Metric: Double] = [:]
      let filled = try refill(by: filling, turn, make) { cache in
        overhead = cache.overhead
        for action in actions {
          guard let operation = cache.operation(action) else { continue }
          turn.begin(action)
          let round =
            action.isFilling
            ? try refill(by: action, turn, make) : Track(sequences.map { ($0.indices, operation) }).run(turn)
          others.append(Contest.Score(action: action, rounds: [round]))
        }
      }
      return [Contest.Score(action: filling, rounds: [filled], figures: overhead)] + others
    }
  }

  /// Fills one cache after the other until the time is over, and returns the last.
  private func refill(
    by action: Action, _ turn: Contest.Turn, _ make: (String) throws -> any BenchCache,
    then use: (any BenchCache) throws -> Void = { _ in }
  ) throws -> Round {
    // The warmed data must fit in the processor's cache.
    let chunk = min(32, max(1, (256 << 10) / max(1, valueSize)))
    let (loop, threads) = (turn.loop, max(1, sequences.count))
    var filled = Round()
    var fillings = 0
    var isLast = false
    while !isLast {
      try TemporaryDirectory.with { directory in
        let cache = try make(directory)
        defer { cache.close() }
        guard let operation = cache.operation(action) else {
          isLast = true
          return
        }
        filled.append(
          ThreadTeam.run(threads) { [order] thread in
            let share = order[order.count * thread / threads..<order.count * (thread + 1) / threads]
            return loop.pass(over: share, chunk: chunk, prepare: { cache.warm($0) }, operation)
          })
        fillings += 1
        isLast = filled.nanoseconds >= turn.slice || fillings >= mostPerRound
        if isLast { try use(cache) }
      }
    }
    return filled
  }
}
