// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import AsyncHTTPClient
import HTTPCacheEngine
import HTTPCaching
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension HTTPRequest {
  /// Makes the head with all fields that will be sent, because a response may vary on any of them.
  ///
  /// - Parameter isDecoding: whether the client decodes content. It then adds an `Accept-Encoding` that the cache must know.
  /// - Returns: `nil` for a request that the cache cannot answer, or that the client will refuse.
  init?(_ request: HTTPClientRequest, decoding isDecoding: Bool) {
    guard let target = RequestTarget(request.url), let method = try? Method(request.method) else {
      return nil
    }
    var fields = HTTPFields()
    if !request.headers.isEmpty { fields.reserveCapacity(request.headers.count + 1) }
    for (name, value) in request.headers {
      // The field tells a server which site is meant. With another one than the URL's, the key of one site could lead to
      // the responses of another.
      if name.utf8.count == 4, name.lowercasedASCII == "host" {
        guard value.lowercasedASCII == target.authority.lowercasedASCII else { return nil }
        continue
      }
      guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else { return nil }
      fields.append(HTTPField(name: name, value: value))
    }
    if isDecoding, !fields.contains(.acceptEncoding) {
      // A range of an encoded response covers encoded bytes, and cannot be decoded by itself.
      fields[.acceptEncoding] = fields.contains(.range) ? "identity" : "gzip, deflate"
    }
    self.init(
      method: method, scheme: target.scheme, authority: target.authority, path: target.path,
      headerFields: fields)
  }
}

/// The target of a request to a server: what the client makes of its URL.
private struct RequestTarget {
  let scheme: String
  let authority: String
  let path: String

  init?(_ text: String) {
    if let plain = PlainURL(text) {
      (scheme, authority, path) = (plain.scheme, plain.authority, plain.path)
      return
    }
    guard let url = URL(string: text), let scheme = url.scheme?.lowercasedASCII,
      scheme == "http" || scheme == "https", let host = url.host(percentEncoded: true), !host.isEmpty
    else { return nil }
    self.scheme = scheme
    let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    authority = url.port.map { "\(name):\($0)" } ?? name
    let pathPart = url.path(percentEncoded: true)
    path = (pathPart.isEmpty ? "/" : pathPart) + (url.query(percentEncoded: true).map { "?\($0)" } ?? "")
  }
}

extension HTTPClientResponse {
  /// Makes the client's response from the cache's.
  init(_ response: CachedResponse) {
    let head = response.head
    self.init(
      status: HTTPResponseStatus(statusCode: head.status.code, reasonPhrase: head.status.reasonPhrase),
      headers: HTTPHeaders(head.headerFields), body: Body(response.body), history: [])
  }

  /// How the cache handled the request (RFC 9211); `nil` if the request bypassed it.
  ///
  /// ```swift
  /// print(response.cacheStatus?.source, response.cacheStatus?.reason, response.cacheStatus?.age)
  /// ```
  ///
  /// - Complexity: O(*n*) in the length of the fields: each access parses them.
  public var cacheStatus: CacheStatus? {
    let fields = headers["Cache-Status"]
    guard !fields.isEmpty, var status = CacheStatus(parsing: fields.joined(separator: ", ")),
      status.reason != nil
    else { return nil }
    if status.source != .network {
      status.age = headers.first(name: "Age").flatMap { Int64($0) }.map { .seconds($0) }
    }
    return status
  }
}

extension HTTPClientResponse.Body {
  fileprivate init(_ content: MessageBody) {
    var buffer: ByteBuffer?
    if content.withBytes({ bytes in buffer = bytes.withUnsafeBytes { ByteBuffer(bytes: $0) } }), let buffer {
      self = buffer.readableBytes == 0 ? Self() : .bytes(buffer)
    } else {
      self = .stream(Buffers(content))
    }
  }

  /// Reads content that no caller wants, and drops it.
  ///
  /// - Parameter limit: the bytes after which the rest is not read, and its transfer ends.
  func drop(upTo limit: Int) async {
    var count = 0
    do {
      for try await buffer in self {
        count += buffer.readableBytes
        if count > limit { return }
      }
    } catch {
      // It was not wanted.
    }
  }
}

/// The chunks of the cache's content, as buffers for the client's callers.
private struct Buffers: AsyncSequence, Sendable {
  private let content: MessageBody

  init(_ content: MessageBody) { self.content = content }

  func makeAsyncIterator() -> Iterator { Iterator(content: content.makeAsyncIterator()) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate var content: MessageBody.Iterator

    mutating func next() async throws -> ByteBuffer? {
      try await content.next().map { ByteBuffer(bytes: $0) }
    }
  }
}
