// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore
import Synchronization

/// The content of one response between the origin, the store and any number of readers.
///
/// One task, the producer, appends the bytes that arrive. Each reader is a position in the content; a caller reads
/// through a ``TransferReader``.
///
/// **Where the bytes are.** ``State/window`` contains the latest blocks. While a body that will be stored is small,
/// the window contains all of it, and the entry's writer gets it at the end. A large body goes to the writer's file as
/// it arrives, and the window contains the latest ``lead`` bytes. If the content is not stored, the window contains the
/// bytes that the slowest reader has not read. After the last write, slow readers read the stored entry.
///
/// **Pace.** Content that is stored may run ahead of the *fastest* reader by ``lead``; the others read the stored
/// bytes. Content that is not stored may run ahead of the *slowest* reader, because no other copy exists of its
/// unread bytes. For callers that wait for the entry, the content continues at the origin's pace. When the budget is
/// full, the lead is one chunk.
///
/// **Ownership** goes one way: the producer and the readers own the transfer. The transfer owns nothing of theirs
/// except the continuations of waiting tasks. It stores no closure, so it cannot be part of a retain cycle.
final class Transfer: Sendable {
  /// How far the content may run ahead of the reader that sets the pace, in bytes.
  static let lead = 256 << 10
  /// The number of missing bytes up to which a transfer without readers is still finished for the store. That many
  /// bytes are already in flight, in the buffers of a connection: to fetch the whole content again costs more.
  static let worthFinishing = 64 << 10
  /// The memory that a writer to a file uses: the chunk that it fills, in bytes. Also the maximum size of one read.
  private static let fileChunk = 64 << 10

  typealias ReaderID = Int

  private struct Reader {
    /// The position of the next byte that the reader gets.
    var position: Int
    /// Resumed with the next chunk, or with `nil` if another part of the state has changed.
    var waiting: CheckedContinuation<ArraySlice<UInt8>?, any Error>?
  }

  /// The place of the content outside the window.
  private enum Keeper {
    /// None: the content is not stored, or no longer.
    case none
    /// The window contains all of the content until this writer gets it.
    case window(EntryWriter)
    /// The file of this writer, which gets the bytes that arrive.
    case file(EntryWriter)
    /// The file of a writer that accepts no more bytes. Slow readers still read it.
    case remains(EntryWriter)
    /// The stored entry. No more bytes arrive.
    case entry(StoredBody)
  }

  private struct State {
    var keeper: Keeper
    var window = ContentBlocks()
    /// The number of bytes that have arrived.
    var end = 0
    /// The end of the readers' part of the content, if the rest is for the store only.
    var readersEnd: Int?
    var result: Result<Void, any Error>?
    var readers: [ReaderID: Reader] = [:]
    var lastReader = 0
    /// The number of callers that wait for the entry.
    var waiters = 0
    /// The task that appends, while it waits.
    var producer: CheckedContinuation<Void, Never>?
    /// The bytes that this transfer has reported to the budget.
    var counted = 0
    /// The bytes that the window may have without asking the budget.
    var reserved = 0

    var writer: EntryWriter? {
      switch keeper {
      case .window(let writer), .file(let writer): writer
      case .none, .remains, .entry: nil
      }
    }

    /// Removes and returns the continuations of the readers that wait at a position.
    mutating func takeWaiting(at position: Int, advancedBy count: Int = 0) -> [CheckedContinuation<
      ArraySlice<UInt8>?, any Error
    >] {
      var taken: [CheckedContinuation<ArraySlice<UInt8>?, any Error>] = []
      for (id, reader) in readers where reader.position == position {
        guard let waiting = reader.waiting else { continue }
        readers[id] = Reader(position: position + count)
        taken.append(waiting)
      }
      return taken
    }
  }

  private let state: Mutex<State>
  private let budget: TransitBudget
  /// The length of the content in bytes, if it is known.
  let length: Int?
  private let live = LiveCount(.transfer)

  /// - Parameters:
  ///   - writer: writes the content into the store; `nil` if it is not stored.
  ///   - reserved: the bytes reserved in the budget for this transfer.
  init(length: Int?, writer: EntryWriter?, budget: TransitBudget, reserved: Int = 0) {
    self.length = length
    self.budget = budget
    state = Mutex(State(keeper: writer.map { .window($0) } ?? .none, counted: reserved, reserved: reserved))
  }

