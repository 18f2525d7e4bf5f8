// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if !Benchmarks
  #error("CacheBench needs the trait Benchmarks: pass --traits Benchmarks or set it in your .package")
#endif
