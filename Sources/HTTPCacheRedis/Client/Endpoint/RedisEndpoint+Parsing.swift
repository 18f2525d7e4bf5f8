// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension RedisEndpoint {
  /// Parses a URL; see ``RedisSharedTier/Configuration`` for its forms.
  package init(_ url: String, password: String? = nil) throws(RedisError) {
    let parts = try EndpointURL(url)
    var options = try EndpointOptions(parts.query)
    let scheme = try Scheme(parts.scheme)

    self.init([])
    if scheme.usesTLS { tls = try options.takeTLS() }
    credentials = try Self.parseCredentials(parts.userInformation, password: password)
    switch scheme.form {
    case .unix:
      guard parts.hosts.isEmpty, parts.path.utf8.count > 1 else {
        throw .invalid("expected the path of a socket after three slashes: redis+unix:///path/to/socket")
      }
      addresses = [.unix(path: try decodePercent(parts.path, in: "path"))]
    case .single, .cluster:
      addresses = try Self.parseHosts(parts.hosts, defaultPort: 6379)
      let isCluster = scheme.form == .cluster
      mode = try options.takeFlag("cluster", default: isCluster) ? .cluster : .single
      try takePath(parts.path.split(separator: "/")[...])
    case .sentinel:
      addresses = try Self.parseHosts(parts.hosts, defaultPort: 26379)
      let path = parts.path.split(separator: "/")
      guard let name = path.first else {
        throw .invalid("expected the name of the primary after the hosts: redis+sentinel://host/name")
      }
      mode = .sentinel(name: try decodePercent(name, in: "name of the primary"))
      sentinelCredentials = options.takeSentinelCredentials()
      try takePath(path.dropFirst())
    }
    if let text = options.take("db") { try takePath([text[...]]) }
    if let name = options.first {
      throw .invalid("the option '\(name)' does not exist for this kind of URL")
    }
    guard mode != .single || addresses.count == 1 else {
      throw .invalid("several hosts need redis+cluster:// or redis+sentinel://")
    }
    guard mode != .cluster || database == 0 else { throw .invalid("a cluster has only database 0") }
  }

  /// Reads the last part of a path: the number of the database, or nothing.
  private mutating func takePath(_ path: ArraySlice<Substring>) throws(RedisError) {
    guard let text = path.first else { return }
    guard path.count == 1, let number = Int(text), number >= 0, text.utf8.count <= 9 else {
      throw .invalid("expected the number of a database, such as /1, at the end of the path")
    }
    database = number
  }

  private static func parseCredentials(
    _ text: Substring?, password: String?
  ) throws(RedisError) -> RedisCredentials? {
    guard let text else { return password.map { RedisCredentials(password: $0) } }
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let user = try decodePercent(parts[0], in: "user")
    let name = user.isEmpty ? nil : user
    if let password { return RedisCredentials(user: name, password: password) }
    guard parts.count == 2 else {
      throw .invalid(
        "expected a password after the user: user:password@host; or pass the password separately")
    }
    return RedisCredentials(user: name, password: try decodePercent(parts[1], in: "password"))
  }

  private static func parseHosts(_ text: Substring, defaultPort: Int) throws(RedisError) -> [RedisAddress] {
    var addresses: [RedisAddress] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      addresses.append(try parseHost(part, defaultPort: defaultPort))
    }
    return addresses
  }

  private static func parseHost(_ text: Substring, defaultPort: Int) throws(RedisError) -> RedisAddress {
    let host: Substring
    let rest: Substring
    if text.first == "[" {
      guard let end = text.firstIndex(of: "]") else { throw .invalid("expected ] after an IPv6 address") }
      host = text[..<end].dropFirst()
      rest = text[end...].dropFirst()
    } else {
      host = text.prefix { $0 != ":" }
      rest = text[host.endIndex...]
    }
    guard !host.isEmpty, host.utf8.count <= 255, !host.contains("%") else {
      throw .invalid("expected a host")
    }
    guard !rest.isEmpty else { return .tcp(host: String(host), port: defaultPort) }
    // Its text is not part of the message: where the @ is missing, it is a password.
    guard rest.first == ":", let port = UInt16(rest.dropFirst()), port > 0 else {
      throw .invalid("expected a port between 1 and 65535 after the host and a colon")
    }
    return .tcp(host: String(host), port: Int(port))
  }
}

/// What the scheme of a URL selects.
private struct Scheme {
  enum Form { case single, unix, sentinel, cluster }

  let form: Form
  let usesTLS: Bool

  init(_ text: String) throws(RedisError) {
    switch text {
    case "redis", "valkey": (form, usesTLS) = (.single, false)
    case "rediss", "valkeys": (form, usesTLS) = (.single, true)
    case "redis+unix", "unix": (form, usesTLS) = (.unix, false)
    case "redis+sentinel": (form, usesTLS) = (.sentinel, false)
    case "rediss+sentinel": (form, usesTLS) = (.sentinel, true)
    case "redis+cluster": (form, usesTLS) = (.cluster, false)
    case "rediss+cluster": (form, usesTLS) = (.cluster, true)
    default:
      throw .invalid(
        "the scheme is not supported; use redis, rediss, redis+unix, redis+sentinel or redis+cluster")
    }
  }
}
