// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension ProxyConfiguration {
  /// The destination and the line format of a proxy's access log.
  ///
  /// ```swift
  /// configuration.accessLog = .init(.file("/var/log/httpcache/access.log"), format: .json)
  /// ```
  public struct AccessLogOptions: Hashable, Sendable {
    /// Where the lines go.
    public enum Destination: Hashable, Sendable {
      /// The standard output of the process.
      case standardOutput
      /// A file to append lines to, created if it is missing; or a named pipe that a process reads.
      case file(String)
    }

    /// The format of a line.
    public enum Format: String, Hashable, Sendable, CaseIterable {
      /// The Common Log Format, followed by the result of the cache.
      case common
      /// The Combined Log Format, which is `common` with `Referer` and `User-Agent`, followed by the result of the
      /// cache.
      case combined
      /// A JSON object with all data.
      case json
    }

    /// Where the lines go.
    public var destination: Destination
    /// The format of a line.
    public var format: Format

    /// - Parameters:
    ///   - destination: where the lines go.
    ///   - format: the format of a line (default: `combined`).
    public init(_ destination: Destination, format: Format = .combined) {
      self.destination = destination
      self.format = format
    }
  }
}
