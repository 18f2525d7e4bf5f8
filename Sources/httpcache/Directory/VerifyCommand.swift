// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCacheStore
import HTTPCaching
import SystemPackage

/// `httpcache verify`.
struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check every checksum in a cache directory.",
    discussion: """
      Reads all records of the log, including dead ones, and all bodies in separate files. It changes nothing. A cache never \
      serves damaged data: when it opens the directory, it drops what is damaged. If a removal may have been lost, it drops \
      everything that was stored before the damage.

      Exit status: 0 if nothing is damaged, 1 if something is, 64 for an invalid option, 65 if it is not a cache directory \
      or has another version, 66 if it cannot be read.
      """)

  @Argument(help: "Cache directory.", completion: .directory)
  var directory: String

  @Flag(help: "Print the result as one JSON document.")
  var json = false

  func run() throws {
    let (text, isSound) = try output()
    print(text)
    if !isSound { throw ExitCode.failure }
  }

  private struct Document: Encodable {
    struct Item: Encodable {
      var file: String
      var offset: Int?
      var what: String
      var url: String?
    }

    var directory: String
    var inUse: Bool
    var records: Int
    var bodyFiles: Int
    var bytes: Int
    var damages: [Item]
    var leftovers: [Item]
  }

  func output() throws -> (text: String, isSound: Bool) {
    let inspection = try DirectoryInput.inspection(directory)
    let found = try DirectoryInput.reporting { () throws(StoreError) in try inspection.verify() }
    guard !json else {
      func items(_ some: [StoreInspection.Damage]) -> [Document.Item] {
        some.map {
          Document.Item(
            file: $0.path.string, offset: $0.offset, what: $0.what, url: $0.key.map { StoredKey($0).url })
        }
      }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      let document = Document(
        directory: directory, inUse: inspection.isInUse, records: found.records, bodyFiles: found.bodyFiles,
        bytes: found.bytes, damages: items(found.damages), leftovers: items(found.leftovers))
      return (String(decoding: try encoder.encode(document), as: UTF8.self), found.isSound)
    }
    func line(_ damage: StoreInspection.Damage) -> String {
      damage.description + (damage.key.map { " (of \(Brief.printable(StoredKey($0).url)))" } ?? "")
    }
    var lines = found.damages.map(line)
    lines += found.leftovers.map { line($0) + "; removed when a cache opens the directory" }
    lines.append(
      "\(found.records) records and \(found.bodyFiles) bodies in separate files, "
        + "\(Brief.bytes(found.bytes)): "
        + (found.isSound
          ? "no damage."
          : "damaged at \(found.damages.count) places. A cache that opens the directory drops them."))
    if let note = DirectoryInput.note(inspection) { lines.append(note) }
    return (lines.joined(separator: "\n"), found.isSound)
  }
}
