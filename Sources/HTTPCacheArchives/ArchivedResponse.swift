// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import SystemPackage

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A response from a folder or a HAR file, and the request that it answered.
public struct ArchivedResponse: Sendable {
  enum Content: Sendable {
    case bytes([UInt8])
    /// A file, and its maximum length.
    case file(URL, limit: Int)
  }

  /// The name for messages: of a file, or an entry.
  public var name: String
  /// The request that it answered.
  public var request: HTTPRequest
  /// The status and the fields.
  public var head: HTTPResponse
  var content: Content

  /// - Parameters:
  ///   - name: names the response in errors and reports.
  ///   - request: the request that it answers.
  ///   - head: the status and the fields.
  ///   - body: the content, decoded.
  public init(name: String, request: HTTPRequest, head: HTTPResponse, body: [UInt8]) {
    self.init(name: name, request: request, head: head, content: .bytes(body))
  }

  init(name: String, request: HTTPRequest, head: HTTPResponse, content: Content) {
    self.name = name
    self.request = request
    self.head = head
    self.content = content
  }

  /// The URL of the request.
  public var url: String { TargetURI(request)?.text ?? request.path ?? "" }

  /// Returns the content.
  ///
  /// - Throws: ``ArchiveError`` if its file is unreadable, or longer than the limit.
  public func body() throws -> [UInt8] {
    switch content {
    case .bytes(let bytes): bytes
    case .file(let file, let limit): try ArchiveFile.bytes(of: file, limit: limit)
    }
  }
}

/// An error in an archive: its place, the problem, and what to do.
public struct ArchiveError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
  /// The file, or the entry in it.
  public let place: String
  let what: String

  public var description: String { "\(place): \(what)" }
  public var errorDescription: String? { description }

  init(_ place: String, _ what: String) {
    self.place = place
    self.what = what
  }
}

/// Reads the files of archives, which are not trusted.
enum ArchiveFile {
  /// - Throws: ``ArchiveError`` if the file is unreadable, or has more than `limit` bytes.
  static func bytes(of file: URL, limit: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    do {
      let attributes = try FileManager.default.attributesOfItem(atPath: file.resolvingSymlinksInPath().path)
      // Reading a pipe could block without end.
      guard attributes[.type] as? FileAttributeType == .typeRegular else {
        throw ArchiveError(file.path, "not a regular file")
      }
      let descriptor = try FileDescriptor.open(FilePath(file.path), .readOnly, options: .closeOnExec)
      defer { try? descriptor.close() }
      var count = 0
      repeat {
        bytes += try [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, initializedCount in
          count = try descriptor.read(into: UnsafeMutableRawBufferPointer(buffer))
          initializedCount = count
        }
        if bytes.count > limit { throw ArchiveError(file.path, "has more than \(limit) bytes") }
      } while count > 0
    } catch let error as ArchiveError {
      throw error
    } catch {
      throw ArchiveError(file.path, "cannot read the file: \(text(of: error))")
    }
    return bytes
  }

  /// Describes an error of the file system.
  static func text(of error: any Error) -> String {
    let cause = (error as? CocoaError)?.underlying as? POSIXError
    return cause.map { Errno(rawValue: $0.code.rawValue).description } ?? "\(error)"
  }

  /// Describes a JSON error and its position.
  static func text(of error: DecodingError) -> String {
    func path(_ keys: [any CodingKey]) -> String {
      let text = keys.reduce("") { $0 + ($1.intValue.map { "[\($0)]" } ?? ".\($1.stringValue)") }
      return text.isEmpty ? "" : " at \(text.dropFirst(text.hasPrefix(".") ? 1 : 0))"
    }
    return switch error {
    case .keyNotFound(let key, let context): "\"\(key.stringValue)\" is missing\(path(context.codingPath))"
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
      "\(context.debugDescription)\(path(context.codingPath))"
    @unknown default: "\(error)"
    }
  }
}

extension HTTPRequest {
  /// Makes a request to a URL given as text; `nil` if the text is not an `http` or `https` URL.
  init?(method: String, url: String, fields: HTTPFields) {
    guard let method = HTTPRequest.Method(method), let parsed = URL(string: url),
      let scheme = parsed.scheme?.lowercasedASCII, scheme == "http" || scheme == "https",
      let components = URLComponents(url: parsed, resolvingAgainstBaseURL: true),
      let host = components.percentEncodedHost,
      !host.isEmpty
    else { return nil }
    let user = components.percentEncodedUser.map { name in
      name + (components.percentEncodedPassword.map { ":" + $0 } ?? "") + "@"
    }
    let path = components.percentEncodedPath
    self.init(
      method: method, scheme: scheme,
      authority: (user ?? "") + host + (components.port.map { ":\($0)" } ?? ""),
      path: (path.isEmpty ? "/" : path) + (components.percentEncodedQuery.map { "?" + $0 } ?? ""),
      headerFields: fields)
    guard TargetURI(self) != nil else { return nil }
  }
}

extension HTTPFields {
  /// Appends a field if its name and value are valid; returns whether it did.
  @discardableResult
  mutating func append(_ name: String, _ value: String) -> Bool {
    guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else { return false }
    append(HTTPField(name: name, value: value))
    return true
  }

  /// The fields of a response whose content has been decoded: without those that describe the encoding.
  package var ofDecodedContent: HTTPFields {
    let names = self[values: .vary].flatMap { $0.split(separator: ",") }.map(\.trimmedOfBlanks).filter {
      !$0.isEmpty && $0.lowercasedASCII != "accept-encoding"
    }
    var fields = removing([
      "content-encoding", "content-length", "transfer-encoding", "connection", "vary",
    ])
    if !names.isEmpty { fields.append("Vary", names.joined(separator: ", ")) }
    return fields
  }

  /// Returns the fields without those of some names.
  func removing(_ names: [String]) -> HTTPFields {
    var kept = HTTPFields()
    for field in self where !names.contains(field.name.canonicalName) { kept.append(field) }
    return kept
  }
}
