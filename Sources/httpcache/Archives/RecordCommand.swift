// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import CacheMutex
import Foundation
import HTTPCacheTesting
import HTTPCacheURLSession
import HTTPCaching

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// `httpcache record`.
struct RecordCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "record",
    abstract: "Fetch URLs and write their responses to a folder.",
    discussion: """
      Each response becomes two files: a JSON file with its head, and a file with its content. You can read and edit them, \
      store them in a cache with `httpcache import`, or use them as stubs. Redirects are followed and recorded.

        httpcache record https://example.com/feed.xml https://example.com/logo.png --folder Fixtures

      Cookies and authorization are not written. Other confidential data is: check the folder before you publish it.

      Exit status: 0 if all responses were recorded, 1 if one could not be fetched or written, 64 for an invalid option.
      """)

  @Argument(help: "URLs to fetch.")
  var urls: [String]

  @Option(help: "Folder to write to; created if it does not exist.", completion: .directory)
  var folder: String

  @Option(
    name: [.customShort("H"), .long], parsing: .singleValue,
    help: ArgumentHelp(
      "Field to send with each request, such as 'Accept: text/html'; may be repeated.", valueName: "field"))
  var header: [String] = []

  func validate() throws {
    for url in urls where URL(string: url)?.host?.isEmpty != false {
      throw ValidationError("expected a URL such as https://example.com/, found '\(url)'")
    }
    for line in header where !line.contains(":") {
      throw ValidationError("--header: expected a field such as 'Accept: text/html', found '\(line)'")
    }
  }

  func run() async throws {
    let folder = ResponseFolder(folder)
    let failures = Mutex<[String]>([])
    // The cache exists only for its session, which follows redirects; nothing is looked up in it.
    let cache = try HTTPCache(.init(memoryCapacity: 1 << 20))
    var options = CachingOptions()
    options.middleware = { transport in
      folder.recording(transport) { error in failures.withLock { $0.append("\(error)") } }
    }
    let session = URLSession(configuration: .caching(with: cache, options: options, base: .ephemeral))
    for text in urls {
      guard let url = URL(string: text) else { continue }
      var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
      for line in header {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        request.addValue(parts[1].trimmingCharacters(in: .whitespaces), forHTTPHeaderField: String(parts[0]))
      }
      do {
        let (data, response) = try await session.data(for: request)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        print("\(status)  \(data.count) bytes  \(response.url?.absoluteString ?? text)")
      } catch {
        failures.withLock { $0.append("\(text): \(error.localizedDescription)") }
      }
    }
    session.finishTasksAndInvalidate()
    let all = failures.withLock { $0 }
    for failure in all { Input.complain(failure) }
    if !all.isEmpty { throw ExitCode.failure }
  }
}
