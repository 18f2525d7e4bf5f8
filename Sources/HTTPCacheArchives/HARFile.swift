// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A HAR file (HTTP Archive 1.2), as browsers' developer tools and proxies export.
///
/// The contents are decoded, so the fields for encoded content are omitted: `Content-Encoding`, `Content-Length`, and
/// `Accept-Encoding` in `Vary`. Texts are UTF-8.
public struct HARFile: Sendable {
  /// An entry without a usable response.
  public struct Skipped: Hashable, Sendable, CustomStringConvertible {
    /// `entry 3 (GET https://a.example/)`.
    public var name: String
    /// Why it was skipped.
    public var reason: String
    public var description: String { "\(name): \(reason)" }
  }

  /// The responses, in the order of the file.
  public let responses: [ArchivedResponse]
  /// The skipped entries, and why.
  public let skipped: [Skipped]

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - path: the path of the file.
  ///   - limit: maximum bytes to read (default: 1 GiB).
  /// - Throws: ``ArchiveError``, which names the invalid entry.
  public init(path: String, limit: Int = 1 << 30) throws {
    try self.init(ArchiveFile.bytes(of: URL(fileURLWithPath: path), limit: limit), name: path)
  }

  /// Reads the contents of a file.
  ///
  /// - Parameters:
  ///   - bytes: the JSON.
  ///   - name: the name of the file in errors.
  /// - Throws: ``ArchiveError``, which names the invalid entry.
  public init(_ bytes: [UInt8], name: String = "HAR") throws {
    let file: File
    do {
      file = try JSONDecoder().decode(File.self, from: Data(bytes))
    } catch let error as DecodingError {
      throw ArchiveError(name, "not a HAR file: \(ArchiveFile.text(of: error))")
    }
    var responses: [ArchivedResponse] = []
    var skipped: [Skipped] = []
    for (index, entry) in file.log.entries.enumerated() {
      let place = "entry \(index) (\(entry.request.method) \(entry.request.url.prefix(200)))"
      if let reason = entry.reasonToSkip {
        skipped.append(Skipped(name: place, reason: reason))
        continue
      }
      do {
        responses.append(try entry.archived(place))
      } catch let fault as Fault {
        throw ArchiveError("\(name), \(place)", fault.what)
      }
    }
    self.responses = responses
    self.skipped = skipped
  }

  fileprivate struct Fault: Error {
    var what: String
  }
}

// MARK: - The format

/// The part of the format that is read; everything else is ignored.
private struct File: Decodable {
  var log: Log

  struct Log: Decodable {
    var entries: [Entry]
  }

  struct Entry: Decodable {
    var request: Request
    var response: Response
  }

  struct Field: Decodable {
    var name: String
    var value: String
  }

  struct Request: Decodable {
    var method: String
    var url: String
    var headers: [Field]?
  }

  struct Response: Decodable {
    var status: Int
    var headers: [Field]?
    var content: Content?
    var redirectURL: String?
  }

  struct Content: Decodable {
    var size: Int?
    var mimeType: String?
    var text: String?
    var encoding: String?
  }
}

extension File.Entry {
  /// Why the entry has no usable response; `nil` if it has one.
  var reasonToSkip: String? {
    let scheme = request.url.prefix { $0 != ":" }.lowercasedASCII
    if scheme != "http", scheme != "https" { return "the scheme '\(scheme)' is not http or https" }
    if response.status == 0 { return "the request got no response" }
    if response.status == 304 {
      return "a 304 response has no content; record with the browser's cache disabled"
    }
    if response.status == 206 { return "a 206 response has only a part of the content" }
    if (100..<200).contains(response.status) { return "the response is not final" }
    let isRedirect = (300..<400).contains(response.status)
    if let content = response.content, content.text == nil, (content.size ?? 0) > 0, !isRedirect,
      request.method != "HEAD"
    {
      return "its content was not saved; export the HAR with content"
    }
    return nil
  }

  func archived(_ name: String) throws -> ArchivedResponse {
    guard
      let request = HTTPRequest(
        method: request.method, url: request.url,
        fields: Self.fields(request.headers ?? []).removing(["host"]))
    else { throw HARFile.Fault(what: "expected a request with a method, and a URL with a host") }
    guard (200...999).contains(response.status) else {
      throw HARFile.Fault(what: "expected a status code of three digits, found \(response.status)")
    }
    var fields = Self.fields(response.headers ?? []).ofDecodedContent
    if let target = response.redirectURL, !target.isEmpty, fields[.location] == nil,
      (300..<400).contains(response.status)
    {
      fields.append("Location", target)
    }
    let bytes = try content(&fields)
    return ArchivedResponse(
      name: name, request: request,
      head: HTTPResponse(status: .init(code: response.status), headerFields: fields), body: bytes)
  }

  private func content(_ fields: inout HTTPFields) throws -> [UInt8] {
    guard let content = response.content, let text = content.text else { return [] }
    if fields[.contentType] == nil, let type = content.mimeType, !type.isEmpty {
      fields.append("Content-Type", type)
    }
    switch content.encoding?.lowercasedASCII {
    case "base64":
      guard let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
        throw HARFile.Fault(what: "its content is not valid base64")
      }
      if let size = content.size, size > data.count {
        throw HARFile.Fault(what: "expected \(size) bytes of content, found \(data.count)")
      }
      return Array(data)
    case nil, "", "utf-8", "utf8":
      // The text has been decoded from its original charset, and is UTF-8 now.
      fields[.contentType] = fields[.contentType]?.replacing(
        /charset=[^;]*/.ignoresCase(), with: "charset=utf-8", maxReplacements: 1)
      return Array(text.utf8)
    case let encoding?:
      throw HARFile.Fault(what: "its content has the encoding \"\(encoding)\"; expected base64 or utf-8")
    }
  }

  /// Restores the original fields. Several lines in one value, as some browsers join Set-Cookie, become several fields.
  /// Pseudo fields of HTTP/2 are removed.
  private static func fields(_ headers: [File.Field]) -> HTTPFields {
    var fields = HTTPFields()
    for header in headers where !header.name.hasPrefix(":") {
      for line in header.value.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
        fields.append(header.name, line.trimmedOfBlanks)
      }
    }
    return fields
  }
}
