// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching

/// `httpcache purge`.
struct PurgeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "purge",
    abstract:
      "Remove stored responses from a cache directory or a shared tier: by URL, by pattern, by tag, or all.",
    usage: "httpcache purge (<directory> | --shared <url>) [<options>]",
    discussion: """
      Purging a URL removes all its variants, in all partitions, and the responses to QUERY requests. When the command \
      returns, the removal is on disk and survives a crash. With --soft, responses become stale instead: they are \
      revalidated before their next use. The directory must not be in use. To purge a running proxy, send the purge to its \
      --admin address.

        httpcache purge /var/cache/httpcache --url https://example.com/style.css
        httpcache purge /var/cache/httpcache --prefix https://example.com/images/ --soft
        httpcache purge /var/cache/httpcache --glob 'https://*.example.com/*.css'

      With --shared, the command purges the shared tier and every proxy that uses it, and waits until all of them have done so \
      (--wait). A URL or pattern then concerns the default partition: to reach those that rules make, send the purge to the \
      --admin address of a proxy.

        httpcache purge --shared redis://cache.internal/0 --url https://example.com/style.css

      Exit status: 0, also if there was nothing to remove, 64 for an invalid option, 69 if the shared tier cannot be reached, \
      75 if not all proxies have confirmed in time. For a directory: 65 if it is not a cache directory or \
      has another version, 66 if it cannot be read, 75 if it is in use.
      """)

  @Argument(help: "Cache directory.", completion: .directory)
  var directory: String?

  @Option(
    help: ArgumentHelp(
      "Redis or Valkey server that proxies share, as in httpcache proxy --shared.", valueName: "url"))
  var shared: String?

  @Option(
    help: ArgumentHelp("Maximum time to wait for all proxies of --shared, in seconds.", valueName: "seconds"))
  var wait = 10.0

  @Option(help: "Purge the responses for this URL; may be repeated.")
  var url: [String] = []

  @Option(
    help:
      "Purge the responses for URLs that match this pattern: * matches any text, ? one byte; may be repeated."
  )
  var glob: [String] = []

  @Option(help: "Purge the responses for URLs with this prefix; may be repeated.")
  var prefix: [String] = []

  @Option(
    name: [.long, .customLong("tag")],
    help:
      "Purge the responses of any origin in this group (Cache-Groups, RFC 9875), or with this tag; may be repeated."
  )
  var group: [String] = []

  @Flag(help: "Purge all responses.")
  var all = false

  @Flag(help: "Mark the responses stale instead of removing them.")
  var soft = false

  func validate() throws {
    let given = [!url.isEmpty || !glob.isEmpty || !prefix.isEmpty, !group.isEmpty, all].count { $0 }
    guard (directory == nil) != (shared == nil) else {
      throw ValidationError("expected a cache directory, or --shared")
    }
    guard wait >= 0, wait <= 3600 else { throw ValidationError("--wait: expected 0 to 3600 seconds") }
    guard given == 1 else {
      throw ValidationError("expected --url, --glob or --prefix, or --group alone, or --all alone")
    }
    for url in url where StoredRow.target(url) == nil {
      throw ValidationError("--url: expected a URL such as https://example.com/path, found '\(url)'")
    }
    if (glob + prefix).contains("") {
      throw ValidationError("--glob and --prefix: expected a text, found nothing")
    }
  }

  func run() async throws {
    if let shared { return try await purge(shared) }
    print(try output())
  }

  private func purge(_ url: String) async throws {
    let tier: any SharedTier
    do {
      tier = try SharedTierURL.tier(url)
    } catch {
      throw ValidationError("\(error)")
    }
    var configuration = HTTPCache.Configuration(kind: .shared, memoryCapacity: 0)
    configuration.sharedTier = HTTPCache.SharedTierOptions(tier)
    let cache = try HTTPCache(configuration)
    let isWide = !group.isEmpty || all
    _ = purge(cache, isWide ? selections : targets.map { .target($0) } + [.patterns(patterns)])
    let reach = await cache.confirmRemovals(within: .seconds(wait))
    await cache.closeSharedTier()
    switch reach {
    case .everywhere:
      print(
        "All proxies of the shared tier have \(soft ? "marked the responses stale" : "removed the responses")."
      )
    case .logged:
      Input.complain(
        "the purge is in the log, but not all proxies have confirmed it within \(wait) s; increase --wait")
      throw ExitCode(75)
    case .here:
      Input.complain("the shared tier cannot be reached; nothing was purged")
      throw ExitCode(69)
    }
  }

  private var targets: [TargetURI] { url.compactMap { StoredRow.target($0) } }
  private var patterns: [TargetPattern] { glob.map { TargetPattern.glob($0) } + prefix.map { .prefix($0) } }

  func output(clock: any CacheClock = SystemCacheClock.shared) throws -> String {
    let store = try DirectoryInput.store(directory ?? "")
    defer {
      store.flush()
      store.close()
    }
    let cache = HTTPCache(store: store, configuration: .init(kind: .shared), clock: clock)
    if !group.isEmpty || all { return text(purge(cache, selections)) }
    // In all partitions, with one pass.
    let (targets, patterns) = (targets, patterns)
    return text(
      cache.sweep(
        { key, _ in
          guard let key = key.map({ StoredKey(StoreKey(Array($0))) }) else { return false }
          return targets.contains { key.isOf($0) } || patterns.contains { key.isMeant(by: $0) }
        }, softly: soft))
  }

  /// What --group or --all selects. A group may be named as in fields.
  private var selections: [HTTPCache.Selection] {
    all ? [.all] : [.groups(inField: group.flatMap { GroupName.possible($0) })]
  }

  private func purge(_ cache: HTTPCache, _ selections: [HTTPCache.Selection]) -> Int {
    selections.reduce(0) { $0 + ((soft ? cache.expire($1) : cache.remove($1)).count ?? 0) }
  }

  private func text(_ count: Int) -> String {
    let entries = count == 1 ? "1 entry" : "\(count) entries"
    return count == 0 ? "Nothing to purge is stored." : "\(entries) \(soft ? "marked stale" : "removed")."
  }
}
