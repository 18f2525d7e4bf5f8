// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore

/// The content of a response on its way to the readers and to the store.
extension OriginExchange {
  /// How the content is passed on.
  private enum Passing {
    /// Nothing wants it.
    case done
    /// It has arrived completely, and is stored first if there is a writer.
    case whole(ArraySlice<UInt8>, EntryWriter?)
    case streamed(Transfer)
  }

  /// Passes the origin's response to the leader, and to the store if it may be stored.
  func passOn() async {
    switch begin() {
    case .done: break
    case .whole(let bytes, let writer):
      // It is stored before the leader sees it, so that its next request finds it.
      if let writer { await store(bytes, writer) }
      if let answer = takeAnswer() { fetch?.deliver(.success(answer)) }
    case .streamed(let transfer): await pump(to: transfer)
    }
  }

  /// Does the same with a whole response in memory, and returns it.
  func passedOnAtOnce() -> CachedResponse? {
    if case .whole(let bytes, let writer?) = begin() { conclude(writer, with: bytes) }
    return takeAnswer()
  }

  /// Decides whether the response is stored, and who gets its content.
  @inline(never)
  private func begin() -> Passing {
    let writer = openWriter()
    let isShared = writer != nil && isReusable && hasRoom
    // A part says nothing about the whole, and a lack of memory nothing about the resource.
    if outcome.assembly == nil, hasRoom {
      cache.fetches.note(isShared, of: sent.lookup.key, sent.forwarding, status: response.head.status.code)
    }
    if writer == nil, let reason = outcome.storage.reason {
      sent.note(.notStored, reason, refusal: refused?.refusal)
    }
    let isLocal = sent.call.localOrigin != nil && writer == nil && !isCompleted
    if writer == nil, isLocal || response.body.bytes != nil || fetch?.hasLeader != true { removeSuperseded() }
    // Waiting requests need the origin in any case, and so do the other nodes. The end may never come: a stream of events.
    if writer == nil || (!isShared && response.body.bytes == nil) { fetch?.finish(.notShared) }
    if isLocal {
      answer = head()
      answer?.isPassedThrough = true
      return .whole([], nil)
    }
    guard let bytes = response.body.bytes else {
      return beginTransfer(consume writer).map { .streamed($0) } ?? .done
    }
    received = bytes.count
    answer = head()
    answer?.body = isCompleted ? MessageBody([before, .bytes(bytes), after]) : MessageBody(bytes)
    return .whole(bytes, writer)
  }

  /// Lets the leader and the followers read the content; returns `nil` if nothing wants it.
  ///
  /// Only the leader has its answer afterwards: the reader of the content has a claim to this fetch.
  private func beginTransfer(_ writer: consuming EntryWriter?) -> Transfer? {
    let isStored = writer != nil
    guard let fetch, fetch.hasLeader || isStored else { return nil }
    // The transfer contains the content to be stored. A leader that gets only the network's part begins at that part.
    let transfer = Transfer(length: length, writer: writer, budget: cache.transit, reserved: reserved)
    var answer = head()
    if fetch.hasLeader, let claim = fetch.claim(isLeader: true),
      let reader = transfer.addReader(at: isCompleted || before.count == 0 ? 0 : Transfer.later)
    {
      answer.body = MessageBody(
        .stream(TransferReader(transfer, reader, claim)),
        length: isCompleted ? outcome.assembly.map { Int($0.count) } : response.body.length)
    }
    fetch.begin(transfer, readable: isStored ? readable(transfer) : nil)
    fetch.deliver(.success(answer))
    return transfer
  }

  /// Returns the answer, without content, as far as it is known when the head has arrived.
  private func head() -> CachedResponse {
    cache.answers.respond(with: response, outcome, sent, settlement: settlement)
  }

  @inline(never)
  private func takeAnswer() -> CachedResponse? {
    guard var answer = answer.take() else { return nil }
    answer.settle()
    return answer
  }

  /// Stores content that has arrived completely.
  @inline(never)
  private func store(_ bytes: ArraySlice<UInt8>, _ writer: EntryWriter) async {
    do {
      if before.count == 0, after.count == 0 {
        _ = writer.append(bytes)
      } else {
        for try await chunk in MessageBody([before, .bytes(bytes), after]) where !writer.append(chunk) {
          break
        }
      }
      _ = await conclude(writer)
    } catch {
      // A failure of stored content ends only the storing.
      writer.cancel()
      refuse(Refused(.storeFailed))
    }
  }

