// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOPosix

/// An object for each thread. The connections of an event loop share that of its thread, without a lock.
// Unchecked because the objects are not Sendable. Each thread sees only its own.
struct ThreadLocal<Value: AnyObject>: @unchecked Sendable {
  private let variable = ThreadSpecificVariable<Value>()

  /// Returns the object of the current thread. Makes one if the thread has none, or one that no longer serves.
  func value(if serves: (Value) -> Bool = { _ in true }, orElse make: () -> Value) -> Value {
    if let known = variable.currentValue, serves(known) { return known }
    let new = make()
    variable.currentValue = new
    return new
  }
}
