// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser

/// All programs that the tests and the Makefile start, as commands of one program.
@main
struct TestTool: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "TestTool",
    abstract: "Run what tests start, and write what the commands and the API look like.",
    subcommands: [
      Soak.self, FleetDriver.self, CrashChild.self, MemoryChild.self, LoadURLs.self, WriteDigest.self,
      WriteOptions.self,
    ])
}
