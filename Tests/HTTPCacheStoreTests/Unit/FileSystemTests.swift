// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage
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
}
