// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheProxy

@Suite("Forwarding fields and trusted peers", .timeLimit(.minutes(10)))
struct ForwarderTests {
  @Test(
    "Names with underscores count as forwarding fields, because CGI does not distinguish them",
    arguments: [
      ("x_forwarded_host", true), ("x-forwarded_for", true), ("x_real_ip", true), ("x-forwarded-port", true),
      ("x-forwarded", true), ("x_forwarded", true), ("x-forwardedfor", true), ("x_forwardedproto", true),
      ("x_other", false), ("x-forward", false), ("x", false), ("", false), ("y_forwarded_for", false),
    ])
  func underscores(name: String, tells: Bool) {
    #expect((FieldRole(name) == .forwarding) == tells)
  }

  @Test(
    "Fields that name the client, host or URL may be passed on from trusted proxies, and no others",
    arguments: FieldRole.countedNames + [
      "X-Real-IP", "X-Forwarded", "X-Forwarded-Port", "X-ORIGINAL-URL", "X_Original_URL", "x-original_url",
      "X-Other", "Host", "Authorization", "Via", "X-Originalurl", "X-Client", "X-Original-Url2",
    ])
  func trustedField(name: String) throws {
    let address = ProxyConfiguration.Address(host: "::1", port: 0)
    var configuration = ProxyConfiguration(listen: address, origin: address)
    configuration.trustedFields = [name]
    let names =
      FieldRole.countedNames.filter { !$0.contains("method") } + [
        "x-real-ip", "x-forwarded", "x-forwarded-port",
      ]
    if names.contains(name.lowercased()) {
      try configuration.validate()
    } else {
      #expect {
        try configuration.validate()
      } throws: {
        "\($0)".contains("found '\(name)'")
      }
    }
  }

  @Test(
    "Each counted name is that of a field that is removed, also with underscores",
    arguments: FieldRole.countedNames)
  func counted(name: String) {
    let isMethod = name.contains("method")
    #expect(FieldRole(name) == (isMethod ? .methodOverride : .forwarding))
    #expect(FieldRole(name.replacing("-", with: "_")) == (isMethod ? .lookalike : .forwarding))
    #expect(name == name.lowercased() && HTTPField.Name(name) != nil)
  }

  @Test("Both fields name a client with an IPv6 address, which Forwarded quotes (RFC 7239 §6)")
  func addressOfVersion6() {
    var configuration = ProxyConfiguration(
      listen: ProxyConfiguration.Address(host: "::1", port: 0),
      origin: ProxyConfiguration.Address(host: "::1", port: 1))
    configuration.forwardedFields = .both
    var request = HTTPRequest(method: .get, scheme: "http", authority: "a", path: "/")
    var forwarder = Forwarder(IPAddress("2001:db8::1"), configuration)
    let client = forwarder.apply(to: &request, given: nil)
    #expect(client == IPAddress("2001:db8::1"))
    let texts = request.headerFields.map { "\($0.name.rawName): \($0.value)" }
    #expect(texts.contains("X-Forwarded-For: 2001:db8::1"))
    #expect(texts.contains("Forwarded: for=\"[2001:db8::1]\";host=a;proto=http"))
  }

  @Test(
    "Of the fields that name the client, a trusted proxy sets For, Proto, Host and Forwarded alone",
    arguments: ProxyConfiguration.ForwardedFields.allCases)
  func passedOn(kind: ProxyConfiguration.ForwardedFields) throws {
    var configuration = ProxyConfiguration(
      listen: ProxyConfiguration.Address(host: "::1", port: 0),
      origin: ProxyConfiguration.Address(host: "::1", port: 1))
    configuration.forwardedFields = kind
    configuration.trustedPeers = [try ProxyConfiguration.AddressRange(parsing: "10.0.0.0/8")]
    let passedOn = ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "forwarded"]
    var given = HTTPFields()
    for name in passedOn + [
      "x-real-ip", "x-forwarded", "x-forwarded-port", "x-forwarded-prefix", "x-forwarded-scheme",
      "x-forwarded-server", "x-forwarded-ssl", "x_forwarded_for", "x-forwarded_host", "x_real_ip",
      "x-original-url", "cf-connecting-ip", "x_client_ip",
    ] { given.append(HTTPField(name: try #require(HTTPField.Name(name)), value: "for=192.0.2.9")) }
    var request = HTTPRequest(method: .get, scheme: "http", authority: "a", path: "/")
    var forwarder = Forwarder(IPAddress("10.0.0.1"), configuration)
    _ = forwarder.apply(to: &request, given: given)
    #expect(Set(request.headerFields.map(\.name.canonicalName)) == Set(passedOn))

    configuration.trustedFields = ["X-Real-IP", "x-forwarded-port", "CF-Connecting-IP", "X-Client-IP"]
    for (peer, fields) in [
      ("10.0.0.1", Set(passedOn + ["x-real-ip", "x-forwarded-port", "cf-connecting-ip"])),
      (
        "192.0.2.1",
        Set(kind.usesXForwarded ? passedOn.prefix(3) : []).union(kind.usesForwarded ? ["forwarded"] : [])
      ),
    ] {
      var request = HTTPRequest(method: .get, scheme: "http", authority: "a", path: "/")
      var forwarder = Forwarder(IPAddress(peer), configuration)
      _ = forwarder.apply(to: &request, given: given)
      #expect(Set(request.headerFields.map(\.name.canonicalName)) == fields, "\(peer)")
    }
  }

  @Test(
    "The client is the last untrusted address that a trusted proxy names, if any",
    arguments: [
      (.xForwarded, "X-Forwarded-For", "198.51.100.1", "198.51.100.1"),
      (.xForwarded, "X-Forwarded-For", "1.1.1.1, 198.51.100.1", "198.51.100.1"),
      (.xForwarded, "X-Forwarded-For", "198.51.100.1, 10.0.0.2, 10.0.0.3", "198.51.100.1"),
      (.xForwarded, "X-Forwarded-For", "198.51.100.1:4711, [2001:db8::7]:80", "198.51.100.1"),
      (.xForwarded, "X-Forwarded-For", "198.51.100.1, ::ffff:10.0.0.2", "198.51.100.1"),
      (.xForwarded, "X-Forwarded-For", "10.0.0.2", "10.0.0.2"),
      (.xForwarded, "X-Forwarded-For", "198.51.100.1, unknown, 10.0.0.2", nil),
      (.xForwarded, "X-Forwarded-For", "198.51.100.1,", nil),
      (.xForwarded, "X-Forwarded-For", "evil", nil),
      // Only one of the two is the trusted proxy's.
      (.xForwarded, "Forwarded", "for=198.51.100.1", nil),
      (.rfc7239, "X-Forwarded-For", "198.51.100.1", nil),
      (.none, "X-Forwarded-For", "198.51.100.1", "198.51.100.1"),
      (.both, "X-Forwarded-For", "198.51.100.1", "198.51.100.1"),
      (.rfc7239, "Forwarded", "for=198.51.100.1", "198.51.100.1"),
      (
        .rfc7239, "Forwarded", "proto=https; For=\"198.51.100.1:80\";by=_x, for=\"[2001:DB8::1]\"",
        "198.51.100.1"
      ),
      (.rfc7239, "Forwarded", "for=198.51.100.1, proto=http", nil),
      (.rfc7239, "Forwarded", "for=198.51.100.1, for=_hidden", nil),
      (.rfc7239, "Forwarded", "for=\", for=\"[2001:db8::1]\"", nil),
      (.rfc7239, "Forwarded", "for=\"198.51.100.1", nil),
      (.rfc7239, "Forwarded", "for=\"\\198.51.100.1\"", "198.51.100.1"),
      (.rfc7239, "Forwarded", "for 198.51.100.1", nil),
    ] as [(ProxyConfiguration.ForwardedFields, String, String, String?)])
  func client(kind: ProxyConfiguration.ForwardedFields, name: String, value: String, expected: String?) throws
  {
    var configuration = ProxyConfiguration(
      listen: ProxyConfiguration.Address(host: "::1", port: 0),
      origin: ProxyConfiguration.Address(host: "::1", port: 1))
    configuration.forwardedFields = kind
    configuration.trustedPeers = try ["10.0.0.0/8", "2001:db8::/32"].map {
      try ProxyConfiguration.AddressRange(parsing: $0)
    }
    let given: HTTPFields = [try #require(HTTPField.Name(name)): value]
    for (peer, client) in [("10.0.0.1", expected), ("192.0.2.1", "192.0.2.1")] {
      var request = HTTPRequest(method: .get, scheme: "http", authority: "a", path: "/")
      var forwarder = Forwarder(IPAddress(peer), configuration)
      #expect(forwarder.apply(to: &request, given: given)?.description == client)
    }
  }

  @Test(
    "A trusted peer on a socket in the file system names its clients, and has no address itself",
    arguments: [
      (true, true, "198.51.100.1, 10.0.0.2", "198.51.100.1"), (true, true, "198.51.100.1", "198.51.100.1"),
      (true, true, "unix:", nil), (true, true, nil, nil), (false, true, "198.51.100.1", nil),
      (true, false, "198.51.100.1", nil),
    ])
  func unixPeer(isTrusted: Bool, isUnix: Bool, named: String?, expected: String?) throws {
    var configuration = ProxyConfiguration(
      listen: ProxyConfiguration.Address(host: "::1", port: 0),
      origin: ProxyConfiguration.Address(host: "::1", port: 1))
    configuration.trustsUnixPeers = isTrusted
    configuration.trustedPeers = [try ProxyConfiguration.AddressRange(parsing: "10.0.0.0/8")]
    let name = try #require(HTTPField.Name("X-Forwarded-For"))
    var request = HTTPRequest(method: .get, scheme: "http", authority: "a", path: "/")
    var forwarder = Forwarder(nil, isUnixPeer: isUnix, configuration)
    #expect(forwarder.apply(to: &request, given: named.map { [name: $0] })?.description == expected)
    let sent = [isTrusted && isUnix ? named : nil, "unknown"].compactMap(\.self).joined(separator: ", ")
    #expect(request.headerFields[name] == sent)
  }

  @Test(
    "An address range is an address or a network",
    arguments: [
      ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false), ("192.0.2.1", "192.0.2.1", true),
      ("192.0.2.1", "192.0.2.2", false), ("0.0.0.0/0", "255.1.2.3", true), ("0.0.0.0/0", "::1", false),
      ("::/0", "::1", true),
      ("::/0", "1.2.3.4", false), ("2001:db8::/32", "2001:db8:ffff::1", true),
      ("2001:db8::/32", "2001:db9::", false),
      ("2001:db8:0:0:8000::/65", "2001:db8::8000:0:0:1", true),
      ("2001:db8:0:0:8000::/65", "2001:db8::1", false), ("::1", "::1", true),
      ("fe80::/64", "fe80::1", true), ("fe80::/64", "fe80:0:0:1::", false),
      ("::ffff:10.0.0.0/104", "10.9.9.9", true),
      ("10.0.0.0/31", "10.0.0.1", true), ("10.0.0.0/31", "10.0.0.2", false), ("1.2.3.4/32", "1.2.3.4", true),
    ])
  func ranges(text: String, address: String, expected: Bool) throws {
    #expect(
      try ProxyConfiguration.AddressRange(parsing: text).contains(try #require(IPAddress(address)))
        == expected)
  }

  @Test(
    "The error for an invalid address range states what is wrong",
    arguments: [
      ("", "expected an IP address"), ("a.example", "expected an IP address"),
      ("10.0.0/8", "expected an IP address"),
      ("/8", "expected an IP address"), ("[::1]", "expected an IP address"), ("10.0.0.0/33", "from 0 to 32"),
      ("10.0.0.0/", "from 0 to 32"),
      ("::/129", "from 0 to 128"), ("10.0.0.0/8/8", "from 0 to 32"), ("10.0.0.0/+8", "from 0 to 32"),
      ("10.1.2.3/8", "write 10.0.0.0/8 for the network"),
      ("2001:db8::1/32", "write 2001:db8::/32 for the network"),
    ])
  func noRanges(text: String, reason: String) {
    #expect {
      try ProxyConfiguration.AddressRange(parsing: text)
    } throws: {
      "\($0)".contains(reason) && "\($0)".contains("'\(text)'")
    }
  }
}
