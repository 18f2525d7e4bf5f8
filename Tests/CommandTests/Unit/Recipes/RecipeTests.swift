// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import CacheMutex
import Foundation
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import TestSupport
import Testing

@testable import httpcache

@Suite("The recipes, before what the applications send", .timeLimit(.minutes(10)))
struct RecipeTests {
  /// A proxy's cache by a recipe, before an origin whose answers a test may replace.
  private struct Setting {
    let clock = ManualClock(Timestamp(seconds: 1_700_000_000))
    let cache: HTTPCache
    let origin: MemoryOrigin
    let fails = Flag()

    init(_ application: RecipeApplication) throws {
      let file = try ConfigurationFile(
        RecipeTests.recipe(application), options: OptionList(of: ProxyOptions.self))
      var configuration = try ProxyOptions.parse(file.entries.flatMap(\.arguments)).resolved().1
      configuration.cacheRules = try #require(file.rules)
      cache = HTTPCache(
        store: try CacheStore(.init(memoryCapacity: 1 << 20)), configuration: configuration, clock: clock)
      origin = MemoryOrigin { [fails] request, _ in
        fails.isSet ? .ok("failed", [:], status: .serviceUnavailable) : application.response(to: request)
      }
    }

    func send(_ request: HTTPRequest, content: String = "") async throws -> (CachedResponse, text: String) {
      let response = try await cache.respond(
        to: request, body: MessageBody(Array(content.utf8)), transport: origin.transport)
      return (response, try await response.text)
    }
  }

  /// The first example below the heading.
  private static func recipe(_ application: RecipeApplication) throws -> String {
    let page = try Repository.text("Documentation/Operating/\(application.page).md")
    let section = try #require(page.components(separatedBy: application.heading + "\n").dropFirst().first)
    let text = try #require(section.components(separatedBy: "```yaml\n").dropFirst().first)
    return try #require(text.components(separatedBy: "```").first)
  }

  @Test("Each recipe of the page has its application, and each that excludes users one who signs in")
  func isComplete() throws {
    let page = try Repository.text("Documentation/Operating/Rules.md")
    let examples = try #require(
      page.components(separatedBy: "\n## By example\n").last?.components(separatedBy: "\n## ").first)
    let headings = examples.split(separator: "\n").filter { $0.hasPrefix("### ") }.map(String.init)
    #expect(!headings.isEmpty)
    #expect(Set(headings).subtracting(RecipeApplication.all.map(\.heading)) == [])
    for application in RecipeApplication.all {
      let file = try ConfigurationFile(Self.recipe(application), options: OptionList(of: ProxyOptions.self))
      let excludesUsers = try #require(file.rules).rules.contains {
        $0.isBypassed == true && !$0.match.cookies.isEmpty
      }
      #expect(!excludesUsers || application.signIn != nil, "\(application)")
    }
  }

  @Test(
    "In any order of visitors, fresh, stale or from an origin that fails, no visitor gets another's page",
    arguments: RecipeApplication.all)
  func isolation(application: RecipeApplication) async throws {
    for path in application.paths {
      for first in application.visitors.keys {
        let setting = try Setting(application)
        let visitors = [first] + application.visitors.keys.filter { $0 != first }
        func visit(_ directives: String? = nil) async throws {
          for name in visitors {
            let own = application.visitors[name] ?? []
            let (response, text) = try await setting.send(
              HTTPRequest(path: path, own + (directives.map { [("Cache-Control", $0)] } ?? [])))
            if response.source == .generated || text == "failed" { continue }
            #expect(
              text == application.page(for: HTTPRequest(path: path, own)),
              "\(path) for \(name) after \(first)")
            #expect(response.source == .network || response.head.headerFields[.setCookie] == nil)
          }
        }
        try await visit()
        try await visit("only-if-cached, max-stale")
        // Beyond the shortest lifetimes, and the longer ones.
        setting.clock.advance(seconds: 5)
        try await visit()
        setting.clock.advance(seconds: 1000)
        try await visit("max-stale")
        setting.clock.advance(seconds: 1000)
        setting.fails.set()
        try await visit()
      }
    }
  }

  @Test("What is the same for two visitors is requested once", arguments: RecipeApplication.all)
  func sharing(application: RecipeApplication) async throws {
    for (path, first, second) in application.shared {
      let setting = try Setting(application)
      for name in [first, second] {
        let fields = try #require(application.visitors[name])
        _ = try await setting.send(HTTPRequest(path: path, fields))
      }
      #expect(setting.origin.requests.count == 1, "\(path) for \(first) and \(second)")
    }
  }

  @Test("A page that has become stale answers while the origin fails", arguments: RecipeApplication.all)
  func survival(application: RecipeApplication) async throws {
    for (path, name, age) in application.survives {
      let setting = try Setting(application)
      let request = HTTPRequest(path: path, try #require(application.visitors[name]))
      let page = try await setting.send(request).text
      setting.fails.set()
      setting.clock.advance(seconds: age)
      let (response, text) = try await setting.send(request)
      #expect(text == page && response.source == .stale, "\(path): \(response.reason)")
    }
  }

  @Test(
    "A visitor signs in, and sees her own page while others see theirs",
    arguments: RecipeApplication.all.filter { $0.signIn != nil })
  func signingIn(application: RecipeApplication) async throws {
    let signIn = try #require(application.signIn)
    let guests: [RecipeApplication.Field] = []
    let setting = try Setting(application)
    let before = try await setting.send(HTTPRequest(path: signIn.page, guests)).text
    let (answer, _) = try await setting.send(
      HTTPRequest(.post, path: signIn.path, [("Cookie", "before=1")]), content: "name=anna")
    let cookies = answer.head.headerFields[values: .setCookie].map { String($0.prefix { $0 != ";" }) }
    #expect(cookies.contains { $0.hasPrefix(signIn.cookie + "=") }, "\(cookies)")
    #expect(setting.origin.requests.last?.headerFields[.cookie] == "before=1")
    let own: [RecipeApplication.Field] = [("Cookie", cookies.joined(separator: "; "))]
    let value = try #require(
      cookies.first { $0.hasPrefix(signIn.cookie + "=") }?.dropFirst(signIn.cookie.count + 1))
    for _ in 0..<2 {
      let text = try await setting.send(HTTPRequest(path: signIn.page, own)).text
      #expect(text.contains("=\(value)"), "\(text)")
      #expect(try await setting.send(HTTPRequest(path: signIn.page, guests)).text == before)
    }
    #expect(!before.contains("=\(value)"))
  }
}

/// Whether the origin fails.
private final class Flag: Sendable {
  private let value = Mutex(false)
  var isSet: Bool { value.withLock { $0 } }
  func set() { value.withLock { $0 = true } }
}
