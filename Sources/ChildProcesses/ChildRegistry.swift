// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// The children that run.
///
/// A shell of its own, the guard, kills them if this process ends before them, even by a crash or SIGKILL. It reads
/// their ids from a pipe, whose end tells it so.
enum ChildRegistry {
  struct State {
    fileprivate var running: Set<pid_t> = []
    fileprivate var isEnding = false
    fileprivate var guardPipe: (reading: Descriptor, writing: Descriptor)?
  }

  private static let state = Mutex(State())

  private static let guardScript = """
    trap '' HUP INT TERM
    ids=' '
    while read -r sign id; do
      case $sign in
        +) ids="$ids$id " ;;
        -) case $ids in *" $id "*) ids="${ids%% "$id" *} ${ids#* "$id" }" ;; esac ;;
      esac
    done
    for id in $ids; do kill -s KILL -- "-$id"; done
    """

  /// Adds the child that `start` starts.
  ///
  /// - Throws: the error of `start`, or `CancellationError` after ``killAll()``: the child would survive it.
  static func add(_ start: () throws -> pid_t) throws -> pid_t {
    try state.withLock { state in
      guard !state.isEnding else { throw CancellationError() }
      try startGuard(&state)
      let id = try start()
      state.running.insert(id)
      tell("+", id, &state)
      return id
    }
  }

  /// Kills what is left of the group of a child that has ended, and frees its id.
  ///
  /// - Returns: the status of the child.
  static func remove(_ id: pid_t, _ hasGone: () -> Void) -> Int32 {
    state.withLock { state in
      // Until `waitpid` no other process gets the id.
      kill(-id, SIGKILL)
      hasGone()
      state.running.remove(id)
      tell("-", id, &state)
      var status: Int32 = 0
      while waitpid(id, &status, 0) < 0, errno == EINTR {}
      return status
    }
  }

  /// Runs `body` while no child is removed.
  static func whileNoneIsRemoved(_ body: () -> Void) { state.withLock { _ in body() } }

  static func killAll() {
    state.withLock { state in
      state.isEnding = true
      for id in state.running { kill(-id, SIGKILL) }
    }
  }

  private static func startGuard(_ state: inout State) throws {
    guard state.guardPipe == nil else { return }
    let pipe = try Spawn.pipe(for: "/bin/sh")
    do {
      _ = try Spawn.start(
        "/bin/sh", ["-c", guardScript], environment: [:], directory: nil, files: [pipe.reading, nil, nil])
    } catch {
      close(pipe.reading)
      close(pipe.writing)
      throw error
    }
    // Never blocks. The reading end stays open here too: a write without a reader would raise SIGPIPE.
    _ = fcntl(pipe.writing, F_SETFL, O_NONBLOCK)
    state.guardPipe = pipe
  }

  private static func tell(_ sign: String, _ id: pid_t, _ state: inout State) {
    guard let pipe = state.guardPipe else { return }
    var line = "\(sign) \(id)\n"
    line.withUTF8 { _ = write(pipe.writing, $0.baseAddress, $0.count) }
  }
}
