// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCacheArchives
import HTTPCacheStore
import HTTPCaching

/// `httpcache import`.
struct ImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Store the responses of a HAR file or a folder in a cache.",
    discussion: """
      An app that opens the directory and uses the policy returnCacheDataDontLoad gets these responses, whatever their age. \
      It needs no server.

        httpcache import session.har --directory /var/tmp/my-app-cache --fresh-for 86400

      HAR files come from the developer tools of browsers, folders from `httpcache record` or an editor. Responses are stored \
      according to RFC 9111, as if they had just arrived: a response with no-store is not stored. --fresh-for overrides what \
      the responses say about caching. Use it only for responses that you may keep.

      Exit status: 0 if at least one response was stored, 1 if none was, 64 for an invalid option, 65 for an invalid archive, \
      66 for an archive that does not exist, 73 if the directory cannot be used.
      """)

  @Argument(help: "HAR file, or folder of responses.", completion: .file())
  var path: String

  @Option(help: "Cache directory; created if it does not exist.", completion: .directory)
  var directory: String

  @Option(
    help: ArgumentHelp(
      "Store all responses, whatever they say about caching, and keep them fresh for this time, in seconds.",
      valueName: "seconds"))
  var freshFor: Int?

  @Option(help: ArgumentHelp("Maximum bytes of the cache on disk.", valueName: "size"))
  var disk = ByteSize(bytes: 256 << 20)

  @Option(help: "Partition to store the responses in (default: the partition without a name).")
  var partition = ""

  @Flag(help: "Print only the responses that were not stored.")
  var quiet = false

  func validate() throws {
    if let freshFor, freshFor < 0 {
      throw ValidationError("--fresh-for: expected 0 or more seconds, found \(freshFor)")
    }
  }

  func run() async throws {
    let archive: [ArchivedResponse]
    do {
      archive = try responses()
    } catch let error as ArchiveError {
      Input.complain("\(error)")
      throw ExitCode(65)  // EX_DATAERR of sysexits.h
    }
    let cache: HTTPCache
    do {
      cache = try HTTPCache(.init(diskCapacity: disk.bytes, directory: FilePath(directory)))
    } catch let error as StoreError {
      Input.complain(DirectoryInput.text(of: error, isServed: true))
      throw ExitCode(73)  // EX_CANTCREAT
    }
    defer { cache.close() }
    let report: ImportReport
    do {
      report = try await cache.store(
        archive, freshFor: freshFor.map { .seconds($0) }, partition: partition)
    } catch let error as ArchiveError {
      Input.complain("\(error)")
      throw ExitCode(65)
    }
    cache.flush()
    if !quiet { for url in report.stored { print("stored      \(url)") } }
    for response in report.notStored { print("not stored  \(response.url): \(response.reason)") }
    if !quiet { print("\(report.stored.count) stored, \(report.notStored.count) not stored") }
    if report.stored.isEmpty { throw ExitCode.failure }
  }

  private func responses() throws -> [ArchivedResponse] {
    let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    guard let attributes = try? FileManager.default.attributesOfItem(atPath: target) else {
      Input.complain("cannot read \(path): no such file or folder; check the path")
      throw ExitCode(66)  // EX_NOINPUT
    }
    if attributes[.type] as? FileAttributeType == .typeDirectory {
      return try ResponseFolder(path).responses()
    }
    let file = try HARFile(path: path)
    for entry in file.skipped { print("skipped     \(entry)") }
    return file.responses
  }
}
