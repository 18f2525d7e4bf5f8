// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// The requests of one connection in their order: those that are not sent yet, and those whose replies are awaited.
///
/// RESP has no request numbers: the replies come in the order of the commands. A request therefore stays in the queue
/// until all its replies came, also when its caller stopped waiting.
struct RequestQueue {
  private var unsent = CircularBuffer<Request>()
  private var sent = CircularBuffer<Request>()
  /// The replies so far to the first request of `sent`.
  private var replies: [RedisValue] = []
  /// When the first request of `sent` became the first, or the last reply to it came.
  private var progress = NIODeadline.distantPast

  var isEmpty: Bool { unsent.isEmpty && sent.isEmpty }

  mutating func add(_ request: Request) { unsent.append(request) }

  /// Returns the next request to send, or `nil`. Passes requests whose callers stopped waiting to `drop`.
  mutating func nextToSend(now: NIODeadline, drop: (Request) -> Void) -> Request? {
    while let request = unsent.popFirst() {
      guard !request.isFinished else {
        drop(request)
        continue
      }
      markSent(request, now: now)
      return request
    }
    return nil
  }

  /// Notes a request that was sent.
  mutating func markSent(_ request: Request, now: NIODeadline) {
    if sent.isEmpty { progress = now }
    sent.append(request)
  }

  /// What a reply means.
  enum Receipt {
    /// More replies to the same request are missing.
    case partial
    /// All replies to this request are there.
    case complete(Request, [RedisValue])
    /// No request is waiting for a reply.
    case unexpected
  }

  mutating func receive(_ value: RedisValue, now: NIODeadline) -> Receipt {
    guard let request = sent.first else { return .unexpected }
    progress = now
    replies.append(value)
    guard replies.count == request.commands else { return .partial }
    sent.removeFirst()
    defer {
      replies = []
      if let next = sent.first { replies.reserveCapacity(next.commands) }
    }
    return .complete(request, replies)
  }

  /// Notes that bytes came, though no complete reply.
  mutating func noteProgress(now: NIODeadline) { progress = now }

  /// The next time at which a caller must stop waiting, or at which the server has been silent for too long.
  func nextCheck(silence: TimeAmount) -> NIODeadline? {
    var next: NIODeadline?
    for request in [sent, unsent].joined() where !request.isFinished {
      next = min(next ?? request.deadline, request.deadline)
    }
    if let silent = silentSince(silence) { next = min(next ?? silent, silent) }
    return next
  }

  /// Returns the requests whose time is over. They stay in the queue.
  func expired(now: NIODeadline) -> [Request] {
    [sent, unsent].joined().filter { $0.deadline <= now && !$0.isFinished }
  }

  /// Whether the first request got nothing for too long. A request may allow the server more time than `silence`.
  func isSilent(now: NIODeadline, silence: TimeAmount) -> Bool {
    silentSince(silence).map { $0 <= now } ?? false
  }

  private func silentSince(_ silence: TimeAmount) -> NIODeadline? {
    sent.first.map { max(progress + silence, $0.deadline) }
  }

  /// Empties the queue.
  mutating func removeAll() -> [Request] {
    defer { (unsent, sent, replies) = ([], [], []) }
    return [sent, unsent].flatMap { $0 }
  }
}
