// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The thread on which Foundation started a load. Apple documents that the client must be called there.
package struct ClientThread: Sendable {
  /// Makes a call on the thread, after all earlier ones. It returns before the call is made.
  let perform: @Sendable (_ call: @escaping @Sendable () -> Void) -> Void

  package init(_ perform: @escaping @Sendable (_ call: @escaping @Sendable () -> Void) -> Void) {
    self.perform = perform
  }
}
