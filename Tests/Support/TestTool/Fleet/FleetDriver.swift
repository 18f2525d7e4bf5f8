// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser

/// Kills, stops and cuts off proxies with a shared tier, and their Redis, and checks that no proxy serves what was removed.
///
/// ```
/// TestTool fleet --rounds 200
/// TestTool fleet --rounds 20 --deaf     # must fail: the proxies do not follow the log
/// ```
struct FleetDriver: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fleet", abstract: "Check a fleet of proxies with a shared tier on Redis under faults.",
    subcommands: [DriverRole.self, NodeRole.self], defaultSubcommand: DriverRole.self)
}
