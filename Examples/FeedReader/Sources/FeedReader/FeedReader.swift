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
  /// The same cache, with what a `URLSession` cannot do.
  private let cacheSession: HTTPCacheSession

  init(cache: HTTPCache, isOffline: Bool) {
    // The two lines: a cache, and a configuration that uses it.
    let configuration = URLSessionConfiguration.caching(with: cache, base: .ephemeral)
    // And a third for --offline: what is stored, whatever its age, and never the network.
    if isOffline { configuration.requestCachePolicy = .returnCacheDataDontLoad }
    session = URLSession(configuration: configuration)
    cacheSession = HTTPCacheSession(cache: cache, configuration: .ephemeral)
  }

  /// Prints a feed, with the first line of each article.
  func show(_ address: String) async throws {
    guard let url = URL(string: address) else { throw URLError(.badURL) }
    let feed = FeedParser(try await load(url))
    print("# \(feed.title)")
    for item in feed.items.prefix(10) {
      guard let link = URL(string: item.link, relativeTo: url) else { continue }
      do {
        print("  \(item.title): \(firstLine(try await load(link.absoluteURL)))")
      } catch let error as URLError {
        print(
          "  \(item.title): not available (\(error.code == .resourceUnavailable ? "not stored" : error.localizedDescription))"
        )
      }
    }
  }

  /// Prints what is stored of a feed and its articles at once, whatever its age. Then it asks the
  /// origin, and prints what is new.
  func showOfflineFirst(_ address: String) async throws {
    guard let url = URL(string: address) else { throw URLError(.badURL) }
    let feed = FeedParser(try await loadStored(url))
    print("# \(feed.title)")
    var shown: [URL: Data] = [:]
    for item in feed.items.prefix(10) {
      guard let link = URL(string: item.link, relativeTo: url)?.absoluteURL else { continue }
      let text = try await loadStored(link)
      shown[link] = text
      print("  \(item.title): \(firstLine(text))")
    }

    print("\nRefreshing:")
    let links = shown.keys.sorted { $0.path < $1.path }
    // Watched before they are loaded, so that no update is missed.
    let updates = links.map { ($0, cacheSession.updates(for: URLRequest(url: $0))) }
    // Whatever is fresh: the user has asked for news.
    let requests = links.map { URLRequest(url: $0, cachePolicy: .reloadRevalidatingCacheData) }
    var (stored, count) = (Set<URL>(), 0)
    for await one in cacheSession.prefetch(requests, atMost: 1) {
      count += 1
      let place = one.request.url?.path ?? ""
      switch one.result {
      case .success(let answer):
        print("  \(count) of \(links.count)  \(pad(place, 10)) \(answer.source)")
        if answer.storage == .storedWithLifetime, let url = one.request.url { stored.insert(url) }
      case .failure(let error):
        print("  \(count) of \(links.count)  \(pad(place, 10)) \(error.localizedDescription)")
      }
    }
    for (url, updates) in updates where stored.contains(url) {
      for await _ in updates {
        let text = try await loadStored(url)
        if text != shown[url] { print("  \(url.path) has changed: \(firstLine(text))") }
        break
      }
    }
  }

  /// Keeps a page: it is not evicted, and can be read with `--offline`.
  func keep(_ address: String) async throws {
    guard let url = URL(string: address) else { throw URLError(.badURL) }
    let answer = try await cacheSession.keep(url)
    print("kept \(url) (\(answer.source))")
  }

  func release(_ address: String) async throws {
    guard let url = URL(string: address) else { throw URLError(.badURL) }
    print(try await cacheSession.release(url) ? "released \(url)" : "\(url) is not kept")
  }

  func printKept() {
    for kept in cacheSession.kept { print("\(kept.url)  \(kept.byteCount) bytes") }
    print("\(cacheSession.kept.count) pages are kept")
  }

  /// Loads what is stored, whatever its age, and otherwise from the origin.
  private func loadStored(_ url: URL) async throws -> Data {
    let (data, answer) = try await cacheSession.data(
      for: URLRequest(url: url, cachePolicy: .returnCacheDataElseLoad))
    guard answer.response.statusCode == 200 else { throw URLError(.badServerResponse) }
    return data
  }

  private func firstLine(_ data: Data) -> Substring {
    String(decoding: data, as: UTF8.self).prefix { $0 != "\n" }.prefix(60)
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
