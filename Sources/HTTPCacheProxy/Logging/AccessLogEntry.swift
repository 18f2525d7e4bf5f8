// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore

/// The data of one request for the access log, in addition to the request itself.
struct AccessLogEntry {
  /// The client's address, without its port.
  var client: String
  var version = HTTPVersion.http11
  /// The version of TLS with the client; `nil` without it.
  var tlsVersion: String?
  /// The bytes that could not be read as a request: the log has their first line.
  var unreadable: ByteBuffer?
  /// The name of the site; empty without one.
  var site = ""
  var status: Int
  /// Bytes of content that were sent, without heads and framing.
  var contentBytes: Int
  var provenance: Provenance?
  /// Time from the request's head to the head of its response; `nil` if none was sent.
  var microsecondsToHead: Int64?
  /// Time from the request's head to the end of its response.
  var microseconds: Int64
  /// Whether the connection ended before the response did.
  var isAborted: Bool

  /// The status of a request whose connection ended before there was a response, as nginx logs it.
  static let statusWithoutResponse = 499
}
