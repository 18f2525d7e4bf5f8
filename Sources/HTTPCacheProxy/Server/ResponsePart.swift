// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching

/// A part of a response that a task passes to the connection, in the order of writing.
enum ResponsePart: Sendable {
  case interim(HTTPResponse)
  case head(ResponseHead)
  case chunk(ArraySlice<UInt8>)
  case end(trailers: HTTPFields?)
  /// A response whose content is in memory.
  case whole(ResponseHead, MessageBody)
  /// The content is incomplete, and the client must notice it.
  case abort
}
