// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension ProxyConfiguration {
  /// Where a proxy's access log goes, and what its lines look like.
  ///
  /// ```swift
  /// configuration.accessLog = .init(.file("/var/log/httpcache/access.log"), format: .json)
  /// ```
  public struct AccessLogOptions: Hashable, Sendable {
    /// Where the lines go.
    public enum Destination: Hashable, Sendable {
      case standardOutput
      /// A file that lines are appended to, created if it does not exist; also a named pipe that a process reads.
      case file(String)
    }

    /// The form of a line.
    public enum Format: String, Hashable, Sendable, CaseIterable {
      /// The Common Log Format, followed by what the cache did.
      case common
      /// The Combined Log Format, which is `common` with `Referer` and `User-Agent`, followed by what the cache did.
      case combined
      /// A JSON object with everything.
      case json
    }

    /// Where the lines go.
    public var destination: Destination
    /// The form of a line.
    public var format: Format

    /// - Parameters:
    ///   - destination: where the lines go.
    ///   - format: the form of a line.
    public init(_ destination: Destination, format: Format = .combined) {
      self.destination = destination
      self.format = format
    }
  }
}
