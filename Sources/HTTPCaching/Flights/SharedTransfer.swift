import HTTPCacheEngine
import HTTPCacheStore
import Synchronization

/// A response on its way into the store that those who wait for it read while it comes.
///
/// Nobody's pace is anybody else's: each reader has a ``BodyChannel`` of its own, and one that falls behind by more than
/// ``SharedTransfer/keeps`` gets the rest from what the store has of it, as that grows. So a slow reader holds up nobody,
/// and no more than that is held in memory for it. Who comes when the beginning is no longer at hand reads that, too, if the
/// length is known: where it is not, the content may turn out too large to be stored, and who has read a part of it would
/// be left with that. Where it does turn out too large to be stored, the readers depend on each other: the slowest is waited for.
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
    /// What the store has of it so far.
    var writer: EntryWriter?
    /// Those who wait for more.
    var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var lastWaiting: UInt64 = 0

    mutating func takeWaiting() -> [CheckedContinuation<Void, Never>] {
      defer { waiting = [:] }
      return Array(waiting.values)
    }
  }

  private let state: Mutex<State>

  /// - Parameter writer: what brings it into the store, if anything does.
  init(_ response: StoredResponse, status: Int, length: Int?, writer: EntryWriter?) {
    state = Mutex(State(writer: writer))
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
  /// - Returns: `false` if the beginning is gone.
  func join(_ channel: BodyChannel) -> Bool {
    state.withLock { state in
      if let beginning = state.beginning {
        for chunk in beginning { channel.offer(chunk) }
      } else {
        guard length != nil, state.writer != nil else { return false }
        channel.startBehind()
      }
      if let end = state.end { channel.finish(end) } else { state.readers.append(channel) }
      return true
    }
  }

  /// Some of the content from a byte on, from what the store has of it; waits until there is more.
  ///
  /// - Returns: `nil` behind the last byte, and where nothing is to be had from here any more: it may be in the store.
  func read(from offset: Int) async -> ArraySlice<UInt8>? {
    while true {
      let (writer, mayGrow) = state.withLock { ($0.writer, $0.end == nil && $0.bytes <= offset) }
      guard let writer else { return nil }
      if mayGrow {
        await waitForMore(than: offset)
        if Task.isCancelled { return nil }
        continue
      }
      guard let bytes = writer.read(from: offset, upTo: .max), !bytes.isEmpty else { return nil }
      return bytes
    }
  }

  private func waitForMore(than offset: Int) async {
    let number = state.withLock { state in
      state.lastWaiting += 1
      return state.lastWaiting
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mayGoOn = state.withLock { state in
          if state.end != nil || state.bytes > offset || state.writer == nil || Task.isCancelled {
            return true
          }
          state.waiting[number] = continuation
          return false
        }
        if mayGoOn { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
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
    let (readers, waiting) = state.withLock { state in
      state.bytes += chunk.count
      if !isStored { state.writer = nil }
      if state.bytes <= BodyChannel.limit, isStored {
        state.beginning?.append(chunk)
      } else {
        state.beginning = nil
      }
      state.readers.removeAll { $0.isAbandonedByReader }
      // In the same turn, so that who joins now gets it once.
      if isStored { for reader in state.readers { reader.offer(chunk) } }
      return (state.readers, state.takeWaiting())
    }
    for one in waiting { one.resume() }
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
    let (readers, waiting) = state.withLock { state in
      state.end = end
      state.writer = nil
      defer { state.readers = [] }
      return (state.readers, state.takeWaiting())
    }
    for one in waiting { one.resume() }
    for reader in readers { reader.finish(end) }
  }
}