  /// Returns the response for followers to read while it is being stored; `nil` if they could not use it.
  private func readable(_ transfer: Transfer) -> Fetch.Arriving? {
    // The application may change the stored content, so others must not begin to read this one.
    guard let settlement,
      case .store(var stored, _) = outcome.storage, stored.parts == nil,
      outcome.assembly?.candidate == nil, sent.request.method != .head,
      sent.call.willStore == nil, stored.isReusable(at: cache.clock.now)
    else { return nil }
    stored.contentLength = transfer.length.map { Int64($0) }
    return (stored, transfer, settlement)
  }

  /// Streams the content to its readers and into the store. It ends when the content is complete, or when the task is
  /// cancelled because no caller wants it.
  @inline(never)
  private func pump(to transfer: Transfer) async {
    do {
      if isCompleted {
        try await hand(before, to: transfer)
      } else {
        await copy(before, to: transfer)
        transfer.beginForReaders()
      }
      for try await chunk in response.body {
        if isCompleted, let expected, chunk.count > expected - received {
          // The leader would mistake it for the stored content that follows.
          throw HTTPCacheError.incompleteContent
        }
        received += chunk.count
        try await hand(chunk, to: transfer)
      }
      // A cancelled stream may end without an error.
      try Task.checkCancellation()
      if isCompleted {
        guard received == expected else { throw HTTPCacheError.incompleteContent }
        try await hand(after, to: transfer)
      } else {
        transfer.endForReaders()
        await copy(after, to: transfer)
      }
    } catch {
      if let writer = transfer.takeWriter() {
        let entry = await publishing { await keepBeginning(writer, error) }
        transfer.finish(.failure(error), entry: transfer.hasLaggards ? self.body(of: entry) : nil)
        fetch?.finish(.failed(error))
      }
      transfer.finish(.failure(error))
      return
    }
    // Committed before the leader sees the end, so that its next request finds the content that it has just read.
    var entry: EntryID?
    if let writer = transfer.takeWriter() {
      entry = await publishing { await conclude(writer) }
    } else {
      removeSuperseded()
    }
    transfer.finish(.success(()), entry: transfer.hasLaggards ? self.body(of: entry) : nil)
  }

  /// Removes the stored responses that this one replaces, if it is not stored itself. Called before the leader sees the end of the
  /// content, or at once if nothing here waits for that: a transfer that ends early replaces nothing.
  private func removeSuperseded() {
    if let refused, let replacement {
      sent.removeSuperseded(outcome, by: replacement, at: nil, .failure(refused))
    } else if case .refuse = outcome.storage {
      sent.remove(outcome.removals)
    }
  }

  /// Passes a chunk to the store and to the readers.
  ///
  /// - Throws: `CancellationError` if no caller wants it.
  private func hand(_ chunk: ArraySlice<UInt8>, to transfer: Transfer) async throws {
    switch await transfer.append(chunk) {
    case .stored: break
    case .refused(let refusal): giveUp(Refused(refusal))
    case .transitFull: giveUp(Refused(.transitFull))
    case .notStored: if !transfer.isRead { throw CancellationError() }
    }
    try Task.checkCancellation()
  }

  private func hand(_ piece: MessageBody.Piece, to transfer: Transfer) async throws {
    guard piece.count > 0 else { return }
    for try await chunk in MessageBody([piece]) { try await hand(chunk, to: transfer) }
  }

  /// Copies stored content into the new entry. A failure ends only the storing.
  private func copy(_ piece: MessageBody.Piece, to transfer: Transfer) async {
    guard piece.count > 0, transfer.writer != nil else { return }
    do {
      // Also runs if the task is cancelled: no more bytes are needed from the network.
      for try await chunk in MessageBody([piece]) {
        switch await transfer.append(chunk) {
        case .stored: break
        case .refused(let refusal): return giveUp(Refused(refusal))
        case .transitFull: return giveUp(Refused(.transitFull))
        case .notStored: return
        }
      }
    } catch {
      guard transfer.takeWriter() != nil else { return }
      giveUp(Refused(.storeFailed))
    }
  }

  /// Reports that the content is not stored, so that no request waits for it.
  private func giveUp(_ refused: Refused) {
    self.refused = refused
    refuse(refused)
    fetch?.finish(.notShared)
  }

  /// Content of more bytes than this is not published on an event loop.
  private static let largeContent = 1 << 20

  /// Publishes the received content on a thread that may take its time if the content is large: it is then copied, and
  /// many entries may be evicted for it.
  private func publishing(_ body: () async -> EntryID?) async -> EntryID? {
    guard received > Self.largeContent else { return await body() }
    return await withTaskExecutorPreference(BlockingExecutor.shared) { await body() }
  }
}
