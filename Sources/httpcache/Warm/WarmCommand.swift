// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCacheEngine
import NIOHTTP1
import TransportSecurity

/// `httpcache warm`.
struct WarmCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "warm", abstract: "Fill the cache of a running proxy with a list of URLs.",
    discussion: """
      The proxy requests each URL from its origin, at a limited rate, and stores the response as if a client had asked for it. \
      The command shows the progress until all are loaded, and then the URLs that are not in the cache, with the reason. It \
      may be ended before that: the proxy goes on. Without a URL, it shows the progress of what the proxy is loading, for \
      example after a purge with warm.

        httpcache warm --admin 127.0.0.1:9090 https://www.example.com/ https://www.example.com/news
        httpcache warm --admin 127.0.0.1:9090 --from urls.txt --rate 50 --header 'Accept-Encoding: gzip'
        curl -X POST "http://127.0.0.1:9090/purge?prefix=https://www.example.com/&warm"; httpcache warm --admin 127.0.0.1:9090

      An origin that selects variants by fields of the request (Vary) gets the fields of --header; repeat the command for \
      other variants.

      Exit status: 0 if all are in the cache, 1 if not, or if a status is 400 or above, 64 for an invalid option or URL, 66 if the list cannot be read, 69 if \
      the proxy cannot be reached, 75 if it has given up a part of the list, 77 if it refuses the token.
      """)

  @Argument(help: "URLs as clients use them.")
  var url: [String] = []

  @Option(
    help: ArgumentHelp(
      "File with one URL per line, or - for standard input. Empty lines and lines that begin with # are skipped.",
      valueName: "file"), completion: .file())
  var from: String?

  @Option(
    help: ArgumentHelp(
      "The --admin address of the proxy: host:port, or unix:PATH.", valueName: "endpoint"))
  var admin: String

  @Option(
    help: ArgumentHelp(
      "The --admin-token of the proxy. In the environment variable HTTPCACHE_ADMIN_TOKEN, other users cannot see it.",
      valueName: "token"))
  var adminToken: String?

  @Flag(help: "Use TLS with the admin port.")
  var adminTls = false

  @Option(
    help: ArgumentHelp(
      "PEM file with the certificates that sign that of the admin port (default: those of the system).",
      valueName: "file"), completion: .file())
  var adminCa: String?

  @Option(help: ArgumentHelp("Maximum requests per second, from 0.1 to 1000.", valueName: "number"))
  var rate = 10.0

  @Option(
    help: ArgumentHelp("Field of the requests, as NAME:VALUE; may be repeated.", valueName: "field"))
  var header: [String] = []

  @Flag(help: "Give up what waits to be loaded.")
  var stop = false

  @Flag(help: "Print the result as one JSON document.")
  var json = false

  func validate() throws {
    guard !stop || (url.isEmpty && from == nil && !json) else {
      throw ValidationError("--stop is without URLs and --json")
    }
    guard adminTls || adminCa == nil else {
      throw ValidationError("--admin-ca is for --admin-tls, which is missing")
    }
  }

  /// The progress as the proxy reports it.
  private struct Progress: Decodable {
    struct Problem: Decodable { var url: String, reason: String }
    /// Tells lists apart.
    var list: UInt32
    var waiting: Int, running: Int, stored: Int, fresh: Int, notStored: Int, failed: Int, dropped: Int
    var problems: [Problem]

    var loaded: Int { stored + fresh }
    var missing: Int { notStored + failed }
    var all: Int { waiting + running + loaded + missing + dropped }
    var isOver: Bool { waiting + running == 0 }

    var summary: String {
      let parts = [
        (stored, "stored"), (fresh, "stored before"), (notStored, "not stored"), (failed, "failed"),
        (dropped, "given up"), (waiting + running, "to do"),
      ]
      return "\(all == 1 ? "1 URL" : "\(all) URLs"): "
        + parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
    }
  }

  /// The end of the command with a message.
  private struct Ending: Error {
    let status: Int32
    let text: String
  }

  func run() async throws {
    do throws(Ending) {
      let client = try client()
      if stop {
        let answer = try await ask(client, .DELETE)
        guard answer.status == 200 else { throw Self.stopping }
        return print(Brief.printable(answer.firstLine))
      }
      let list = try await post(to: client)
      try await follow(client, list)
    } catch {
      if !error.text.isEmpty { Input.complain(Brief.printable(error.text)) }
      throw ExitCode(error.status)
    }
  }

  private func client() throws(Ending) -> AdminClient {
    var tls = ClientTLS()
    tls.issuersFile = adminCa
    do {
      let token = adminToken ?? ProcessInfo.processInfo.environment[AdminClient.tokenVariable]
      return try AdminClient(admin, token: token, tls: adminTls ? tls : nil)
    } catch {
      throw Ending(status: 64, text: "--admin: \(error)")
    }
  }

  /// Sends a request, and returns the answer, unless the proxy refuses it.
  private func ask(
    _ client: AdminClient, _ method: HTTPMethod, _ target: String = "/warm", _ content: [UInt8] = []
  ) async throws(Ending) -> AdminClient.Answer {
    let answer: AdminClient.Answer
    do {
      answer = try await client.send(method, target, content)
    } catch {
      throw Ending(status: 69, text: error.text)
    }
    switch answer.status {
    case 200..<300, 409, 429, 503: return answer
    case 400:
      // The rest of it is about the parameters of the port.
      throw Ending(status: 64, text: answer.firstLine)
    case 401, 403: throw Ending(status: 77, text: "the proxy refuses the token; see --admin-token")
    default:
      throw Ending(
        status: 69, text: "\(admin) answers with \(answer.status): \(answer.firstLine.prefix(200))")
    }
  }

  private static let stopping = Ending(status: 75, text: "the proxy is stopping; try again")
  private static let otherList = Ending(
    status: 75, text: "the proxy was started again, or has another list; send the list again")

  // MARK: - Sending the list

  /// Maximum bytes of URLs in a request, and of one URL.
  private static let (batch, line) = (128 << 10, 64 << 10)

  /// Sends the URLs, in parts.
  ///
  /// - Returns: the number of their list; `nil` without URLs.
  private func post(to client: AdminClient) async throws(Ending) -> UInt32? {
    var (list, part) = (UInt32?.none, [UInt8]())
    for url in url {
      part += try Self.line(url, at: "URL")
      if part.count >= Self.batch { try await post(&part, to: client, &list) }
    }
    if let from {
      var lines = try Self.reading(from) { () throws(InputError) in
        try InputLines(path: from, limit: Self.line)
      }
      var number = 0
      while let next = try Self.reading(from, { () throws(InputError) in try lines.next() }) {
        for line in next {
          number += 1
          guard case .text(let bytes) = line else {
            throw Ending(status: 64, text: "\(from):\(number): expected a URL of up to \(Self.line) bytes")
          }
          let url = (number == 1 ? bytes.withoutMark : bytes).trimmingBlanks
          if url.isEmpty || url.first == UInt8(ascii: "#") { continue }
          part += try Self.line(String(decoding: url, as: UTF8.self), at: "\(from):\(number)")
          if part.count >= Self.batch { try await post(&part, to: client, &list) }
        }
      }
      if part.isEmpty, list == nil { throw Ending(status: 64, text: "\(from) contains no URL") }
    }
    if !part.isEmpty { try await post(&part, to: client, &list) }
    return list
  }

  private static func reading<Result>(
    _ file: String, _ read: () throws(InputError) -> Result
  ) throws(Ending) -> Result {
    do {
      return try read()
    } catch {
      throw Ending(status: 66, text: "cannot read \(file); check the path and its permissions")
    }
  }

  /// Returns a URL as a line of a request.
  private static func line(_ url: String, at place: String) throws(Ending) -> [UInt8] {
    // As browsers do with what is typed.
    let url = url.utf8.map { $0 < 0x80 ? String(UnicodeScalar($0)) : "%" + String($0, radix: 16) }.joined()
    let scheme = url.prefix { $0 != ":" }.lowercasedASCII
    guard ["http", "https"].contains(scheme), StoredRow.target(url) != nil else {
      throw Ending(
        status: 64, text: "\(place): expected a URL such as https://example.com/path, found '\(url)'")
    }
    return Array(url.utf8) + [0x0A]
  }

  /// Sends a part of the list, which goes on with it, or begins.
  private func post(
    _ part: inout [UInt8], to client: AdminClient, _ list: inout UInt32?
  ) async throws(Ending) {
    let parameters =
      ["rate=\(rate)"] + header.map { "header=\($0.percentEncoded)" }
      + (list.map { ["list=\($0)"] } ?? [])
    while true {
      let answer = try await ask(client, .POST, "/warm?\(parameters.joined(separator: "&"))", part)
      switch answer.status {
      case 409: throw Self.otherList
      case 503: throw Self.stopping
      // There is room when some have been loaded.
      case 429: await pause(5000)
      default:
        list = try progress(answer).list
        part = []
        return
      }
    }
  }

  private func progress(_ answer: AdminClient.Answer) throws(Ending) -> Progress {
    guard let progress = try? JSONDecoder().decode(Progress.self, from: Data(answer.content)) else {
      throw Ending(
        status: 69, text: "\(admin) has no list of URLs; is it the --admin address of a proxy?")
    }
    return progress
  }

  // MARK: - Following the progress

  private func pause(_ milliseconds: Int) async { try? await Task.sleep(for: .milliseconds(milliseconds)) }

  /// Shows the progress until the list is loaded.
  private func follow(_ client: AdminClient, _ list: UInt32?) async throws(Ending) {
    var (time, failures, list) = (100, 0, list)
    var shown = ContinuousClock.now
    while true {
      let answer: AdminClient.Answer
      do throws(Ending) {
        answer = try await ask(client, .GET)
        failures = 0
      } catch {
        failures += 1
        // The proxy may be starting again.
        guard error.status == 69, list != nil, failures < 20 else { throw error }
        time = 1000
        await pause(time)
        continue
      }
      let progress = try progress(answer)
      guard list ?? progress.list == progress.list else { throw Self.otherList }
      list = progress.list
      if isatty(2) == 1 {
        Input.show("\r\u{1B}[K\(progress.isOver ? "" : progress.summary)")
      } else if !progress.isOver, ContinuousClock.now - shown > .seconds(10) {
        // A log needs no more.
        Input.complain(progress.summary)
        shown = ContinuousClock.now
      }
      guard progress.isOver else {
        await pause(time)
        time = Swift.min(1000, time * 2)
        continue
      }
      return try end(progress, answer)
    }
  }

  private func end(_ progress: Progress, _ answer: AdminClient.Answer) throws(Ending) {
    if json {
      print(answer.text, terminator: "")
    } else if progress.all == 0 {
      print("The proxy has loaded no URLs.")
    } else {
      print(progress.summary)
      for problem in progress.problems {
        print("\(Brief.printable(problem.url)): \(Brief.printable(problem.reason))")
      }
      let rest = progress.missing - progress.problems.count
      if rest > 0 { print("and \(rest) more") }
    }
    if progress.dropped > 0 {
      throw Ending(status: 75, text: "\(progress.dropped) URLs were given up; send them again")
    }
    if progress.missing > 0 { throw Ending(status: 1, text: "") }
  }
}

extension [UInt8] {
  /// Without the byte order mark that some editors write before text.
  fileprivate var withoutMark: [UInt8] { starts(with: [0xEF, 0xBB, 0xBF]) ? Array(dropFirst(3)) : self }

  fileprivate var trimmingBlanks: ArraySlice<UInt8> {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
    var line = self[...]
    while let last = line.last, isBlank(last) { line.removeLast() }
    return line.drop(while: isBlank)
  }
}

extension String {
  /// The text as a value of a query.
  fileprivate var percentEncoded: String {
    utf8.map { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
        String(UnicodeScalar(byte))
      default: (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
      }
    }.joined()
  }
}
