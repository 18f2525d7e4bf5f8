import Synchronization

/// An entry whose body arrives in pieces; nothing of it is visible before ``commit()``.
///
/// A writer that goes away without a commit is cancelled. It may be used from any thread, by one at a time: pieces
/// appended at once from two threads arrive in either order.
public final class EntryWriter: Sendable {
  private struct State {
    var entry: NewEntry
    /// Where the body is going once it is large.
    var file: BodyFileWriter?
    var count = 0
    /// Set once nothing more can be added.
    var outcome: InsertOutcome?
  }

  private let store: CacheStore
  private let expectedLength: Int?
  private let isEditable: Bool
  private let token: RemovalToken?
  private let state: Mutex<State>

  init(store: CacheStore, entry: NewEntry, expectedLength: Int?, isEditable: Bool, token: RemovalToken?) {
    self.store = store
    self.expectedLength = expectedLength
    self.isEditable = isEditable
    self.token = token
    state = Mutex(State(entry: entry, count: entry.body.count))
  }

  deinit {
    cancel()
  }

  /// Adds bytes to the body.
  ///
  /// - Returns: `false` when the entry can no longer be stored, so that the rest need not be sent; ``commit()`` says
  ///   why.
  @discardableResult
  public func append(_ bytes: ArraySlice<UInt8>) -> Bool {
    state.withLock { state in
      guard state.outcome == nil else { return false }
      state.count += bytes.count
      if let reason = objection(to: state) {
        refuse(reason, &state)
        return false
      }
      do throws(AppendFailure) {
        if state.file == nil, !isEditable,
          store.mustStream(state.entry, bodyCount: state.count, expected: expectedCount(state))
        {
          try spill(&state)
        }
        if state.file != nil {
          try state.file?.append(bytes)
        } else {
          state.entry.body += bytes
        }
        return true
      } catch {
        refuse(error.reason, &state)
        return false
      }
    }
  }

  /// Adds bytes to the body; see ``append(_:)-(ArraySlice<UInt8>)``.
  @discardableResult
  public func append(_ bytes: [UInt8]) -> Bool { append(bytes[...]) }

  /// Makes the entry visible, whole. A second call answers as the first.
  @discardableResult
  public func commit() -> InsertOutcome { commit(metadata: nil) }

  /// Makes the entry visible with the body as it is, even if more was announced.
  ///
  /// - Parameter metadata: in place of the bytes that the writer was made with; `nil` for those, and then the body must
  ///   have the length that was announced.
  @discardableResult
  public func commit(metadata: [UInt8]?) -> InsertOutcome {
    state.withLock { state in
      if let outcome = state.outcome { return outcome }
      if let metadata { state.entry.metadata = metadata }
      if metadata == nil, let expectedLength, expectedLength != state.count {
        refuse(.lengthMismatch, &state)
      } else if let reason = objection(to: state) {
        refuse(reason, &state)
      } else {
        let outcome = store.publish(state.entry, file: &state.file, token: token)
        store.count(outcome)
        state.outcome = outcome
        state.entry.body = []
      }
      return state.outcome ?? .refused(.cancelled)
    }
  }

  /// Ends the writing and gives the entry as it is, with the means to insert it after a change: nothing is stored by this
  /// writer any more.
  ///
  /// - Returns: `nil` where it cannot be stored, or is not in memory; ``commit()`` says why.
  public func takeEntry() -> (entry: NewEntry, token: RemovalToken?)? {
    state.withLock { state in
      guard state.outcome == nil, state.file == nil, objection(to: state) == nil else { return nil }
      state.outcome = .refused(.cancelled)
      defer { state.entry.body = [] }
      return (state.entry, token)
    }
  }

  /// Drops what was written. Nothing happens after a commit.
  public func cancel() {
    state.withLock { state in
      guard state.outcome == nil else { return }
      refuse(.cancelled, &state)
    }
  }

  /// Reads what has been added so far, for those who do not want to wait until it is an entry.
  ///
  /// - Parameters:
  ///   - offset: where to begin, in bytes from the start of the body.
  ///   - maximumCount: the most bytes wanted; at most 64 KiB come at once, as a copy.
  /// - Returns: the bytes; empty where none have come yet, and `nil` once there is nothing to read here: the entry is
  ///   committed, or given up, or what was written of it cannot be read.
  public func read(from offset: Int, upTo maximumCount: Int) -> ArraySlice<UInt8>? {
    state.withLock { state in
      guard state.outcome == nil, offset >= 0 else { return nil }
      if let file = state.file { return file.read(from: offset, upTo: maximumCount) }
      let body = state.entry.body[Swift.min(offset, state.entry.body.count)...]
      // A slice that shares the bytes would have all of them copied when the next are added.
      return Array(body.prefix(Swift.min(maximumCount, DiskFormat.bodyChunkSize)))[...]
    }
  }

  private func objection(to state: State) -> RefusalReason? {
    if !store.isOpen { return .closed }
    if let expectedLength, state.count > expectedLength { return .lengthMismatch }
    return store.sizeObjection(to: state.entry, bodyCount: expectedCount(state))
  }

  /// The length of the body, as far as it is known: what cannot be stored is refused before room is made for it.
  private func expectedCount(_ state: State) -> Int { max(state.count, expectedLength ?? 0) }

  private func spill(_ state: inout State) throws(AppendFailure) {
    guard let disk = store.disk else { return }
    var file = try BodyFileWriter(tier: disk)
    do throws(AppendFailure) {
      try file.append(state.entry.body[...])
    } catch {
      file.discard()
      throw error
    }
    state.file = file
    state.entry.body = []
  }

  private func refuse(_ reason: RefusalReason, _ state: inout State) {
    state.file?.discard()
    state.file = nil
    state.entry.body = []
    state.outcome = .refused(reason)
    store.count(.refused(reason))
  }
}
