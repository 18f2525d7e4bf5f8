// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("The POSIX file system", .timeLimit(.minutes(10)))
struct FileSystemTests {
  let scratch = ScratchDirectory()

  /// So many that entries end where the buffer ends that they are read into: AddressSanitizer then sees what is read
  /// beyond.
  @Test("A directory listing is complete for any number and length of names")
  func list() throws {
    let files = POSIXFileSystem()
    try files.createDirectory(scratch.path, withParents: false)
    let names =
      (0..<2000).map { "body-\($0)" } + (1...255).map { String(repeating: "x", count: $0) } + [
        "ümläut", ".hidden",
      ]
    for name in names { _ = try files.open(scratch.path.appending(name), creating: true) }
    #expect(try files.list(scratch.path).sorted() == names.sorted())
  }

  @Test("A file is opened without waiting only if it can be opened")
  func openAtOnce() throws {
    let files = POSIXFileSystem()
    try files.createDirectory(scratch.path, withParents: false)
    try files.open(scratch.path.appending("a"), creating: true).write([1, 2], at: 0)
    // Not all systems can do it.
    if let file = files.openAtOnce(scratch.path.appending("a")) {
      try file.write([3], at: 1)
      #expect(try file.read(2, at: 0) == [1, 3])
    }
    #expect(files.openAtOnce(scratch.path.appending("b")) == nil)
    #expect(symlink("a", scratch.path.appending("b").string) == 0)
    #expect(files.openAtOnce(scratch.path.appending("b")) == nil)
  }

  @Test("A read that does not wait fills its buffer with the bytes of the file, or does nothing")
  func readAtOnce() throws {
    let files = POSIXFileSystem()
    try files.createDirectory(scratch.path, withParents: false)
    let file = try files.open(scratch.path.appending("a"), creating: true)
    let bytes = pattern(1, 20_000)
    try file.write(bytes, at: 0)
    // Not all file systems can do it.
    if let read = try file.read(5000, at: 10_000, atOnce: true) {
      #expect(read[...] == bytes[10_000..<15_000])
    }
    #expect(try file.read(5000, at: 15_001, atOnce: true) == nil)
    #expect(try file.read(5000, at: 15_001) == nil)
    #expect(try file.read(5000, at: 15_000)?.elementsEqual(bytes[15_000...]) == true)
  }
}
