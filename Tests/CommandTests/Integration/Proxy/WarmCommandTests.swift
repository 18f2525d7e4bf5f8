// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPTypes
import Loopback
import TestSupport
import Testing

@Suite("httpcache warm", .timeLimit(.minutes(10)))
struct WarmCommandTests {
  /// How the admin port is reached.
  enum Access: CaseIterable {
    case address, socket, tls
  }

  private struct Proxy {
    let origin: LoopbackOrigin
    let folder: URL
    let ports: ProxyPorts
    /// The options of `httpcache warm` that lead to it.
    let options: [String]

    func warm(_ arguments: [String]) async throws -> CommandProcess.End {
      try await CommandProcess.run(["warm"] + options + arguments, in: folder.path)
    }
  }

  /// Runs a proxy, whose origin answers 404 for `/missing`, and `private` for `/mine`.
  private func withProxy(
    _ access: Access = .address, _ more: [String] = [], _ body: (Proxy) async throws -> Void
  ) async throws {
    try await LoopbackOrigin.with({ request in
      .init(
        status: request.target == "/missing" ? 404 : 200,
        fields: [.cacheControl: request.target == "/mine" ? "private" : "max-age=3600"], body: request.target)
    }) { origin in
      try await withSocketFolder { folder in
        var arguments = ["proxy", "--listen", "127.0.0.1:0", "--origin", origin.url("")] + more
        let socket = "unix:\(folder.path)/admin"
        arguments += ["--admin", access == .socket ? socket : "127.0.0.1:0"]
        var options: [String] = []
        if access == .tls {
          let certificate = try await Certificate.shared(in: folder)
          arguments += [
            "--certificate", certificate.file.path, "--key", certificate.key.path, "--admin-tls", "--scheme",
            "http",
          ]
          options = ["--admin-tls", "--admin-ca", certificate.file.path]
        }
        try await CommandProcess.run(arguments) { proxy in
          let ports = try await proxy.ports()
          let place = access == .socket ? socket : "127.0.0.1:\(ports.admin ?? 0)"
          try await body(
            Proxy(origin: origin, folder: folder, ports: ports, options: options + ["--admin", place]))
        }
      }
    }
  }

