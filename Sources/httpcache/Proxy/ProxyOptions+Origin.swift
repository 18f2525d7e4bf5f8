// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy

/// The options of the origin.
extension ProxyOptions {
  /// The servers of `--origin`, and whether their connections are encrypted.
  func servers() throws -> ([ProxyConfiguration.Origin.Server], isEncrypted: Bool) {
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

  func originTimeouts() throws -> ProxyConfiguration.Origin.Timeouts {
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
  func checkOrigin(_ origin: ProxyConfiguration.Origin) throws {
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
}
