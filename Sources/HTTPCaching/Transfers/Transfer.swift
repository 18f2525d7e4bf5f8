// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore
import Synchronization

/// The content of one response between the origin, the store and any number of readers.
///
/// One task appends what arrives. Each reader is a position in the content; ``TransferReader`` is what a caller holds.
///
/// **Where the bytes are.** ``State/window`` holds the latest blocks. While a body that is to be stored is small, the window
/// holds all of it, and the entry's writer gets it at the end. A large one goes to the writer's file as it arrives, and the
/// window holds the latest ``lead`` bytes. Where the content is not stored, the window holds what the slowest reader has not
/// read. When the writing has ended, slow readers read the stored entry.
///
/// **Who sets the pace.** Content that is stored may run ahead of the *fastest* reader by ``lead``; the others read what is
/// stored. Content that is not stored may run ahead of the *slowest* reader, as nothing else holds what it has not read.
/// For callers that wait for the entry the content goes on at the origin's pace. When the budget is full, the lead is one
/// chunk.
///
/// **Ownership** goes one way: the task that appends and the readers hold the transfer, and the transfer holds nothing of
/// theirs but the continuations of those that wait. It stores no closure, so it cannot be part of a retain cycle.
final class Transfer: Sendable {
  /// How far the content may run ahead of the reader that sets the pace, in bytes.
  static let lead = 256 << 10
  /// A transfer whose last reader has gone is finished for the store if no more than this is missing, in bytes. As much is
  /// on its way already, in the buffers of a connection: to ask for the whole content again costs more.
  static let worthFinishing = 64 << 10
  /// What a writer to a file occupies in memory: the chunk that it fills, in bytes. Also the most that is read at once.
  private static let fileChunk = 64 << 10

  typealias ReaderID = Int

  private struct Reader {
    /// The position of the next byte that it gets.
    var position: Int
    /// Resumed with the next chunk, or with `nil` when something else has changed.
    var waiting: CheckedContinuation<ArraySlice<UInt8>?, any Error>?
  }

  /// What holds the content beside the window.
  private enum Keeper {
    /// Nothing: the content is not stored, or not any more.
    case none
    /// The window holds all of the content until this writer gets it.
    case window(EntryWriter)
    /// The file of this writer, which gets what arrives.
    case file(EntryWriter)
    /// The file of a writer that takes no more. Slow readers still read it.
    case remains(EntryWriter)
    /// The stored entry. Nothing arrives any more.
    case entry(StoredBody)
  }

  private struct State {
    var keeper: Keeper
    var window = ContentBlocks()
    /// The number of bytes that have arrived.
    var end = 0
    /// Where the readers' part of the content ends, if what follows is for the store alone.
    var readersEnd: Int?
    var result: Result<Void, any Error>?
    var readers: [ReaderID: Reader] = [:]
    var lastReader = 0
    /// Callers that wait for the entry.
    var waiters = 0
    /// The task that appends, while it has to wait.
    var producer: CheckedContinuation<Void, Never>?
    /// What the budget was told that this transfer occupies.
    var counted = 0

    var writer: EntryWriter? {
      switch keeper {
      case .window(let writer), .file(let writer): writer
      case .none, .remains, .entry: nil
      }
    }

    /// The readers that wait at a position.
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
  /// The length of the content in bytes, where it is known.
  let length: Int?
  private let live = LiveCount(.transfer)

  /// - Parameter writer: brings the content into the store; `nil` if it is not stored.
  init(length: Int?, writer: EntryWriter?, budget: TransitBudget) {
    self.length = length
    self.budget = budget
    state = Mutex(State(keeper: writer.map { .window($0) } ?? .none))
  }

  deinit {
    state.withLock { state in
      budget.change(by: -state.counted)
      dispose(state.keeper)
    }
  }

  /// Has a file that is not an entry's removed where that may block.
  private func dispose(_ keeper: Keeper) {
    guard case .remains(let writer) = keeper else { return }
    BlockingExecutor.release(writer)
  }

  // MARK: - The task that appends

  /// What the store made of a chunk.
  enum Storing {
    case stored
    /// The content is not being stored.
    case notStored
    /// The writer refused the chunk, and takes no more.
    case refused(InsertRefusal)
    /// There is no memory for content in flight, and this transfer can do without the store.
    case transitFull
  }

  /// Adds a chunk for the readers and the store, and waits while the content may not run further ahead of the readers.
  ///
  /// May block on the disk.
  func append(_ chunk: ArraySlice<UInt8>) async -> Storing {
    guard !chunk.isEmpty else { return .stored }
    let (storing, ready) = add(chunk, write(chunk))
    for reader in ready { reader.resume(returning: chunk) }
    await waitForReaders()
    return storing
  }

