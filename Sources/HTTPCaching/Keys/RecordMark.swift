// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The first byte of the metadata of each entry that is not a stored response.
///
/// The values are among `StoredResponse.reservedFirstBytes`, so an entry of one kind never reads as another kind.
enum RecordMark: UInt8, CaseIterable {
  case annotation = 0xFD
  case anchor = 0xFE
}
