// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import TransportSecurity

/// The options of the origin.
extension ProxyOptions {
  /// Whether each site may have an option of its own.
  static func isOfSite(_ name: String) -> Bool {
    name == "origin" || name.hasPrefix("origin-") || name == "certificate" || name == "key"
  }

  /// The origin of a site.
  func originConfiguration() throws -> ProxyConfiguration.Origin {
    let (servers, isEncrypted) = try servers()
    var origin = ProxyConfiguration.Origin(servers)
    origin.tls = try originTLS(isEncrypted)
    origin.timeouts = try originTimeouts()
    for (value, range, option) in [
      (originConnections, 0...1_000_000, "--origin-connections"),
      (originQueue, 0...1_000_000, "--origin-queue"),
      (originIdleConnections, 0...1_000_000, "--origin-idle-connections"),
      (originFailures, 0...1_000_000, "--origin-failures"), (originAttempts, 1...64, "--origin-attempts"),
    ] { try Self.check(value, range, option) }
    origin.limits.connections = originConnections == 0 ? nil : originConnections
    origin.limits.queue = originQueue
    origin.limits.attempts = originAttempts
    origin.limits.failures = originFailures == 0 ? nil : originFailures
    origin.limits.idleConnections = originIdleConnections
    origin.failureStatuses = Set(originFailureStatus)
    origin.checkPath = originCheck
    origin.http2 = originHttp2
    try checkOrigin(origin)
    return origin
  }

  /// The servers of `--origin`, and whether their connections are encrypted.
  private func servers() throws -> ([ProxyConfiguration.Origin.Server], isEncrypted: Bool) {
    guard !origin.isEmpty else {
      throw ProxyConfiguration.ValidationError(
        "--origin is missing; add the address of your server, such as http://127.0.0.1:8000")
    }
    let read = try origin.map { try Self.server($0) }
    let encrypted = read.count(where: \.isEncrypted)
    guard encrypted == 0 || encrypted == read.count else {
      throw ProxyConfiguration.ValidationError(
        "--origin: expected https for all servers or for none, found it for \(encrypted) of \(read.count)")
    }
    return (read.map(\.server), encrypted > 0)
  }

  /// Reads a URL or `unix:PATH`, and options after commas.
  private static func server(
    _ text: String
  ) throws -> (server: ProxyConfiguration.Origin.Server, isEncrypted: Bool) {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    let first = parts.first.map(String.init) ?? ""
    var (server, isEncrypted): (ProxyConfiguration.Origin.Server, Bool)
    if first.hasPrefix("unix:") {
      guard first.utf8.count > 5 else {
        throw ProxyConfiguration.ValidationError(
          "--origin: expected a path, as in unix:/run/app.sock, found '\(text)'")
      }
      (server, isEncrypted) = (.init(.unix(path: String(first.dropFirst(5)))), false)
    } else {
      let (address, scheme) = try address(first)
      (server, isEncrypted) = (.init(address), scheme == "https")
    }
    for part in parts.dropFirst() {
      let pair = part.split(separator: "=", maxSplits: 1)
      switch (pair.first, pair.count) {
      case ("backup", 1): server.isBackup = true
      case ("weight", 2):
        guard let weight = Int(pair[1]), (1...1000).contains(weight) else {
          throw ProxyConfiguration.ValidationError(
            "--origin: expected a weight of 1 to 1000, found '\(pair[1])'")
        }
        server.weight = weight
      default:
        throw ProxyConfiguration.ValidationError(
          "--origin: expected weight=3 or backup after the comma, found '\(part)'")
      }
    }
    return (server, isEncrypted)
  }