  /// Gives a chunk to the writer if it belongs in a file. Outside of the lock: only this task changes the writer.
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
      // A reader that waits here has read everything else: it gets the chunk itself.
      let ready =
        state.readersEnd == nil ? state.takeWaiting(at: state.end, advancedBy: chunk.count) : []
      state.window.append(chunk)
      state.end += chunk.count
      trim(&state)
      if case .window = state.keeper, budget.isFull {
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

  /// Has the readers that were added for ``later`` begin with what is appended next.
  func beginForReaders() {
    state.withLock { state in
      for (id, reader) in state.readers where reader.position == Self.later {
        state.readers[id]?.position = state.end
      }
    }
  }

  /// Keeps what is appended from now on from the readers: it is for the store alone.
  func endForReaders() {
    state.withLock { $0.readersEnd = $0.end }
  }

  /// Ends the storing of what arrives and gives the writer with all of it, to be committed or cancelled; `nil` if the content
  /// is not stored.
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

  /// Leaves the readers with what the window and the writer's file hold by now.
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

  /// Says that the content is whole, or why it is not.
  ///
  /// - Parameter entry: what was stored of it, for the readers that are behind.
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

  /// Brings the content into the store; `nil` if it is not stored, or not any more.
  var writer: EntryWriter? { state.withLock { $0.writer } }

  /// Whether anybody reads the content.
  var isRead: Bool { state.withLock { !$0.readers.isEmpty } }

  /// Whether so little is missing for the store that the transfer is finished though no reader is left.
  var isWorthFinishing: Bool {
    guard let length else { return false }
    return state.withLock { $0.writer != nil && length - $0.end <= Self.worthFinishing }
  }

  // MARK: - Memory

  /// Drops what nobody needs from the window, and tells the budget what the content occupies.
  private func trim(_ state: inout State) {
    switch state.keeper {
    case .window: break
    case .file: state.window.drop(before: budget.isFull ? state.end : state.end - Self.lead)
    case .remains, .entry, .none:
      let slowest = state.readers.values.lazy.map(\.position).min() ?? state.end
      // What is older than the window is in a file, or in the entry, which holds all.
      if case .remains = state.keeper, slowest < state.window.start { break }
      if case .entry = state.keeper, slowest < state.end { break }
      dispose(state.keeper)
      state.keeper = .none
      state.window.drop(before: slowest)
    }
    var occupied = state.window.occupied
    if case .file = state.keeper { occupied += Self.fileChunk }
    budget.change(by: occupied - state.counted)
    state.counted = occupied
  }

  // MARK: - Readers

  /// Adds a reader; `nil` if the bytes from this position on can no longer be had.
  func addReader(at position: Int = 0) -> ReaderID? {
    state.withLock { state in
      guard state.writer != nil || state.window.start <= position else { return nil }
      state.lastReader += 1
      state.readers[state.lastReader] = Reader(position: position)
      return state.lastReader
    }
  }

  /// Removes a reader, and what only it needed.
  func remove(_ reader: ReaderID) {
    let (removed, producer) = state.withLock { state in
      let removed = state.readers.removeValue(forKey: reader)
      trim(&state)
      return (removed, takeProducer(&state))
    }
    removed?.waiting?.resume(throwing: CancellationError())
    producer?.resume()
  }

  /// Counts callers that wait for the entry.
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

  /// What a reader does next.
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
    // Only then does the window depend on the readers. To look at all of them costs 5 µs with a thousand.
    switch state.keeper {
    case .none, .remains: trim(&state)
    case .window, .file, .entry: break
    }
    return takeProducer(&state)
  }

  /// The next chunk for a reader; `nil` behind the last.
  ///
  /// - Throws: what ``finish(_:entry:)`` was given; `HTTPCacheError.incompleteContent` if nothing holds the next bytes any
  ///   more; `CancellationError` if the reader was removed.
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

  /// The first of these bytes, which the window no longer holds.
  private static func read(_ keeper: Keeper, _ range: Range<Int>) async -> ArraySlice<UInt8>? {
    // The writer and the entry may have more than the readers are to get.
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

  /// Whether what could not be read from the writer's file may be an entry's now, which ``finish(_:entry:)`` will give.
  private var mayBecomeEntry: Bool {
    switch state.withLock({ $0.keeper }) {
    // It is still being written, so it cannot be read for another reason.
    case .file: false
    case .remains(let writer): writer.refusal == nil
    case .none, .window, .entry: true
    }
  }

  /// Waits for the next chunk, which it returns, or for the result; returns at once if either is there.
  ///
  /// - Parameter forEntry: whether the reader is behind, and no chunk concerns it.
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
