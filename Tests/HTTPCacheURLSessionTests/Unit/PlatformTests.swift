// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import TestSupport
import Testing

@Suite("What differs between platforms", .timeLimit(.minutes(10)))
struct PlatformTests {
  /// Returns the members of a file without their values and bodies.
  private func members(_ name: String) throws -> [String] {
    let text = try Repository.text("Sources/HTTPCacheURLSession/Platform/\(name)")
    // A signature may be wrapped.
    let flat = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return flat.matches(of: #/static let \w+|(?:static )?func \w+\([^{]*?\)(?: -> [^{]+?)?(?= \{)/#).map {
      String($0.output)
    }
  }

  @Test("Both platforms have the same members")
  func sameMembers() throws {
    let linux = try members("Platform+Linux.swift")
    #expect(linux.count > 10)
    #expect(try members("Platform+Darwin.swift") == linux)
  }

  @Test("Outside the folder, the platform decides about imports only")
  func conditionsInOneFolder() throws {
    let sources = Repository.root.appendingPathComponent("Sources/HTTPCacheURLSession")
    var found: [String] = []
    for file in try FileManager.default.contentsOfDirectory(at: sources, includingPropertiesForKeys: nil)
    where file.pathExtension == "swift" {
      let text = try String(contentsOf: file, encoding: .utf8)
      let conditions = text.matches(of: #/#(if|elseif) (canImport|os)/#).count
      let imports =
        text.components(
          separatedBy: "#if canImport(FoundationNetworking)\n  import FoundationNetworking\n#endif"
        ).count - 1
      if conditions != imports { found.append(file.lastPathComponent) }
    }
    #expect(found == [])
  }
}
