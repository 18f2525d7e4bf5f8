// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// Declarations one by one: all of HTTPCaching would bring a second `CacheControl` beside Hummingbird's.
@_exported import struct HTTPCacheEngine.TargetURI
@_exported import class HTTPCaching.HTTPCache
