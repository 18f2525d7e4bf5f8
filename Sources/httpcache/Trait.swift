// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if !CommandLine
  #error("httpcache needs the trait CommandLine: pass --traits CommandLine or set it in your .package")
#endif
