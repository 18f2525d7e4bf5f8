// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore
import HTTPTypes

/// A complete response that is about to be stored. The application may still change it.
public struct StorageProposal: Sendable {
  /// The request that the response answers.
  public let request: HTTPRequest
  /// The head that is stored.
  public let response: HTTPResponse
  /// The content that is stored. For a partial response (RFC 9111 §3.3), a change is ignored.
  public var content: [UInt8]
  /// Where the response is stored; an empty set refuses it.
  public var tiers = StoreTiers.all
  /// The application's own bytes, kept with the response for as long as that is stored.
  public var annotation: [UInt8]?

  init(request: HTTPRequest, response: HTTPResponse, content: [UInt8]) {
    self.request = request
    self.response = response
    self.content = content
  }
}

/// Changes or refuses a response before it is stored, after the rules have allowed it. It must not block.
///
/// The response stays in memory until then, however large. If one fetch serves several callers, the cache calls the
/// hook of the first. The caller gets the content unchanged.
public typealias StorageHook = @Sendable (inout StorageProposal) -> Void
