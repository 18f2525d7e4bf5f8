import HTTPCacheEngine
import HTTPCacheStore

/// What the bytes of a key say: the partition, the URI, and what else there is.
struct StoredKey: Hashable {
  enum Kind: String, Codable {
    /// A response to GET.
    case get = "GET"
    /// A response to QUERY, or what finds those of a target.
    case query = "QUERY"
    /// What the URLs of a path have in common by `No-Vary-Search`, or what finds it.
    case noVarySearch = "No-Vary-Search"
    /// Nothing that HTTPCache stores.
    case other
  }

  var kind: Kind
  var partition: String
  var url: String

  /// No URI contains NUL; it stands behind the partition, and before what is not a URI.
  init(_ key: StoreKey) {
    var parts = key.bytes.split(separator: 0, maxSplits: 3, omittingEmptySubsequences: false)[...]
    func isURI(_ part: ArraySlice<UInt8>) -> Bool {
      part.starts(with: "https://".utf8) || part.starts(with: "http://".utf8)
    }
    partition = ""
    if let first = parts.first, !isURI(first), let second = parts.dropFirst().first, isURI(second) {
      partition = String(decoding: first, as: UTF8.self)
      parts = parts.dropFirst()
    }
    url = parts.first.map { String(decoding: $0, as: UTF8.self) } ?? ""
    guard let first = parts.first, isURI(first) else {
      kind = .other
      return
    }
    switch parts.dropFirst().first {
    case .none: kind = .get
    case .some(let word): kind = Kind(rawValue: String(decoding: word, as: UTF8.self)) ?? .other
    }
  }

  /// Whether what is stored under this key is of a target, as a purge of it means that.
  func isOf(_ target: TargetURI) -> Bool {
    if url == target.text { return true }
    // What all queries of the path have in common is of each of them.
    return kind == .noVarySearch && url == target.text.prefix { $0 != "?" }
  }
}
