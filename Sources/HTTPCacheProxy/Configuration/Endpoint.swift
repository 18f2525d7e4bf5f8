// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension ProxyConfiguration {
  /// Where the proxy listens.
  public enum Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// A host and a port.
    case address(ProxyConfiguration.Address)
    /// A socket in the file system.
    case unix(ProxyConfiguration.UnixSocket)
    /// The listening sockets with a name that the service manager, such as systemd, has opened and passed to the process
    /// (`LISTEN_FDS`, `LISTEN_FDNAMES`); `nil` for all that no other endpoint names.
    case inherited(String?)

    /// - Parameters:
    ///   - host: a host name or an IP address.
    ///   - port: the port; 0 lets the system choose one.
    public init(host: String, port: Int) { self = .address(.init(host: host, port: port)) }

    /// Reads `127.0.0.1:8080`, `unix:/run/proxy.sock`, `unix:/run/proxy.sock,mode=660,owner=www-data,group=www-data`,
    /// `systemd` or `systemd:web`.
    ///
    /// - Throws: ``ProxyConfiguration/ValidationError`` if the text is invalid.
    public init(parsing text: String) throws {
      if text == "systemd" {
        self = .inherited(nil)
      } else if text.hasPrefix("systemd:") {
        let name = text.dropFirst("systemd:".count)
        guard !name.isEmpty else {
          throw ProxyConfiguration.ValidationError(
            "expected the name of a socket, as in systemd:web, found '\(text)'")
        }
        self = .inherited(String(name))
      } else if text.hasPrefix("unix:") {
        self = .unix(try UnixSocket(parsing: text.dropFirst("unix:".count)))
      } else {
        self = .address(try Address(parsing: text))
      }
    }

    /// The port; `nil` if the endpoint has none, or it is not known before the proxy listens.
    public var port: Int? { if case .address(let address) = self { address.port } else { nil } }

    public var description: String {
      switch self {
      case .address(let address): "\(address)"
      case .unix(let socket): "unix:\(socket.path)"
      case .inherited(let name): "systemd" + (name.map { ":\($0)" } ?? "")
      }
    }

    /// Whether other machines cannot reach it, as far as that can be known before it is open.
    var isLocal: Bool { if case .address(let address) = self { address.isLoopback } else { true } }
  }

  /// A listening socket in the file system, which programs on this machine connect to.
  public struct UnixSocket: Hashable, Sendable {
    /// The path; at most 95 bytes.
    public var path: String
    /// The permissions, such as `0o660`; connecting needs that to write. `nil` for those that the umask leaves (default: `nil`).
    public var mode: UInt16?
    /// The owner, as a name or a number; `nil` for the user of the process (default: `nil`).
    public var owner: String?
    /// The group, as a name or a number; `nil` for that of the process (default: `nil`).
    public var group: String?

    /// - Parameter path: the path of the socket. If a socket is there already that no process listens on, it is replaced.
    public init(path: String) { self.path = path }

    /// Systems have 103 bytes or a few more. The socket is made under a name with eight bytes more, see ``SocketFile``.
    func validate() throws {
      guard path.utf8.count <= 95 else {
        throw ProxyConfiguration.ValidationError("expected a path of at most 95 bytes, found '\(path)'")
      }
    }

    /// Reads a path, and options after commas.
    fileprivate init(parsing text: Substring) throws {
      let parts = text.split(separator: ",", omittingEmptySubsequences: false)
      guard let path = parts.first, !path.isEmpty else {
        throw ProxyConfiguration.ValidationError(
          "expected a path, as in unix:/run/proxy.sock, found 'unix:\(text)'")
      }
      self.init(path: String(path))
      try validate()
      for part in parts.dropFirst() {
        let pair = part.split(separator: "=", maxSplits: 1)
        switch (pair.first, pair.count) {
        case ("mode", 2):
          guard let mode = UInt16(pair[1], radix: 8), mode <= 0o777 else {
            throw ProxyConfiguration.ValidationError(
              "mode: expected permissions such as 660, found '\(pair[1])'")
          }
          self.mode = mode
        case ("owner", 2): owner = String(pair[1])
        case ("group", 2): group = String(pair[1])
        default:
          throw ProxyConfiguration.ValidationError(
            "expected mode=660, owner=NAME or group=NAME after the path, found '\(part)'")
        }
      }
    }
  }
}
