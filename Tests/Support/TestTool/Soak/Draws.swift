// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import TestSupport

/// The endless sequence of requests to one entry point, for all its clients.
///
/// It walks through the whole matrix by a stride, so that each cell comes once in a round, in no order that a cache could
/// profit from. Three requests in a row go to the same new URL, by three kinds of clients: they are coalesced, or hit, or
/// invalidate. A quarter of all requests goes to a small hot set instead.
final class Draws: Sendable {
  static let hotCount = 64
  private static let repeats = 3

  private struct State {
    var random: SplitMix64
    var hot: [Cell] = []
    var position: Int
    var cell: Cell
    var left = 0
    var round = 0
    var drawn = [Bool](repeating: false, count: Cell.count)
    var drawnCount = 0
  }

  private let state: Mutex<State>
  private let first: UInt64

  /// - Parameter entry point: gives each entry point its own sequence and its own keys.
  init(seed: UInt64, entryPoint: Int) {
    first = UInt64(entryPoint) << 40
    var random = SplitMix64(seed: seed &* 4 &+ UInt64(entryPoint))
    let position = Int.random(in: 0..<Cell.count, using: &random)
    var state = State(random: random, position: position, cell: Cell(at: 0, key: first))
    for number in 0..<Self.hotCount {
      state.hot.append(Self.draw(&state, key: first + UInt64(number)))
    }
    self.state = Mutex(state)
  }

  /// How many cells of the matrix have been drawn.
  var drawnCount: Int { state.withLock { $0.drawnCount } }

  func next() -> Exchange {
    state.withLock { state in
      let detail = state.random.next() >> 8
      let variant = Int(state.random.next() % 4)
      let clients = Exchange.Client.allCases
      if state.random.next() % 4 == 0 {
        let cell = state.hot[Int(state.random.next() % UInt64(Self.hotCount))]
        let client = clients[Int(state.random.next() % UInt64(clients.count))]
        return Exchange(cell: cell, client: client, variant: variant, detail: detail)
      }
      if state.left == 0 {
        state.left = Self.repeats
        state.round += 1
        state.cell = Self.draw(&state, key: first + UInt64(Self.hotCount + state.round))
      }
      state.left -= 1
      let client = clients[(state.round * Self.repeats + state.left) % clients.count]
      return Exchange(cell: state.cell, client: client, variant: variant, detail: detail)
    }
  }

  /// The next cell. One in twelve of those of 5 MB is taken and one in sixteen silent ones: the bytes of the former and the
  /// seconds of the latter would leave little of either to the rest. No redirect has 5 MB of content: Foundation on Linux
  /// copies, for each 16 KB, all that came before, for seconds, and every other task of the session waits meanwhile.
  private static func draw(_ state: inout State, key: UInt64) -> Cell {
    while true {
      // A prime that does not divide the number of cells.
      state.position = (state.position + 3001) % Cell.count
      let cell = Cell(at: state.position, key: key)
      if cell.size == Cell.large, cell.status == 301 || state.random.next() % 12 != 0 { continue }
      if cell.origin == .silent, state.random.next() % 16 != 0 { continue }
      if !state.drawn[state.position] {
        state.drawn[state.position] = true
        state.drawnCount += 1
      }
      return cell
    }
  }
}
