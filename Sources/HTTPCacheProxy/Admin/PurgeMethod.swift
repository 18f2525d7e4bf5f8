// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching

extension HTTPRequest.Method {
  /// Not registered, but other caches accept it: it purges its target, or what its fields name.
  static let purge = HTTPRequest.Method("PURGE")
}

extension Purge {
  /// Reads a PURGE request, as applications send it to other caches:
  ///
  /// - the target alone: a URL, or URLs with a beginning if `*` is its end;
  /// - `Surrogate-Key`, `xkey`, `xkey-purge`, `xkey-softpurge`, `Cache-Tag`, `Edge-Cache-Tag`: tags, on all hosts;
  /// - `X-Magento-Tags-Pattern`: tags as Magento's pattern of alternatives, or `.*` for everything;
  /// - `X-Pool`: a tag, by which deployments of Magento purge;
  /// - `X-Purge-Method` (also `X-VC-Purge-Method`): `regex` makes the target a pattern, `exact` a URL whatever it
  ///   contains. WordPress sends it;
  /// - `X-Purge-Host` (also `X-VC-Purge-Host`): the host of the target, or the one to purge the tags on;
  /// - `Soft-Purge: 1`, `Fastly-Soft-Purge: 1`.
  ///
  /// A request that says more than is understood would purge something else than its sender means.
  ///
  /// - Parameter makesPartitions: `HTTPCache.makesPartitions`.
  /// - Throws: ``MessageFault`` with what is supported.
  init(_ request: HTTPRequest, makesPartitions: Bool = false) throws(MessageFault) {
    var (tags, isAll, isSoft) = ([String](), false, false)
    var method: String?
    var host: String?
    for field in request.headerFields {
      let name = field.name.canonicalName
      let value = Octets(valueOf: field).description
      func fault(_ expected: String) -> MessageFault {
        MessageFault("\(field.name.rawName): expected \(expected), found '\(value.prefix(200))'")
      }
      switch name {
      case "surrogate-key", "xkey", "xkey-purge", "xkey-softpurge", "cache-tag", "edge-cache-tag":
        let named = ResponseTags.tags(in: field)
        guard !named.isEmpty else { throw fault("a tag") }
        tags += named
        if name == "xkey-softpurge" { isSoft = true }
      case "x-magento-tags-pattern":
        switch MagentoPattern(value) {
        case .everything: isAll = true
        case .tags(let named): tags += named
        case nil: throw fault("((^|,)TAG(,|$)), several of them with | between them, or .*")
        }
      case "x-pool":
        guard MagentoPattern.isTag(value) else { throw fault("the name of a pool, not a pattern") }
        tags.append(value)
      case "x-purge-method", "x-vc-purge-method":
        let text = value.lowercasedASCII
        guard ["exact", "default", "regex"].contains(text), method ?? text == text else {
          throw fault("exact, default or regex")
        }
        method = text
      case "x-purge-host", "x-vc-purge-host":
        guard host ?? value == value else { throw fault("one host") }
        host = value
      case "soft-purge", "fastly-soft-purge":
        guard value == "1" else { throw fault("1, or no such field") }
        isSoft = true
      default:
        if Self.isAboutPurging(name) {
          throw MessageFault("\(field.name.rawName) of PURGE is not supported; \(Self.supported)")
        }
      }
    }
    guard let target = Self.target(of: request, on: host) else {
      throw MessageFault("PURGE: expected a path or an absolute URL, and a host")
    }
    if tags.isEmpty, !isAll {
      let (selection, text) = try Self.selection(of: target, method)
      self.init(selections: [selection], isSoft: isSoft, description: text)
      return
    }
    guard method == nil else {
      throw MessageFault("PURGE with tags purges by these alone; remove X-Purge-Method")
    }
    let limit = PurgeRequest.groupLimit(isSoft: isSoft, ofOrigins: host != nil, makesPartitions)
    guard tags.count <= limit else {
      throw MessageFault("PURGE: expected at most \(limit) tags; send several requests")
    }
    if isAll {
      self.init(selections: [host == nil ? .all : .origin(of: target)], isSoft: isSoft, description: "all")
    } else {
      self.init(
        selections: Self.selections(ofGroups: tags, in: host == nil ? [] : [target]), isSoft: isSoft,
        description: "tag " + tags.prefix(10).joined(separator: ", tag ")
          + (tags.count > 10 ? " and \(tags.count - 10) more" : ""))
    }
  }

