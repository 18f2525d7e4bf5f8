// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// The type of a directory path.
@_exported import struct SystemPackage.FilePath
