// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if !Observing
  #error("HTTPCacheObserving needs the trait Observing: pass --traits Observing or set it in your .package")
#endif
