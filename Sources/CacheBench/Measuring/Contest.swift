/// Caches that do the same in turns, round by round, so that what else the machine does meets all alike.
struct Contest {
  /// One of the caches.
  struct Entrant {
    var name: CacheName
    /// What it is filled by, and then what is done with it.
    var filling: Action
    var actions: [Action]
    /// Makes an empty one; the directory is empty and its own.
    var make: (_ directory: String) throws -> any BenchCache
  }

  var entrants: [Entrant]
  var entries: Int
  var valueSize: Int
  var threads: Int
  var rounds: Int
  /// For one action of one cache, all rounds together.
  var seconds: Double
  var measuring: Measuring
  /// Operations between two looks at the clock.
  var batch = 16
  /// Whether a cache may be too small for all entries.
  var isBounded = false
  /// What is asked for: a sequence for each thread.
  var sequences: [KeySequence]
  /// The order in which a cache is filled.
  var order: [UInt32]

  /// Fillings of one round at the most: each takes a new cache, and small ones are over at once.
  var mostFillings = 200

  func run(_ progress: ProgressLine) throws -> [Measurement] {
    var results: [CacheName: [Action: [Round]]] = [:]
    var overheads: [CacheName: EntryOverhead] = [:]
    for round in 0..<rounds {
      for offset in entrants.indices {
        // Who comes first changes.
        let entrant = entrants[(round + offset) % entrants.count]
        let (figures, overhead) = try runRound(entrant) { action in
          progress.show(
            "\(measuring.rawValue), round \(round + 1) of \(rounds): \(entrant.name.title), \(action.title)")
        }
        for (action, figure) in figures {
          results[entrant.name, default: [:]][action, default: []].append(figure)
        }
        overheads[entrant.name] = overhead
      }
    }
    progress.clear()
    return entrants.flatMap { entrant in
      ([entrant.filling] + entrant.actions).compactMap { action in
        guard let rounds = results[entrant.name]?[action], !rounds.isEmpty else { return nil }
        return Measurement(
          of: action, on: entrant.name, rounds: rounds, measuring: measuring, entries: entries,
          valueBytes: valueSize, threads: threads,
          overhead: action == entrant.filling ? overheads[entrant.name] : nil)
      }
    }
  }

  private var slice: UInt64 { UInt64(max(1, seconds * 1e9 / Double(rounds))) }

  private func runRound(
    _ entrant: Entrant, _ announce: (Action) -> Void
  ) throws -> (figures: [Action: Round], overhead: EntryOverhead?) {
    var figures: [Action: Round] = [:]
    var overhead: EntryOverhead?
    var filled = Round()
    var fillings = 0
    var isLast = false
    announce(entrant.filling)
    while !isLast {
      try TemporaryDirectory.with { directory in
        let cache = try entrant.make(directory)
        defer { cache.close() }
        filled.append(try fill(cache, entrant))
        fillings += 1
        isLast = filled.nanoseconds >= slice || fillings >= mostFillings
        guard isLast else { return }
        overhead = cache.overhead
        for action in entrant.actions {
          announce(action)
          figures[action] =
            action.isFilling
            ? try refill(action, entrant) : try repeatedly(action, cache, entrant)
        }
      }
    }
    figures[entrant.filling] = filled
    return (figures, overhead)
  }

  private func fill(_ cache: any BenchCache, _ entrant: Entrant, by action: Action? = nil) throws -> Round {
    let action = action ?? entrant.filling
    guard let operation = cache.operation(action) else { return Round() }
    let loop = Loop(measuring: measuring, batch: batch)
    let (order, threads) = (order, threads)
    // What is warmed has to fit in the processor's cache.
    let chunk = min(32, max(1, (256 << 10) / max(1, valueSize)))
    let round = ThreadTeam.run(threads) { thread in
      loop.pass(
        over: order[order.count * thread / threads..<order.count * (thread + 1) / threads], chunk: chunk,
        prepare: { cache.warm($0) }, operation)
    }
    try check(round, action, entrant)
    return round
  }

  /// Another way to fill, in caches of its own.
  private func refill(_ action: Action, _ entrant: Entrant) throws -> Round {
    var filled = Round()
    for _ in 0..<mostFillings where filled.nanoseconds < slice {
      try TemporaryDirectory.with { directory in
        let cache = try entrant.make(directory)
        defer { cache.close() }
        filled.append(try fill(cache, entrant, by: action))
      }
    }
    return filled
  }

  private func repeatedly(_ action: Action, _ cache: any BenchCache, _ entrant: Entrant) throws -> Round {
    guard let operation = cache.operation(action) else { return Round() }
    let loop = Loop(measuring: measuring, batch: batch)
    let (sequences, slice) = (sequences, slice)
    let round = ThreadTeam.run(threads) { thread in
      loop.run(for: slice, over: sequences[thread % sequences.count].indices, operation)
    }
    try check(round, action, entrant)
    return round
  }

  private func check(_ round: Round, _ action: Action, _ entrant: Entrant) throws {
    guard let expected = action.mustSucceed(isBounded: isBounded && entrant.name == .ours) else { return }
    let failures = expected ? round.operations - round.successes : round.successes
    guard failures == 0 else {
      throw BenchError.failed(
        action: action, cache: entrant.name, failures: failures, operations: round.operations)
    }
  }
}
