// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if !Proxy
  #error("HTTPCacheProxy needs the trait Proxy: pass --traits Proxy or set it in your .package")
#endif
