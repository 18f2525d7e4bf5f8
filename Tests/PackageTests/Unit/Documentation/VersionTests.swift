// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import TestSupport
import Testing

@Suite("Versions", .timeLimit(.minutes(10)))
struct VersionTests {
  @Test("The newest version in CHANGELOG.md is that of the package")
  func changelog() throws {
    let changelog = try Repository.text("CHANGELOG.md")
    let newest = try #require(changelog.firstMatch(of: /(?m)^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$/))
    #expect(newest.1 == HTTPCache.version)
  }

  @Test("README.md names the version")
  func readme() throws {
    #expect(try Repository.text("README.md").contains("This is version \(HTTPCache.version):"))
  }

  @Test("CHANGELOG.md begins with a section for unreleased changes")
  func unreleased() throws {
    let headings = try Repository.text("CHANGELOG.md").split(separator: "\n").filter { $0.hasPrefix("## ") }
    #expect(headings.first == "## [Unreleased]")
  }

  @Test("README.md and Documentation/Versions.md name the manifest's version of Swift")
  func swift() throws {
    let manifest = try Repository.text("Package.swift")
    let version = try #require(manifest.prefixMatch(of: /\/\/ swift-tools-version: (\d+\.\d+)\n/)).1
    #expect(try Repository.text("README.md").contains("Swift \(version)"))
    #expect(try Repository.text("Documentation/Versions.md").contains("| Swift | \(version) |"))
  }
}
