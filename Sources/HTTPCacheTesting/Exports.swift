// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// Stubs and archives speak in the terms of HTTPTypes, and of the cache.
@_exported import HTTPCaching
