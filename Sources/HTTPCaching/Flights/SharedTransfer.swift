import HTTPCacheEngine
import HTTPCacheStore
import Synchronization

/// A response on its way into the store that those who wait for it read while it comes.
///
/// Nobody's pace is anybody else's: each reader has a ``BodyChannel`` of its own, and one that falls behind by more than
/// ``SharedTransfer/keeps`` gets the rest from the store, once it is there. So a slow reader holds up nobody, and no more
/// than that is held in memory for it. Who comes when the beginning is no longer at hand waits for the store, too. Only where
/// the content turns out too large to be stored do the readers depend on each other: the slowest is waited for.
final class SharedTransfer: Sendable {
  /// What is being stored.
  let response: StoredResponse
  /// The origin's status code.
  let status: Int
  /// The length of the content, where it is known.
  let length: Int?

  private struct State {
    var readers: [BodyChannel] = []
    /// Everything so far, while that is little.
    var beginning: [ArraySlice<UInt8>]? = []
    var bytes = 0
    var end: Result<Void, any Error>?
    var entry: EntryID?
  }

  private let state = Mutex(State())

  init(_ response: StoredResponse, status: Int, length: Int?) {
    var response = response
    response.contentLength = length.map { Int64($0) }
    self.response = response
    self.status = status
    self.length = length
  }

  /// The most bytes that wait for a reader; see ``BodyChannel``.
  var keeps: Int { length == nil ? BodyChannel.limitOfUnknownLength : BodyChannel.limit }

  // MARK: - Readers

  /// Adds a reader, who gets everything from the first byte.
  ///
  /// - Returns: `false` if the beginning is gone from memory.
  func join(_ channel: BodyChannel) -> Bool {
    state.withLock { state in
      guard let beginning = state.beginning else { return false }
      for chunk in beginning { channel.offer(chunk) }
      if let end = state.end { channel.finish(end) } else { state.readers.append(channel) }
      return true
    }
  }

  /// The entry that has become of it.
  var entry: EntryID? { state.withLock { $0.entry } }

  // MARK: - The flight

  /// Hands a chunk to all readers.
  ///
  /// - Parameter isStored: whether the store has it, too; if not, the slowest reader is waited for.
  /// - Returns: whether anybody reads.
  func send(_ chunk: ArraySlice<UInt8>, isStored: Bool) async -> Bool {
    let readers = state.withLock { state in
      state.bytes += chunk.count
      if state.bytes <= BodyChannel.limit, isStored {
        state.beginning?.append(chunk)
      } else {
        state.beginning = nil
      }
      state.readers.removeAll { $0.isAbandonedByReader }
      // In the same turn, so that who joins now gets it once.
      if isStored { for reader in state.readers { reader.offer(chunk) } }
      return state.readers
    }
    if !isStored {
      for reader in readers {
        reader.waitAgain()
        _ = await reader.send(chunk)
      }
    }
    return !readers.isEmpty
  }

  func stored(_ entry: EntryID?) {
    state.withLock { $0.entry = entry }
  }

  func finish(_ end: Result<Void, any Error>) {
    let readers = state.withLock { state in
      state.end = end
      defer { state.readers = [] }
      return state.readers
    }
    for reader in readers { reader.finish(end) }
  }
}
