// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching

/// What a task has the connection send, in the order in which it is written.
enum ResponsePart: Sendable {
  case interim(HTTPResponse)
  case head(ResponseHead)
  case chunk(ArraySlice<UInt8>)
  case end(trailers: HTTPFields?)
  /// With a content that is in memory.
  case whole(ResponseHead, MessageBody)
  /// The content broke off: the client must see that.
  case abort
}
