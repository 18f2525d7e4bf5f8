// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCacheProxy
import HTTPCaching
import Testing

@testable import httpcache

@Suite("Options of the proxy", .timeLimit(.minutes(10)))
struct ProxyOptionsTests {
  private func resolved(_ arguments: [String]) throws -> String {
    let (proxy, cache, _) = try ProxyOptions.parse(arguments).resolved()
    let places = proxy.listen.map { "\($0)" }.joined(separator: ",")
    return "\(places) \(proxy.origin) \(proxy.admin?.description ?? "-") \(cache.store.memoryCapacity) "
      + "\(cache.store.diskCapacity) \(cache.transitCapacity) \(proxy.allowsHalfClosure) \(cache.rules.kind) \(cache.rules.targets) \(cache.rules.whenDisconnected != .nothing)"
  }

  @Test(
    "A configuration file is equivalent to the command line", arguments: ["\n", "\r\n"],
    [
      """
      # A comment.
      origin: http://[::1]:8000/   # another
      memory: 64KiB

      listen: '127.0.0.1:81'
      admin: "localhost:9"
      stale-when-disconnected: false
      cache: cdn
      transit: 8MB
      half-closure: yes
      """,
      """
      {"origin": "http://[::1]:8000", "memory": 65536, "listen": "127.0.0.1:81", "admin": "localhost:9",
       "stale-when-disconnected": false, "cache": "cdn", "transit": "8MB", "half-closure": true}
      """,
    ])
  func file(ending: String, text: String) throws {
    let file = try ConfigurationFile(
      text.replacing("\n", with: ending), options: OptionList(of: ProxyOptions.self))
    #expect(
      try resolved(file.entries.flatMap(\.arguments))
        == "127.0.0.1:81 http://[::1]:8000 localhost:9 65536 \(10 << 30) \(8 << 20) true shared [\"cdn-cache-control\"] false"
    )
  }

  @Test("By default the proxy does not negotiate languages, as in RFC 9111 §4.1")
  func language() throws {
    for (arguments, isOn) in [
      ([], false), (["--negotiates-language"], true), (["--no-negotiates-language"], false),
    ] {
      let (_, cache, _) = try ProxyOptions.parse(["--origin", "http://a"] + arguments).resolved()
      #expect(cache.rules.negotiatesLanguage == isOn, "\(arguments)")
    }
  }

  @Test("--set-cookie stores, strips or bypasses cookies of shareable responses")
  func cookies() throws {
    for (arguments, use) in [
      ([], .declared), (["--set-cookie", "store"], .store), (["--set-cookie", "strip"], .strip),
      (["--set-cookie", "bypass"], .bypass),
    ] as [([String], CacheEngine.SetCookieUse)] {
      let (_, cache, _) = try ProxyOptions.parse(["--origin", "http://a"] + arguments).resolved()
      #expect(cache.rules.setCookie == use, "\(arguments)")
    }
    #expect(throws: (any Error).self) { try ProxyOptions.parse(["--set-cookie", "keep"]) }
  }

  @Test("--tag-field names fields for tags, which --show-tags leaves to clients")
  func tags() throws {
    for (arguments, fields, shows) in [
      ([], [], false),
      (["--tag-field", "Surrogate-Key", "--tag-field", "xkey"], ["surrogate-key", "xkey"], false),
      (["--tag-field", "Cache-Tag", "--show-tags"], ["cache-tag"], true),
    ] as [([String], [String], Bool)] {
      let (_, cache, _) = try ProxyOptions.parse(["--origin", "http://a"] + arguments).resolved()
      #expect(cache.rules.tagFields == fields && cache.rules.showsTags == shows, "\(arguments)")
    }
  }

  @Test("A configuration file can be empty", arguments: ["", "\n", "# nothing\n", "---\n"])
  func emptyFile(text: String) throws {
    let file = try ConfigurationFile(text, options: OptionList(of: ProxyOptions.self))
    #expect(file.entries.isEmpty)
  }

  @Test("Options set trusted peers, forwarding fields, the PROXY protocol and upgrades")
  func whoAsks() throws {
    let (byDefault, _, _) = try ProxyOptions.parse(["--origin", "http://a"]).resolved()
    #expect(byDefault.forwardedFields == .xForwarded)
    #expect(byDefault.trustedPeers.isEmpty && !byDefault.expectsProxyHeader && byDefault.allowsUpgrade)
    #expect(byDefault.timeouts.tunnel == .seconds(3600))
    let (proxy, _, _) = try ProxyOptions.parse([
      "--origin", "http://a", "--trust", "10.0.0.0/8", "--trust", "::1", "--forwarded", "rfc7239",
      "--proxy-protocol", "--trust-field", "X-Real-IP", "--trust-field", "x-forwarded-port",
      "--trust-field", "CF-Connecting-IP",
      "--no-upgrade", "--upgrade-timeout", "1.5",
    ]).resolved()
    #expect(proxy.forwardedFields == .rfc7239)
    #expect(proxy.trustedPeers.map(\.description) == ["10.0.0.0/8", "::1/128"])
    #expect(byDefault.trustedFields.isEmpty)
    #expect(proxy.trustedFields == ["X-Real-IP", "x-forwarded-port", "CF-Connecting-IP"])
    #expect(proxy.expectsProxyHeader && !proxy.allowsUpgrade)
    #expect(proxy.timeouts.tunnel == .milliseconds(1500))
  }

  @Test(
    "Options set the limits and timeouts of the origin and of heads, and keep the defaults of the library")
  func limits() throws {
    let (byDefault, _, _) = try ProxyOptions.parse(["--origin", "http://a"]).resolved()
    var expected = ProxyConfiguration(listen: byDefault.listen, origin: byDefault.origin)
    #expect(byDefault.limits == expected.limits && byDefault.timeouts == expected.timeouts)
    #expect(byDefault.origin == .init(host: "a", port: 80))
    let (proxy, _, _) = try ProxyOptions.parse([
      "--origin", "http://a", "--origin-connections", "7", "--origin-queue", "8", "--origin-failures", "9",
      "--origin-idle-connections", "10", "--maximum-head", "32KB", "--maximum-line", "8KB",
      "--maximum-fields",
      "50", "--origin-timeout", "1", "--origin-first-byte-timeout", "2", "--origin-between-bytes-timeout",
      "3",
      "--origin-connect-timeout", "4", "--origin-idle-timeout", "5", "--origin-queue-timeout", "6",
      "--origin-probe-interval", "7", "--client-header-timeout", "8", "--client-idle-timeout", "9",
    ]).resolved()
    (expected.origin.limits.connections, expected.origin.limits.queue) = (7, 8)
    (expected.origin.limits.failures, expected.origin.limits.idleConnections) = (9, 10)
    (expected.limits.headBytes, expected.limits.headLineBytes) = (32 << 10, 8 << 10)
    expected.limits.headFields = 50
    (expected.origin.timeouts.firstByte, expected.origin.timeouts.betweenBytes) = (.seconds(2), .seconds(3))
    (expected.origin.timeouts.connect, expected.origin.timeouts.idle) = (.seconds(4), .seconds(5))
    (expected.origin.timeouts.queue, expected.origin.timeouts.probe) = (.seconds(6), .seconds(7))
    (expected.timeouts.head, expected.timeouts.idle) = (.seconds(8), .seconds(9))
    #expect(proxy.limits == expected.limits && proxy.origin.limits == expected.origin.limits)
    #expect(proxy.timeouts == expected.timeouts && proxy.origin.timeouts == expected.origin.timeouts)
    let (off, _, _) = try ProxyOptions.parse([
      "--origin", "http://a", "--origin-connections", "0", "--origin-failures", "0",
    ]).resolved()
    #expect(off.origin.limits.connections == nil && off.origin.limits.failures == nil)
  }

  @Test("Options name the servers of the origin, what counts as a failure of one, and what follows")
  func servers() throws {
    let file = try ConfigurationFile(
      """
      origin:
        - http://10.0.0.1:8000,weight=3
        - http://[::1]:8000
        - http://app
        - unix:/run/app.sock,backup,weight=7
      origin-check: /health?full
      origin-failure-status: [500, 503]
      origin-attempts: 2
      origin-resolve-interval: 0.5
      """, options: OptionList(of: ProxyOptions.self))
    let (proxy, _, _) = try ProxyOptions.parse(file.entries.flatMap(\.arguments)).resolved()
    let origin = proxy.origin
    #expect(
      origin.servers.map(\.description) == ["10.0.0.1:8000", "[::1]:8000", "app:80", "unix:/run/app.sock"])
    #expect(origin.servers.map(\.weight) == [3, 1, 1, 7])
    #expect(origin.servers.map(\.isBackup) == [false, false, false, true])
    #expect(origin.checkPath == "/health?full" && origin.failureStatuses == [500, 503])
    #expect(origin.limits.attempts == 2 && origin.timeouts.resolve == .milliseconds(500) && origin.tls == nil)
  }

  @Test(
    "An error in a file names the line and what was expected",
    arguments: [
      ("= 1", "not valid"), ("--origin: x", "unknown option '--origin'"), ("a b", "not valid"),
      ("config: f", "only the command line"), ("orign: x", "did you mean 'origin'?"),
      ("name: [a, b]", "found a list"),
      ("memory: 1X", "memory: expected a size"), ("memory:", "found nothing"), ("memory: ~", "found nothing"),
      ("memory: {a: 1}", "found a mapping"), ("half-closure: 1", "expected true or false, found '1'"),
      ("no-half-closure: true", "expected `half-closure: false`"), ("memory = 1GB", "`memory: 1GB`"),
      ("no-half-closure", "expected `half-closure: false`"),
      ("half-closure", "expected `half-closure: true`"),
      ("cache: big", "expected private, shared, cdn"), ("threads: 1.5", "expected a whole number"),
      ("scheme: http\nscheme: http", "set more than once"), ("name: 'a", "quoted scalar"),
      ("? [a]\n: b", "found a list"), ("name: a\u{7}", "control characters"),
    ])
  func badLine(line: String, text: String) throws {
    let fault = try #require(throws: ConfigurationFile.Fault.self) {
      try ConfigurationFile("# one\nlog: info\n\(line)\n", options: OptionList(of: ProxyOptions.self))
    }
    #expect(fault.line == 3)
    #expect(fault.text.contains(text), "\(fault.text)")
  }

  @Test("A file can set every option except --config")
  func everyOption() throws {
    let options = OptionList(of: ProxyOptions.self)
    for name in options.names where name != "config" && name != "help" {
      let option = try #require(options[name])
      let fault = #expect(throws: ConfigurationFile.Fault.self) {
        try ConfigurationFile("\(name): {}", options: options)
      }
      #expect(fault?.text.hasPrefix("\(name): expected ") == true, "\(fault?.text ?? "")")
      guard option.isFlag else { continue }
      for value in [true, false] {
        let file = try ConfigurationFile("\(name): \(value)", options: options)
        #expect(file.entries.count == 1)
      }
    }
  }

  @Test("Every option that can change without a restart exists")
  func changeable() {
    // The rules are no option of the command line.
    #expect(
      ProxyControl.changeable.subtracting(["rules", "sites"]).isSubset(
        of: OptionList(of: ProxyOptions.self).names))
  }

  @Test(
    "An option given twice is reported with its values",
    arguments: [
      ("--memory 1 --memory 2", "--memory is given twice, with '1' and '2'"),
      ("--memory=1 --log info --memory=1", "--memory is given twice"),
      ("--half-closure --no-half-closure", "--half-closure is given twice, as"),
      ("--memory --memory", nil), ("--name --memory --memory 1", nil), ("--memory 1 -- --memory 2", nil),
      ("--unknown --unknown", nil),
    ])
  func repeats(line: String, text: String?) {
    let fault = OptionList(of: ProxyOptions.self).repeats(in: line.split(separator: " ").map(String.init))
    #expect(fault?.hasPrefix(text ?? "none") ?? (text == nil), "\(fault ?? "")")
  }

  @Test("A list option can be repeated, a single option cannot")
  func lists() {
    let options = OptionList(of: ConformCommand.self)
    #expect(options.repeats(in: ["--field", "a: 1", "--field", "b: 2"]) == nil)
    #expect(options.repeats(in: ["--only", "a", "--only", "b"]) != nil)
  }

  @Test(
    "Missing, invalid and contradictory options are refused",
    arguments: [
      [], ["--origin", "127.0.0.1:8000"], ["--origin", "ftp://a"], ["--origin", "http://a/path"],
      ["--origin", "http://a", "--origin-ca", "a.pem"],
      ["--origin", "https://a", "--origin-ca", "/none.pem"],
      ["--origin", "http://a", "--listen", "8080"], ["--origin", "http://a", "--listen", "a:70000"],
      ["--origin", "http://a", "--name", "a b"], ["--origin", "http://a", "--origin-timeout", "0"],
      ["--origin", "http://a", "--connections", "0"], ["--origin", "http://a", "--scheme", "ftp"],
      ["--origin", "http://a", "--disk", "1GB"], ["--origin", "http://a:99999"], ["--origin", "http://u@a"],
      ["--origin", "http://a", "--directory", ""], ["--origin", "http://a", "--admin", "0.0.0.0:9"],
      ["--origin", "http://a", "--drain-timeout", "1e9"], ["--origin", "http://a", "--handover", ""],
      ["--origin", "http://a", "--trust", "10.0.0.1/8"], ["--origin", "http://a", "--trust", "localhost"],
      ["--origin", "http://a", "--trust-field", "X-Other"], ["--origin", "http://a", "--trust-field", ""],
      ["--origin", "http://a", "--trust-field", "x_forwarded_port"],
      ["--origin", "http://a", "--trust-field", "X-HTTP-Method-Override"],
      ["--origin", "http://a", "--tag-field", ""], ["--origin", "http://a", "--tag-field", "a b"],
      ["--origin", "http://a", "--tag-field", "Cache-Groups"],
      ["--origin", "http://a", "--tag-field", "Vary"],
      ["--origin", "http://a", "--proxy-protocol"], ["--origin", "http://a", "--upgrade-timeout", "0"],
    ])
  func refused(arguments: [String]) {
    #expect(throws: ProxyConfiguration.ValidationError.self) { try resolved(arguments) }
  }

  @Test(
    "A size is a number with a unit",
    arguments: [("0", 0), ("1k", 1024), ("2MB", 2 << 20), ("3GiB", 3 << 30)])
  func sizes(text: String, bytes: Int) {
    #expect(ByteSize(argument: text)?.bytes == bytes)
    #expect(ByteSize(argument: "-" + text) == nil)
    #expect(ByteSize(argument: text + "?") == nil)
  }

  @Test("A size beyond the range of integers is rejected")
  func tooLarge() {
    #expect(ByteSize(argument: "99999999999GB") == nil)
  }
}
