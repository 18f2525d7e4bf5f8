// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// A mutex for a subclass of `NSObject`.
///
/// A mutex by value would be an instance variable of a type that Objective-C does not know. Nothing has confirmed on an Apple
/// platform that its runtime lays out such an instance, so these classes refer to an object of Swift.
final class MutexBox<Value>: Sendable {
  let mutex: Mutex<Value>

  init(_ value: consuming sending Value) { mutex = Mutex(value) }
}
