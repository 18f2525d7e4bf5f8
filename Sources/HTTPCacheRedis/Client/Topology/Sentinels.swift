// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// The processes of Sentinel, which know the address of the primary.
struct Sentinels: Sendable {
  private let addresses: [RedisAddress]
  private let name: String
  private let settings: ConnectionSettings
  private let group: any EventLoopGroup
  private let timeout: Duration

  init(_ configuration: RedisSharedTier.Configuration, _ settings: ConnectionSettings, name: String) {
    addresses = configuration.endpoint.addresses
    self.name = name
    self.settings = {
      var settings = settings
      settings.credentials = configuration.endpoint.sentinelCredentials
      settings.database = 0
      settings.requiresPrimary = false
      return settings
    }()
    group = configuration.eventLoopGroup
    timeout = configuration.connectTimeout
  }

  /// Asks one Sentinel after another, beginning with a random one, for the address of the primary.
  func primary() async throws(RedisError) -> RedisAddress {
    var reason = ""
    for address in addresses.shuffled() {
      do {
        return try await primary(from: address)
      } catch {
        reason = "\(error)"
      }
    }
    throw RedisError(.unreachable, "no Sentinel knows the primary '\(name)': \(reason)")
  }

  private func primary(from address: RedisAddress) async throws -> RedisAddress {
    let connection = RedisConnection(on: group.next(), settings)
    connection.open { () throws(RedisError) in address }
    defer { connection.end(.clientClosed) }
    let command = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name].map { Array($0.utf8) }
    let reply = try await connection.send(command, timeout: timeout)
    guard let parts = reply.elements, parts.count == 2, let host = parts[0].text, !host.isEmpty,
      let port = parts[1].integer.flatMap({ UInt16(exactly: $0) })
    else {
      throw RedisError(.unreachable, "\(address) does not know '\(name)'; check the name")
    }
    return .tcp(host: host, port: Int(port))
  }
}
