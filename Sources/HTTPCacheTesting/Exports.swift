// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// The interface of stubs and archives uses types of HTTPTypes, and of the cache.
@_exported import HTTPCaching
