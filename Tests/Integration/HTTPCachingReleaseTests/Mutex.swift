// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// A declaration of the module's own takes the place of an imported one: see `PthreadMutex`.
#if SANITIZES_THREADS
  import SanitizableMutex

  typealias Mutex = PthreadMutex
#endif
