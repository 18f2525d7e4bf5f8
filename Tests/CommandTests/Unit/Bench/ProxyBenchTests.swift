// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import Foundation
import Testing

@testable import CacheBenchServers

@Suite(.timeLimit(.minutes(10))) struct ProxyBenchTests {
  // MARK: - Output of tools

  private static let output = """
    Running 2s test @ http://127.0.0.1:8080/1024/hit
      1 threads and 32 connections
      Thread Stats   Avg      Stdev     Max   +/- Stdev
        Latency   689.10us  114.20us   4.53ms   95.40%
        Req/Sec    46.53k     1.12k   47.93k    80.00%
      Latency Distribution
         50%  671.00us
         75%    1.21ms
         90%  732.00us
         99%    1.06s
      97230 requests in 2.10s, 115.55MB read
    Requests/sec:  46300.12
    Transfer/sec:     55.02MB

    """

  @Test func `the output of wrk gives requests, time and percentiles`() throws {
    let summary = try #require(LoadSummary(Self.output))
    #expect(summary.requests == 97_230)
    #expect(summary.seconds == 2.1)
    #expect(summary.percentiles == [50: 671_000, 75: 1_210_000, 90: 732_000, 99: 1_060_000_000])
    #expect(summary.problems.isEmpty)
  }

  @Test func `failed requests are problems of the run`() throws {
    let text = Self.output.replacingOccurrences(
      of: "Requests/sec:",
      with: """
          Socket errors: connect 0, read 3, write 0, timeout 1
          Non-2xx or 3xx responses: 17
        Requests/sec:
        """)
    #expect(
      try #require(LoadSummary(text)).problems == [
        "Socket errors: connect 0, read 3, write 0, timeout 1", "Non-2xx or 3xx responses: 17",
      ])
  }

  @Test(arguments: ["", "unable to connect to 127.0.0.1:1 Connection refused\n", "x requests in y"])
  func `output without the number of requests has no summary`(text: String) {
    #expect(LoadSummary(text) == nil)
  }

  @Test func `the times of wrk have five units`() {
    for (text, nanoseconds) in [
      ("5.00us", 5e3), ("1.50ms", 1.5e6), ("2.00s", 2e9), ("1.00m", 6e10), ("1.00h", 36e11),
    ] {
      #expect(LoadSummary.nanoseconds(text) == nanoseconds, "\(text)")
    }
    #expect(LoadSummary.nanoseconds("fast") == nil)
  }

  @Test func `the total of strace has a column of errors, or none`() {
    let head = "% time     seconds  usecs/call     calls    errors syscall\n"
    #expect(SystemCalls.total(head + "100.00    0.512345           4    123456       789 total\n") == 123_456)
    #expect(SystemCalls.total(head + "100.00    0.512345           4    123456           total\n") == 123_456)
    #expect(SystemCalls.total(head) == nil)
  }

  // MARK: - Processes

  @Test func `a line of a process has its parent, and its time with that of ended children`() throws {
    let line =
      "4711 (a (b) c 9) S 17 4711 4711 0 -1 4194560 100 200 0 0 30 12 5 3 20 0 4 0 123456 1000 50 18446744073709551615\n"
    let process = try #require(ProcessStatus(line: line))
    #expect(process == ProcessStatus(id: 4711, parent: 17, ticks: 50))
    for invalid in ["", "4711", "4711 (a) S 17", "x (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15", ")("] {
      #expect(ProcessStatus(line: invalid) == nil, "\(invalid)")
    }
  }

  @Test func `a tree has a process, its children and theirs`() {
    let all = [(1, 0), (10, 1), (11, 10), (12, 11), (13, 1), (14, 10)].map {
      ProcessStatus(id: $0.0, parent: $0.1, ticks: 1)
    }
    #expect(ProcessTree.members(of: 10, in: all).map(\.id) == [10, 11, 14, 12])
    #expect(ProcessTree.members(of: 99, in: all).isEmpty)
  }

  // MARK: - Configurations

  private static func setup(threads: Int = 2, isRoot: Bool = false) -> ProxyServer.Setup {
    var setup = ProxyServer.Setup(
      port: 8080, originPort: 8000, threads: threads, connections: 1000, directory: "/tmp/a b")
    setup.isRoot = isRoot
    return setup
  }

  @Test func `nginx caches in its directory, keeps connections open, and writes no access log`() {
    let text = ProxyServer.nginxConfiguration(Self.setup())
    for line in [
      "daemon off;", "worker_processes 2;", "access_log off;", "pid \"/tmp/a b/nginx.pid\";",
      "proxy_cache_path \"/tmp/a b/cache\" levels=2", "proxy_temp_path \"/tmp/a b/proxy\";",
      "server 127.0.0.1:8000;", "keepalive 128;", "listen 127.0.0.1:8080 backlog=4096;",
      "proxy_set_header Connection \"\";", "add_header X-Cache $upstream_cache_status;",
      "worker_connections 4096;",
    ] { #expect(text.contains(line), "\(line)") }
    #expect(!text.contains("user root;") && !text.contains("open_file_cache"))
    #expect(
      ProxyServer.nginxConfiguration(Self.setup(), keepsFilesOpen: true).contains("open_file_cache max="))
    #expect(ProxyServer.nginxConfiguration(Self.setup(isRoot: true)).contains("\nuser root;\n"))
  }

  @Test func `nginx and Varnish store what is stale on arrival where a case revalidates it`() {
    var setup = Self.setup()
    #expect(!ProxyServer.nginxConfiguration(setup).contains("proxy_cache_revalidate"))
    #expect(!ProxyServer.varnishConfiguration(setup).contains("beresp"))
    setup.revalidates = true
    #expect(ProxyServer.nginxConfiguration(setup).contains("proxy_cache_revalidate on;"))
    #expect(ProxyServer.varnishConfiguration(setup).contains("set beresp.keep = 1h;"))
    #expect(ProxyServer.varnishConfiguration(setup).contains(".port = \"8000\";"))
  }

  @Test func `HAProxy caches in memory, with as many threads as the others`() {
    let text = ProxyServer.haproxyConfiguration(Self.setup())
    for line in [
      "nbthread 2", "maxconn 4096", "total-max-size 2048", "max-object-size 16777216",
      "bind 127.0.0.1:8080 backlog 4096", "server origin 127.0.0.1:8000", "http-reuse always",
    ] { #expect(text.contains("\n  \(line)\n"), "\(line)") }
  }

  @Test func `Traffic Server caches in memory and in a file, with as many threads as the others`() throws {
    var setup = Self.setup()
    let files = Dictionary(ProxyServer.trafficServerConfiguration(setup).map { ($0, $1) }) { $1 }
    let records = try #require(files["etc/records.config"])
    for line in [
      "exec_thread.limit INT 2", "http.server_ports STRING 8080:ip-in=127.0.0.1",
      "cache.ram_cache.size INT 2048M",
    ] { #expect(records.contains("CONFIG proxy.config.\(line)\n"), "\(line)") }
    #expect(files["etc/remap.config"] == "map / http://127.0.0.1:8000/\n")
    #expect(files["runroot.yaml"]?.hasPrefix("prefix: /tmp/a b\n") == true)
    setup.isInFiles = true
    #expect(ProxyServer.trafficServerConfiguration(setup).contains { $1.contains("ram_cache.size INT 0\n") })
  }

  @Test func `each case is measured on the servers that can do it`() {
    func cases(_ contender: Contender) -> [ProxyCase] {
      ProxyCase.allCases.filter { ProxyServer(contender: contender, executable: "").can($0) }
    }
    #expect(cases(.ours) == ProxyCase.allCases && cases(.nginx) == cases(.trafficServer))
    #expect(Set(ProxyCase.allCases).subtracting(cases(.haproxy)) == [.range, .revalidate, .disk])
    #expect(cases(.bareNIO) == [.hit, .hitLarge, .hitMegabyte, .connections, .many, .zipf])
  }

  @Test func `Varnish runs in the foreground, stores in memory, and logs no requests`() throws {
    let arguments = ProxyServer.varnishArguments(Self.setup())
    #expect(arguments.first == "-F")
    for (option, value) in [
      ("-j", "none"), ("-n", "/tmp/a b/work"), ("-a", "127.0.0.1:8080"), ("-f", "/tmp/a b/varnish.vcl"),
      ("-s", "malloc,2048m"), ("-p", "thread_pools=2"),
    ] {
      let places = arguments.indices.filter { arguments[$0] == option }
      #expect(places.contains { arguments[$0 + 1] == value }, "\(option)")
    }
    let mask = try #require(arguments.first { $0.hasPrefix("vsl_mask=") })
    #expect(mask.hasPrefix("vsl_mask=-Begin,") && mask.contains(",-ReqHeader,"))
  }

  @Test func `the proxy of this package gets the same threads, and a directory only for the disk`() {
    let server = ProxyServer(contender: .ours, executable: "/x/httpcache")
    var setup = Self.setup()
    let arguments = server.arguments(setup).joined(separator: " ")
    #expect(
      arguments.hasPrefix(
        "proxy --origin http://127.0.0.1:8000 --listen 127.0.0.1:8080 --threads 2 --memory "))
    #expect(!arguments.contains("--directory"))
    var further = server
    further.furtherArguments = ["--trust", "127.0.0.1"]
    #expect(further.arguments(setup).suffix(2) == ["--trust", "127.0.0.1"])
    setup.usesDisk = true
    #expect(server.arguments(setup).suffix(2) == ["--directory", "/tmp/a b/cache"])
    (setup.usesDisk, setup.isInFiles) = (false, true)
    #expect(server.arguments(setup).suffix(2) == ["--directory", "/tmp/a b/cache"])
    #expect(server.arguments(setup).contains("1MB"))
    #expect(ProxyServer.varnishArguments(setup).contains("file,/tmp/a b/storage,2048m"))
  }

  @Test func `each server says in a field whether a response was stored`() {
    func source(_ contender: Contender, _ name: String, _ value: String) -> ProxyServer.Source {
      ProxyServer(contender: contender, executable: "").source(
        of: .init(status: 200, fields: [name: value], bodyBytes: 0))
    }
    #expect(source(.ours, "cache-status", "httpcache; hit; ttl=3600") == .cache)
    #expect(source(.ours, "cache-status", "httpcache; fwd=uri-miss; stored") == .origin)
    #expect(source(.ours, "x-cache", "HIT") == .unknown)
    #expect(source(.nginx, "x-cache", "HIT") == .cache)
    #expect(source(.nginx, "x-cache", "MISS") == .origin)
    #expect(source(.nginx, "x-cache", "EXPIRED") == .unknown)
    #expect(source(.nginx, "x-cache", "REVALIDATED") == .origin)
    #expect(source(.haproxy, "x-cache", "HIT") == .cache)
    for (codes, found) in [("cHs f ", .cache), ("cMsSfW", .origin), ("cSsNfU", .origin), ("u", .unknown)]
      as [(String, ProxyServer.Source)]
    {
      #expect(
        source(.trafficServer, "via", "http/1.1 traffic_server (ApacheTrafficServer/9.2.9 [\(codes)])")
          == found)
    }
    #expect(source(.varnish, "x-varnish", "32770 3") == .cache)
    #expect(source(.varnish, "x-varnish", "2") == .origin)
    #expect(source(.varnish, "age", "1") == .unknown)
  }

  @Test func `a head is parsed into its status and fields`() throws {
    let head = try #require(LoopbackClient.parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nx-cache:HIT".utf8))
    #expect(head.status == 200)
    #expect(head.fields == ["content-length": "5", "x-cache": "HIT"])
    #expect(LoopbackClient.parse("nonsense".utf8) == nil)
  }

  @Test func `wrk gets one thread for each of the server, and the number of the run`() {
    var load = LoadGenerator.Load(port: 1, path: "/1024/hit", connections: 4, threads: 8, seconds: 3)
    load.run = 5
    #expect(
      load.arguments == [
        "--latency", "--timeout", "30s", "-t", "4", "-c", "4", "-d", "3s", "http://127.0.0.1:1/1024/hit",
        "--", "5",
      ])
    (load.closes, load.script) = (true, "/s.lua")
    #expect(load.arguments[9..<13] == ["-H", "Connection: close", "-s", "/s.lua"])
    (load.closes, load.host) = (false, "a.example")
    #expect(load.arguments[9..<13] == ["-H", "Host: a.example", "-s", "/s.lua"])
    (load.host, load.fields) = (nil, ["Range: bytes=0-1"])
    #expect(load.arguments[9..<13] == ["-H", "Range: bytes=0-1", "-s", "/s.lua"])
  }

  // MARK: - Programs

  @Test func `without wrk, the error says what to install`() {
    let error = #expect(throws: BenchError.self) { _ = try LoadGenerator.installed { _ in nil } }
    #expect(
      error?.description.contains("wrk is not installed; install it (Debian: apt-get install wrk") == true)
  }

  @Test func `without httpcache, the error says how to build it`() throws {
    try TemporaryDirectory.with { directory in
      let error = #expect(throws: BenchError.self) {
        _ = try ProxyField.found([], beside: directory + "/cache-bench") { _ in nil }
      }
      #expect(error?.description.contains("--product httpcache") == true)
      let other = #expect(throws: BenchError.self) {
        let given = LabelledProgram(label: nil, path: directory + "/none")
        _ = try ProxyField.found([given], beside: directory + "/cache-bench") { _ in nil }
      }
      #expect(other?.description.contains(directory + "/none is not a program") == true)
    }
  }

  @Test func `without the other servers, the notes say so and the others remain`() throws {
    let field = try ProxyField.found(
      [.init(label: "base", path: "/bin/sh"), .init(label: nil, path: "/bin/sh")], beside: "/cache-bench"
    ) { _ in nil }
    #expect(field.servers.map(\.name) == ["HTTPCacheEngine", "HTTPCacheEngine (base)", "bare SwiftNIO"])
    #expect(
      field.notes == [
        "nginx is not measured, because nginx is not installed. On Debian, install nginx.",
        "Varnish is not measured, because varnishd is not installed. On Debian, install varnish.",
        "HAProxy is not measured, because haproxy is not installed. On Debian, install haproxy.",
        "Traffic Server is not measured, because traffic_server is not installed. On Debian, install trafficserver.",
      ])
  }

  @Test func `the notes name the versions`() {
    #expect(ProxyField.version(of: .nginx, "nginx version: nginx/1.22.1\n") == "nginx is version 1.22.1.")
    let output = "varnishd (varnish-7.1.1 revision 7cee1c58)\nCopyright (c) 2006\n"
    #expect(ProxyField.version(of: .varnish, output) == "Varnish is version 7.1.1.")
    let haproxy = "HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/\nStatus: long-term"
    #expect(ProxyField.version(of: .haproxy, haproxy) == "HAProxy is version 2.6.12.")
    #expect(ProxyField.version(of: .varnish, "") == "Varnish has an unknown version.")
  }

  @Test func `a program may have a label`() throws {
    #expect(LabelledProgram(argument: "a/b") == .init(label: nil, path: "a/b"))
    #expect(LabelledProgram(argument: "base=a/b=c") == .init(label: "base", path: "a/b=c"))
    #expect(LabelledProgram(argument: "/a=b/c") == .init(label: nil, path: "/a=b/c"))
    for invalid in ["", "=a", "base="] { #expect(LabelledProgram(argument: invalid) == nil) }
  }

  // MARK: - Results

  @Test func `targets and ratios compare processor times round by round`() throws {
    func measured(_ contender: Contender, _ rounds: [Double], label: String? = nil) -> BenchMeasurement {
      var one = BenchMeasurement(.proxy, .proxyHit, contender, [.threads: 1, .connections: 32])
      (one.label, one.byRound) = (label, rounds)
      one[.processorNanoseconds] = median(rounds)
      return one
    }
    var report = Report(command: "proxy")
    report.measurements = [
      measured(.ours, [10, 20, 30]), measured(.ours, [20, 40, 60], label: "base"),
      measured(.nginx, [20, 25, 60]), measured(.bareNIO, [5, 10, 15]),
    ]
    let ratios = report.measurements.proxyRatios
    #expect(ratios.map(\.label) == [nil, nil, nil, "base", "base"])
    #expect(ratios.map { $0.against?.contender } == [.ours, .nginx, .bareNIO, .nginx, .bareNIO])
    #expect(ratios.map { $0[.timesAsFast] } == [2, 2, 0.5, 1, 0.25])
    // Against nginx, the build `base` took 1, 0.625 and 1 times as long.
    #expect(ratios.map { $0[.leastTimesAsFast] } == [2, 1.25, 0.5, 0.625, 0.25])
    #expect(ratios.map { $0[.mostTimesAsFast] } == [2, 2, 0.5, 1, 0.25])
    #expect(ratios.map(\.isSeparated) == [nil, true, nil, false, nil])
    report.measurements += ratios
    report.targets = report.proxyTargets
    #expect(report.targets.map(\.limit) == [1.6])
    #expect(report.targets.map(\.figure) == [2])
    #expect(report.text.split(separator: "\n").filter { $0.hasSuffix("not separated") }.count == 1)
    #expect(report.text.contains("HTTPCacheEngine (base)"))
    let file = try ReportFile(name: "a", bytes: Array(report.json().utf8), path: "a")
    #expect(file.report.measurements == report.measurements)
    #expect(Pictures(report: report).groups.flatMap(\.pictures).map(\.title).count == 1)
    #expect(ReportPage(files: [file]).html.contains("hit of 1 KiB: processor time of a request to a proxy"))
  }
}
