// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import AsyncHTTPClient

// AsyncHTTPClient does not publish these values, but the cache needs them: the user of a client expects its timeouts, its
// TLS and its rules for redirects. Reflection reads them once per client, and once per redirect with
// content. A test fails if a version of AsyncHTTPClient has other names. Then redirects are errors, and not stored.

extension HTTPClient {
  /// The configuration that the client was made with.
  var knownConfiguration: Configuration? {
    Mirror(reflecting: self).descendant("configuration") as? Configuration
  }
}

extension HTTPClient.Configuration.RedirectConfiguration {
  /// The rules for redirects; `nil` if they are not followed.
  var followed: FollowConfiguration? {
    Mirror(reflecting: self).descendant("mode", "follow") as? FollowConfiguration
  }
}

extension HTTPClientRequest.Body {
  /// Whether the content can be sent a second time, to the target of a redirect.
  var isReplayable: Bool {
    guard let mode = Mirror(reflecting: self).descendant("mode"),
      let content = Mirror(reflecting: mode).children.first
    else { return false }
    return switch content.label {
    case "byteBuffer": true
    case "sequence":
      Mirror(reflecting: content.value).descendant("canBeConsumedMultipleTimes") as? Bool ?? false
    default: false
    }
  }
}
