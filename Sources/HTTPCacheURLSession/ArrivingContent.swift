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
struct ArrivingContent: AsyncSequence, Sendable {
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
      /// What waits in memory; all of it arrived before what waits in the file.
      var chunks: [ArraySlice<UInt8>] = []
      var byteCount = 0
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
    func add(_ data: Data) {
      guard !data.isEmpty else { return }
      let failed = state.withLock { state in
        guard !state.hasLeft, state.end == nil else { return false }
        let chunk = ArraySlice(data)
        if let reader = state.reader {
          state.reader = nil
          reader.resume(returning: .chunk(chunk))
        } else if state.file == nil, state.byteCount + chunk.count <= ArrivingContent.memoryLimit {
          state.chunks.append(chunk)
          state.byteCount += chunk.count
        } else {
          do {
            if state.file == nil { state.file = try WaitingFile(named: name) }
            try state.file?.append(chunk)
          } catch {
            state.end = .failure(
              URLError(
                .cannotWriteToFile, nil,
                "The content arrives faster than it is read, and cannot wait in a temporary file: \(error)"))
            return true
          }
        }
        return false
      }
      if failed { onLeaving() }
    }

    /// Ends the content.
    ///
    /// - Parameter error: why it is incomplete; `nil` if it is complete.
    func end(_ error: (any Error)?) {
      let end: Result<Void, any Error> = error.map { .failure($0) } ?? .success(())
      let reader = state.withLock { state in
        if state.end == nil { state.end = end }
        defer { state.reader = nil }
        return state.reader
      }
      reader?.resume(returning: .end(end))
    }

    fileprivate func leave() {
      let (wasEarly, file) = state.withLock { state in
        defer { (state.hasLeft, state.chunks, state.file) = (true, [], nil) }
        return (state.end == nil && !state.hasLeft, state.file)
      }
      file?.close()
      if wasEarly { onLeaving() }
    }

    fileprivate func next() async throws -> ArraySlice<UInt8>? {
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
      if !state.chunks.isEmpty {
        // All at once: fewer and larger pieces for the store and for its readers.
        let chunk = state.chunks.count == 1 ? state.chunks[0] : ArraySlice(state.chunks.joined())
        (state.chunks, state.byteCount) = ([], 0)
        return .chunk(chunk)
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
    let path = FilePath(FileManager.default.temporaryDirectory.path).appending(
      "HTTPCacheURLSession-\(name)-\(UUID().uuidString)")
    descriptor = try FileDescriptor.open(
      path, .readWrite, options: [.create, .exclusiveCreate, .closeOnExec], permissions: .ownerReadWrite)
    // Its bytes disappear when it is closed, also if the process is killed.
    try? FileManager.default.removeItem(atPath: path.string)
  }

  mutating func append(_ chunk: ArraySlice<UInt8>) throws {
    try chunk.withUnsafeBytes { bytes in
      _ = try descriptor.writeAll(toAbsoluteOffset: end, bytes)
    }
    end += Int64(chunk.count)
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
