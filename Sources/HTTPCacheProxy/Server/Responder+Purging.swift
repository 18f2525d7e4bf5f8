// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching

extension Responder {
  /// Answers PURGE from a trusted client: what it selects is removed, or becomes stale; see ``Purge/init(_:)``.
  ///
  /// The client must be trusted, not only the peer: a client behind a trusted proxy is not trusted for that reason.
  ///
  /// - Throws: ``MessageFault`` if nothing was purged.
  func purge() async throws(MessageFault) -> (HTTPResponse, ArraySlice<UInt8>) {
    guard let address = client.client, context.settings.value.trustedPeers.contains(address) else {
      throw MessageFault(403, "PURGE is allowed only for trusted clients")
    }
    let purge = try Purge(client.request, makesPartitions: context.cache.makesPartitions)
    let count = await purge.run(context)
    return GeneratedResponse.text(200, String(purge.text(count, await Purge.confirm(context)).dropLast()))
  }
}
