// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// One import is enough for the two lines that switch the cache on.
@_exported import HTTPCaching
