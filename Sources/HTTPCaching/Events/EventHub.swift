// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// The listeners to the events of a cache.
///
/// Every hit checks whether there are listeners, which costs one load. An event is made, and the clock is read, only if a
/// listener wants it.
final class EventHub: Sendable {
  typealias Observer = @Sendable (CacheEvent) -> Void
  /// When something began by the clock's uptime, in nanoseconds; 0 if no listener wants to know.
  typealias Moment = Int64

  private struct Listener {
    var number: Int
    var actions: ActionSet
    var observer: Observer
    var onEnd: @Sendable () -> Void
  }

  private struct State {
    var listeners: [Listener] = []
    var count = 0
  }

  private let state = Mutex(State())
  /// The actions that at least one listener wants.
  private let wanted = Atomic<UInt32>(0)
  private let clock: any CacheClock
  let answers = AnswerCounters()

  init(_ clock: any CacheClock) { self.clock = clock }

  /// Begins to measure a request, if a listener wants the event that ends it.
  @inline(__always)
  func beginRequest() -> Moment {
    typealias Action = CacheEvent.Action
    let ends = Action.served.bit | Action.refused.bit | Action.answered.bit | Action.failed.bit
    return wanted.load(ordering: .relaxed) & ends == 0 ? 0 : now
  }

  /// Begins to measure how long the origin takes, if a listener wants to know.
  func beginFetch() -> Moment { wants(.received) ? now : 0 }

  private var now: Moment {
    @inline(never)
    get { max(1, clock.uptimeNanoseconds) }
  }

  /// Whether a listener wants an action.
  ///
  /// - Complexity: O(1): one load.
  @inline(__always)
  func wants(_ action: CacheEvent.Action) -> Bool {
    let wanted = wanted.load(ordering: .relaxed)
    return wanted != 0 && wanted & ActionSet(action).bits != 0
  }

  func send(_ event: CacheEvent) {
    // Called outside the lock: an observer may end its own observation.
    for listener in state.withLock({ $0.listeners }) where listener.actions.contains(event.action) {
      listener.observer(event)
    }
  }

  deinit {
    for listener in state.withLock({ $0.listeners }) { listener.onEnd() }
  }

  /// - Parameter onEnd: called when the hub is released, and not when the observer is removed.
  /// - Returns: the number that removes the observer.
  func add(
    _ actions: some Sequence<CacheEvent.Action>, onEnd: @escaping @Sendable () -> Void = {},
    _ observer: @escaping Observer
  ) -> Int {
    state.withLock { state in
      state.count += 1
      state.listeners.append(
        Listener(number: state.count, actions: ActionSet(actions), observer: observer, onEnd: onEnd))
      wanted.store(ActionSet(state.listeners.map(\.actions)).bits, ordering: .relaxed)
      return state.count
    }
  }

  func remove(_ number: Int) {
    // Releases the observer outside the lock: objects that it owns may call the hub when they are released.
    let removed = state.withLock { state in
      let removed = state.listeners.filter { $0.number == number }
      state.listeners.removeAll { $0.number == number }
      wanted.store(ActionSet(state.listeners.map(\.actions)).bits, ordering: .relaxed)
      return removed
    }
    withExtendedLifetime(removed) {}
  }
}

/// A set of actions as bits.
private struct ActionSet {
  var bits: UInt32

  @inline(__always)
  init(_ action: CacheEvent.Action) {
    bits = action.bit
  }

  init(_ actions: some Sequence<CacheEvent.Action>) {
    bits = actions.reduce(0) { $0 | ActionSet($1).bits }
  }

  init(_ sets: [ActionSet]) {
    bits = sets.reduce(0) { $0 | $1.bits }
  }

  func contains(_ action: CacheEvent.Action) -> Bool { bits & ActionSet(action).bits != 0 }
}

extension EventHub {
  /// Makes an event, if an observer wants its kind.
  @inline(__always)
  func note(
    _ action: CacheEvent.Action, _ request: HTTPRequest, _ reason: CacheEngine.Reason,
    source: CachedResponse.Source? = nil, byteCount: Int? = nil, refusal: InsertRefusal? = nil,
    partition: String, since begun: Moment = 0
  ) {
    guard wants(action) else { return }
    send(
      CacheEvent(
        action, request, reason, source: source, byteCount: byteCount, refusal: refusal,
        partition: partition, duration: begun == 0 ? nil : .nanoseconds(now - begun)))
  }

  /// Makes an event of the disk or of the shared tier, if an observer wants its kind.
  func note(_ action: CacheEvent.Action, _ cause: (any Error)? = nil) {
    if wants(action) { send(CacheEvent(action, cause: cause)) }
  }
}

extension EventHub: DiskObserver {
  func diskChanged(_ event: DiskEvent) {
    switch event.kind {
    case .failing: note(.diskFailing, event.error)
    case .full: note(.diskFull, event.error)
    case .recovered: note(.diskRecovered)
    default: break
    }
  }
}
