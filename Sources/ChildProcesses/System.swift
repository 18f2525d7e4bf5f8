// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// Foundation would link 54 MB of libraries on Linux, most of them data of ICU. These imports count for all files of the module.
#if canImport(FoundationEssentials)
  @_exported import FoundationEssentials
  #if canImport(Musl)
    @_exported import Musl
  #else
    @_exported import Glibc
  #endif
#else
  @_exported import Foundation
#endif

/// Runs a closure on a thread of its own, which may block.
func startThread(_ body: @escaping @Sendable () -> Void) {
  #if canImport(Darwin)
    var thread: pthread_t?
  #else
    var thread = pthread_t()
  #endif
  let context = Unmanaged.passRetained(ThreadBody(body)).toOpaque()
  let result = pthread_create(
    &thread, nil,
    { context in
      pthread_detach(pthread_self())
      let context: UnsafeMutableRawPointer? = context
      if let context { Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run() }
      return nil
    }, context)
  precondition(result == 0, "cannot start a thread")
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void

  init(_ run: @escaping @Sendable () -> Void) {
    self.run = run
  }
}
