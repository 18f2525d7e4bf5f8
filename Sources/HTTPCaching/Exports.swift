// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// The cache's interface uses types of the engine (Reason, RequestCachePolicy) and of HTTPTypes.
@_exported import HTTPCacheEngine
@_exported import HTTPTypes

// The type of the store's configuration.
@_exported import class HTTPCacheStore.CacheStore
// The type of a directory's path.
@_exported import struct SystemPackage.FilePath
