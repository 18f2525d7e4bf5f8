// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Whether a node knows all removals in the log of a shared tier: a state machine without a clock or a lock.
///
/// ```
///            heard(head)                    applied(…) up to the head
/// unknown ──────────────▶ following, behind ────────────────────────▶ following, trusted until …
///    ▲   lost()                ▲                                              │
///    └──── another epoch, or a gap ───────────  each heartbeat renews it ─────┘
/// ```
///
/// A heartbeat registers the node, and returns the end of the log at a moment after it was sent. Once all up to that end
/// is applied, the node knew all removals at that moment. It trusts its content for a bounded time after it. The tier
/// remembers the node for longer than that, so a removal is not reported as applied everywhere while this node is behind
/// and trusts itself.
struct StepState: Sendable {
  /// What the caller must do.
  enum Action: Hashable, Sendable {
    case nothing
    /// Read the log from its beginning, and apply the records after this number. All that is stored stays.
    case resume(after: UInt64)
    /// Read the log from its beginning, and apply the records after this number. All that is stored must be validated
    /// before use.
    case restart(after: UInt64, cause: String)
  }

  /// The last position that was read and applied; `nil` if unknown.
  private(set) var applied: SharedLogPosition?
  /// The last position that is known to exist.
  private(set) var last: SharedLogPosition?
  /// The node trusts its content before this time, in milliseconds.
  private(set) var trustedUntil = Int64.min
  /// Trust for the time when this number has been applied.
  private var pending: (number: UInt64, until: Int64)?
  /// Where the content of the directory was when its last process ended.
  private var kept: SharedLogPosition?

  /// - Parameter kept: where the node's content was when its last process ended; `nil` if it is empty or unknown.
  init(keeping kept: SharedLogPosition?) {
    self.kept = kept
  }

  /// Takes the answer to a heartbeat.
  ///
  /// - Parameters:
  ///   - head: the answer.
  ///   - sent: the position when it was sent. Records that were applied since then may be later than the answer.
  ///   - until: when the trust ends that the heartbeat gives, counted from the time when it was sent.
  mutating func heard(
    _ head: SharedLogHead, since sent: SharedLogPosition?, trustUntil until: Int64
  ) -> Action {
    guard let applied else {
      guard let kept = kept.take() else { return restart(at: head, "this node has just begun") }
      if let cause = Self.objection(to: kept, head) { return restart(at: head, cause) }
      begin(at: head)
      return .resume(after: kept.number)
    }
    // What was applied meanwhile came after the answer: the log has not lost it.
    let isOvertaken = sent.map { $0.epoch == applied.epoch && $0.number <= head.last.number } ?? false
    var position = applied
    if isOvertaken { position.number = min(applied.number, head.last.number) }
    if let cause = Self.objection(to: position, head) { return restart(at: head, cause) }
    last = SharedLogPosition(epoch: head.last.epoch, number: max(applied.number, head.last.number))
    if applied.number >= head.last.number {
      trustedUntil = max(trustedUntil, until)
      pending = nil
    } else if pending == nil {
      // A later heartbeat asks for more: the earlier one stays until it is reached.
      pending = (head.last.number, until)
    }
    return .nothing
  }

  /// Why the log cannot be followed from a position.
  private static func objection(to position: SharedLogPosition, _ head: SharedLogHead) -> String? {
    if position.epoch != head.last.epoch { return "the tier has a new log" }
    if position.number > head.last.number { return "the log has lost records" }
    if position.number + 1 < head.first {
      return "the log no longer reaches back to record \(position.number)"
    }
    return nil
  }

  private mutating func begin(at head: SharedLogHead) {
    applied = SharedLogPosition(epoch: head.last.epoch, number: head.first == 0 ? 0 : head.first - 1)
    last = head.last
    trustedUntil = .min
    pending = nil
  }

  private mutating func restart(at head: SharedLogHead, _ cause: String) -> Action {
    begin(at: head)
    return .restart(after: head.last.number, cause: cause)
  }

  /// Takes note that a record has been applied.
  mutating func didApply(_ number: UInt64) {
    guard let applied, number > applied.number else { return }
    self.applied?.number = number
    if let last, last.number < number { self.last?.number = number }
    if let pending, number >= pending.number {
      trustedUntil = max(trustedUntil, pending.until)
      self.pending = nil
    }
  }

  /// Takes note that the log is not what this node has followed.
  mutating func lost() {
    applied = nil
    trustedUntil = .min
    pending = nil
  }
}
