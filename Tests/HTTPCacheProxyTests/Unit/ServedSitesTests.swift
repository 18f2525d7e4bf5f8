// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOEmbedded
import Testing

@testable import HTTPCacheProxy

@Suite("The sites that a proxy serves", .timeLimit(.minutes(10)))
struct ServedSitesTests {
  private static func sites(_ names: [String], areChecked: Bool = true) -> [ProxyConfiguration.Site] {
    names.map { name in
      var origin = ProxyConfiguration.Origin(host: "127.0.0.1", port: 9)
      if areChecked { origin.checkPath = "/" }
      return ProxyConfiguration.Site(name: name, hosts: ["\(name).example"], origin: origin)
    }
  }

  /// Refers to a site without keeping it.
  private struct Weak {
    weak var site: ServedSite?
  }

  @Test("A site that stays keeps its counts, and one that goes is released")
  func changes() throws {
    try inOneThread {
      let loop = EmbeddedEventLoop()
      let context = try ProxyContext.embedded(on: loop) { $0.sites = Self.sites(["stays", "first"]) }
      let stays = try #require(context.sites.table.sites.first)
      stays.statistics.answered(.hit, 200)
      var gone: [Weak] = []
      for number in 0..<100 {
        gone.append(Weak(site: context.sites.table.sites.last))
        var configuration = context.settings.value
        configuration.sites = Self.sites(["stays", "other\(number)"])
        try context.settings.update(configuration)
      }
      #expect(context.sites.table.sites.first === stays)
      #expect(Figures(stays.statistics).requests(.hit) == 1)
      context.sites.look()
      #expect(gone.allSatisfy { $0.site == nil })
    }
  }

  @Test("Sites that come after the end are not served")
  func closed() async throws {
    let loop = EmbeddedEventLoop()
    // Without checks, no thread but this one has anything to do with the loop.
    let context = try ProxyContext.embedded(on: loop) { $0.sites = Self.sites(["one"], areChecked: false) }
    await context.sites.close()
    var configuration = context.settings.value
    configuration.sites = Self.sites(["two"], areChecked: false)
    try context.settings.update(configuration)
    #expect(context.sites.table.sites.map(\.name) == ["one"])
  }

  @Test("What counts for no site has no name, unless the only site has none either")
  func unassigned() throws {
    try inOneThread {
      let loop = EmbeddedEventLoop()
      let context = try ProxyContext.embedded(on: loop)
      #expect(context.sites.table.unassigned === context.sites.table.sites.first)
      #expect(context.sites.table.counted.count == 1)
      var configuration = context.settings.value
      configuration.sites = Self.sites(["one"])
      try context.settings.update(configuration)
      #expect(context.sites.table.unassigned !== context.sites.table.sites.first)
      #expect(context.sites.table.counted.map(\.name) == ["one", ""])
    }
  }
}
