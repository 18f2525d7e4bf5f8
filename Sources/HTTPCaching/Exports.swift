// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// The cache speaks in the engine's terms (Reason, RequestCachePolicy) and in those of HTTPTypes.
@_exported import HTTPCacheEngine
@_exported import HTTPTypes
// The type of a folder's path.
@_exported import struct SystemPackage.FilePath
