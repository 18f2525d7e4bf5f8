// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import Synchronization

/// What the last response to a request says of the next one with the same key.
enum Sharing: Sendable {
  /// It could answer no other request.
  case never
  /// It answers others, too.
  case always
}

/// Remembers for a while whether responses could be shared, by key. Requests with credentials are remembered apart.
///
/// A key has one place among a fixed number, by its hash. If another key takes it, requests for the first one wait for each
/// other once more.
final class SharingMemory: Sendable {
  private struct Note {
    var hash = 0
    /// When it is forgotten, in milliseconds.
    var end = Int64.min
    var sharing: Sharing?
  }

  /// After this time, a resource may be another.
  static let lifetime = Duration.seconds(120)
  /// The same for what a server error (5xx) says.
  static let lifetimeOfError = Duration.seconds(10)
  private static let count = 4096

  /// Empty until the first note: most caches of an app need none.
  private let notes = Mutex<[Note]>([])
  private let clock: any CacheClock

  init(clock: any CacheClock) {
    self.clock = clock
  }

  /// Records what a response says; `nil` forgets what the last one said.
  ///
  /// - Parameter lifetime: after this time, it is forgotten.
  func note(
    _ sharing: Sharing?, of key: CacheKey, withCredentials: Bool,
    for lifetime: Duration = SharingMemory.lifetime
  ) {
    notes.withLock { notes in
      if notes.isEmpty {
        if sharing == nil { return }
        notes = Array(repeating: Note(), count: Self.count)
      }
      let (hash, index) = Self.place(of: key, withCredentials)
      if sharing != nil || notes[index].hash == hash {
        notes[index] = Note(
          hash: hash, end: clock.now.advanced(by: lifetime).milliseconds, sharing: sharing)
      }
    }
  }

  /// Returns what the last response said; `nil` if that is unknown.
  func sharing(of key: CacheKey, withCredentials: Bool) -> Sharing? {
    notes.withLock { notes in
      guard !notes.isEmpty else { return nil }
      let (hash, index) = Self.place(of: key, withCredentials)
      let note = notes[index]
      guard note.hash == hash, note.sharing != nil, note.end > clock.now.milliseconds else { return nil }
      return note.sharing
    }
  }

  private static func place(of key: CacheKey, _ withCredentials: Bool) -> (hash: Int, index: Int) {
    let hash = withCredentials ? ~key.hashValue : key.hashValue
    return (hash, Int(UInt(bitPattern: hash) % UInt(count)))
  }
}
