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

  @Test("On Apple platforms, no subclass of NSObject has a mutex or an atomic as an instance variable")
  func instanceVariables() throws {
    var found: [String] = []
    for folder in ["HTTPCacheURLSession", "HTTPCacheTesting"] {
      let sources = Repository.root.appendingPathComponent("Sources/\(folder)")
      let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
      while let file = files?.nextObject() as? URL {
        guard file.pathExtension == "swift" else { continue }
        let text = try String(contentsOf: file, encoding: .utf8)
        // Files that Apple platforms do not compile.
        if text.contains(/\n#if canImport\(FoundationNetworking\)\n  import (?!FoundationNetworking\n#endif)/)
        {
          continue
        }
        // Each class to the brace that ends it.
        for match in text.matches(
          of: /\n( *)[a-z ]*class (\w+)(?:<\w+>)?: \w*(?:NSObject|URLProtocol|URLCache)\b(?s:.*?)\n\1\}/)
        where match.output.0.contains(/= (Mutex|Atomic)\(|: (Mutex|Atomic)</) {
          found.append(String(match.output.2))
        }
      }
    }
    #expect(found == [])
  }
}
