// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A folder of responses for people to read and edit: a JSON file for each head, and a separate file for its content.
/// See `Format.md`.
///
/// ```swift
/// let folder = ResponseFolder("Fixtures")
/// let imported = try await cache.store(folder.responses())    // `returnCacheDataDontLoad` needs no server now
/// options.middleware = { folder.recording($0) }
/// let session = URLSession(configuration: .caching(with: cache, options: options))    // its traffic goes into the folder
/// ```
///
/// The files are not trusted: they are read only from the folder, whatever names or links point to, and sizes are
/// limited.
public struct ResponseFolder: Sendable {
  /// Maximum sizes to read.
  public struct Limits: Hashable, Sendable {
    /// Maximum number of responses.
    public var responses = 100_000
    /// Maximum length of a head, in bytes of its file.
    public var head = 1 << 20
    /// Maximum length of a content, in bytes.
    public var body = 1 << 30

    /// Makes limits with the defaults.
    public init() {}
  }

  /// The path of the folder.
  public let path: String
  /// Maximum sizes of the folder's content; more is an error.
  public var limits = Limits()

  var url: URL { URL(fileURLWithPath: path, isDirectory: true) }

  /// - Parameter path: the folder. It is created when the first response is added.
  public init(_ path: String) {
    self.path = path
  }

  // MARK: - Reading

  /// Returns all responses in the folder, ordered by file name. Contents are read on demand.
  ///
  /// - Throws: ``ArchiveError`` for the first invalid response.
  public func responses() throws -> [ArchivedResponse] {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".json") }
        .sorted()
    } catch {
      throw ArchiveError(path, "cannot read the folder; check the path and its permissions")
    }
    guard names.count <= limits.responses else {
      throw ArchiveError(path, "has more than \(limits.responses) responses")
    }
    return try names.map { try response($0) }
  }

  private func response(_ name: String) throws -> ArchivedResponse {
    let file = try place(of: name, named: name)
    let bytes = try ArchiveFile.bytes(of: file, limit: limits.head)
    let head: FolderHead
    do {
      head = try JSONDecoder().decode(FolderHead.self, from: Data(bytes))
    } catch let error as DecodingError {
      throw ArchiveError(file.path, ArchiveFile.text(of: error))
    }
    func fields(_ lines: [String: FolderHead.Lines], _ what: String) throws -> HTTPFields {
      var fields = HTTPFields()
      for (name, lines) in lines.sorted(by: { $0.key < $1.key }) {
        for line in lines.values where !fields.append(name, line) {
          throw ArchiveError(
            file.path, "\"\(name)\" of \(what) is not a valid field name, or has an invalid value")
        }
      }
      return fields
    }
    guard
      let request = HTTPRequest(
        method: head.method, url: head.url, fields: try fields(head.requestFields, "the request"))
    else {
      throw ArchiveError(
        file.path, "expected a method and an http or https URL, found \(head.method) \(head.url)")
    }
    guard (200...999).contains(head.status) else {
      throw ArchiveError(file.path, "expected a status code from 200 to 999, found \(head.status)")
    }
    var response = HTTPResponse(
      status: .init(code: head.status), headerFields: try fields(head.fields, "the response"))
    // The content may have been edited, so its length may differ.
    response.headerFields[.contentLength] = nil
    let content: ArchivedResponse.Content
    switch (head.body, head.text) {
    case (nil, nil): content = .bytes([])
    case (nil, let text?): content = .bytes(Array(text.utf8))
    case (let body?, nil): content = .file(try place(of: body, named: name), limit: limits.body)
    case (.some, .some): throw ArchiveError(file.path, "has both \"body\" and \"text\"; remove one")
    }
    return ArchivedResponse(name: name, request: request, head: response, content: content)
  }

  /// Returns the file of a name. The file must be in the folder, both by its name and by the target of links.
  private func place(of name: String, named head: String) throws -> URL {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard !name.isEmpty, !parts.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." }),
      !name.contains("\0"),
      !name.contains("\\")
    else {
      throw ArchiveError(
        url.appendingPathComponent(head).path, "\"\(name)\" is not the name of a file in this folder")
    }
    let file = url.appendingPathComponent(name).resolvingSymlinksInPath()
    let folder = url.resolvingSymlinksInPath().path
    guard file.path.hasPrefix(folder.hasSuffix("/") ? folder : folder + "/") else {
      throw ArchiveError(url.appendingPathComponent(head).path, "\"\(name)\" is outside the folder")
    }
    return file
  }

  // MARK: - Writing

  /// Writes a response, in place of a response to the same request.
  ///
  /// Credentials are omitted: only the request fields that the response varies on are written. Neither those nor the
  /// response have cookies or authorization.
  ///
  /// - Returns: the name of the file with the head.
  /// - Throws: ``ArchiveError``
  @discardableResult
  public func add(_ response: ArchivedResponse) throws -> String {
    let vary = response.head.headerFields[values: .vary].joined(separator: ",").split(separator: ",").map {
      $0.trimmedOfBlanks.lowercasedASCII
    }
    var selecting = HTTPFields()
    for field in response.request.headerFields
    where vary.contains(field.name.canonicalName) && !Self.credentials.contains(field.name.canonicalName) {
      selecting.append(field)
    }
    let name = FileName.of(response, selecting)
    let body = try response.body()
    var head = FolderHead(method: response.request.method.rawValue, url: response.url)
    head.status = response.head.status.code
    head.requestFields = Self.lines(selecting)
    head.fields = Self.lines(
      response.head.headerFields.removing(
        Self.credentials + ["content-length", "cache-status", "transfer-encoding", "connection"]))
    do {
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
      if !body.isEmpty {
        head.body = name + FileName.suffix(of: response.head)
        // Before the head, so that a head never lacks its content.
        try Data(body).write(
          to: url.appendingPathComponent(name + FileName.suffix(of: response.head)), options: .atomic)
      }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      try (encoder.encode(head) + Data("\n".utf8)).write(
        to: url.appendingPathComponent(name + ".json"), options: .atomic)
    } catch {
      throw ArchiveError(path, "cannot write to the folder: \(ArchiveFile.text(of: error))")
    }
    return name + ".json"
  }

  private static let credentials = [
    "authorization", "cookie", "proxy-authorization", "set-cookie", "set-cookie2",
  ]

  private static func lines(_ fields: HTTPFields) -> [String: FolderHead.Lines] {
    var lines: [String: FolderHead.Lines] = [:]
    var names: [String: String] = [:]
    for field in fields {
      let name = names[field.name.canonicalName] ?? field.name.rawName
      names[field.name.canonicalName] = name
      lines[name, default: .init(values: [])].values.append(field.value)
    }
    return lines
  }
}

