// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension CachingProxy {
  /// Why a ``CachingProxy`` cannot listen where its configuration says.
  public struct ListenError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The purpose of the address.
    package enum Purpose: Hashable, Sendable {
      /// ``ProxyConfiguration/listen``.
      case clients
      /// ``ProxyConfiguration/admin``.
      case administrators
      /// ``ProxyConfiguration/redirect``.
      case redirects
      /// ``ProxyConfiguration/handover``.
      case successors
    }

    /// What could not be opened.
    public let endpoint: ProxyConfiguration.Endpoint
    /// The purpose of the address.
    package let purpose: Purpose
    /// What happened, and what to do: `address already in use; …`.
    package let reason: String

    init(_ endpoint: ProxyConfiguration.Endpoint, _ purpose: Purpose, _ error: any Error) {
      self.endpoint = endpoint
      self.purpose = purpose
      switch error {
      case let error as IOError:
        switch error.errnoCode {
        case EADDRINUSE:
          reason =
            endpoint.isSocketFile
            ? "another process listens on it; stop that, or choose another path"
            : "address already in use; stop the program that uses it, or choose another port"
        case EACCES, EPERM:
          reason =
            endpoint.isSocketFile
            ? "permission denied; the process must be able to write in the folder"
            : "permission denied; ports below 1024 need a privilege, so choose a higher one"
        case ENOENT where endpoint.isSocketFile:
          reason = "the folder does not exist; make it, or choose another path"
        case EADDRNOTAVAIL: reason = "no interface of this machine has the address; choose another one"
        default: reason = "\(error)"
        }
      case is SocketAddressError, is SocketAddressError.UnknownHost:
        reason = "host not found; check the name, or write the address in digits"
      default: reason = "\(error)"
      }
    }

    public var description: String { "cannot listen on \(endpoint): \(reason)" }
  }
}

extension ProxyConfiguration.Endpoint {
  fileprivate var isSocketFile: Bool { if case .unix = self { true } else { false } }
}
