// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes
import Loopback
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Many requests of all kinds, a hundred at a time.
enum StressLoad {
  private static let atOnce = 100

  private enum Kind: Int, CaseIterable {
    case fresh, stale, varying, redirecting, redirectingForEver, failing, breaking, slow, large, unstorable
  }

  /// What an origin has: of each kind ten resources, named by kind and number.
  static func answer(_ request: LoopbackOrigin.Request) async -> LoopbackOrigin.Response {
    let parts = request.target.dropFirst().split(separator: "/")
    guard parts.count == 2, let kind = Int(parts[0]).flatMap(Kind.init(rawValue:)) else {
      return .init(status: 404, body: "arrived \(request.target)")
    }
    var fields: HTTPFields = [.cacheControl: "max-age=3600", .eTag: "\"\(parts[1])\""]
    switch kind {
    case .fresh: break
    case .stale: fields[.cacheControl] = "max-age=0"
    case .varying: fields[.vary] = "Accept-Language"
    case .redirecting:
      fields[.location] = "/0/\(parts[1])"
      return .init(status: 302, fields: fields)
    case .redirectingForEver:
      fields[.location] = request.target
      return .init(status: 302, fields: fields)
    case .failing: return .init(status: 500, fields: [:], body: body(kind, String(parts[1])))
    case .breaking:
      return .init(fields: fields, body: body(kind, String(parts[1])), ending: .cut(afterBytes: 2000))
    case .slow:
      // Others get ahead of it. Nothing depends on how many.
      try? await Task.sleep(for: .milliseconds(20))
    case .large: break
    case .unstorable: fields[.cacheControl] = "no-store"
    }
    if kind == .stale, request.fields[.ifNoneMatch] != nil { return .init(status: 304, fields: fields) }
    return .init(
      fields: fields, body: body(kind, String(parts[1]), language: request.fields[.acceptLanguage]),
      isChunked: kind == .slow)
  }

  private static func body(_ kind: Kind, _ name: String, language: String? = nil) -> String {
    let text = "\(kind.rawValue)/\(name)\(kind == .varying ? language ?? "" : "") "
    return String(repeating: text, count: kind == .large ? 10_000 : kind == .breaking ? 2000 : 50)
  }

  /// Makes one of the requests, and says what is wrong with its answer; `nil` if nothing is.
  private static func load(_ number: Int, _ setting: Setting) async -> String? {
    let kind = Kind.allCases[number % Kind.allCases.count]
    let name = "\(number / Kind.allCases.count % 10)"
    let language = ["de", "en", "fr"][number / 7 % 3]
    do {
      let answer = try await setting.load("/\(kind.rawValue)/\(name)", fields: ["Accept-Language": language])
      let expected =
        kind == .redirecting ? body(.fresh, name) : body(kind, name, language: language)
      if kind == .redirectingForEver || kind == .breaking { return "\(kind) \(name): no error" }
      if answer.response.statusCode != (kind == .failing ? 500 : 200) {
        return "\(kind) \(name): \(answer.response)"
      }
      return answer.text == expected
        ? nil : "\(kind) \(name): \(answer.data.count) bytes, \(answer.text.prefix(20))"
    } catch let error as URLError {
      let isExpected =
        kind == .redirectingForEver && error.code == .httpTooManyRedirects
        || kind == .breaking && error.code != .cancelled
      return isExpected ? nil : "\(kind) \(name): \(error)"
    } catch {
      return "\(kind) \(name): \(error)"
    }
  }

  private static func run(_ range: Range<Int>, _ setting: Setting) async -> [String] {
    await withTaskGroup(of: String?.self) { group in
      var problems: [String] = []
      for number in range {
        if number - range.lowerBound >= atOnce, let problem = await group.next() ?? nil {
          problems.append(problem)
        }
        group.addTask { await load(number, setting) }
      }
      for await problem in group { if let problem { problems.append(problem) } }
      return problems
    }
  }

  /// Makes so many requests, and returns what is wrong with their answers, and with the memory of the process if it grew in
  /// the second half of 10,000 requests or more.
  static func run(_ requests: Int, _ setting: Setting) async -> [String] {
    var problems = await run(0..<requests / 2, setting)
    let before = ResidentMemory.now
    problems += await run(requests / 2..<requests, setting)
    // A tenth of what it would take if each request of the second half left its response behind.
    if requests >= 10_000, let before, let after = ResidentMemory.now, after - before >= 16 << 20 {
      problems.append("memory: \(before >> 20) MiB, then \(after >> 20) MiB")
    }
    if setting.cache.store.usage.memoryBytes > 16 << 20 { problems.append("\(setting.cache.store.usage)") }
    return problems
  }
}
