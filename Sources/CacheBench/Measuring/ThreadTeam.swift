import Foundation
import Synchronization

/// Threads of the system, not tasks, that do the same at the same time.
enum ThreadTeam {
  private final class Board: Sendable {
    let arrived = Atomic<Int>(0)
    let results = Mutex<[Round]>([])
  }

  /// Runs a body on so many threads, all of which start when the last is there.
  static func run(_ count: Int, _ body: @escaping @Sendable (_ thread: Int) -> Round) -> Round {
    guard count > 1 else { return body(0) }
    let board = Board()
    let finished = DispatchSemaphore(value: 0)
    for number in 0..<count {
      let thread = Thread {
        board.arrived.add(1, ordering: .acquiringAndReleasing)
        while board.arrived.load(ordering: .acquiring) < count { sched_yield() }
        let result = body(number)
        board.results.withLock { $0.append(result) }
        finished.signal()
      }
      thread.stackSize = 1 << 20
      thread.start()
    }
    for _ in 0..<count { finished.wait() }
    return board.results.withLock { results in
      results.dropFirst().reduce(into: results.first ?? Round()) { $0.join($1) }
    }
  }
}