  /// Reads `http://host[:port]` or `https://host[:port]`; rejects anything else.
  private static func address(
    _ text: String
  ) throws -> (ProxyConfiguration.Address, scheme: String) {
    guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), let host = url.host,
      !host.isEmpty
    else {
      throw ProxyConfiguration.ValidationError(
        "--origin: expected a URL such as http://127.0.0.1:8000, found '\(text)'")
    }
    guard scheme == "http" || scheme == "https" else {
      throw ProxyConfiguration.ValidationError("--origin: expected http or https, found '\(scheme)'")
    }
    guard (1...65_535).contains(url.port ?? 80) else {
      throw ProxyConfiguration.ValidationError("--origin: expected a port from 1 to 65535, found '\(text)'")
    }
    guard url.path.isEmpty || url.path == "/", url.query == nil, url.fragment == nil, url.user == nil else {
      throw ProxyConfiguration.ValidationError(
        "--origin: expected a host and a port only; use \(scheme)://\(host)\(url.port.map { ":\($0)" } ?? "")"
      )
    }
    let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    let port = url.port ?? (scheme == "https" ? 443 : 80)
    return (ProxyConfiguration.Address(host: name, port: port), scheme)
  }

  private func originTimeouts() throws -> ProxyConfiguration.Origin.Timeouts {
    var timeouts = ProxyConfiguration.Origin.Timeouts()
    let both = try Self.time(originTimeout, "--origin-timeout")
    timeouts.firstByte =
      try originFirstByteTimeout.map { try Self.time($0, "--origin-first-byte-timeout") } ?? both
    timeouts.betweenBytes =
      try originBetweenBytesTimeout.map { try Self.time($0, "--origin-between-bytes-timeout") } ?? both
    timeouts.connect = try Self.time(originConnectTimeout, "--origin-connect-timeout")
    timeouts.idle = try originIdleTimeout.map { try Self.time($0, "--origin-idle-timeout") }
    timeouts.queue = try Self.time(originQueueTimeout, "--origin-queue-timeout")
    timeouts.probe = try Self.time(originProbeInterval, "--origin-probe-interval")
    timeouts.resolve = try Self.time(originResolveInterval, "--origin-resolve-interval")
    return timeouts
  }

  /// Names the option of an error in the origin.
  private func checkOrigin(_ origin: ProxyConfiguration.Origin) throws {
    do {
      try origin.validate()
    } catch let error as ProxyConfiguration.ValidationError {
      let text = error.description
      let names = [("checkPath: ", "--origin-check"), ("failureStatuses: ", "--origin-failure-status")]
      for (name, option) in names where text.hasPrefix(name) {
        throw ProxyConfiguration.ValidationError("\(option): \(text.dropFirst(name.utf8.count))")
      }
      let isNamed = text.hasPrefix("origin: ")
      throw ProxyConfiguration.ValidationError(isNamed ? "--\(text)" : "--origin: \(text)")
    }
  }

  private func originTLS(_ isEncrypted: Bool) throws -> ProxyConfiguration.Origin.TLS? {
    let given = [
      originCa.map { _ in "--origin-ca" }, originServerName.map { _ in "--origin-server-name" },
      originCertificate.map { _ in "--origin-certificate" }, originKey.map { _ in "--origin-key" },
      originAcceptAnyCertificate ? "--origin-accept-any-certificate" : nil,
    ].compactMap(\.self)
    guard isEncrypted else {
      if let option = given.first {
        throw ProxyConfiguration.ValidationError(
          "\(option) is for an origin with https; write https in --origin, or remove the option")
      }
      return nil
    }
    var tls = ProxyConfiguration.Origin.TLS()
    tls.issuersFile = originCa
    tls.certificateFile = originCertificate
    tls.keyFile = originKey
    tls.serverName = originServerName
    tls.acceptsAnyCertificate = originAcceptAnyCertificate
    do throws(TLSFault) {
      try tls.check()
    } catch {
      let option =
        switch error.part {
        case .issuers: "--origin-ca"
        case .certificate: "--origin-certificate"
        case .key: originKey == nil ? "--origin-certificate" : "--origin-key"
        case .serverName: "--origin-server-name"
        case .build: "--origin"
        }
      throw ProxyConfiguration.ValidationError("\(option): \(error)")
    }
    return tls
  }
}
