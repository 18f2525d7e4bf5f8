// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Why a call of the tier failed, or why a tier cannot be made.
public struct RedisError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of fault it is.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String {
      case invalidEndpoint, invalidConfiguration, invalidCommand, unreachable, refused, timedOut,
        connectionLost
      case overloaded, protocolViolation, commandFailed, closed
    }

    private let kind: Kind

    private init(_ kind: Kind) { self.kind = kind }

    /// A URL or an option that cannot be used.
    public static let invalidEndpoint = Code(.invalidEndpoint)
    /// A certificate or a key that cannot be used.
    public static let invalidConfiguration = Code(.invalidConfiguration)
    /// A command without words.
    package static let invalidCommand = Code(.invalidCommand)
    /// There is no connection to the server. The command was not sent.
    public static let unreachable = Code(.unreachable)
    /// The server refuses the user or the database. The command was not sent.
    public static let refused = Code(.refused)
    /// There was no reply within the time limit. The server may have executed the command.
    public static let timedOut = Code(.timedOut)
    /// The connection ended before the reply. The server may have executed the command.
    public static let connectionLost = Code(.connectionLost)
    /// Too much is waiting for the server already. The command was not sent.
    public static let overloaded = Code(.overloaded)
    /// The server sent what is not valid RESP, or more than the limit. The server may have executed the command.
    public static let protocolViolation = Code(.protocolViolation)
    /// The server answered a command with an error, or with something else than the command returns.
    public static let commandFailed = Code(.commandFailed)
    /// The tier was closed.
    public static let closed = Code(.closed)

    public var description: String { kind.rawValue }
  }

  /// What kind of fault it is.
  public var code: Code
  /// What happened, to what, and what to do. It contains no password.
  public var message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }
}
