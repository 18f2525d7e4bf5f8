// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A user of the server's access control list (ACL), and a password. Descriptions do not contain the password.
package struct RedisCredentials: Hashable, Sendable {
  /// The user; `nil` for the default user.
  package var user: String?
  /// The password.
  package var password: String

  package init(user: String? = nil, password: String) {
    self.user = user
    self.password = password
  }
}

extension RedisCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The name of the user, without the password.
  package var description: String { user ?? "default" }
  /// The same: the password appears in no log.
  package var debugDescription: String { description }
  /// The name of the user as the only child.
  package var customMirror: Mirror { Mirror(self, children: ["user": description]) }
}
