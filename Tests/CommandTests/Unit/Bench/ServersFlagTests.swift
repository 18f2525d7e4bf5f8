// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import Testing

@testable import CacheBenchServers

@Suite(.timeLimit(.minutes(10))) struct ServersFlagTests {
  @Test(arguments: [
    "proxy sing", "proxy --seconds 0", "proxy --seconds 0.5", "proxy --rounds 0", "proxy --threads 0",
    "proxy --connections 0", "proxy --connections 9001", "proxy --connections 2 --threads 3",
    "proxy --httpcache", "proxy --httpcache =a", "proxy --httpcache a --httpcache b",
    "proxy --httpcache x=a --httpcache x=b", "report", "report --output", "--nonsense", "nonsense",
    "workload",
    "shared --requests 0", "shared --value-size 0", "shared --value-size 262145", "shared --concurrency 0",
    "fleet --proxies 1", "fleet --urls 0", "fleet --requests 0", "fleet --removals 0",
    "fleet --origin-delay=-1",
    "fleet --shared-trust 0", "fleet --case sing", "fleet --httpcache a=b", "fleet --seconds 0",
    "waiting --only sing", "waiting --delay 9", "waiting --delay 1501", "waiting --threads 0",
    "waiting --httpcache a --httpcache b",
    "targets --no-body", "targets --disk --keys 1000001", "targets --disk --trace t", "targets --threads 1",
    "targets --keys=-5", "targets --value-size 0", "targets --disk --capacity 1", "targets --rounds 0",
    "baseline", "baseline get", "baseline --against", "baseline --against =a",
    "baseline --against a --rounds 0",
    "databases churn", "databases --beside oracle", "databases --keys 0", "databases --value-size 0",
    "databases --seconds 0",
  ])
  func `a bad flag is a usage error`(line: String) {
    #expect(refusal(of: line, CacheBenchServers.self) == 64)
  }

  @Test(arguments: [
    "proxy", "proxy hit hit-large connections many miss zipf --seconds 1 --threads 2 --connections 64 --disk",
    "proxy hit-megabyte not-modified range pass revalidate disk",
    "proxy --httpcache a --httpcache old=b --httpcache older=c --json",
    "shared --requests 5 --value-size 1 --value-size 262144 --concurrency 1 --tcp --json",
    "fleet",
    "fleet --proxies 2 --urls 5 --requests 9 --removals 1 --origin-delay 0 --shared-trust 60 --case hit",
    "fleet --case hit --case zipf --httpcache a --seconds 1 --rounds 1 --threads 2 --seed 3 --json",
    "waiting", "waiting --only no-store hang --delay 50 --threads 1 --httpcache a --httpcache old=b --json",
    "report a.json b.json -o r.html",
    "targets --trace t --keys 9 --threads 2 --json", "targets --disk --capacity 9000000 --cache-bench a",
    "baseline --against a",
    "baseline get mixed --keys 10 --shards 4 --against b=a --rounds 3 --no-body --json",
    "databases put get --beside raw --keys 10 --value-size 100 --value-size 200 --json",
  ])
  func `valid flags are accepted`(line: String) throws {
    _ = try CacheBenchServers.parseAsRoot(line.split(separator: " ").map(String.init))
  }

  @Test func `the baseline passes other words on to workload`() throws {
    let command = try BaselineCommand.parse(
      ["get", "--against", "old=a", "--keys", "10", "--rounds", "3", "--no-body"])
    #expect(command.words == ["get", "--keys", "10", "--no-body"])
    #expect(command.round.rounds == 3 && command.against == .init(label: "old", path: "a"))
  }
}
