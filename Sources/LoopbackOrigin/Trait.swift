// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if !Proxy && !AsyncHTTPClient
  #error("this target needs a trait of the package: pass --enable-all-traits")
#endif
