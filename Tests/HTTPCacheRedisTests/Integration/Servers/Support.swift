// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheRedis
import HTTPCaching
import Loopback
import NIOCore
import TestSupport
import Testing

/// The words of a command, divided by spaces.
func words(_ command: String) -> [[UInt8]] { command.split(separator: " ").map { Array($0.utf8) } }

extension Trait where Self == ConditionTrait {
  /// Skips tests visibly where `redis-server` is missing.
  static var needsRedis: ConditionTrait {
    .enabled(if: RedisServer.isInstalled, Comment(rawValue: RedisServer.howToInstall))
  }

  /// Skips tests visibly where certificates cannot be made.
  static var needsCertificates: ConditionTrait {
    .enabled("needs the command openssl, to make certificates") { await Certificate.canBeMade() }
  }
}

extension RedisSharedTier.Configuration {
  /// Without time limits that a busy machine may exceed, and with short pauses.
  static func patient(_ endpoint: RedisEndpoint) -> Self {
    var configuration = Self(endpoint)
    configuration.requestTimeout = .seconds(3600)
    configuration.connectTimeout = .seconds(3600)
    configuration.silenceTimeout = .seconds(3600)
    configuration.minimumPause = .milliseconds(2)
    configuration.maximumPause = .milliseconds(20)
    return configuration
  }
}

/// Runs a function with a client, and closes it.
func withClient<Result>(
  _ endpoint: RedisEndpoint, _ change: (inout RedisSharedTier.Configuration) -> Void = { _ in },
  _ body: (RedisClient) async throws -> Result
) async throws -> Result {
  var configuration = RedisSharedTier.Configuration.patient(endpoint)
  change(&configuration)
  let client = try RedisClient(configuration)
  do {
    let result = try await body(client)
    await client.close()
    return result
  } catch {
    await client.close()
    throw error
  }
}

/// Asks a server until it has the answer; see ``eventually(within:_:)``.
func answered<Answer>(_ ask: () async throws -> Answer?) async throws -> Answer {
  var answer: Answer?
  try await eventually {
    answer = try await ask()
    return answer != nil
  }
  return try #require(answer)
}

/// Repeats a command until it has a reply: after a fault, until the connection is back.
func sendUntilAnswered(_ client: RedisClient, _ command: String, key: String? = nil) async throws
  -> RedisValue
{
  try await answered {
    do {
      return try await client.send(words(command), key: key.map { Array($0.utf8) })
    } catch is RedisError {
      return nil
    }
  }
}

/// Runs a test with a database of its own, on the server that all tests share.
func withDatabase<Result>(
  usesSocket: Bool = false, _ body: (RedisEndpoint) async throws -> Result
) async throws -> Result {
  try await body(try await RedisServer.ownDatabase(usesSocket: usesSocket))
}

/// The code of the error that a function throws; `nil` if it throws none.
func code(_ body: () async throws -> Void) async throws -> RedisError.Code? {
  do {
    try await body()
    return nil
  } catch let error as RedisError {
    return error.code
  }
}

/// Calls that no request waits for: a busy machine must not fail the test.
extension SharedTier {
  func find(_ key: [UInt8]) async throws -> [FoundSharedEntry] { try await find(key, within: .seconds(3600)) }
  func store(_ entry: SharedEntry) async throws -> SharedStoring {
    try await store(entry, within: .seconds(3600))
  }
  func append(_ removal: SharedRemoval) async throws -> SharedLogPosition {
    try await append(removal, within: .seconds(3600))
  }
  func heartbeat(_ node: SharedNode) async throws -> SharedLogHead {
    try await heartbeat(node, within: .seconds(3600))
  }
  func leave(_ node: SharedNode) async throws { try await leave(node, within: .seconds(3600)) }
  func acquire(_ lease: SharedLease) async throws -> Bool { try await acquire(lease, within: .seconds(3600)) }
  func release(_ lease: SharedLease) async throws { try await release(lease, within: .seconds(3600)) }
}
