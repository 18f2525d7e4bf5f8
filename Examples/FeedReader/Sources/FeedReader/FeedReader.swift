// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// Loads a feed and its articles through a session with a cache, and says of each request where the answer came from.
struct FeedReader {
  private let session: URLSession

  init(cache: HTTPCache, isOffline: Bool) {
    // The two lines: a cache, and a configuration that uses it.
    let configuration = URLSessionConfiguration.caching(with: cache, base: .ephemeral)
    // And a third for --offline: what is stored, whatever its age, and never the network.
    if isOffline { configuration.requestCachePolicy = .returnCacheDataDontLoad }
    session = URLSession(configuration: configuration)
  }

  /// Prints a feed, with the first line of each article.
  func show(_ address: String) async throws {
    guard let url = URL(string: address) else { throw URLError(.badURL) }
    let feed = FeedParser(try await load(url))
    print("# \(feed.title)")
    for item in feed.items.prefix(10) {
      guard let link = URL(string: item.link, relativeTo: url) else { continue }
      do {
        let text = String(decoding: try await load(link.absoluteURL), as: UTF8.self)
        print("  \(item.title): \(text.prefix { $0 != "\n" }.prefix(60))")
      } catch let error as URLError {
        print(
          "  \(item.title): not available (\(error.code == .resourceUnavailable ? "not stored" : error.localizedDescription))"
        )
      }
    }
  }

  private func load(_ url: URL) async throws -> Data {
    let (data, response) = try await session.data(from: url)
    guard let response = response as? HTTPURLResponse, response.statusCode == 200 else {
      throw URLError(.badServerResponse)
    }
    if let status = response.cacheStatus {
      let age = status.age.map { "\($0.components.seconds) s old" } ?? "new"
      let lifetime = status.timeToLive?.components.seconds
      let fresh = lifetime.map { $0 > 0 ? "fresh for \($0) s" : "stale for \(-$0) s" } ?? ""
      print(
        pad(status.source.rawValue, 10), pad(age, 9), pad(fresh, 16), pad(response.url?.path ?? "", 14),
        status.reason.map { "\($0)" } ?? "")
    }
    return data
  }

  private func pad(_ text: String, _ width: Int) -> String {
    text.padding(toLength: max(width, text.count), withPad: " ", startingAt: 0)
  }
}

/// Titles and links of an RSS feed.
private final class FeedParser: NSObject, XMLParserDelegate {
  private(set) var title = ""
  private(set) var items: [(title: String, link: String)] = []
  private var text = ""

  init(_ data: Data) {
    super.init()
    let parser = XMLParser(data: data)
    parser.delegate = self
    _ = parser.parse()
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String] = [:]
  ) {
    text = ""
    if name == "item" { items.append(("", "")) }
  }

  func parser(_ parser: XMLParser, foundCharacters characters: String) { text += characters }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) {
    let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
    switch (name, items.indices.last) {
    case ("title", nil): title = text
    case ("title", let last?): items[last].title = text
    case ("link", let last?): items[last].link = text
    default: break
    }
  }
}
