// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if !Tracing
  #error("HTTPCacheTracing needs the trait Tracing: pass --traits Tracing or set it in your .package")
#endif
