// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheURLSession

@Suite("Files that downloads are written to", .timeLimit(.minutes(10)))
struct FileDestinationTests {
  @Test(
    "A file that cannot be moved to its place is removed, and its descriptor is closed once",
    arguments: [0, 1, 600_000])
  func unmovable(count: Int) async throws {
    let folder = temporaryURL()
    defer { try? FileManager.default.removeItem(at: folder) }
    let place = folder.appendingPathComponent("place")
    try FileManager.default.createDirectory(
      at: place.appendingPathComponent("inner"), withIntermediateDirectories: true)
    for _ in 0..<20 {
      var file = try await FileDestination(place)
      try await file.add([UInt8](repeating: 1, count: count)[...])
      let error = await #expect(throws: URLError.self) { try await file.finish() }
      #expect(error?.code == .cannotMoveFile)
      // The system gives the lowest free number: normally the one that was just closed.
      let next = try FileDescriptor.open("/dev/null", .readOnly, options: .closeOnExec)
      file.discard()
      #expect(throws: Never.self) { try next.close() }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["place"])
    }
  }
}
