// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import Loopback
import TestSupport
import Testing

@Suite("Scenarios in real time, as a process", .timeLimit(.minutes(10)))
struct LiveConformanceTests {
  /// A response that is served again, one that is not, and one of a cache that is set in another way.
  private static let scenarios = """
    [{"name": "Live", "id": "live", "tests": [
      {"id": "fresh", "name": "A fresh response is served again", "requests": [
        {"response_headers": [["Cache-Control", "max-age=3600"]], "setup": true},
        {"expected_type": "cached"}]},
      {"id": "not-stored", "name": "no-store is honoured", "requests": [
        {"response_headers": [["Cache-Control", "no-store"]], "setup": true},
        {"expected_type": "not_cached"}]},
      {"id": "named", "name": "A cache has the name that it is given", "options": {"name": "other"}, "requests": [
        {"response_headers": [["Cache-Control", "max-age=3600"]],
         "expected_response_headers": ["Cache-Status"]}]}
    ]}]
    """

  private static let failing = """
    [{"name": "Live", "id": "live", "tests": [
      {"id": "wrong", "name": "no-store is ignored", "requests": [
        {"response_headers": [["Cache-Control", "no-store"]], "setup": true},
        {"expected_type": "cached"}]}
    ]}]
    """

  @Test("A live run starts its own proxies and passes")
  func live() async throws {
    try await withTemporaryFolder { folder in
      let file = try folder.write(Self.scenarios, to: "scenarios.json")
      let end = try await CommandProcess.run(["conform", file, "--live"])
      #expect(end.status == 0, "\(end.output)\(end.errors)")
      #expect(end.output.contains(/all +3\/3/), "\(end.output)")
    }
  }

  @Test(
    "A live run over TLS, and with HTTP/2, passes as without",
    .enabled("needs the command openssl, to make certificates") { await Certificate.canBeMade() })
  func encrypted() async throws {
    try await withTemporaryFolder { folder in
      let certificate = try await Certificate.shared(in: folder)
      let file = try folder.write(Self.scenarios, to: "scenarios.json")
      let end = try await CommandProcess.run([
        "conform", file, "--live", "--certificate", certificate.file.path, "--key", certificate.key.path,
      ])
      #expect(end.status == 0, "\(end.output)\(end.errors)")
      #expect(end.output.contains(/all +3\/3/), "\(end.output)")
      for options in [["--certificate", certificate.file.path, "--key", certificate.key.path], []] {
        let end = try await CommandProcess.run(
          ["conform", file, "--live", "--http2", "--origin-http2"] + options)
        #expect(end.status == 0, "\(end.output)\(end.errors)")
        #expect(end.output.contains(/all +3\/3/), "\(end.output)")
      }
      for option in ["--http2", "--origin-http2"] {
        let unused = try await CommandProcess.run(["conform", file, option])
        #expect(unused.status == 64 && unused.errors.contains("\(option): expected --live"))
      }
      let refused = try await CommandProcess.run([
        "conform", file, "--live", "--certificate", certificate.key.path,
      ])
      #expect(
        refused.status == 64 && refused.errors.contains("--certificate: cannot read certificates in PEM"))
    }
  }

  @Test("A live run names the failed scenario and ends with status 1")
  func failure() async throws {
    try await withTemporaryFolder { folder in
      let file = try folder.write(Self.failing, to: "scenarios.json")
      let end = try await CommandProcess.run(["conform", file, "--live"])
      #expect(end.status == 1, "\(end.errors)")
      #expect(end.output.contains("\nwrong (required): "), "\(end.output)")
    }
  }

  @Test("A live run through a running proxy skips scenarios that need another one")
  func through() async throws {
    try await withTemporaryFolder { folder in
      let file = try folder.write(Self.scenarios, to: "scenarios.json")
      // A port that no other process gets while this object is there.
      let place = try await LoopbackOrigin.start { _ in .init() }
      await place.stop()
      let arguments = ["proxy", "--origin", "http://127.0.0.1:\(place.port)", "--listen", "127.0.0.1:0"]
      try await CommandProcess.run(arguments) { proxy in
        let ports = try await proxy.ports()
        let end = try await CommandProcess.run([
          "conform", file, "--through", "127.0.0.1:\(ports.listen)", "--origin-port", "\(place.port)",
        ])
        #expect(end.status == 0, "\(end.output)\(end.errors)")
        #expect(end.output.contains(/all +2\/2/), "\(end.output)")
      }
    }
  }

  @Test("An invalid --through address is refused")
  func invalidAddress() async throws {
    try await withTemporaryFolder { folder in
      let file = try folder.write(Self.scenarios, to: "scenarios.json")
      let end = try await CommandProcess.run(["conform", file, "--through", "8080"])
      #expect(end.status == 64)
      #expect(end.errors.contains("--through: expected an address such as 127.0.0.1:8080, found '8080'"))
    }
  }
}
