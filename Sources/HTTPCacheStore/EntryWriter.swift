// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// Writes an entry whose body arrives in pieces. Nothing of it is visible before ``commit()``.
///
/// ```swift
/// let writer = store.makeWriter(key: key, variant: variant, metadata: head, storedAt: now)
/// for try await chunk in body { guard writer.append(chunk) else { break } }
/// if let refusal = writer.commit().refusal { print("not stored: \(refusal)") }
/// ```
///
/// A writer that is deallocated without a commit is cancelled. You may use it from any thread. Pieces that two threads
/// append at the same time arrive in either order.
public final class EntryWriter: Sendable {
  private struct State {
    /// The entry; without its body until it is published or taken.
    var entry: NewEntry
    /// The body, while it is in memory.
    var blocks = ContentBlocks()
    /// The body, once it is large.
    var file: BodyFileWriter?
    /// Whether the file was published or removed with an entry. It stays readable.
    var isFileGiven = false
    var isInMemory = true
    /// Whether the body is large, and in memory because the disk fails.
    var avoidsDisk = false
    /// The bytes that were accepted.
    var count = 0
    /// Set as soon as the writer accepts no more bytes.
    var outcome: InsertOutcome?
    /// The body was published from memory, taken or discarded, so the writer can no longer read it.
    var isOver = false
  }

  private let store: CacheStore
  private let expectedLength: Int?
  /// Maximum bytes of this body.
  private let maximumLength: Int
  private let isEditable: Bool
  private let token: RemovalToken?
  private let state: Mutex<State>
  private let live = LiveCount(.writer)

  init(
    store: CacheStore, entry: NewEntry, expectedLength: Int?, maximumLength: Int? = nil, isEditable: Bool,
    token: RemovalToken?
  ) {
    self.store = store
    self.expectedLength = expectedLength
    self.maximumLength = maximumLength ?? .max
    self.isEditable = isEditable
    self.token = token
    state = Mutex(State(entry: entry))
  }

  deinit {
    cancel()
  }

  /// Adds bytes to the body. May block on the disk.
  ///
  /// A slice of 4 KiB or more is kept without a copy, together with the whole array that it is a part of.
  ///
  /// - Returns: `false` if the entry can no longer be stored; ``commit()`` says why. You need not send the rest then.
  /// - Complexity: O(bytes) for a small slice, and for a body that is streamed to disk.
  @discardableResult
  public func append(_ bytes: ArraySlice<UInt8>) -> Bool {
    state.withLock { state in
      guard state.outcome == nil else { return false }
      let count = state.count + bytes.count
      if let refusal = objection(to: state.entry, count: count) {
        refuse(refusal, &state)
        return false
      }
      do throws(AppendFailure) {
        if state.file == nil, try destination(ofBody: count, &state) == .file { try spill(&state) }
        if state.file != nil {
          try state.file?.append(bytes)
        } else {
          state.blocks.append(bytes)
        }
        state.count = count
        return true
      } catch {
        if keepInMemory(bytes, &state) { return true }
        refuse(InsertRefusal(error.reason), &state)
        return false
      }
    }
  }

  /// Adds bytes to the body; see ``append(_:)-(ArraySlice<UInt8>)``.
  @discardableResult
  public func append(_ bytes: [UInt8]) -> Bool { append(bytes[...]) }

  /// Adds all blocks to the body. Large blocks are shared, without a copy.
  @discardableResult
  package func append(_ blocks: ContentBlocks) -> Bool {
    var position = blocks.start
    while position < blocks.end {
      let block = blocks.read(from: position)
      guard append(block) else { return false }
      position += block.count
    }
    return true
  }

  /// Makes the entry visible, whole. May block on the disk.
  ///
  /// - Returns: the id, or why nothing was stored. A second call returns the same.
  @discardableResult
  public func commit() -> InsertOutcome { commit(metadata: nil) }

  /// Makes the entry visible with the body as it is, even if more was announced.
  ///
  /// - Parameter metadata: replaces the metadata that the writer was made with. `nil` keeps that metadata, and then the
  ///   body must have the announced length.
  @discardableResult
  package func commit(metadata: [UInt8]?) -> InsertOutcome { commit(metadata: metadata, unless: nil) }

