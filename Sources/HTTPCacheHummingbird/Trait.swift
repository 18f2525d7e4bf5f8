// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if !Hummingbird
  #error(
    "HTTPCacheHummingbird needs the trait Hummingbird: pass --traits Hummingbird or set it in your .package")
#endif
