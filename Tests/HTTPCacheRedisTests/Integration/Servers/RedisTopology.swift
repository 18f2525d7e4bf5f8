// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheRedis
import Loopback
import TestSupport
import Testing

/// The ways in which servers of Redis are set up and reached.
enum RedisTopology: String, CaseIterable, Sendable {
  case port, socket
  /// The user has only the rights that the documentation names.
  case tlsWithUser
  case cluster, sentinel

  /// Those that need no certificate, and so no openssl.
  static let withoutTLS = allCases.filter { $0 != .tlsWithUser }

  /// Runs a function with the servers.
  func with(_ body: (Servers) async throws -> Void) async throws {
    switch self {
    case .port: try await withDatabase { try await body(Servers($0)) }
    case .socket: try await withDatabase(usesSocket: true) { try await body(Servers($0)) }
    case .tlsWithUser:
      try await TLSServer.inTurn().with { secure in
        try await body(try await withUser(Servers(secure.server.endpoint), on: [secure.server]))
      }
    case .cluster:
      try await RedisClusterServers.inTurn.with { cluster in
        let servers = Servers(endpoint: cluster.endpoint, each: cluster.nodes.map(\.endpoint))
        try await body(try await withUser(servers, on: cluster.nodes))
      }
    case .sentinel:
      try await SentinelServers.inTurn.with { sentinel in
        let servers = Servers(
          endpoint: sentinel.endpoint, each: [sentinel.primary.endpoint], sentinel: sentinel)
        try await body(try await withUser(servers, on: [sentinel.primary, sentinel.replica]))
      }
    }
  }

  /// Makes the documented user on servers. Returns the servers with this user in their endpoint.
  func withUser(_ servers: Servers, on each: [RedisServer]) async throws -> Servers {
    let user = try DocumentedUser(for: self)
    for server in each { try await server.expectOK("ACL SETUSER cache reset \(user.rules)") }
    var servers = servers
    servers.endpoint.credentials = DocumentedUser.credentials
    return servers
  }
}

/// Servers of a topology.
struct Servers {
  /// Where the tiers connect, and as which user.
  var endpoint: RedisEndpoint
  /// The servers that have the keys. A test connects to them as a user who may do everything.
  var each: [RedisEndpoint]
  var sentinel: SentinelServers?

  /// Sends a command to each server.
  func send(_ command: [[UInt8]]) async throws -> [RedisValue] {
    var replies: [RedisValue] = []
    for endpoint in each {
      replies.append(try await withClient(endpoint) { try await $0.send(command) })
    }
    return replies
  }

  /// The names of all keys.
  func keys() async throws -> [String] {
    try await send(words("KEYS *")).flatMap { $0.elements ?? [] }.compactMap(\.text).sorted()
  }
}

extension Servers {
  init(_ endpoint: RedisEndpoint) { self.init(endpoint: endpoint, each: [endpoint]) }

  /// Waits until no key is left but those of the log, and no connection of a tier, and expects no registered node. Redis
  /// may answer other clients before it notices that a connection was closed.
  func expectNothingLeft() async throws {
    var left: [String] = []
    do {
      try await eventually {
        left = try await remains()
        return left.isEmpty
      }
    } catch {
      #expect(left == [])
      throw error
    }
    let fields = try await send(words("HKEYS httpcache:{log}:meta")).flatMap { $0.elements ?? [] }
    #expect(fields.compactMap(\.text).filter { $0.hasPrefix("n:") } == [])
  }

  private func remains() async throws -> [String] {
    let log = ["httpcache:{log}:log", "httpcache:{log}:meta", "httpcache:{log}:released"]
    // The connection that asks is not a tier's.
    let user = "user=\(endpoint.credentials?.user ?? "default") "
    let clients = try await send(words("CLIENT LIST")).flatMap { ($0.text ?? "").split(separator: "\n") }
    return try await keys().filter { !log.contains($0) }
      + clients.filter {
        $0.contains(user) && $0.contains(" db=\(endpoint.database) ") && !$0.contains("cmd=client|list")
      }.map { String($0) }
  }
}

/// The user that `SharingATier.md` describes. The commands come from the page.
struct DocumentedUser {
  static let credentials = RedisCredentials(user: "cache", password: "hunter2")

  /// As the page writes them.
  let commands: [String]

  /// Reads what a topology needs.
  init(for topology: RedisTopology) throws {
    var commands = try Self.commands(after: "The user of the connection needs these commands")
    if topology == .cluster { commands += try Self.commands(after: "In a cluster, the user also needs") }
    if topology == .sentinel { commands += try Self.commands(after: "With Sentinel, the user also needs") }
    self.commands = commands
  }

  /// What `ACL SETUSER` sets.
  var rules: String {
    "on >hunter2 resetkeys ~httpcache:* resetchannels -@all "
      + commands.map { "+\($0.lowercased())" }.joined(separator: " ")
  }

  /// The words in backticks of the sentence that begins with a text.
  private static func commands(after beginning: String) throws -> [String] {
    let page = try Repository.text("Sources/HTTPCacheRedis/HTTPCacheRedis.docc/SharingATier.md")
    let text = page.split(separator: "\n").joined(separator: " ")
    let start = try #require(text.range(of: beginning), "the page has no sentence '\(beginning)'")
    let sentence = text[start.upperBound...].prefix { $0 != "." }
    return sentence.split(separator: "`", omittingEmptySubsequences: false).enumerated()
      .filter { $0.offset % 2 == 1 }.map { String($0.element) }
  }
}

extension RedisClusterServers {
  /// Moves the slot of a key to the next node.
  func move(_ key: String) async throws {
    func ask(_ command: String, _ node: Int) async throws -> RedisValue {
      let reply = try await send(command, to: node)
      #expect(reply.errorCode == nil, "\(command): \(reply)")
      return reply
    }
    let slot = try #require(try await ask("CLUSTER KEYSLOT \(key)", 0).integer)
    let from = try await owner(ofSlot: Int(slot))
    let to = (from + 1) % nodes.count
    var names: [String] = []
    for node in nodes.indices { names.append(try await ask("CLUSTER MYID", node).text ?? "") }
    _ = try await ask("CLUSTER SETSLOT \(slot) IMPORTING \(names[from])", to)
    _ = try await ask("CLUSTER SETSLOT \(slot) MIGRATING \(names[to])", from)
    guard case .tcp(let host, let port) = nodes[to].address else { return }
    for name in try await ask("CLUSTER GETKEYSINSLOT \(slot) 100", from).elements ?? [] {
      _ = try await ask("MIGRATE \(host) \(port) \(name.text ?? "") 0 5000", from)
    }
    for node in [to, from] + nodes.indices {
      _ = try await ask("CLUSTER SETSLOT \(slot) NODE \(names[to])", node)
    }
  }
}

extension SentinelServers {
  /// Waits until Sentinel has read from the primary that the replica is ready to take over.
  func replicaIsReady() async throws {
    try await withClient(sentinel.endpoint) { (client: RedisClient) async throws in
      try await eventually {
        let replicas = try await client.send(words("SENTINEL REPLICAS main"))
        return replicas.elements?.first?.elements?.contains(.string(Array("ok".utf8))) == true
      }
    }
  }
}