  /// Makes the entry visible, unless the one in its place is more recent.
  ///
  /// - Parameters:
  ///   - metadata: as for ``commit(metadata:)``.
  ///   - isOvertaken: as for ``CacheStore/insert(_:unlessRemovedSince:unless:)``. It must not use this writer.
  ///   - keepsContent: whether the content of an overtaken entry stays readable also if it is in memory, so that another
  ///     entry can use it.
  @discardableResult
  package func commit(
    metadata: [UInt8]?, unless isOvertaken: ((StoredEntry) -> Bool)?, keepsContent: Bool = false
  ) -> InsertOutcome {
    state.withLock { state in
      if let outcome = state.outcome {
        if !state.isFileGiven { end(&state) }
        return outcome
      }
      if let metadata { state.entry.metadata = metadata }
      if metadata == nil, let expectedLength, expectedLength != state.count {
        return refuse(InsertRefusal(.lengthMismatch), &state)
      }
      if let refusal = objection(to: state.entry, count: state.count) { return refuse(refusal, &state) }
      state.entry.body = state.blocks.takeAll()
      // A copy: its end is then still in memory here, and need not be found in the file.
      var file = state.file
      let outcome =
        if let isOvertaken {
          store.publish(state.entry, file: &file, token: token, unless: isOvertaken)
        } else {
          store.publish(state.entry, file: &file, token: token)
        }
      state.isFileGiven = file == nil
      state.isOver = state.file == nil
      defer { state.entry.body = [] }
      if keepsContent, outcome.refusal?.reason == .overtaken {
        if state.isOver {
          state.blocks = ContentBlocks()
          state.blocks.append(state.entry.body[...])
          state.isOver = false
        }
        return outcome
      }
      store.count(outcome)
      state.outcome = outcome
      return outcome
    }
  }

  /// Ends the writing and returns the entry as it is, with the token to insert it after a change. This writer then
  /// stores nothing.
  ///
  /// - Returns: `nil` if the entry cannot be stored, or is not in memory; ``commit()`` says why.
  package func takeEntry() -> (entry: NewEntry, token: RemovalToken?)? {
    state.withLock { state in
      guard state.outcome == nil, state.file == nil, objection(to: state.entry, count: state.count) == nil
      else { return nil }
      state.outcome = .refused(InsertRefusal(.cancelled))
      state.entry.body = state.blocks.takeAll()
      defer { end(&state) }
      return (state.entry, token)
    }
  }

  /// Discards what was written. A committed entry stays.
  public func cancel() {
    state.withLock { state in
      if state.outcome == nil { refuse(InsertRefusal(.cancelled), &state) }
      end(&state)
    }
  }

  /// Reads the bytes added so far. May block on the disk.
  ///
  /// What was added before ``append(_:)-(ArraySlice<UInt8>)`` returned `false` stays readable until ``commit()``,
  /// ``cancel()``, or the end of the writer. A committed body in a file stays readable until ``cancel()`` or that end, also if
  /// its entry was refused, or is no longer stored.
  ///
  /// - Parameters:
  ///   - offset: where to begin, in bytes from the start of the body.
  ///   - maximumCount: maximum bytes to read; at most 64 KiB come at once.
  /// - Returns: the bytes; empty if there are none yet. `nil` if nothing can be read here any more: the entry is
  ///   committed in memory or cancelled, or its written bytes are unreadable.
  package func read(from offset: Int, upTo maximumCount: Int) -> ArraySlice<UInt8>? {
    // The disk is read outside of the lock, so that a slow reader delays neither the writer nor another reader.
    let found = state.withLock { state -> (location: BodyFileWriter.Location, count: Int)? in
      guard !state.isOver, offset >= 0 else { return nil }
      let start = min(offset, state.count)
      let count = max(0, min(maximumCount, state.count - start, DiskFormat.bodyChunkSize))
      let location =
        state.file?.locate(start..<start + count) ?? .memory(state.blocks.read(from: start, upTo: count))
      return (location, count)
    }
    guard let found else { return nil }
    switch found.location {
    case .memory(let bytes): return bytes
    case .file(let chunk): return chunk.read(from: offset)?.prefix(found.count)
    }
  }

