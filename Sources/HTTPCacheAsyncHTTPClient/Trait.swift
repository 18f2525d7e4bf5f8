// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if !AsyncHTTPClient
  #error(
    "HTTPCacheAsyncHTTPClient needs the trait AsyncHTTPClient: pass --traits AsyncHTTPClient or set it in your .package"
  )
#endif
