// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheStore

/// The content of one response between the origin, the store and any number of readers.
///
/// One task, the producer, appends the bytes that arrive. Each reader is a position in the content; a caller reads
/// through a ``TransferReader``.
///
/// **Where the bytes are.** ``State/window`` contains the latest blocks. While a body that will be stored is small,
/// the window contains all of it, and the entry's writer gets it at the end. A large body goes to the writer's file as
/// it arrives, and the window contains the latest ``lead`` bytes. If the content is not stored, the window contains the
/// bytes that slow readers have not read, as far as the budget allows. After the last write, slow readers read the
/// stored entry, or go on with the file, whether its entry was stored or not.
///
/// **Pace.** The content may run ahead of the *fastest* reader by ``lead``, or less while little of the budget is free.
/// A reader that does not read never sets the pace of others: of content that is stored it reads the stored bytes later;
/// of other content it is left behind once its next bytes are dropped, and its read throws. A single reader is the
/// fastest, so it is never left behind. Content with a reservation, and content that callers wait for, continues at the
/// origin's pace: so slow readers do not keep the memory of what will be stored.
///
/// **Budget.** The window of content that will be stored in memory counts as storing, and so does the chunk that a writer
/// to a file fills. Each other window counts as passing.
///
/// **Ownership** goes one way: the producer and the readers own the transfer. The transfer owns nothing of theirs
/// except the continuations of waiting tasks. It stores no closure, so it cannot be part of a retain cycle.
final class Transfer: Sendable {
  /// How far the content may run ahead of the reader that sets the pace, in bytes.
  static let lead = 256 << 10
  /// The number of missing bytes up to which a transfer without readers is still finished for the store. That many
  /// bytes are already in flight, in the buffers of a connection: to fetch the whole content again costs more.
  static let worthFinishing = 64 << 10
  /// The bytes that content that is not stored keeps for slow readers even if the budget allows less: four chunks of
  /// the proxy.
  private static let slowReaders = 16 << 10
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
    /// The file of a writer that accepts no more bytes, with all bytes up to a position. Slow readers still read it.
    case remains(EntryWriter, end: Int)
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
    /// The readers whose next bytes were dropped, until they learn of it.
    var leftBehind: Set<ReaderID> = []
    /// Whether the writer was taken to be committed, so that no more bytes arrive.
    var isEnding = false
    /// The number of callers that wait for the entry.
    var waiters = 0
    /// The task that appends, while it waits.
    var producer: CheckedContinuation<Void, Never>?
    /// The bytes that this transfer has reported to the budget.
    var counted = (passing: 0, storing: 0)
    /// The bytes of ``counted`` that the window may have without asking the budget.
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
    state = Mutex(
      State(
        keeper: writer.map { .window($0) } ?? .none, counted: (passing: 0, storing: reserved),
        reserved: reserved))
  }

  deinit {
    state.withLock { state in
      budget.change(by: -state.counted.passing)
      budget.changeStoring(by: -state.counted.storing)
      dispose(state.keeper)
    }
  }

  /// Deletes a file that belongs to no entry, on a thread that may block.
  private func dispose(_ keeper: Keeper) {
    guard case .remains(let writer, _) = keeper else { return }
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
    /// There is no memory for content that will be stored, and this transfer continues without the store.
    case transitFull
  }

  /// Appends a chunk for the readers and the store. It waits while the content must not run further ahead of the
  /// readers. The last bytes of a content also wait for memory, before the readers get them.
  ///
  /// May block on the disk.
  func append(_ chunk: ArraySlice<UInt8>) async -> Storing {
    guard !chunk.isEmpty else { return .stored }
    let (storing, ready) = add(chunk, await write(chunk))
    for reader in ready { reader.resume(returning: chunk) }
    await waitForReaders()
    return storing
  }

  /// Reserves memory for a chunk, or gives it to the writer if it belongs in a file. Outside the lock, because only this
  /// task changes the writer.
  private func write(_ chunk: ArraySlice<UInt8>) async -> (storing: Storing, isInFile: Bool) {
    let (keeper, end) = state.withLock { ($0.keeper, $0.end) }
    switch keeper {
    case .window(let writer):
      switch writer.destination(ofBody: end + chunk.count) {
      case .memory: return (await reserveLast(chunk) ? .stored : .transitFull, false)
      case .file:
        guard reserveFileChunk() else { return (.transitFull, false) }
        let isWritten = writer.append(state.withLock { $0.window }) && writer.append(chunk)
        return (isWritten ? .stored : .refused(writer.refusal ?? InsertRefusal(.cancelled)), true)
      case nil: return (.refused(writer.refusal ?? InsertRefusal(.cancelled)), false)
      }
    case .file(let writer):
      return (writer.append(chunk) ? .stored : .refused(writer.refusal ?? InsertRefusal(.cancelled)), true)
    case .none, .remains, .entry: return (.notStored, false)
    }
  }

  /// Reserves memory for the rest of a content, if that is a small content or a chunk that completes it; it waits until
  /// there is room. Other chunks ask when the window has them; see ``grow(_:)``.
  private func reserveLast(_ chunk: ArraySlice<UInt8>) async -> Bool {
    let (missing, mayWait) = state.withLock { state -> (Int, Bool) in
      let end = state.end + chunk.count
      let whole = max(end, length ?? 0)
      // All of a small content at once: it waits only while it has nothing that others may wait for.
      if whole <= TransitBudget.block { return (whole - state.counted.storing, state.end == 0) }
      // What a larger content has is not of the part that is for the last bytes.
      return end == length && chunk.count <= TransitBudget.block
        ? (end - state.counted.storing, true) : (0, false)
    }
    guard missing > 0 else { return true }
    if !budget.reserve(missing, of: budget.storingCapacity) {
      guard mayWait else { return false }
      budget.change(by: chunk.count)
      defer { budget.change(by: -chunk.count) }
      guard await budget.waitToReserve(missing) else { return false }
    }
    state.withLock { state in
      state.counted.storing += missing
      state.reserved = max(state.reserved, state.counted.storing)
    }
    return true
  }

  private func reserveFileChunk() -> Bool {
    let missing = state.withLock { Self.fileChunk - $0.counted.storing }
    guard missing > 0 else { return true }
    guard budget.reserve(missing, of: budget.largeCapacity, leaving: budget.largeCapacity / 2) else {
      return false
    }
    state.withLock { $0.counted.storing += missing }
    return true
  }

  /// Asks the budget for the bytes that the window has beyond those reserved.
  private func grow(_ state: inout State) -> Bool {
    let occupied = state.window.occupied
    // The blocks of reserved bytes need a little more.
    guard occupied > state.counted.storing, state.end > state.reserved else { return true }
    let missing = occupied - state.counted.storing
    guard budget.reserve(missing, of: budget.largeCapacity, leaving: occupied) else { return false }
    state.counted.storing += missing
    return true
  }

  private func add(
    _ chunk: ArraySlice<UInt8>, _ written: (storing: Storing, isInFile: Bool)
  ) -> (Storing, [CheckedContinuation<ArraySlice<UInt8>?, any Error>]) {
    state.withLock { state in
      state.isEnding = false
      switch (state.keeper, written.storing) {
      case (.window(let writer), .stored) where written.isInFile: state.keeper = .file(writer)
      case (_, .refused), (_, .transitFull): stopStoring(&state)
      default: break
      }
      // A reader that waits here has read all earlier bytes: it gets the chunk itself.
      let ready =
        state.readersEnd == nil ? state.takeWaiting(at: state.end, advancedBy: chunk.count) : []
      state.window.append(chunk)
      state.end += chunk.count
      var storing = written.storing
      if case .window = state.keeper, !grow(&state) || !mayAppend(state) && !mayWait(state) {
        storing = .transitFull
        stopStoring(&state)
      }
      trim(&state)
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
    if case .window = state.keeper, let length, state.reserved >= length { return true }
    guard let fastest = state.readers.values.lazy.map(\.position).max() else { return true }
    return state.end - fastest <= budget.allowance(upTo: Self.lead)
  }

  /// Whether content that is stored in memory may wait for its readers. While it waits, it has none of the memory for
  /// the last bytes of responses, so readers that do not read cannot fill that.
  private func mayWait(_ state: State) -> Bool {
    budget.usedForStoring + state.counted.storing <= budget.largeCapacity
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
      defer {
        state.isEnding = true
        stopStoring(&state)
      }
      return state.writer
    }
  }

  /// Leaves the readers the bytes that the window and the writer's file contain at present.
  private func stopStoring(_ state: inout State) {
    switch state.keeper {
    case .window: state.keeper = .none
    case .file(let writer): state.keeper = .remains(writer, end: state.end)
    case .none, .remains, .entry: break
    }
    trim(&state)
  }

  /// Whether a reader is so far behind that it should read the stored entry. A file has its content without one.
  var hasLaggards: Bool {
    state.withLock { state in
      if case .remains = state.keeper { return false }
      let allowance = budget.allowance(upTo: Self.lead)
      return state.readers.values.contains {
        $0.position < state.window.start || state.end - $0.position > allowance
      }
    }
  }

  /// Marks the content as complete, or as failed with an error.
  ///
  /// - Parameter entry: the stored entry, for slow readers.
  func finish(_ result: Result<Void, any Error>, entry: StoredBody? = nil) {
    let waiting = state.withLock { state in
      guard state.result == nil else { return [CheckedContinuation<ArraySlice<UInt8>?, any Error>]() }
      state.result = result
      stopStoring(&state)
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
    case .file: state.window.drop(before: state.end - budget.allowance(upTo: Self.lead))
    case .remains, .entry, .none: dropRead(&state)
    }
    let occupied = state.window.occupied
    let isComplete = state.isEnding && state.result == nil
    let counted =
      switch state.keeper {
      case .window: (passing: 0, storing: max(occupied, state.reserved))
      case .none where isComplete: (passing: 0, storing: max(occupied, state.reserved))
      case .file: (passing: occupied, storing: Self.fileChunk)
      case .remains where isComplete: (passing: occupied, storing: Self.fileChunk)
      case .none, .remains, .entry: (passing: occupied, storing: 0)
      }
    budget.change(by: counted.passing - state.counted.passing)
    budget.changeStoring(by: counted.storing - state.counted.storing)
    state.counted = counted
  }

  /// Drops the bytes that all readers have read. While more arrive that are not stored, it also drops those that only
  /// readers far behind the fastest need.
  private func dropRead(_ state: inout State) {
    let positions = state.readers.values.lazy.map(\.position)
    let slowest = positions.min() ?? state.end
    var oldest = slowest
    if state.result == nil, !state.isEnding, let fastest = positions.max() {
      let kept = max(Self.slowReaders, budget.slowReaderAllowance)
      oldest = max(slowest, min(fastest, state.end - kept))
    }
    switch state.keeper {
    // Bytes older than the window are in a file, or in the entry, which contains all bytes.
    case .remains(_, let end) where slowest < state.window.start && oldest <= end: return
    case .entry where slowest < state.end: return
    default: break
    }
    dispose(state.keeper)
    state.keeper = .none
    state.window.drop(before: oldest)
    guard slowest < state.window.start else { return }
    for (id, reader) in state.readers where reader.position < state.window.start {
      state.readers[id] = nil
      state.leftBehind.insert(id)
      budget.countLeftBehind()
      reader.waiting?.resume(throwing: HTTPCacheError.leftBehind)
    }
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
      state.leftBehind.remove(reader)
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
    case stored(Keeper, Range<Int>)
    case end(Result<Void, any Error>)
    case wait
  }

  /// Returns the next step of a reader.
  private func step(_ reader: ReaderID, _ state: inout State) -> Step {
    guard let position = state.readers[reader]?.position else {
      let isLeftBehind = state.leftBehind.contains(reader)
      return .end(.failure(isLeftBehind ? HTTPCacheError.leftBehind : CancellationError()))
    }
    let end = state.readersEnd ?? state.end
    if position >= end { return state.result.map { .end($0) } ?? .wait }
    guard position >= state.window.start else {
      return .stored(state.keeper, position..<end)
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
  /// - Throws: the error that was passed to ``finish(_:entry:)``; `HTTPCacheError.leftBehind` if the reader was so far
  ///   behind the fastest that its next bytes were dropped, or cannot be read from the store; `CancellationError` if the
  ///   reader was removed.
  func next(_ reader: ReaderID) async throws -> ArraySlice<UInt8>? {
    while true {
      switch state.withLock({ step(reader, &$0) }) {
      case .chunk(let chunk, let producer):
        producer?.resume()
        return chunk
      case .end(let result):
        try result.get()
        return nil
      case .stored(let keeper, let range):
        guard let chunk = await read(keeper, range), !chunk.isEmpty else {
          throw HTTPCacheError.leftBehind
        }
        state.withLock { advance(reader, by: chunk.count, &$0) }?.resume()
        return chunk
      case .wait:
        if let chunk = try await wait(reader) { return chunk }
      }
    }
  }

  /// Returns the first of these bytes, which are no longer in the window: as many as a holder of passing content may have.
  private func read(_ keeper: Keeper, _ range: Range<Int>) async -> ArraySlice<UInt8>? {
    // The writer and the entry may contain bytes that are not for the readers.
    let count = Swift.min(range.count, budget.chunkSize(upTo: Self.fileChunk))
    let chunk: ArraySlice<UInt8>?
    switch keeper {
    case .none, .window: return nil
    case .file(let writer), .remains(let writer, _):
      chunk = await BlockingExecutor.run { writer.read(from: range.lowerBound, upTo: count) }
    case .entry(let body): chunk = try? await body.chunk(from: range.lowerBound, upTo: count)
    }
    // A part would keep the memory of the whole that was read to verify it.
    return chunk.map { $0.count < Self.fileChunk ? Array($0)[...] : $0 }
  }

  /// Waits for the next chunk, which it returns, or for the result. It returns at once if either is available.
  private func wait(_ reader: ReaderID) async throws -> ArraySlice<UInt8>? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isReady = state.withLock { state in
          guard let position = state.readers[reader]?.position, state.result == nil,
            position >= (state.readersEnd ?? state.end)
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
