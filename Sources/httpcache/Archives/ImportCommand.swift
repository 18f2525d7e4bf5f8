// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import HTTPCacheTesting
import HTTPCaching

/// `httpcache import`.
struct ImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Put the responses of a HAR file, or of a folder, into a cache.",
    discussion: """
      An app that opens the directory, and asks with the policy returnCacheDataDontLoad, is answered with these responses \
      whatever their age, without any server.

        httpcache import session.har --directory /var/tmp/my-app-cache --fresh-for 86400

      HAR files come from browsers' developer tools; folders from `httpcache record`, or from an editor. Responses are stored \
      by the rules of RFC 9111, as if they had just come: what is no-store is not. --fresh-for stores them against what they \
      say: it is for those who own them.

      Exit status: 0 if something was stored, 1 if nothing was, 64 for a wrong option, 65 for an archive that is not as it \
      should be, 66 for one that cannot be read, 73 if the directory cannot be used.
      """)

  @Argument(help: "A HAR file, or a folder of responses.", completion: .file())
  var path: String

  @Option(help: "The directory of the cache, made if it does not exist.", completion: .directory)
  var directory: String

  @Option(
    help: ArgumentHelp(
      "Store the responses whatever they say of caching, fresh for so long from now on, for whoever asks.",
      valueName: "seconds"))
  var freshFor: Int?

  @Option(help: ArgumentHelp("The most that the cache occupies on disk.", valueName: "size"))
  var disk = ByteSize(bytes: 256 << 20)

  @Option(help: "The partition to store them in.")
  var partition = ""

  @Flag(help: "Say only what was not stored.")
  var quiet = false

  func validate() throws {
    if let freshFor, freshFor < 0 { throw ValidationError("--fresh-for is 0 seconds or more") }
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
    } catch {
      Input.complain("\(directory): \(error)")
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
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
      Input.complain("\(path) cannot be read: there is no such file or folder")
      throw ExitCode(66)  // EX_NOINPUT
    }
    if isDirectory.boolValue { return try ResponseFolder(path).responses() }
    let file = try HARFile(path: path)
    for entry in file.skipped { print("left out    \(entry)") }
    return file.responses
  }
}
