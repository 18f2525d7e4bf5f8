// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCaching
import SystemPackage

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The content of a response while Foundation delivers it, for one reader.
///
/// Foundation on Linux cannot pause a transfer: a task that is suspended and resumed sends its request again. So content
/// that arrives faster than it is read has to wait: the first 256 KiB in memory, the rest in a temporary file, which has
/// no name and disappears with the reader.
struct ArrivingContent: AsyncSequence, CancellableStream, Sendable {
  typealias Element = ArraySlice<UInt8>
  typealias Failure = any Error

  /// Maximum bytes that wait in memory.
  static let memoryLimit = 256 << 10

  private let reading: Reading

  /// Makes the content, and the end where it arrives.
  ///
  /// - Parameters:
  ///   - name: a part of the name that the temporary file has for a moment.
  ///   - onLeaving: called if the reader leaves before the end.
  static func make(
    named name: String = "content", _ onLeaving: @escaping @Sendable () -> Void
  ) -> (ArrivingContent, Arrivals) {
    let arrivals = Arrivals(name, onLeaving)
    return (ArrivingContent(reading: Reading(arrivals)), arrivals)
  }

  func makeAsyncIterator() -> Iterator { Iterator(reading: reading) }

  func cancel() {
    reading.arrivals.leave()
    reading.arrivals.end(CancellationError())
  }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let reading: Reading

    func next() async throws -> ArraySlice<UInt8>? { try await reading.arrivals.next() }
  }

  /// Tells when the last value of the reader is gone.
  fileprivate final class Reading: Sendable {
    let arrivals: Arrivals

    init(_ arrivals: Arrivals) { self.arrivals = arrivals }

    deinit { arrivals.leave() }
  }

  /// The end where content arrives.
  final class Arrivals: Sendable {
    /// What the reader gets next.
    private enum Step {
      case chunk(ArraySlice<UInt8>)
      case file(WaitingFile)
      case end(Result<Void, any Error>)
      case wait
    }

    private struct State {
      /// What waits in memory; all of it arrived before what waits in the file. One array, because the store and its
      /// readers take one large piece faster than many small ones.
      var bytes: [UInt8] = []
      var file: WaitingFile?
      var reader: CheckedContinuation<Step, any Error>?
      var end: Result<Void, any Error>?
      var hasLeft = false
    }

    private let state = Mutex(State())
    private let name: String
    private let onLeaving: @Sendable () -> Void

    fileprivate init(_ name: String, _ onLeaving: @escaping @Sendable () -> Void) {
      (self.name, self.onLeaving) = (name, onLeaving)
    }

    /// Adds what has arrived. It may write to the temporary file.
    ///
    /// - Parameter later: calls the closure that wakes the reader, now or after more has been added.
    func add(_ data: Data, _ later: (_ wake: @escaping @Sendable () -> Void) -> Void = { $0() }) {
      guard !data.isEmpty else { return }
      let (wakes, failed) = state.withLock { state in
        guard !state.hasLeft, state.end == nil else { return (false, false) }
        if state.file == nil, state.bytes.count + data.count <= ArrivingContent.memoryLimit {
          data.withUnsafeBytes { state.bytes.append(contentsOf: $0) }
        } else {
          do {
            if state.file == nil { state.file = try WaitingFile(named: name) }
            try state.file?.append(data)
          } catch {
            state.end = .failure(
              URLError(
                .cannotWriteToFile, nil,
                "The content arrives faster than it is read, and cannot wait in a temporary file: \(error)"))
            return (true, true)
          }
        }
        return (state.reader != nil, false)
      }
      if failed { onLeaving() }
      if wakes { later { self.wake() } }
    }

    /// Ends the content.
    ///
    /// - Parameter error: why it is incomplete; `nil` if it is complete.
    func end(_ error: (any Error)?) {
      state.withLock { state in
        if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
      }
      wake()
    }

    /// Gives the reader what waits for it, if it waits itself.
    private func wake() {
      let next = state.withLock { state -> (CheckedContinuation<Step, any Error>, Step)? in
        guard let reader = state.reader else { return nil }
        let step = Self.step(&state)
        if case .wait = step { return nil }
        state.reader = nil
        return (reader, step)
      }
      // Outside the lock, which the reader takes next.
      if let (reader, step) = next { reader.resume(returning: step) }
    }

    fileprivate func leave() {
      let (wasEarly, file) = state.withLock { state in
        defer { (state.hasLeft, state.bytes, state.file) = (true, [], nil) }
        return (state.end == nil && !state.hasLeft, state.file)
      }
      file?.close()
      if wasEarly { onLeaving() }
    }

    fileprivate func next() async throws -> ArraySlice<UInt8>? {
      // Otherwise, a cancelled reader goes on while content arrives faster than it reads.
      try Task.checkCancellation()
      var step = state.withLock { Self.step(&$0) }
      if case .wait = step { step = try await wait() }
      switch step {
      case .chunk(let chunk): return chunk
      case .end(let end):
        try end.get()
        return nil
      case .file(let file):
        let chunk = try await BlockingExecutor.run { Result { try file.read() } }.get()
        // Once all of it is read, the next content waits in memory again.
        let isEmptied = state.withLock { state in
          guard state.file?.advance(by: chunk.count) == true else { return false }
          state.file = nil
          return true
        }
        if isEmptied { file.close() }
        return chunk
      case .wait: return nil
      }
    }

    private static func step(_ state: inout State) -> Step {
      if !state.bytes.isEmpty {
        defer { state.bytes = [] }
        return .chunk(state.bytes[...])
      }
      if let file = state.file { return .file(file) }
      return state.end.map { .end($0) } ?? .wait
    }

    /// Waits for the next content, or the end; never returns `wait`.
    private func wait() async throws -> Step {
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          let step = state.withLock { state -> Step in
            // A cancellation may have come before.
            if Task.isCancelled { return .end(.failure(CancellationError())) }
            let step = Self.step(&state)
            if case .wait = step { state.reader = continuation }
            return step
          }
          if case .wait = step {} else { continuation.resume(returning: step) }
        }
      } onCancel: {
        let reader = state.withLock { state in
          defer { state.reader = nil }
          return state.reader
        }
        reader?.resume(throwing: CancellationError())
      }
    }
  }
}

/// A temporary file without a name, in which content waits for its reader.
private struct WaitingFile: Sendable {
  private static let blockSize = 256 << 10

  private let descriptor: FileDescriptor
  private var end: Int64 = 0
  private var position: Int64 = 0

  init(named name: String) throws {
    let path: FilePath
    (path, descriptor) = try TemporaryFile.make(named: name)
    // Its bytes disappear when it is closed, also if the process is killed.
    try? FileManager.default.removeItem(atPath: path.string)
  }

  mutating func append(_ data: Data) throws {
    _ = try data.withUnsafeBytes { try descriptor.writeAll(toAbsoluteOffset: end, $0) }
    end += Int64(data.count)
  }

  func read() throws -> ArraySlice<UInt8> {
    let count = Int(min(Int64(Self.blockSize), end - position))
    return try [UInt8](unsafeUninitializedCapacity: count) { buffer, read in
      read = try descriptor.read(
        fromAbsoluteOffset: position, into: UnsafeMutableRawBufferPointer(buffer))
    }[...]
  }

  /// Returns whether all of the content has been read.
  mutating func advance(by count: Int) -> Bool {
    position += Int64(count)
    return position == end
  }

  func close() { try? descriptor.close() }
}
