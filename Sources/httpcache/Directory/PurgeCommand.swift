// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching

/// `httpcache purge`.
struct PurgeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "purge",
    abstract: "Remove from a cache directory what is stored under URLs, patterns, in a group, or all.",
    discussion: """
      Everything that is found by a URL goes: all variants, in all partitions, and responses to QUERY. What is removed is \
      gone when the command returns, whatever happens then. With --soft, it becomes stale instead: it is validated before \
      its next use. The directory must not be in use: to purge a running proxy, ask it at its --admin address.

        httpcache purge /var/cache/httpcache --url https://example.com/style.css
        httpcache purge /var/cache/httpcache --prefix https://example.com/images/ --soft
        httpcache purge /var/cache/httpcache --glob 'https://*.example.com/*.css'

      Exit status: 0, also if there was nothing to remove; 64 for a wrong option, 65 for what is no cache directory or of \
      another version, 66 for what cannot be read, 75 for a directory in use.
      """)

  @Argument(help: "The directory.", completion: .directory)
  var directory: String

  @Option(help: "Purge what is stored for this URL; can be repeated.")
  var url: [String] = []

  @Option(help: "Purge what is stored for URLs of this pattern: * is any text, ? a byte; can be repeated.")
  var glob: [String] = []

  @Option(help: "Purge what is stored for URLs that begin so; can be repeated.")
  var prefix: [String] = []

  @Option(help: "Purge responses that are in this group (Cache-Groups, RFC 9875), of whatever origin.")
  var group: String?

  @Flag(help: "Purge everything.")
  var all = false

  @Flag(help: "Make it stale, and do not remove it.")
  var soft = false

  func validate() throws {
    let given = [!url.isEmpty || !glob.isEmpty || !prefix.isEmpty, group != nil, all].count { $0 }
    guard given == 1 else {
      throw ValidationError("Give --url, --glob and --prefix, or one of --group and --all.")
    }
    for url in url where StoredRow.target(url) == nil {
      throw ValidationError("--url takes an address such as https://example.com/path, and not '\(url)'.")
    }
    if (glob + prefix).contains("") { throw ValidationError("--glob and --prefix take a text.") }
  }

  func run() throws {
    print(try output())
  }

  func output(clock: any CacheClock = SystemCacheClock.shared) throws -> String {
    let store = try DirectoryInput.store(directory)
    defer {
      store.flush()
      store.close()
    }
    let cache = HTTPCache(store: store, configuration: .init(kind: .shared), clock: clock)
    return text(purge(cache))
  }

  private func purge(_ cache: HTTPCache) -> Int {
    if let group { return cache.purge(.groupOfAnyOrigin(group), softly: soft) }
    if all { return soft ? cache.expireAllResponses() : cache.removeAllResponses() }
    let targets = url.compactMap { StoredRow.target($0) }
    let patterns = glob.map { TargetPattern.glob($0) } + prefix.map { .prefix($0) }
    return cache.purge(
      .keys { key in
        targets.contains { key.isOf($0) } || patterns.contains { key.isMeant(by: $0) }
      }, softly: soft)
  }

  private func text(_ count: Int) -> String {
    let entries = count == 1 ? "1 entry" : "\(count) entries"
    return count == 0 ? "Nothing of that is stored." : "\(entries) \(soft ? "marked stale" : "removed")."
  }
}
