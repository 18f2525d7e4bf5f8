// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// On Linux, Foundation links 54 MB of libraries, most of them data of ICU; FoundationEssentials links 10 MB. These imports
// count for all files of the module.
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
