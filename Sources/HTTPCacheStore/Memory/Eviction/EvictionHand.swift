// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Where the next search for a victim begins, and the victim selected in advance.
///
/// ``LRU`` and ``Hyperbolic`` go round the table, which is in the order of hashes, like the hand of a clock.
struct EvictionHand {
  /// Maximum places that a search looks at. It looks at all places of a table that has no more, and is exact.
  static let mostPlaces = 192

  var position = 0
  /// Rank of the pre-selected victim (at `position`).
  private var chosenRank = Standing.ofFreePlace.rank

  /// Selects a victim in advance.
  mutating func choose(_ position: Int, in table: borrowing EntryTable) -> EntryReference? {
    chosenRank = table.standing(position).rank
    return table[position]
  }

  /// Returns the victim that was selected in advance, unless it was used or removed since. A second call returns `nil`.
  mutating func takeChosen(except kept: Int?, in table: borrowing EntryTable) -> Int? {
    defer { chosenRank = Standing.ofFreePlace.rank }
    // An insert or a removal before it may have moved it by one place; a use changes its rank.
    for position in max(0, position - 1)...position + 1
    where position < table.length && position != kept && chosenRank != Standing.ofFreePlace.rank
      && table.standing(position).rank == chosenRank
    {
      self.position = position
      return position
    }
    return nil
  }
}
