// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// One import is enough to put a cache in front of a client.
@_exported import AsyncHTTPClient
@_exported import HTTPCaching
