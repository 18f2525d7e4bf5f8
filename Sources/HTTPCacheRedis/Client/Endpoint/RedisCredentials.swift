// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A user of the server's access control list (ACL), and a password. Descriptions do not contain the password.
public struct RedisCredentials: Hashable, Sendable {
  /// The user; `nil` for the default user.
  public var user: String?
  /// The password.
  public var password: String

  /// Makes credentials.
  ///
  /// - Parameters:
  ///   - user: the user; `nil` for the default user.
  ///   - password: the password.
  public init(user: String? = nil, password: String) {
    self.user = user
    self.password = password
  }
}

extension RedisCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The name of the user, without the password.
  public var description: String { user ?? "default" }
  /// The same: the password appears in no log.
  public var debugDescription: String { description }
  /// The name of the user as the only child.
  public var customMirror: Mirror { Mirror(self, children: ["user": description]) }
}
