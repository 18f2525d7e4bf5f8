// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Chooses the server for a request: the one with the fewest requests for its weight.
///
/// So a slow server gets as many requests as it finishes, and not as many as a fast one. Those that have equally few take
/// turns by their weights: a server of weight 3 gets three of four requests beside one of weight 1, and not three in a row
/// (smooth weighted round-robin).
struct OriginBalancer {
  /// A server that may be chosen.
  struct Candidate: Hashable {
    var weight = 1
    /// Whether it is chosen only if no other is available.
    var isBackup = false
    /// Whether it answers requests, as far as the last ones show.
    var isAvailable = true
    /// Whether a request would have to wait for a connection.
    var isFull = false
    /// Number of its requests, those that wait included.
    var load = 0
    /// Whether the request has been there.
    var isTried = false
  }

  /// How far each server is ahead of its turn.
  private var turns: [Int] = []

  /// Returns the index of the server for a request, which is an available one if there is one; `nil` if each one was tried.
  mutating func choose(from candidates: [Candidate]) -> Int? {
    var choice = candidates.indices.filter { !candidates[$0].isTried }
    func prefer(_ isPreferred: (Candidate) -> Bool) {
      let preferred = choice.filter { isPreferred(candidates[$0]) }
      if !preferred.isEmpty { choice = preferred }
    }
    prefer { $0.isAvailable }
    prefer { !$0.isBackup }
    prefer { !$0.isFull }
    guard var least = choice.first else { return nil }
    for index in choice.dropFirst() where candidates[index].isLess(than: candidates[least]) { least = index }
    choice.removeAll { candidates[least].isLess(than: candidates[$0]) }
    if choice.count == 1 { return least }
    if turns.count != candidates.count { turns = Array(repeating: 0, count: candidates.count) }
    var total = 0
    var first = least
    for index in choice {
      total += candidates[index].weight
      turns[index] += candidates[index].weight
      if turns[index] > turns[first] { first = index }
    }
    turns[first] -= total
    return first
  }
}

extension OriginBalancer.Candidate {
  fileprivate func isLess(than other: Self) -> Bool { load * other.weight < other.load * weight }
}
