// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ChildProcesses
import Foundation
import HTTPTypes
import Loopback
import TestSupport
import Testing

@Suite("Processes that take the place of others", .timeLimit(.minutes(10)))
struct SuccessorTests {
  /// The ways to start a process in the place of another.
  enum Way: CaseIterable {
    /// By hand, with `--handover`.
    case byHand
    case signal
    /// By an option of the file that needs another process.
    case reload
  }

  /// Runs a proxy with a disk and a file for its ID.
  private func withProxy(
    _ body: (_ folder: URL, _ write: (String) throws -> Void, _ proxy: CommandProcess, _ ports: ProxyPorts)
      async throws -> Void
  ) async throws {
    try await LoopbackOrigin.with({ _ in .init(fields: [.cacheControl: "max-age=3600"], body: "hello") }) {
      origin in
      try await withSocketFolder { folder in
        func write(_ more: String) throws {
          try folder.write(
            """
            origin: \(origin.url(""))
            listen: 127.0.0.1:0
            admin: 127.0.0.1:0
            directory: \(folder.path)/cache
            disk: 16MB
            handover: \(folder.path)/handover
            pid-file: \(folder.path)/pid
            \(more)
            """, to: "proxy.yaml")
        }
        try write("")
        try await CommandProcess.run(["proxy", "--config", "\(folder.path)/proxy.yaml"]) { proxy in
          let ports = try await proxy.ports()
          try await eventually { (try? folder.read("pid")) != nil }
          try await body(folder, write, proxy, ports)
        }
      }
    }
  }

  @Test(
    "A process takes the place of another with its ports, its directory and its number",
    arguments: Way.allCases)
  func ways(way: Way) async throws {
    try await withProxy { folder, write, proxy, ports in
      #expect(try await ports.get("/").contains("fwd=uri-miss"))
      let old = try folder.read("pid")
      func check(_ successor: CommandProcess, name: String) async throws {
        try await proxy.says("another process serves in the place of this one")
        try await eventually { try folder.read("pid") != old }
        let answer = try await ports.get("/")
        #expect(answer.contains("Cache-Status: \(name); hit;") && answer.hasSuffix("hello"), "\(answer)")
        #expect(try await ports.ask("/health").hasSuffix("ok\n"))
        let number = try #require(Int32(try folder.read("pid").dropLast()))
        kill(number, SIGTERM)
        // Its file goes with it, and not with the process before.
        try await eventually { (try? folder.read("pid")) == nil }
      }
      switch way {
      case .byHand:
        try await CommandProcess.run(["proxy", "--config", "\(folder.path)/proxy.yaml"]) { other in
          try await check(other, name: "httpcache")
          #expect(try await other.end().status == 0)
        }
      case .signal:
        proxy.signal(SIGUSR2)
        let line = try await proxy.says("another process takes the place of this one")
        let number = try #require(line.firstMatch(of: /process=(\d+)/)?.output.1)
        #if os(Linux)
          // A service manager learns only of the end of its own children.
          let status = try String(contentsOfFile: "/proc/\(number)/status", encoding: .utf8)
          let parent = try #require(status.firstMatch(of: /\nPPid:\t(\d+)/)?.output.1)
          #expect(parent != old.dropLast(), "\(status)")
        #endif
        try await check(proxy, name: "httpcache")
      case .reload:
        try write("name: other\nhttp2: never\nmemory: 32MB\n")
        proxy.signal(SIGHUP)
        try await proxy.says("SIGHUP: name changes with another process: 'httpcache' before, 'other' now")
        try await check(proxy, name: "other")
      }
      #expect(try await proxy.end().status == 0)
    }
  }