  deinit {
    state.withLock { state in
      budget.change(by: -state.counted)
      dispose(state.keeper)
    }
  }

  /// Deletes a file that belongs to no entry, on a thread that may block.
  private func dispose(_ keeper: Keeper) {
    guard case .remains(let writer) = keeper else { return }
    BlockingExecutor.release(writer)
  }

  // MARK: - The task that appends

  /// The store's result for a chunk.
  enum Storing {
    case stored
    /// The content is not being stored.
    case notStored
    /// The writer refused the chunk, and accepts no more.
    case refused(InsertRefusal)
    /// There is no memory for content in flight, and this transfer can continue without the store.
    case transitFull
  }

  /// Appends a chunk for the readers and the store. It waits while the content must not run further ahead of the
  /// readers.
  ///
  /// May block on the disk.
  func append(_ chunk: ArraySlice<UInt8>) async -> Storing {
    guard !chunk.isEmpty else { return .stored }
    let (storing, ready) = add(chunk, write(chunk))
    for reader in ready { reader.resume(returning: chunk) }
    await waitForReaders()
    return storing
  }

  /// Gives a chunk to the writer if it belongs in a file. Outside the lock, because only this task changes the writer.
  private func write(_ chunk: ArraySlice<UInt8>) -> (storing: Storing, isInFile: Bool) {
    let (keeper, end) = state.withLock { ($0.keeper, $0.end) }
    switch keeper {
    case .window(let writer):
      switch writer.destination(ofBody: end + chunk.count) {
      case .memory: return (.stored, false)
      case .file:
        let isWritten = writer.append(state.withLock { $0.window }) && writer.append(chunk)
        return (isWritten ? .stored : .refused(writer.refusal ?? InsertRefusal(.cancelled)), true)
      case nil: return (.refused(writer.refusal ?? InsertRefusal(.cancelled)), false)
      }
    case .file(let writer):
      return (writer.append(chunk) ? .stored : .refused(writer.refusal ?? InsertRefusal(.cancelled)), true)
    case .none, .remains, .entry: return (.notStored, false)
    }
  }

  private func add(
    _ chunk: ArraySlice<UInt8>, _ written: (storing: Storing, isInFile: Bool)
  ) -> (Storing, [CheckedContinuation<ArraySlice<UInt8>?, any Error>]) {
    state.withLock { state in
      var storing = written.storing
      switch (state.keeper, storing) {
      case (.window(let writer), .stored) where written.isInFile: state.keeper = .file(writer)
      case (_, .refused): stopStoring(&state)
      default: break
      }
      // A reader that waits here has read all earlier bytes: it gets the chunk itself.
      let ready =
        state.readersEnd == nil ? state.takeWaiting(at: state.end, advancedBy: chunk.count) : []
      state.window.append(chunk)
      state.end += chunk.count
      trim(&state)
      if case .window = state.keeper, state.end > state.reserved, budget.isFull {
        storing = .transitFull
        stopStoring(&state)
      }
      return (storing, ready)
    }
  }