/// Makes file names from requests.
private enum FileName {
  /// Returns the readable part of the URL, and a hash of the rest of the request.
  static func of(_ response: ArchivedResponse, _ selecting: HTTPFields) -> String {
    let url = response.url
    var text = ""
    for character in url.drop(while: { $0 != "/" }).drop(while: { $0 == "/" }).prefix(60) {
      text.append(
        character.isASCII && (character.isLetter || character.isNumber || character == ".") ? character : "-")
    }
    while text.hasPrefix(".") || text.hasPrefix("-") { text.removeFirst() }
    while text.hasSuffix("-") || text.hasSuffix(".") { text.removeLast() }
    // FNV-1a: neither secret nor secure. Two requests with one name would replace each other.
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    let whole =
      [response.request.method.rawValue, url] + selecting.map { "\($0.name.canonicalName):\($0.value)" }
    for byte in whole.joined(separator: "\n").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    let number = String(hash, radix: 16)
    return "\(text.isEmpty ? "response" : text)-\(String(repeating: "0", count: 16 - number.count))\(number)"
  }

  /// A suffix that shows programs how to open the content.
  static func suffix(of head: HTTPResponse) -> String {
    let type = head.headerFields[.contentType]?.prefix { $0 != ";" }.trimmedOfBlanks.lowercasedASCII
    return switch type {
    // Not .json, which marks a head.
    case "application/json": ".json.body"
    case "text/html": ".html"
    case "text/css": ".css"
    case "text/plain": ".txt"
    case "text/javascript", "application/javascript": ".js"
    case "application/xml", "text/xml", "application/rss+xml", "application/atom+xml": ".xml"
    case "image/png": ".png"
    case "image/jpeg": ".jpg"
    case "image/gif": ".gif"
    case "image/svg+xml": ".svg"
    case "image/webp": ".webp"
    default: ".body"
    }
  }
}

/// The file format of a head.
private struct FolderHead: Codable {
  /// The lines of one field: a text for a single line, else a list.
  struct Lines: Codable {
    var values: [String]

    init(values: [String]) { self.values = values }

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let value = try? container.decode(String.self) {
        values = [value]
      } else {
        values = try container.decode([String].self)
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      if values.count == 1 { try container.encode(values[0]) } else { try container.encode(values) }
    }
  }

  var method = "GET"
  var url: String
  var requestFields: [String: Lines] = [:]
  var status = 200
  var fields: [String: Lines] = [:]
  var body: String?
  var text: String?

  private enum CodingKeys: String, CodingKey, CaseIterable {
    case method, url, requestFields, status, fields, body, text
  }

  private struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(method: String, url: String) {
    self.method = method
    self.url = url
  }

  init(from decoder: any Decoder) throws {
    let known = CodingKeys.allCases.map(\.rawValue)
    for key in try decoder.container(keyedBy: AnyKey.self).allKeys where !known.contains(key.stringValue) {
      // People write these files: a misspelt name would be ignored silently.
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: [],
          debugDescription:
            "unknown key \"\(key.stringValue)\"; expected one of \(known.joined(separator: ", "))"))
    }
    let container = try decoder.container(keyedBy: CodingKeys.self)
    url = try container.decode(String.self, forKey: .url)
    method = try container.decodeIfPresent(String.self, forKey: .method) ?? "GET"
    requestFields = try container.decodeIfPresent([String: Lines].self, forKey: .requestFields) ?? [:]
    status = try container.decodeIfPresent(Int.self, forKey: .status) ?? 200
    fields = try container.decodeIfPresent([String: Lines].self, forKey: .fields) ?? [:]
    body = try container.decodeIfPresent(String.self, forKey: .body)
    text = try container.decodeIfPresent(String.self, forKey: .text)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(method, forKey: .method)
    try container.encode(url, forKey: .url)
    if !requestFields.isEmpty { try container.encode(requestFields, forKey: .requestFields) }
    try container.encode(status, forKey: .status)
    try container.encode(fields, forKey: .fields)
    try container.encodeIfPresent(body, forKey: .body)
    try container.encodeIfPresent(text, forKey: .text)
  }
}
