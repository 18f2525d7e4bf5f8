// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine

/// The names that the admin port accepts.
///
/// A page in a browser may come from a name that its owner resolves to 127.0.0.1. To the browser, the admin port is
/// then part of that site, and the page can read its responses (DNS rebinding). `Host` contains that name. A client
/// that uses an address needs no name. A port that other machines may reach is addressed by many names, and purging
/// through it needs a token.
struct AdminHosts: Sendable {
  /// The accepted names; `nil` accepts all.
  private let names: Set<String>?

  init(_ configuration: ProxyConfiguration) {
    // No page in a browser reaches a socket of the file system.
    guard case .address(let admin)? = configuration.admin, admin.isLoopback else {
      names = nil
      return
    }
    names = Set((configuration.adminHosts + ["localhost", admin.host]).map { $0.lowercasedASCII })
  }

  enum Verdict {
    case answered
    /// There are several `Host` fields, and other recipients might use another one.
    case ambiguous
    /// RFC 9110 §15.5.20.
    case misdirected
  }

  /// - Parameter hosts: the `Host` fields. Browsers always send one, so a request without it is allowed.
  func judge(_ hosts: [String]) -> Verdict {
    guard hosts.count <= 1 else { return .ambiguous }
    guard let names, let host = hosts.first else { return .answered }
    guard let name = Self.name(of: host) else { return .misdirected }
    return IPAddress(name) != nil || names.contains(name.lowercasedASCII) ? .answered : .misdirected
  }

  /// Returns the host without the port, and an IPv6 address without its brackets; `nil` if something else follows, such as
  /// the rest of a name.
  private static func name(of host: String) -> String? {
    let bytes = host.utf8
    let isBracketed = bytes.first == UInt8(ascii: "[")
    let end = bytes.firstIndex(of: isBracketed ? UInt8(ascii: "]") : UInt8(ascii: ":")) ?? bytes.endIndex
    let name = isBracketed ? bytes[..<end].dropFirst() : bytes[..<end]
    let rest = isBracketed ? bytes[end...].dropFirst() : bytes[end...]
    guard !isBracketed || end < bytes.endIndex,
      rest.isEmpty
        || rest.first == UInt8(ascii: ":") && rest.dropFirst().allSatisfy({ (0x30...0x39).contains($0) })
    else { return nil }
    return String(Substring(name))
  }
}