  private static let supported = """
    use Surrogate-Key, xkey, Cache-Tag, X-Magento-Tags-Pattern, X-Purge-Method, X-Purge-Host or Soft-Purge, or POST /purge \
    on the admin port
    """

  /// Whether a field that is not supported tells a cache what to purge. `Surrogate-Capability` is in every request of some
  /// caches.
  private static func isAboutPurging(_ name: String) -> Bool {
    name != "surrogate-capability"
      && ["purge", "surrogate", "xkey", "magento", "cache-tag", "cache-group", "-tags-", "-ban-"]
        .contains { "-\(name)-".contains($0) }
  }

  private static func target(of request: HTTPRequest, on host: String?) -> TargetURI? {
    guard let host else { return TargetURI(request) }
    var request = request
    request.authority = host
    return TargetURI(request)
  }

  /// - Parameter method: `X-Purge-Method`.
  private static func selection(
    of target: TargetURI, _ method: String?
  ) throws(MessageFault) -> (HTTPCache.Selection, String) {
    let path = target.path
    let isPattern = method == "regex" || method != "exact" && path.utf8.suffix(2).elementsEqual(".*".utf8)
    guard isPattern || method != "exact" && path.utf8.contains(UInt8(ascii: "*")) else {
      return (.target(target), target.text)
    }
    let origin = "\(target.scheme)://\(target.authority)"
    let pattern: TargetPattern
    if isPattern {
      guard let glob = PathPattern.glob(path) else {
        throw MessageFault(
          "PURGE: expected a path with .* for any text, . for one character and $ as the end, found '\(path.prefix(200))'; other regular expressions are not supported"
        )
      }
      pattern = .glob(origin + glob)
    } else {
      // As modules of nginx read it.
      guard path.utf8.firstIndex(of: UInt8(ascii: "*")) == path.utf8.index(before: path.utf8.endIndex) else {
        throw MessageFault(
          "PURGE: expected * at the end only, found '\(path.prefix(200))'; send X-Purge-Method: exact for a URL that contains *"
        )
      }
      pattern = .prefix(origin + path.dropLast())
    }
    return (.patterns([pattern]), "\(pattern)")
  }
}

/// The regular expression that Magento matches the tags of responses with: `((^|,)cat_p_1(,|$))|((^|,)cat_c_2(,|$))`, or `.*`.
enum MagentoPattern: Hashable {
  case everything
  case tags([String])

  /// Returns `nil` for any other expression.
  init?(_ text: String) {
    if text == ".*" {
      self = .everything
      return
    }
    let (start, end) = (Array("((^|,)".utf8), Array("(,|$))".utf8))
    var tags: [String] = []
    var rest = Array(text.utf8)[...]
    while true {
      guard rest.starts(with: start) else { return nil }
      rest = rest.dropFirst(start.count)
      let tag = rest.prefix { Self.isTagByte($0) }
      rest = rest.dropFirst(tag.count)
      guard !tag.isEmpty, rest.starts(with: end) else { return nil }
      rest = rest.dropFirst(end.count)
      tags.append(String(decoding: tag, as: UTF8.self))
      if rest.isEmpty { break }
      guard rest.popFirst() == UInt8(ascii: "|") else { return nil }
    }
    self = .tags(tags)
  }

  /// Whether a text is a tag: Magento does not escape what has a meaning in expressions.
  static func isTag(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy { isTagByte($0) } }

  /// A dot stands for itself: names of blocks may have some.
  private static func isTagByte(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F && !"\\^$|?*+()[]{},".utf8.contains(byte)
  }
}

/// The regular expressions of paths that can be told as a glob.
enum PathPattern {
  /// Returns the glob that matches the paths that begin with a match; `nil` for other expressions than those of characters
  /// that stand for themselves, `.`, `.*`, and `$` at the end.
  static func glob(_ expression: String) -> String? {
    var glob: [UInt8] = []
    var bytes = Array(expression.utf8)[...]
    let isAnchored = bytes.last == UInt8(ascii: "$")
    if isAnchored { bytes.removeLast() }
    while let byte = bytes.popFirst() {
      switch byte {
      case UInt8(ascii: "."):
        if bytes.first == UInt8(ascii: "*") {
          bytes.removeFirst()
          glob.append(UInt8(ascii: "*"))
        } else {
          glob.append(UInt8(ascii: "?"))
        }
      case _ where "\\^$|?*+()[]{}".utf8.contains(byte): return nil
      default: glob.append(byte)
      }
    }
    if !isAnchored, glob.last != UInt8(ascii: "*") { glob.append(UInt8(ascii: "*")) }
    return String(decoding: glob, as: UTF8.self)
  }
}
