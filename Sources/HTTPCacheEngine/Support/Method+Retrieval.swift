// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

extension HTTPRequest.Method {
  /// QUERY, which asks with content and changes nothing (draft-ietf-httpbis-safe-method-w-body).
  package var isQuery: Bool { rawValue == "QUERY" }

  /// The methods whose responses are stored: GET, and QUERY, which is like a GET of the resource that its content
  /// describes.
  var isRetrieval: Bool { self == .get || isQuery }
}
