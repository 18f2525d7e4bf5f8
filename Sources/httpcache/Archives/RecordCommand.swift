// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import ChildProcesses
import HTTPCacheArchives
import HTTPCaching

/// `httpcache record`.
struct RecordCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "record",
    abstract: "Fetch URLs and write their responses to a folder.",
    discussion: """
      Each response becomes two files: a JSON file with its head, and a file with its content. You can read and edit them, \
      store them in a cache with `httpcache import`, or use them as stubs. Redirects are followed, and their heads recorded.

        httpcache record https://example.com/feed.xml https://example.com/logo.png --folder Fixtures

      The program curl fetches the URLs. It uses the certificates of the system, and the proxy of the environment variables.

      Cookies and authorization are not written. Other confidential data is: check the folder before you publish it.

      Exit status: 0 if all responses were recorded, 1 if one could not be fetched or written, 64 for an invalid option, 69 \
      if curl is not installed.
      """)

  @Argument(help: "URLs to fetch.")
  var urls: [String]

  @Option(help: "Folder to write to; created if it does not exist.", completion: .directory)
  var folder: String

  @Option(
    name: [.customShort("H"), .long], parsing: .singleValue,
    help: ArgumentHelp(
      "Field to send with each request, such as 'Accept: text/html'; may be repeated.", valueName: "field"))
  var header: [String] = []

  func validate() throws {
    for url in urls where Self.target(url) == nil {
      throw ValidationError("expected a URL such as https://example.com/, found '\(url)'")
    }
    for line in header where Self.field(line) == nil {
      throw ValidationError("--header: expected a field such as 'Accept: text/html', found '\(line)'")
    }
  }

  func run() async throws {
    guard let curl = Program.installed("curl") else {
      Input.complain("curl is not installed; install it, then run this again")
      throw ExitCode(69)  // EX_UNAVAILABLE of sysexits.h
    }
    var hasFailed = false
    for url in urls {
      guard let target = Self.target(url) else { continue }
      do {
        try await record(target, with: curl)
      } catch {
        Input.complain("\(url): \(error)")
        hasFailed = true
      }
    }
    if hasFailed { throw ExitCode.failure }
  }

  // MARK: - One URL

  private struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  private func record(_ url: TargetURI, with curl: String) async throws {
    let files = FileManager.default.temporaryDirectory.appendingPathComponent(
      "httpcache-record-\(String(UInt64.random(in: 0...(.max)), radix: 36))")
    try FileManager.default.createDirectory(
      at: files, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(at: files) }
    let (heads, content) = (files.path + "/heads", files.path + "/content")
    let folder = ResponseFolder(folder)
    let fields = header.compactMap(Self.field)
    let arguments = [
      "--disable", "--silent", "--show-error", "--proto", "=http,https", "--location", "--max-redirs", "20",
      "--compressed", "--globoff", "--suppress-connect-headers", "--max-filesize", "\(folder.limits.body)",
      // An empty name: cookies that a redirect sets are sent to its target.
      "--cookie", "", "--dump-header", heads, "--output", content, "--config", "-",
    ]
    // Other users of the system see the arguments of a program. These may have a password.
    var secrets = [("url", url.text)]
    for field in fields {
      // With a semicolon, curl sends a field without a value.
      secrets.append(
        ("header", field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name): \(field.value)"))
    }
    let lines = secrets.map { name, value in
      "\(name) = \"\(value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\"\n"
    }
    let process = try ChildProcess(
      curl, arguments, input: .data(Array(lines.joined().utf8)), errors: .pipe)
    guard try await process.endOrKill() == .exited(0) else {
      throw Failure(description: process.errors.text.trimmedOfBlanks)
    }
    let responses = try HeadParser.exchanges(in: Input.bytes(of: heads)).map(\.response)
    // Without content, curl makes no file.
    let bytes = FileManager.default.contents(atPath: content).map { [UInt8]($0) } ?? []
    var target = url
    for (number, response) in responses.enumerated() {
      let isLast = number == responses.count - 1
      // These cannot answer by themselves.
      if ![206, 304].contains(response.status.code) {
        try folder.add(
          ArchivedResponse(
            name: "", request: request(to: target, fields),
            head: HTTPResponse(status: response.status, headerFields: response.headerFields.ofDecodedContent),
            body: isLast ? bytes : []))
      }
      if isLast { print("\(response.status.code)  \(bytes.count) bytes  \(target.text)") }
      if let location = response.headerFields[.location], !isLast {
        // As curl, this encodes what a URL may not have.
        guard let next = URL(string: location, relativeTo: URL(string: target.text)),
          let resolved = Self.target(next.absoluteString)
        else { throw Failure(description: "cannot record the target of a redirect, '\(location)'") }
        target = resolved
      }
    }
  }

  /// Returns the request for an archive, without the password of the URL.
  private func request(to target: TargetURI, _ fields: [HTTPField]) -> HTTPRequest {
    let host = target.authority.split(separator: "@").last.map(String.init) ?? target.authority
    return HTTPRequest(
      method: .get, scheme: target.scheme, authority: host, path: target.path,
      headerFields: HTTPFields(fields))
  }

  // MARK: - Arguments

  private static func target(_ text: String) -> TargetURI? {
    guard text.contains("://"), let url = URL(string: text) else { return nil }
    return ExplainCommand.target(url.absoluteString)
  }

  private static func field(_ line: String) -> HTTPField? {
    guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon])) else {
      return nil
    }
    let value = line[line.index(after: colon)...].trimmedOfBlanks
    return HTTPField.isValidValue(value) ? HTTPField(name: name, value: value) : nil
  }
}
