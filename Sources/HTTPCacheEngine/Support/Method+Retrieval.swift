// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

extension HTTPRequest.Method {
  /// Whether the method is QUERY, a request with content that changes nothing (draft-ietf-httpbis-safe-method-w-body).
  package var isQuery: Bool { rawValue == "QUERY" }

  /// Whether responses to the method are stored: GET, and QUERY, which is like a GET of the resource that its content
  /// describes.
  var isRetrieval: Bool { self == .get || isQuery }
}
