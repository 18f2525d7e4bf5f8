// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// Everything with a mutex imports this module, so that `make test-thread` can put another one in its place.
@_exported import Synchronization

#if SANITIZES_THREADS
  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// A lock with the interface of `Synchronization.Mutex`, for ThreadSanitizer alone.
  ///
  /// On Linux, that one is a futex which the sanitizer does not see: it would report everything that the lock guards. This
  /// one is of pthread, which it knows. A module's own declaration hides the one that the module exports.
  // Unchecked: the value is touched only while the lock is held.
  package final class Mutex<Value: ~Copyable>: @unchecked Sendable {
    private let handle: UnsafeMutablePointer<pthread_mutex_t>
    // Not in the object itself: of a value without a size, as `Void`, the sanitizer would take the object's head for it.
    private let value: UnsafeMutablePointer<Value>

    package init(_ value: consuming sending Value) {
      handle = .allocate(capacity: 1)
      handle.initialize(to: pthread_mutex_t())
      precondition(pthread_mutex_init(handle, nil) == 0)
      self.value = .allocate(capacity: 1)
      self.value.initialize(to: value)
    }

    deinit {
      pthread_mutex_destroy(handle)
      handle.deallocate()
      value.deinitialize(count: 1)
      value.deallocate()
    }

    package func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      pthread_mutex_lock(handle)
      defer { pthread_mutex_unlock(handle) }
      return try body(&value.pointee)
    }

    package func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
      guard pthread_mutex_trylock(handle) == 0 else { return nil }
      defer { pthread_mutex_unlock(handle) }
      return try body(&value.pointee)
    }
  }
#endif
