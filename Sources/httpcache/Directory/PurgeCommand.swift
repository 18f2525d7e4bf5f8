import ArgumentParser
import HTTPCacheEngine
import HTTPCacheStore

/// `httpcache purge`.
struct PurgeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "purge",
    abstract: "Remove from a cache directory what is stored under a URL, a pattern, in a group, or all.",
    discussion: """
      Everything that is found by the URL goes: all variants, in all partitions, and responses to QUERY. What is removed is \
      gone when the command returns, whatever happens then. The directory must not be in use: to purge a running proxy, \
      ask it at its --admin address.

        httpcache purge /var/cache/httpcache --url https://example.com/style.css
        httpcache purge /var/cache/httpcache --glob 'https://example.com/images/*'

      Exit status: 0, also if there was nothing to remove; 64 for a wrong option, 65 for what is no cache directory or of \
      another version, 66 for what cannot be read, 75 for a directory in use.
      """)

  @Argument(help: "The directory.", completion: .directory)
  var directory: String

  @Option(help: "Remove what is stored for this URL.")
  var url: String?

  @Option(help: "Remove what is stored for URLs of this pattern: * is any text, ? a character.")
  var glob: Glob?

  @Option(help: "Remove responses that are in this group (Cache-Groups, RFC 9875), of whatever origin.")
  var group: String?

  @Flag(help: "Remove everything.")
  var all = false

  func validate() throws {
    let given = [url != nil, glob != nil, group != nil, all].count { $0 }
    guard given == 1 else {
      throw ValidationError("Give one of --url, --glob, --group and --all.")
    }
    if let url, StoredRow.target(url) == nil {
      throw ValidationError("--url takes an address such as https://example.com/path, and not '\(url)'.")
    }
  }

  func run() throws {
    print(try output())
  }

  func output() throws -> String {
    let store = try DirectoryInput.store(directory)
    defer {
      store.flush()
      store.close()
    }
    let before = store.usage.diskEntries
    if all {
      store.removeAll()
      return Self.text(before)
    }
    // Ours by now: nobody changes it while we look.
    let inspection = try DirectoryInput.inspection(directory)
    let target = url.flatMap { StoredRow.target($0) }
    var chosen: [(key: StoreKey, variant: VariantID)] = []
    inspection.forEachEntry { entry in
      let key = StoredKey(entry.key)
      let isWanted =
        if let target { key.isOf(target) } else if let glob { glob.matches(key.url) } else {
          StoredResponse(decoding: entry.metadata[...])?.groups.contains(group ?? "") ?? false
        }
      if isWanted { chosen.append((entry.key, entry.variant)) }
    }
    for (key, variant) in chosen { store.remove(key, variant: variant) }
    return Self.text(before - store.usage.diskEntries)
  }

  private static func text(_ count: Int) -> String {
    switch count {
    case 0: "Nothing of that is stored."
    case 1: "1 entry removed."
    default: "\(count) entries removed."
    }
  }
}
