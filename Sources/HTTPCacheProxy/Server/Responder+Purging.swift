// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching

extension HTTPRequest.Method {
  /// Not registered, but other caches accept it: it purges its target.
  static let purge = HTTPRequest.Method("PURGE")
}

extension Responder {
  /// Answers PURGE from a trusted client: everything stored for the target is removed, or becomes stale with
  /// `Soft-Purge: 1`.
  ///
  /// The client must be trusted, not only the peer: a client behind a trusted proxy is not trusted for that reason.
  ///
  /// - Throws: ``MessageFault`` if nothing was purged.
  func purge() async throws(MessageFault) -> (HTTPResponse, ArraySlice<UInt8>) {
    guard let address = client.client, context.settings.value.trustedPeers.contains(address) else {
      throw MessageFault(403, "PURGE is allowed only for trusted clients")
    }
    guard let target = TargetURI(client.request) else {
      throw MessageFault("PURGE: expected a path or an absolute URL")
    }
    let purge = Purge(selections: [.target(target)], isSoft: try isSoft, description: target.text)
    let count = await purge.run(context)
    return GeneratedResponse.text(200, String(purge.text(count, await Purge.confirm(context)).dropLast()))
  }

  private var isSoft: Bool {
    get throws(MessageFault) {
      guard let value = HTTPField.Name("Soft-Purge").flatMap({ client.request.headerFields[$0] }) else {
        return false
      }
      guard value == "1" else { throw MessageFault("Soft-Purge: expected 1, or no such field") }
      return true
    }
  }
}
