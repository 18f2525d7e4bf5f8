// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The first commands of a connection, sent in one write. Other commands wait for their replies.
struct Greeting: Sendable {
  private enum Step {
    case authenticate(user: String?)
    case select(Int)
    case role
    /// Shows that the server speaks RESP and is ready, and that no password is missing.
    case ping
  }

  private let steps: [Step]
  let commands: [[[UInt8]]]

  init(_ settings: ConnectionSettings) {
    var steps: [Step] = []
    var commands: [[String]] = []
    if let credentials = settings.credentials {
      steps.append(.authenticate(user: credentials.user))
      commands.append(["AUTH"] + [credentials.user, credentials.password].compactMap { $0 })
    }
    if settings.database != 0 {
      steps.append(.select(settings.database))
      commands.append(["SELECT", "\(settings.database)"])
    }
    if settings.requiresPrimary {
      steps.append(.role)
      commands.append(["ROLE"])
    }
    steps.append(.ping)
    commands.append(["PING"])
    self.steps = steps
    self.commands = commands.map { $0.map { Array($0.utf8) } }
  }

  /// Returns why the connection cannot be used, or `nil`.
  ///
  /// - Parameters:
  ///   - replies: the replies, one for each command.
  ///   - server: the server, for the message.
  func fault(in replies: [RedisValue], from server: RedisAddress) -> RedisError? {
    for (step, reply) in zip(steps, replies) {
      if let fault = fault(of: step, reply, server) { return fault }
    }
    return nil
  }

  private func fault(of step: Step, _ reply: RedisValue, _ server: RedisAddress) -> RedisError? {
    switch (step, reply) {
    case (.authenticate(let user), .error):
      // Not the server's sentence: for some errors it repeats the words of the command, with the password.
      let code = reply.errorCode ?? ""
      guard code != "LOADING" else { return RedisError(.unreachable, "\(server) is loading its data") }
      return RedisError(
        .refused,
        """
        \(server) refuses \(user.map { "the user '\($0)'" } ?? "the password") (\(code)); check the user and the \
        password
        """)
    case (.select(let database), .error(let message)):
      return RedisError(.refused, "\(server) refuses database \(database): \(message)")
    case (.role, .array(let elements)):
      guard elements.first?.text != "master" else { return nil }
      return RedisError(.unreachable, "\(server) is not the primary any more")
    case (.role, _): return RedisError(.refused, "\(server) does not tell its role; allow the user ROLE")
    case (.ping, .error(let message)):
      switch reply.errorCode {
      // A user without the right to PING is a user.
      case "NOPERM": return nil
      case "NOAUTH":
        return RedisError(.refused, "\(server) needs a password; set one in the URL")
      default: return RedisError(.unreachable, "\(server) is not ready: \(message)")
      }
    default: return nil
    }
  }
}
