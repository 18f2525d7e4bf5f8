// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore

/// What may, and what must, be found in a store after a crash, from the steps that were begun and done before.
///
/// - What was removed, and acknowledged as removed, is not found.
/// - What is found is one of the versions of its key and variant since then, whole, with the metadata that it was
///   stored with or that an update gave it. Which of them is not said: a crash may lose stores.
/// - What belongs to a scope that was marked later is known to be outdated.
/// - What was expired, and acknowledged as expired, says so.
/// - What was pinned, and acknowledged as pinned, is pinned; what was unpinned is not.
/// - Where a key is pinned: what it had then is found, or what came in its place.
/// - Where nothing is evicted: what was flushed is found, or what came in its place.
package struct CrashModel: Sendable {
  private struct Slot: Hashable {
    var key: Int
    var variant: UInt64
  }

  private struct Version {
    var number: Int
    var size: Int
    var scope: Int
    /// The steps whose metadata it may have; the last of them is the latest.
    var revisions: [Int]
    var isMarked = false
    /// The steps whose metadata it must not have unless that says that it was expired.
    var expired: Set<Int> = []
    /// Whether it must be found, unless something replaced it.
    var isFlushed = false
    /// Whether it was there when its key was pinned.
    var isPinned = false
    /// Known to be the one that its key and variant had last.
    var isCurrent = false
  }

  private var slots: [Slot: [Version]] = [:]
  /// Whether keys are known to be pinned; others never were, or it is not known.
  private var pins: [Int: Bool] = [:]
  /// Begun, and not known to be done.
  private var current: CrashStep?
  /// The greatest number there was.
  package private(set) var last = 0
  /// What went wrong while the workload ran.
  package private(set) var problems: [String] = []

  /// What was told, for finding the reason of a failure.
  package private(set) var story: [String] = []

  package init() {}

  // MARK: The workload's story

  /// Takes a line of a child process's story. Only the last may be incomplete, and that one is not to be given.
  package mutating func read(_ line: some StringProtocol) {
    switch line.first {
    case "+": end(true)
    case "-": end(false)
    case "!": problems.append(String(line.dropFirst()))
    default:
      if let step = CrashStep(line) { begin(step) } else { problems.append("no step: \(line)") }
    }
  }

  package mutating func complain(_ what: String) { problems.append(what) }

  package mutating func begin(_ step: CrashStep) {
    current = step
    story.append(step.text)
    switch step {
    case .insert(let number, let key, let variant, let size, let scope):
      last = max(last, number)
      slots[Slot(key: key, variant: variant), default: []].append(
        Version(number: number, size: size, scope: scope, revisions: [number]))
    case .update(let number, let by, let key):
      last = max(last, by)
      change(key, number) { $0.revisions.append(by) }
    case .removeKey, .removeVariant, .removeSince, .removeAll, .sweep:
      // It may have been done, and it may not.
      for (slot, versions) in slots {
        slots[slot] = versions.map { version in
          var version = version
          if isRemoved(version, in: slot, by: step) { (version.isFlushed, version.isPinned) = (false, false) }
          return version
        }
      }
      if let key = unpinned(by: step) { pins[key] = nil }
      if case .removeAll = step { pins = [:] }
    case .pin(let key, _), .unpin(let key):
      pins[key] = nil
      if case .unpin = step { change(key) { $0.isPinned = false } }
    case .mark, .expire, .flush, .read: break
    }
  }

  private func unpinned(by step: CrashStep) -> Int? {
    if case .removeKey(let key) = step { key } else { nil }
  }

  package mutating func end(_ isDone: Bool) {
    guard let step = current else { return }
    current = nil
    story.append(isDone ? "+" : "-")
    switch step {
    case .insert(let number, let key, let variant, _, _):
      let slot = Slot(key: key, variant: variant)
      for index in (slots[slot] ?? []).indices {
        // What it replaced, or could not, need not be there any more.
        slots[slot]?[index].isFlushed = false
        slots[slot]?[index].isPinned = false
        let isNew = slots[slot]?[index].number == number
        slots[slot]?[index].isCurrent = isDone && isNew
      }
    case .update(let number, _, let key):
      if !isDone { change(key, number) { ($0.isFlushed, $0.isPinned) = (false, false) } }
    case .removeKey, .removeVariant, .removeSince, .removeAll, .sweep:
      for (slot, versions) in slots {
        slots[slot] = versions.filter { !isRemoved($0, in: slot, by: step) }
      }
      if let key = unpinned(by: step) { pins[key] = false }
      if case .removeAll = step { for key in 0..<CrashContent.keys { pins[key] = false } }
    case .pin(let key, let number):
      guard isDone else { break }
      pins[key] = true
      change(key, number) { if $0.isCurrent { $0.isPinned = true } }
    case .unpin(let key):
      if isDone { pins[key] = false }
    case .mark(let scope):
      for (slot, versions) in slots {
        slots[slot] = versions.map { version in
          var version = version
          if version.scope == scope { version.isMarked = true }
          return version
        }
      }
    case .expire(let rest):
      for (slot, versions) in slots where slot.key % CrashContent.rests == rest {
        for index in versions.indices {
          slots[slot]?[index].expired.formUnion(versions[index].revisions)
        }
      }
    case .flush:
      for (slot, versions) in slots {
        for index in versions.indices where versions[index].isCurrent { slots[slot]?[index].isFlushed = true }
      }
    case .read: break
    }
  }

  private mutating func change(_ key: Int, _ number: Int, _ body: (inout Version) -> Void) {
    for slot in slots.keys where slot.key == key {
      for index in (slots[slot] ?? []).indices where slots[slot]?[index].number == number {
        guard var version = slots[slot]?[index] else { continue }
        body(&version)
        slots[slot]?[index] = version
      }
    }
  }

  private mutating func change(_ key: Int, _ body: (inout Version) -> Void) {
    for slot in slots.keys where slot.key == key {
      for index in (slots[slot] ?? []).indices {
        guard var version = slots[slot]?[index] else { continue }
        body(&version)
        slots[slot]?[index] = version
      }
    }
  }

  private func isRemoved(_ version: Version, in slot: Slot, by step: CrashStep) -> Bool {
    switch step {
    case .removeKey(let key): slot.key == key
    case .removeVariant(let key, let variant): slot.key == key && slot.variant == variant
    case .removeSince(let second): (version.revisions.last ?? version.number) >= second
    case .removeAll: true
    case .sweep(let rest): slot.key % CrashContent.rests == rest
    default: false
    }
  }

  // MARK: The store afterwards

  /// Looks at all that a store has, and says what must not be. What is there is from now on all there can be.
  ///
  /// - Parameters:
  ///   - nothingIsEvicted: whether there was room for everything.
  ///   - keepsPinned: whether nothing that was synced can have been dropped.
  package mutating func check(
    _ store: CacheStore, nothingIsEvicted: Bool, keepsPinned: Bool = true
  ) -> [String] {
    var found = problems
    problems = []
    current = nil
    var remaining: [Slot: [Version]] = [:]
    for key in 0..<CrashContent.keys {
      for entry in store.lookup(CrashContent.key(key)) {
        let slot = Slot(key: key, variant: entry.variant.rawValue)
        let name = "key \(key), variant \(entry.variant.rawValue)"
        let content: CrashEntry
        switch CrashEntry.read(entry) {
        case .whole(let whole): content = whole
        case .unreadable: continue
        case .wrong:
          found.append("\(name): wrong bytes")
          continue
        }
        guard var version = slots[slot]?.first(where: { $0.number == content.number }) else {
          found.append("\(name): number \(content.number) came back")
          continue
        }
        guard version.revisions.contains(content.revision), version.size == content.size,
          version.scope == content.scope
        else {
          found.append("\(name): number \(content.number) has a head that it never had: \(content)")
          continue
        }
        if version.isMarked,
          !(store.mayBeMarked(entry.id) && store.isMarked(entry.id, in: CrashContent.scope(version.scope)))
        {
          found.append("\(name): the mark of scope \(version.scope) is lost for number \(version.number)")
        }
        if version.expired.contains(content.revision), !content.isExpired {
          found.append("\(name): number \(content.number) is not expired any more")
        }
        version.revisions = [content.revision]
        version.expired = content.isExpired ? [content.revision] : []
        version.isCurrent = true
        remaining[slot] = [version]
      }
    }
    for (key, isPinned) in pins.sorted(by: { $0.key < $1.key })
    where store.isPinned(CrashContent.key(key)) != isPinned {
      found.append("key \(key) is \(isPinned ? "not pinned any more" : "pinned again")")
    }
    pins = [:]
    for key in 0..<CrashContent.keys { pins[key] = store.isPinned(CrashContent.key(key)) }
    if nothingIsEvicted || keepsPinned {
      for (slot, versions) in slots {
        guard
          let must = versions.last(where: { $0.isPinned && keepsPinned || $0.isFlushed && nothingIsEvicted })
        else { continue }
        let there = remaining[slot]?.first?.number
        if there.map({ $0 < must.number }) ?? true {
          found.append(
            "key \(slot.key), variant \(slot.variant): number \(must.number) of \(must.size) bytes was flushed or pinned, and is lost "
              + "(there is \(there.map { String($0) } ?? "nothing"))")
        }
      }
    }
    slots = remaining
    story.append("opened again")
    return found
  }

  /// How many entries can be there.
  package var count: Int { slots.values.reduce(0) { $0 + ($1.isEmpty ? 0 : 1) } }
}
