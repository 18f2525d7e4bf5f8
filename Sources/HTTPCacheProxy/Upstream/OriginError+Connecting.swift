// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOPosix
import TransportSecurity

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension OriginError {
  /// Names what failed in an open connection.
  init(_ error: any Error) {
    let failure = error as? TLSFailure
    self.init(
      failure.map { Kind($0.kind) } ?? .connectionTerminated,
      "the connection to the origin failed: \(failure.map { "\($0)" } ?? "\(error)")")
  }

  /// Names what failed when no connection could be made: the name, the way to the origin, the origin, or this process.
  ///
  /// - Parameter time: the time that the attempt had.
  init(connectingTo server: String, within time: Duration, _ error: any Error) {
    let (kind, reason) = Self.failure(error, time)
    self.init(kind, "no connection to \(server)\(reason)", reach: .unsent)
  }

  private static func failure(_ error: any Error, _ time: Duration) -> (Kind, reason: String) {
    if let shortage = DescriptorLimit.shortage(in: error) {
      return (.proxyInternalError, ": \(DescriptorLimit.text(of: shortage))")
    }
    switch error {
    case let error as NIOConnectionError where error.connectionErrors.isEmpty:
      let cause = error.dnsAError ?? error.dnsAAAAError
      return (.dnsError, ": the name cannot be resolved\(cause.map { " (\($0))" } ?? "")")
    case let error as NIOConnectionError:
      // A name often has several addresses. An answer of the host says more than an address that cannot be reached.
      let failures = error.connectionErrors.map { failure($0.error, time) }
      let order: [Kind] = [.connectionRefused, .connectionTimeout, .unroutable]
      for kind in order { if let found = failures.first(where: { $0.0 == kind }) { return found } }
      return failures[0]
    case let error as ChannelError:
      switch error {
      // The deadline for the settings of HTTP/2 may close a channel before it is connected.
      case .connectTimeout, .ioOnClosedChannel: return (.connectionTimeout, " within \(time)")
      default: break
      }
    case let error as IOError:
      switch error.errnoCode {
      case ECONNREFUSED: return (.connectionRefused, ": connection refused")
      case ETIMEDOUT: return (.connectionTimeout, ": it does not answer")
      case EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN:
        return (.unroutable, ": no route to it (\(error))")
      case EADDRNOTAVAIL:
        return (.proxyInternalError, ": the system has no local address or port left for it")
      default: break
      }
    case let error as TLSFailure: return (Kind(error.kind), ": \(error)")
    case let error as OriginError: return (error.kind, ": \(error)")
    default: break
    }
    return (.connectionRefused, ": \(error)")
  }
}

extension OriginError.Kind {
  fileprivate init(_ kind: TLSFailure.Kind) {
    self =
      switch kind {
      case .certificate: .tlsCertificateError
      case .alert: .tlsAlertReceived
      case .negotiation, .ended: .tlsProtocolError
      case .timeout: .connectionTimeout
      case .truncated: .connectionTerminated
      }
  }
}
