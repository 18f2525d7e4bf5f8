// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import HTTPCacheStore
import HTTPCaching
import SystemPackage

/// `httpcache verify`.
struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check every checksum in a cache directory.",
    discussion: """
      Reads all records of the log, dead ones among them, and all large bodies. Nothing is changed. Damage is never served: \
      a cache that opens the directory leaves out what is damaged, and where a removal may have been lost, everything \
      stored before it.

      Exit status: 0 if all is well, 1 if something is damaged, 64 for a wrong option, 65 for what is no cache directory \
      or of another version, 66 for what cannot be read.
      """)

  @Argument(help: "The directory.", completion: .directory)
  var directory: String

  @Flag(help: "Print one JSON document.")
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
    lines += found.leftovers.map { line($0) + "; it goes when the directory is opened" }
    lines.append(
      "\(found.records) records and \(found.bodyFiles) bodies in files of their own, "
        + "\(Brief.bytes(found.bytes)): "
        + (found.isSound
          ? "all as they were written." : "\(found.damages.count) places are not as they were written."))
    if let note = DirectoryInput.note(inspection) { lines.append(note) }
    return (lines.joined(separator: "\n"), found.isSound)
  }
}
