import HTTPTypes

/// Fields that concern one connection or one proxy, and are neither stored nor updated (RFC 9111 §3.1,
/// RFC 9110 §7.6.1).
enum ConnectionFields {
  private static let names: Set<String> = [
    "connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade",
    "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
  ]

  /// The fields without those for one connection, without those that `Connection` names, and without `excluded`
  /// (lowercase).
  ///
  /// - Parameter targets: the fields that may govern caching in place of Cache-Control: they stay, as it does.
  static func removed(
    from fields: HTTPFields, excluding excluded: [String] = [], targets: [String]
  ) -> HTTPFields {
    var listed: [String] = excluded
    for field in fields where field.name.canonicalName == "connection" {
      field.value.withFieldBytes { bytes in
        var members = ListMembers(bytes.whole)
        while let member = members.next(in: bytes) { listed.append(bytes.string(member).lowercased()) }
      }
    }
    // "Cache-Control is never appropriate as a connection option" (RFC 9110 §7.6.1): whoever names it or Vary, by
    // mistake or to have a response kept that must not be, does not get rid of them.
    listed.removeAll { $0 == "cache-control" || $0 == "vary" || targets.contains($0) }
    var kept = HTTPFields()
    kept.reserveCapacity(fields.count)
    for field in fields {
      let name = field.name.canonicalName
      if !names.contains(name), !listed.contains(name) { kept.append(field) }
    }
    return kept
  }
}