  /// Where the writer keeps a body while it is written.
  package enum Destination: Sendable {
    case memory, file
  }

  /// Where a body of this many bytes belongs, so that a caller can keep it itself while it belongs in memory.
  ///
  /// - Returns: `nil` if it cannot be stored; ``refusal`` says why.
  package func destination(ofBody count: Int) -> Destination? {
    state.withLock { state in
      guard state.outcome == nil else { return nil }
      if let refusal = objection(to: state.entry, count: count) {
        refuse(refusal, &state)
        return nil
      }
      do throws(AppendFailure) {
        return try destination(ofBody: count, &state)
      } catch {
        refuse(InsertRefusal(error.reason), &state)
        return nil
      }
    }
  }

  /// Where a body of this many bytes belongs.
  ///
  /// While the disk fails, a large body stays in memory if that has the capacity. The commit then offers it to the disk:
  /// this shows whether the disk works again, and loses nothing if not. A body that only the disk can hold is streamed
  /// to it, except during a pause.
  private func destination(ofBody count: Int, _ state: inout State) throws(AppendFailure) -> Destination {
    let expected = max(count, expectedLength ?? 0)
    guard !isEditable, store.mustStream(state.entry, bodyCount: count, expected: expected) else {
      return .memory
    }
    guard state.file == nil, state.avoidsDisk || store.isDiskFailing else { return .file }
    state.avoidsDisk = store.memoryTakes(state.entry, bodyCount: expected)
    if state.avoidsDisk { return .memory }
    if store.isPausingBodies { throw .inputOutput }
    return .file
  }

  /// Keeps a whole body in memory that the disk could not take. The caller has it in memory already. Of a body that
  /// arrives in pieces, much may be in the file by now.
  private func keepInMemory(_ bytes: ArraySlice<UInt8>, _ state: inout State) -> Bool {
    guard state.count == 0, bytes.count == expectedLength, store.isDiskFailing,
      store.memoryTakes(state.entry, bodyCount: bytes.count)
    else { return false }
    state.file?.discard()
    state.file = nil
    (state.isInMemory, state.avoidsDisk) = (true, true)
    state.blocks = ContentBlocks()
    state.blocks.append(bytes)
    state.count = bytes.count
    return true
  }

  /// Whether the body is in memory, not in a file.
  package var isInMemory: Bool { state.withLock { $0.isInMemory } }

  /// Why the writer accepts no more bytes, if it refused them. ``commit()`` returns the same refusal, and ends the
  /// reading.
  package var refusal: InsertRefusal? { state.withLock { $0.outcome?.refusal } }

  /// Why an entry cannot be stored with this many bytes, or with as many as were announced. The writer refuses such an
  /// entry before it makes room for it.
  private func objection(to entry: NewEntry, count: Int) -> InsertRefusal? {
    if !store.isOpen { return InsertRefusal(.closed) }
    if let expectedLength, count > expectedLength { return InsertRefusal(.lengthMismatch) }
    let bodyCount = max(count, expectedLength ?? 0)
    if bodyCount > maximumLength {
      return InsertRefusal(.tooLarge, byteCount: bodyCount, limit: maximumLength)
    }
    return store.sizeObjection(to: entry, bodyCount: bodyCount)
  }

  private func spill(_ state: inout State) throws(AppendFailure) {
    guard let disk = store.disk else { return }
    var file = try BodyFileWriter(disk.bodies)
    do throws(AppendFailure) {
      var position = 0
      while position < state.count {
        let block = state.blocks.read(from: position)
        try file.append(block)
        position += block.count
      }
    } catch {
      file.discard()
      throw error
    }
    state.file = file
    state.isInMemory = false
    state.blocks = ContentBlocks(at: state.count)
  }

  @discardableResult
  private func refuse(_ refusal: InsertRefusal, _ state: inout State) -> InsertOutcome {
    let outcome = InsertOutcome.refused(refusal)
    state.outcome = outcome
    store.count(outcome)
    return outcome
  }

  /// Discards the body, but not a file that is no longer this writer's.
  private func end(_ state: inout State) {
    if !state.isFileGiven { state.file?.discard() }
    state.file = nil
    state.blocks = ContentBlocks()
    state.entry.body = []
    state.isOver = true
  }
}
