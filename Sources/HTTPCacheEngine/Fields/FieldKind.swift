import HTTPTypes

/// What a response's field is to the rules of caching, told by its name.
///
/// Most fields concern nobody: the length of the name rules them out. To compare each name with all that count took 5,600
/// instructions of judging a response of ten fields.
enum FieldKind {
  /// No rule asks for it by name.
  case other

  case age, cacheControl, cacheGroups, clearSiteData, contentEncoding, contentLength
  case date, entityTag, expires, lastModified, vary

  case connection
  /// Tells, beside concerning one connection only, that the message says where its content ends.
  case transferEncoding
  /// Concerns one connection or one proxy, by its name alone (RFC 9110 §7.6.1).
  case hopByHop
  /// A field of the name of the connection option that says the connection ends: no such field is known.
  case close

  init(_ name: HTTPField.Name) {
    let name = name.canonicalName
    self =
      switch name.utf8.count {
      case 2: name == "te" ? .hopByHop : .other
      case 3: name == "age" ? .age : .other
      case 4:
        switch name {
        case "date": .date
        case "etag": .entityTag
        case "vary": .vary
        default: .other
        }
      case 5: name == "close" ? .close : .other
      case 7: name == "expires" ? .expires : name == "upgrade" ? .hopByHop : .other
      case 10: name == "connection" ? .connection : name == "keep-alive" ? .hopByHop : .other
      case 12: name == "cache-groups" ? .cacheGroups : .other
      case 13:
        name == "cache-control" ? .cacheControl : name == "last-modified" ? .lastModified : .other
      case 14: name == "content-length" ? .contentLength : .other
      case 15: name == "clear-site-data" ? .clearSiteData : .other
      case 16: name == "content-encoding" ? .contentEncoding : name == "proxy-connection" ? .hopByHop : .other
      case 17: name == "transfer-encoding" ? .transferEncoding : .other
      case 18: name == "proxy-authenticate" ? .hopByHop : .other
      case 19: name == "proxy-authorization" ? .hopByHop : .other
      case 25: name == "proxy-authentication-info" ? .hopByHop : .other
      default: .other
      }
  }

  /// Whether it is neither stored nor updated, whatever else the message says (RFC 9111 §3.1).
  var isOfConnection: Bool {
    switch self {
    case .connection, .transferEncoding, .hopByHop: true
    default: false
    }
  }

  /// Whether its own meaning for caching keeps it from being a targeted field (RFC 9213 §2.2).
  var governs: Bool {
    switch self {
    case .age, .cacheControl, .cacheGroups, .contentLength, .date, .entityTag, .expires, .lastModified,
      .transferEncoding, .vary:
      true
    case .other, .clearSiteData, .contentEncoding, .connection, .hopByHop, .close: false
    }
  }
}