  @Test("A program file that hangs delays no signal")
  func hanging() async throws {
    try await LoopbackOrigin.with({ _ in .init(body: "hello") }) { origin in
      try await withSocketFolder { folder in
        let program = folder.appending(path: "program")
        let built = try #require(Program.built("httpcache"))
        try FileManager.default.createSymbolicLink(atPath: program.path, withDestinationPath: built)
        try folder.write("origin: \(origin.url(""))\nlisten: 127.0.0.1:0\n", to: "proxy.yaml")
        let arguments = ["proxy", "--config", "\(folder.path)/proxy.yaml"]
        // In the place of the program itself.
        let starter = ["/bin/sh", "-c", "exec \(program.path) \"$@\""]
        try await CommandProcess.run(arguments, by: starter) { proxy in
          _ = try await proxy.says("serving")
          try FileManager.default.removeItem(at: program)
          try folder.write("#!/bin/sh\nexec sleep 600\n", to: "program")
          chmod(program.path, 0o755)
          proxy.signal(SIGUSR2)
          try await proxy.says("SIGUSR2: starting another process in the place of this one")
          proxy.signal(SIGUSR2)
          try await proxy.says("SIGUSR2: another process is taking the place of this one")
          try folder.write("origin: \(origin.url(""))\nlisten: 127.0.0.1:0\nlog: debug\n", to: "proxy.yaml")
          proxy.signal(SIGHUP)
          try await proxy.says("SIGHUP: log has changed")
          proxy.signal(SIGTERM)
          #expect(try await proxy.end().status == 0)
        }
      }
    }
  }

  @Test("A successor that cannot serve changes nothing")
  func failing() async throws {
    let taken = try await LoopbackOrigin.start { _ in .init() }
    try await withProxy { folder, write, proxy, ports in
      #expect(try await ports.get("/").contains("fwd=uri-miss"))
      let old = try folder.read("pid")
      for (more, message) in [
        ("redirect: 127.0.0.1:0", "redirect is for --certificate, which is missing; "),
        ("certificate: none.pem\nkey: none.key", "cannot read certificates in PEM from none.pem"),
        ("admin-host: a\nlisten: 127.0.0.1:\(taken.port)", "'listen' is set more than once"),
      ] {
        try write(more)
        proxy.signal(SIGHUP)
        try await proxy.says(message)
      }
      // The port is in use: that is known only to the successor, before it needs anything.
      let file = try folder.read("proxy.yaml").split(separator: "\n").filter { !$0.hasPrefix("listen") }
      try folder.write(
        file.joined(separator: "\n").replacing("admin-host: a", with: "listen: 127.0.0.1:\(taken.port)\n"),
        to: "proxy.yaml")
      proxy.signal(SIGHUP)
      try await proxy.says("address already in use")
      try await proxy.says("the process that takes the place of this one has ended; this one serves on")
      try write("access-log: \(folder.path)/none/access.log")
      proxy.signal(SIGHUP)
      try await proxy.says("cannot open the access log \(folder.path)/none/access.log")
      try await eventually {
        proxy.errorText.components(separatedBy: "has ended; this one serves on").count == 3
      }
      #expect(!proxy.errorText.contains("from memory"))
      #expect(try folder.read("pid") == old)
      #expect(try await ports.get("/").contains("; hit;"))
      // The disk still takes what is new.
      #expect(try await ports.get("/new").contains("fwd=uri-miss"))
      try write("")
      proxy.signal(SIGTERM)
      #expect(try await proxy.end().status == 0)
      try await CommandProcess.run(["proxy", "--config", "\(folder.path)/proxy.yaml"]) { other in
        let answer = try await other.ports().get("/new")
        #expect(answer.contains("; hit;"))
      }
    }
    await taken.stop()
  }

  @Test("A successor that fails when it has the directory is followed by another one at the next reload")
  func failingLate() async throws {
    let taken = try await LoopbackOrigin.start { _ in .init() }
    try await withProxy { folder, write, proxy, ports in
      #expect(try await ports.get("/").contains("fwd=uri-miss"))
      // No Redis answers there, which only a process with the directory finds out.
      try write("shared: redis://127.0.0.1:\(taken.port)\nshared-required: true")
      proxy.signal(SIGHUP)
      try await proxy.says("this one serves on from memory")
      #expect(try await ports.get("/").contains("; hit;"))
      try write("")
      proxy.signal(SIGHUP)
      try await proxy.says("SIGHUP: another process takes the directory again")
      try await proxy.says("another process serves in the place of this one")
      #expect(try await ports.get("/").contains("; hit;"))
      #expect(try await proxy.end().status == 0)
    }
    await taken.stop()
  }
}
