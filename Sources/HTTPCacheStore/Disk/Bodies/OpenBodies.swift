// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// The body files that are open for reading. The readers of a body share its descriptor and its checksums.
///
/// 10,000 streams of HTTP/2 that got one stored body took 10,000 descriptors, more than all connections may have.
final class OpenBodies: Sendable {
  private struct Place {
    weak var body: OpenBody?
  }

  private struct State {
    var places: [UInt64: Place] = [:]
    /// The number of places at which those of closed files are removed.
    var limit = 64
  }

  private let state = Mutex(State())

  /// Returns the open file of a body.
  ///
  /// - Parameter open: opens it, if no reader has; returns `nil` if that would wait.
  func body(
    _ number: UInt64, open: () throws(FileFailure) -> (any File)?
  ) throws(FileFailure) -> OpenBody? {
    if let body = state.withLock({ $0.places[number]?.body }) { return body }
    guard let file = try open() else { return nil }
    let opened = OpenBody(file)
    return state.withLock { state in
      if let body = state.places[number]?.body { return body }
      state.places[number] = Place(body: opened)
      if state.places.count > state.limit {
        state.places = state.places.filter { $0.value.body != nil }
        state.limit = max(64, 2 * state.places.count)
      }
      return opened
    }
  }
}

/// An open body file. It stays readable when the entry is removed and the file unlinked.
final class OpenBody: Sendable {
  let file: any File
  /// The checksums of the chunks, once they are read.
  let table = Mutex<[UInt64]?>(nil)

  init(_ file: any File) { self.file = file }
}
