// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Dispatch

/// The thread that writes the standard input of a child and reads its output, until both are closed or the child ends.
///
/// It blocks in `poll`, and never a thread of Swift concurrency.
final class ChildTransfer: Sendable {
  private struct Input {
    var descriptor: Descriptor?
    var pending: ArraySlice<UInt8> = []
    /// No more bytes come: the input closes after the pending ones.
    var isComplete = false
  }

  private struct Reading {
    let descriptor: Descriptor
    let output: ChildOutput
  }

  private let input: Mutex<Input>
  private let readings: [Reading]
  private let wake: (reading: Descriptor, writing: Descriptor)
  /// Guards the pipe `wake`, which this thread closes. The value says whether it is open.
  private let isOpen = Mutex(true)
  private let hasEnded = Atomic(false)
  /// Empty when the thread has closed its descriptors.
  private let thread = DispatchGroup()

  init(
    input: Descriptor?, bytes: [UInt8], isComplete: Bool, outputs: [(Descriptor, ChildOutput)],
    wake: (reading: Descriptor, writing: Descriptor)
  ) {
    self.input = Mutex(Input(descriptor: input, pending: bytes[...], isComplete: isComplete))
    readings = outputs.map { Reading(descriptor: $0.0, output: $0.1) }
    self.wake = wake
    for descriptor in outputs.map(\.0) + [input, wake.reading, wake.writing].compactMap(\.self) {
      _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }
  }

  func start() {
    thread.enter()
    startThread { [self] in
      run()
      thread.leave()
    }
  }

  func write(_ bytes: some Sequence<UInt8>) {
    input.withLock { if $0.descriptor != nil, !$0.isComplete { $0.pending += bytes } }
    wakeUp()
  }

  func closeInput() {
    input.withLock { $0.isComplete = true }
    wakeUp()
  }

  /// The child has ended: reads what is left in its pipes, closes all, and returns then.
  func finish() {
    hasEnded.store(true, ordering: .releasing)
    wakeUp()
    thread.wait()
  }

  private func wakeUp() {
    isOpen.withLock { if $0 { _ = ChildProcesses.write(wake.writing, [0], 1) } }
  }

  // MARK: - On the thread

  private func run() {
    // A child that does not read is an error of `write` here, and no signal to this program.
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
    var open = readings
    while true {
      let isLast = hasEnded.load(ordering: .acquiring)
      if isLast { closeInputEnd() } else { writePending() }
      open.removeAll { reading in
        let isComplete = read(reading) || isLast
        if isComplete {
          close(reading.descriptor)
          reading.output.complete()
        }
        return isComplete
      }
      if isLast { break }
      waitForEvent(open)
    }
    isOpen.withLock { isOpen in
      isOpen = false
      close(wake.reading)
      close(wake.writing)
    }
  }

  private func waitForEvent(_ open: [Reading]) {
    var files = (open.map(\.descriptor) + [wake.reading]).map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    input.withLock { input in
      guard let descriptor = input.descriptor, !input.pending.isEmpty else { return }
      files.append(pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0))
    }
    poll(&files, nfds_t(files.count), -1)
    var bytes = [UInt8](repeating: 0, count: 64)
    while ChildProcesses.read(wake.reading, &bytes, bytes.count) == bytes.count {}
  }

  /// Reads what is there.
  ///
  /// - Returns: whether the output has ended.
  private func read(_ reading: Reading) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = ChildProcesses.read(reading.descriptor, &buffer, buffer.count)
      guard count > 0 else {
        return count == 0 || errno != EAGAIN
      }
      reading.output.append(buffer[..<count])
    }
  }

  private func writePending() {
    input.withLock { input in
      guard let descriptor = input.descriptor else { return }
      while !input.pending.isEmpty {
        let count = input.pending.withUnsafeBytes {
          ChildProcesses.write(descriptor, $0.baseAddress, $0.count)
        }
        if count < 0, errno == EAGAIN { return }
        // The child has closed its input: it wants no more.
        if count < 0 {
          (input.pending, input.isComplete) = ([], true)
        } else {
          input.pending.removeFirst(count)
        }
      }
      if input.isComplete { Self.closeEnd(&input) }
    }
  }

  private func closeInputEnd() { input.withLock { Self.closeEnd(&$0) } }

  private static func closeEnd(_ input: inout Input) {
    if let descriptor = input.descriptor { close(descriptor) }
    (input.descriptor, input.pending) = (nil, [])
  }
}