  /// Waits until the content may run further ahead, or the task is cancelled.
  private func waitForReaders() async {
    if state.withLock({ mayAppend($0) }) { return }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let goesOn = state.withLock { state in
          if Task.isCancelled || mayAppend(state) { return true }
          state.producer = continuation
          return false
        }
        if goesOn { continuation.resume() }
      }
    } onCancel: {
      state.withLock { state in
        defer { state.producer = nil }
        return state.producer
      }?.resume()
    }
  }

  /// Whether the content may run further ahead of the readers.
  private func mayAppend(_ state: State) -> Bool {
    if state.waiters > 0 || state.readersEnd != nil { return true }
    let positions = state.readers.values.lazy.map(\.position)
    guard let pace = state.writer == nil ? positions.min() : positions.max() else { return true }
    return budget.isFull ? state.end <= pace : state.end - pace <= Self.lead
  }

  /// The position of readers that wait for ``beginForReaders()``.
  static let later = ReaderID.max

  /// Lets the readers that were added at ``later`` begin with the next appended chunk.
  func beginForReaders() {
    state.withLock { state in
      for (id, reader) in state.readers where reader.position == Self.later {
        state.readers[id]?.position = state.end
      }
    }
  }

  /// Stores the bytes that are appended from now on without giving them to the readers.
  func endForReaders() {
    state.withLock { $0.readersEnd = $0.end }
  }

  /// Stops storing the bytes that arrive, and returns the writer with all earlier ones, to be committed or cancelled;
  /// `nil` if the content is not stored.
  func takeWriter() -> EntryWriter? {
    let (keeper, content) = state.withLock { ($0.keeper, $0.window) }
    switch keeper {
    case .window(let writer): writer.append(content)
    case .file: break
    case .none, .remains, .entry: return nil
    }
    return state.withLock { state in
      defer { stopStoring(&state) }
      return state.writer
    }
  }

  /// Leaves the readers the bytes that the window and the writer's file contain at present.
  private func stopStoring(_ state: inout State) {
    switch state.keeper {
    case .window: state.keeper = .none
    case .file(let writer): state.keeper = .remains(writer)
    case .none, .remains, .entry: break
    }
    trim(&state)
  }

  /// Whether a reader is so far behind that it should read the stored entry.
  var hasLaggards: Bool {
    state.withLock { state in
      state.readers.values.contains {
        $0.position < state.window.start || state.end - $0.position > Self.lead
      }
    }
  }

  /// Marks the content as complete, or as failed with an error.
  ///
  /// - Parameter entry: the stored entry, for slow readers.
  func finish(_ result: Result<Void, any Error>, entry: StoredBody? = nil) {
    let waiting = state.withLock { state in
      guard state.result == nil else { return [CheckedContinuation<ArraySlice<UInt8>?, any Error>]() }
      stopStoring(&state)
      state.result = result
      if let entry, entry.count >= state.end {
        state.keeper = .entry(entry)
        state.window = ContentBlocks(at: state.end)
        trim(&state)
      }
      defer { for id in state.readers.keys { state.readers[id]?.waiting = nil } }
      return state.readers.values.compactMap(\.waiting)
    }
    for reader in waiting { reader.resume(returning: nil) }
  }

  /// The writer of the content into the store; `nil` if the content is not stored, or no longer.
  var writer: EntryWriter? { state.withLock { $0.writer } }

  /// Whether the content has a reader.
  var isRead: Bool { state.withLock { !$0.readers.isEmpty } }

  /// Whether so few bytes are missing for the store that the transfer is finished without a reader.
  var isWorthFinishing: Bool {
    guard let length else { return false }
    return state.withLock { $0.writer != nil && length - $0.end <= Self.worthFinishing }
  }

  // MARK: - Memory

  /// Drops unneeded bytes from the window, and reports the used memory to the budget.
  private func trim(_ state: inout State) {
    switch state.keeper {
    case .window: break
    case .file: state.window.drop(before: budget.isFull ? state.end : state.end - Self.lead)
    case .remains, .entry, .none:
      let slowest = state.readers.values.lazy.map(\.position).min() ?? state.end
      // Bytes older than the window are in a file, or in the entry, which contains all bytes.
      if case .remains = state.keeper, slowest < state.window.start { break }
      if case .entry = state.keeper, slowest < state.end { break }
      dispose(state.keeper)
      state.keeper = .none
      state.window.drop(before: slowest)
    }
    var occupied = state.window.occupied
    switch state.keeper {
    case .window: occupied = max(occupied, state.reserved)
    case .file: occupied += Self.fileChunk
    case .none, .remains, .entry: break
    }
    budget.change(by: occupied - state.counted)
    state.counted = occupied
  }

  // MARK: - Readers

  /// Adds a reader; returns `nil` if the bytes from this position on are no longer available.
  func addReader(at position: Int = 0) -> ReaderID? {
    state.withLock { state in
      guard state.writer != nil || state.window.start <= position else { return nil }
      state.lastReader += 1
      state.readers[state.lastReader] = Reader(position: position)
      return state.lastReader
    }
  }

  /// Removes a reader, and the bytes that only it needed.
  func remove(_ reader: ReaderID) {
    let (removed, producer) = state.withLock { state in
      let removed = state.readers.removeValue(forKey: reader)
      trim(&state)
      return (removed, takeProducer(&state))
    }
    removed?.waiting?.resume(throwing: CancellationError())
    producer?.resume()
  }

  /// Changes the number of callers that wait for the entry.
  func changeWaiters(by number: Int) {
    state.withLock { state in
      state.waiters += number
      return takeProducer(&state)
    }?.resume()
  }

  private func takeProducer(_ state: inout State) -> CheckedContinuation<Void, Never>? {
    guard state.producer != nil, mayAppend(state) else { return nil }
    defer { state.producer = nil }
    return state.producer
  }

  private enum Step {
    case chunk(ArraySlice<UInt8>, CheckedContinuation<Void, Never>?)
    /// To be read from a file, or from an entry.
    case stored(Keeper, Range<Int>, isOver: Bool)
    case end(Result<Void, any Error>)
    case wait
  }

  /// Returns the next step of a reader.
  private func step(_ reader: ReaderID, _ state: inout State) -> Step {
    guard let position = state.readers[reader]?.position else { return .end(.failure(CancellationError())) }
    let end = state.readersEnd ?? state.end
    if position >= end { return state.result.map { .end($0) } ?? .wait }
    guard position >= state.window.start else {
      return .stored(state.keeper, position..<end, isOver: state.result != nil)
    }
    let chunk = state.window.read(from: position, upTo: end - position)
    return .chunk(chunk, advance(reader, by: chunk.count, &state))
  }

  private func advance(_ reader: ReaderID, by count: Int, _ state: inout State) -> CheckedContinuation<
    Void, Never
  >? {
    state.readers[reader]?.position += count
    // Only then does the window depend on the readers. A pass over all of them takes 5 µs with a thousand.
    switch state.keeper {
    case .none, .remains: trim(&state)
    case .window, .file, .entry: break
    }
    return takeProducer(&state)
  }

  /// Returns the next chunk for a reader, or `nil` after the last.
  ///
  /// - Throws: the error that was passed to ``finish(_:entry:)``; `HTTPCacheError.incompleteContent` if the next bytes
  ///   are no longer available; `CancellationError` if the reader was removed.
  func next(_ reader: ReaderID) async throws -> ArraySlice<UInt8>? {
    while true {
      switch state.withLock({ step(reader, &$0) }) {
      case .chunk(let chunk, let producer):
        producer?.resume()
        return chunk
      case .end(let result):
        try result.get()
        return nil
      case .stored(let keeper, let range, let isOver):
        if let chunk = await Self.read(keeper, range), !chunk.isEmpty {
          state.withLock { advance(reader, by: chunk.count, &$0) }?.resume()
          return chunk
        }
        if isOver || !mayBecomeEntry { throw HTTPCacheError.incompleteContent }
        _ = try await wait(reader, forEntry: true)
      case .wait:
        if let chunk = try await wait(reader, forEntry: false) { return chunk }
      }
    }
  }

  /// Returns the first of these bytes, which are no longer in the window.
  private static func read(_ keeper: Keeper, _ range: Range<Int>) async -> ArraySlice<UInt8>? {
    // The writer and the entry may contain bytes that are not for the readers.
    let count = Swift.min(range.count, fileChunk)
    switch keeper {
    case .none, .window: return nil
    case .file(let writer), .remains(let writer):
      return await BlockingExecutor.run { writer.read(from: range.lowerBound, upTo: count) }
    case .entry(let body):
      let read = { @Sendable in try? body.read(from: range.lowerBound, upTo: count) }
      return body.isResident ? read() : await BlockingExecutor.run(read)
    }
  }

  /// Whether bytes that could not be read from the writer's file may now be in an entry, which ``finish(_:entry:)``
  /// will pass.
  private var mayBecomeEntry: Bool {
    switch state.withLock({ $0.keeper }) {
    // The writer still writes this file, so the read failed for another reason.
    case .file: false
    case .remains(let writer): writer.refusal == nil
    case .none, .window, .entry: true
    }
  }

  /// Waits for the next chunk, which it returns, or for the result. It returns at once if either is available.
  ///
  /// - Parameter forEntry: whether the reader is slow, and waits only for the entry.
  private func wait(_ reader: ReaderID, forEntry: Bool) async throws -> ArraySlice<UInt8>? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isReady = state.withLock { state in
          guard let position = state.readers[reader]?.position, state.result == nil,
            forEntry ? position < state.window.start : position >= (state.readersEnd ?? state.end)
          else { return true }
          state.readers[reader]?.waiting = continuation
          return false
        }
        if isReady { continuation.resume(returning: nil) }
      }
    } onCancel: {
      remove(reader)
    }
  }
}