  @Test(
    "URLs of arguments, a file and standard input are loaded, over each kind of admin port",
    arguments: Access.allCases)
  func loads(access: Access) async throws {
    try await withProxy(access) { proxy in
      try proxy.folder.write(
        "\u{FEFF}http://a.example/1\r\n# more\n\n  http://a.example/2 \nhttp://a.example/ä", to: "urls")
      let end = try await proxy.warm(
        ["http://a.example/0", "--from", "urls", "--rate", "1000", "--header", "X-Test: ä & b"])
      #expect(end.status == 0 && end.output == "4 URLs: 4 stored\n" && end.errors.isEmpty, "\(end)")
      #expect(proxy.origin.requests.map(\.target).sorted() == ["/%c3%a4", "/0", "/1", "/2"])
      #expect(proxy.origin.requests.allSatisfy { $0.fields[HTTPField.Name("X-Test")!] == "ä & b" })
      if access != .tls {
        let answer = try await RawClient.connect(to: proxy.ports.listen).exchange(
          "GET /2 HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
        #expect(answer.contains("; hit"))
      }
      // What it has loaded last, without a new list.
      let json = try await proxy.warm(["--json"])
      #expect(json.status == 0 && json.output.contains("\"stored\":4"), "\(json)")
    }
  }

  @Test("What is not in the cache is named, with the reason and a status")
  func missing() async throws {
    try await withProxy { proxy in
      let urls = ["/missing", "/mine", "/page"].map { "http://a.example\($0)" }
      let end = try await proxy.warm(urls + ["--rate", "1000"])
      #expect(end.status == 1)
      let lines = end.output.split(separator: "\n")
      #expect(lines.first == "3 URLs: 1 stored, 1 not stored, 1 failed")
      #expect(lines.contains("http://a.example/missing: the status is 404"))
      #expect(lines.contains { $0.hasPrefix("http://a.example/mine: not stored: ") })
      #expect(lines.count == 3)
      let again = try await proxy.warm(["http://a.example/page"])
      #expect(again.status == 0 && again.output == "1 URL: 1 stored before\n", "\(again)")
    }
  }

  @Test("A list that waits can be given up, which its command says")
  func stops() async throws {
    try await withProxy { proxy in
      let urls = (0..<1000).map { "http://a.example/\($0)\n" }.joined()
      try proxy.folder.write(urls, to: "urls")
      try await CommandProcess.run(
        ["warm"] + proxy.options + ["--from", "urls", "--rate", "0.1"], in: proxy.folder.path
      ) { process in
        try await eventually { try await proxy.ports.ask("/warm").contains("1000 URLs: ") }
        let stop = try await proxy.warm(["--stop"])
        let match = try #require(stop.output.wholeMatch(of: /Gave up (\d+) URLs that waited.\n/))
        // The first is sent at once; on a busy machine, others are, too.
        let count = try #require(Int(match.output.1))
        #expect(stop.status == 0 && (900...1000).contains(count), "\(stop)")
        let end = try await process.end()
        #expect(end.status == 75 && end.output.contains("\(count) given up\n"), "\(end)")
        #expect(end.errors == "httpcache: \(count) URLs were given up; send them again\n")
      }
    }
  }

  @Test(
    "What cannot be done has a status, and says why",
    arguments: [
      (["a.example/"], 64, "URL: expected a URL such as https://example.com/path, found 'a.example/'"),
      (
        ["https://a.example/"], 64,
        "url: expected http://HOST/PATH, as clients use it, found 'https://a.example/'"
      ),
      (
        ["ftp://a.example/"], 64,
        "URL: expected a URL such as https://example.com/path, found 'ftp://a.example/'"
      ),
      (["http://a.example/", "--header", "Host: b"], 64, "header: the request has more than one Host"),
      (["--stop", "--json"], 64, "--stop is without URLs and --json"),
      (["--from", "bad"], 64, "bad:2: expected a URL such as https://example.com/path, found 'x'"),
      (["--from", "empty"], 64, "empty contains no URL"),
      (["--from", "none"], 66, "cannot read none; check the path"),
      (
        ["http://a.example/", "--rate", "0"], 64,
        "rate: expected 0.1 to 1000 requests per second, found '0.0'"
      ),
      (["http://a.example/", "--header", "x"], 64, "header: expected NAME:VALUE, found 'x'"),
      (["http://a.example/", "--stop"], 64, "--stop is without URLs and --json"),
      (["http://a.example/", "--admin-ca", "x"], 64, "--admin-ca is for --admin-tls, which is missing"),
    ] as [([String], Int32, String)])
  func refuses(arguments: [String], status: Int32, message: String) async throws {
    try await withProxy { proxy in
      try proxy.folder.write("http://a.example/\nx\n", to: "bad")
      try proxy.folder.write("\n# nothing\n", to: "empty")
      let end = try await proxy.warm(arguments)
      #expect(end.status == status && end.errors.contains(message), "\(end)")
      #expect(proxy.origin.requests.isEmpty)
    }
  }

  @Test("The port must be that of a proxy, and accept the token")
  func access() async throws {
    try await withProxy(.address, ["--admin-token", "secret"]) { proxy in
      let url = "http://a.example/"
      for token in [[], ["--admin-token", "wrong"]] {
        let end = try await proxy.warm([url] + token)
        #expect(end.status == 77 && end.errors.contains("the proxy refuses the token"), "\(end)")
      }
      #expect(try await proxy.warm([url, "--admin-token", "secret"]).status == 0)
      for (place, message) in [
        ("127.0.0.1:\(proxy.ports.listen)", "has no list of URLs; is it the --admin address of a proxy?"),
        (
          "unix:\(proxy.folder.path)/none", "No such file or directory; is it the --admin address of a proxy?"
        ),
      ] {
        let end = try await CommandProcess.run(["warm", "--admin", place])
        #expect(end.status == 69 && end.errors.contains(message), "\(end)")
      }
    }
  }
}
