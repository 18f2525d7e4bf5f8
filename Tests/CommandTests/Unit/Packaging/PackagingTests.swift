// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import TestSupport
import Testing

@testable import httpcache

@Suite("The files of the package", .timeLimit(.minutes(10)))
struct PackagingTests {
  private static let configuration = (try? Repository.text("Packaging/proxy.yaml")) ?? ""
  private static let unit = (try? Repository.text("Packaging/httpcache.service")) ?? ""
  private static let page = "Documentation/Operating/Installing.md"

  /// The configuration with the lines that are only to be switched on, in the place of others with their names.
  private static var withTLS: String {
    let lines = configuration.split(separator: "\n", omittingEmptySubsequences: false)
    let more = lines.filter { $0.hasPrefix("# ") && $0.contains(": /") || $0.hasPrefix("# listen: ") }
    let kept = lines.filter { !$0.hasPrefix("listen: ") && !$0.hasPrefix("#") }
    return (kept + more.filter { !$0.hasPrefix("# httpcache:") }.map { $0.dropFirst(2) }).joined(
      separator: "\n")
  }

  @Test(
    "Its configuration is valid, also with TLS, and so are those of the page",
    arguments: [configuration, withTLS] + RulesCommandTests.examples(of: page).prefix(1))
  func configurations(text: String) throws {
    let file = try ConfigurationFile(text, options: OptionList(of: ProxyOptions.self))
    let names = Set(file.entries.map(\.option))
    #expect(
      names.isSuperset(of: ["origin", "listen", "admin", "directory", "disk", "access-log"]), "\(names)")
  }

  @Test("The service has the times, the limits and the exit statuses of the command")
  func service() throws {
    func value(_ name: String) -> String? {
      Self.unit.split(separator: "\n").first { $0.hasPrefix("\(name)=") }.map {
        String($0.dropFirst(name.count + 1))
      }
    }
    let configuration = ProxyConfiguration(
      listen: ProxyConfiguration.Address(host: "127.0.0.1", port: 0),
      origin: ProxyConfiguration.Address(host: "127.0.0.1", port: 80))
    #expect(value("TimeoutStopSec") == "\(configuration.timeouts.drain.components.seconds + 1)")
    #expect(Int(value("LimitNOFILE") ?? "") ?? 0 >= 2 * configuration.limits.connections + 128)
    #expect(value("RestartPreventExitStatus") == "64 66 78")
    #expect(value("ExecStart") == "/usr/bin/httpcache proxy --config /etc/httpcache/proxy.yaml")
    #expect(Self.configuration.contains("directory: /var/cache/\(value("CacheDirectory") ?? "-")\n"))
    #expect(Self.configuration.contains("access-log: /var/log/\(value("LogsDirectory") ?? "-")/access.log\n"))
  }

  @Test("The recipe for the rotation of the log is the file of the package")
  func rotation() throws {
    let file = try Repository.text("Packaging/logrotate")
    #expect(try Repository.text("Documentation/Operating/Recipes.md").contains(file))
    #expect(file.hasPrefix("/var/log/httpcache/access.log {\n"))
  }
}
