// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPTypes

/// The fields that Foundation adds to a request that has none of that name.
///
/// A response may vary on each of them, so the request must have them before the cache sees it.
enum SystemFields {
  /// The codings that Foundation can decode on every platform, and those that it decodes on this one.
  static func acceptEncoding(scheme: String?) -> String {
    #if canImport(FoundationNetworking)
      encodings
    #else
      // Apple's platforms ask for it over TLS only.
      scheme == "https" ? "gzip, deflate, br" : "gzip, deflate"
    #endif
  }

  #if canImport(FoundationNetworking)
    private static let encodings = (["deflate", "gzip"] + FoundationInternals.libcurl.codings).joined(
      separator: ", ")
  #endif

  /// The fields other than `Accept-Encoding`, with the values of Foundation.
  static var all: [HTTPField] {
    #if canImport(FoundationNetworking)
      // Foundation's language is that of the environment, for the life of the process.
      constant
    #else
      // A user can change the languages while an app runs.
      constant + [HTTPField(name: .acceptLanguage, value: acceptLanguage(Locale.preferredLanguages))]
    #endif
  }

  private static let constant: [HTTPField] = {
    let name = ProcessInfo.processInfo.processName
    #if canImport(FoundationNetworking)
      let curl = FoundationInternals.libcurl.version.map { " curl/\($0)" } ?? ""
      return [
        HTTPField(name: .accept, value: "*/*"),
        HTTPField(name: .userAgent, value: "\(name) (unknown version)\(curl)"),
        HTTPField(name: .acceptLanguage, value: Locale.current.language.languageCode?.identifier ?? "en"),
      ]
    #else
      let version = Bundle.main.object(forInfoDictionaryKey: "CFBundleVersion") as? String ?? "1"
      let network = Bundle(identifier: "com.apple.CFNetwork")?.object(forInfoDictionaryKey: "CFBundleVersion")
      let agent = "\(name)/\(version)" + (network.map { " CFNetwork/\($0)" } ?? "")
      return [HTTPField(name: .accept, value: "*/*"), HTTPField(name: .userAgent, value: agent)]
    #endif
  }()

  /// Returns the field for a user's languages, the most important first: `de-CH, en;q=0.9`.
  static func acceptLanguage(_ languages: [String]) -> String {
    let weighted = languages.prefix(6).enumerated().map { index, language in
      index == 0 ? language : "\(language);q=0.\(10 - index)"
    }
    return weighted.isEmpty ? "*" : weighted.joined(separator: ", ")
  }
}
