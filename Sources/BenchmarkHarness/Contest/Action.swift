// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A measured action, with its name in reports.
package enum Action: String, CaseIterable, Codable, Sendable {
  /// A lookup of a stored key, including building the key from a request.
  case get
  /// The same with an existing key and the body untouched: the table alone.
  case getByKey = "get, key at hand"
  /// The same, and reads a byte of the body.
  case getAndRead = "get and read a byte"
  /// A lookup and the whole decision to serve the result.
  case decide = "get and decide"
  /// A lookup of a missing key.
  case miss
  /// Adding a new entry with an existing head and body.
  case store
  /// Replacing entries repeatedly in a cache that holds all keys.
  case storeAgain = "store, all held"
  /// `store`, preceded by the engine's decision whether and how long to store the response.
  case judgeAndStore = "judge and store"
  /// A lookup that stores a miss, in a cache that cannot hold all keys. In a workload, each tenth operation is a store.
  case mixed = "get, or store"
  /// Adding a new entry to a full cache, which evicts another.
  case churn = "store and evict"
  // Of many entries: all that a prefix selects, and all.
  case purgePrefix = "purge by prefix, 100 match"
  case removeAll = "remove everything"
  /// The engine's outcome for a new response: fields parsed, whether and how long to store it.
  case judge = "judge a response"
  /// XXH3 of some bytes, as keys and records are hashed.
  case hash

  // On disk. In `diskMixed`, nine are lookups, and one replaces an entry.
  case diskGet = "disk get"
  case diskStore = "disk store"
  case diskMixed = "disk get and store"
  case diskChurn = "disk store at capacity"
  case diskOpen = "disk, opening"
  case diskPurge = "disk purge by prefix, 100 match"
  case diskRemoveAll = "disk, remove everything"
  case coldGet = "disk get, cold"
  // Opening a directory, by how the previous process ended.
  case reopenClosed = "closed"
  case reopenKilled = "killed (SIGKILL)"

  // Requests end to end.
  case plainRequest = "URLSession without a cache"
  /// The lower limit of what a `URLProtocol` costs: one whose answer is a constant.
  case bareRequest = "URLProtocol with a constant answer"
  case missRequest = "adapter, miss: from the network, and stored"
  case hitRequest = "adapter, fresh hit"
  case hitWithFields = "adapter, fresh hit, 2 request fields"
  /// A hit whose URL was loaded once before.
  case hitElsewhere = "adapter, fresh hit, another URL each time"
  case validatedRequest = "adapter, stale, validated by 304"
  case staleRequest = "adapter, stale, returnCacheDataElseLoad"
  case loadedRequest = "HTTPCacheSession.data, fresh hit"
  case respond = "HTTPCache.respond, fresh hit"
  case storedResponse = "HTTPCache.storedResponse, fresh hit"
  // These two in turns with each other only: other requests displace their code from the processor's caches.
  case bareAmongHits = "URLProtocol with a constant answer, in turns with the next"
  case hitAmongConstants = "adapter, fresh hit, another URL each time, in turns with that"
  // Content of many megabytes.
  case plainTransfer = "long content, URLSession with a delegate"
  case cachedTransfer = "long content, HTTPCacheSession.bytes"
  // Where the time of a hit goes, besides Foundation's own handling.
  case headOfRequest = "part of a hit: head from the URLRequest"
  case headOfResponse = "part of a hit: HTTPURLResponse of a stored response"
  case changeOfThreads = "part of a hit: to another thread and back"

  // The same through AsyncHTTPClient.
  case plainClient = "AsyncHTTPClient without a cache"
  case clientMiss = "CachingHTTPClient, miss: from the network, and stored"
  case clientHit = "CachingHTTPClient, fresh hit"
  /// Requests to a server whose route is cached.
  case route = "route of 1 KiB"

  // Requests to a proxy.
  case proxyHit = "hit of 1 KiB"
  case proxyHitLarge = "hit of 64 KiB"
  case proxyHitMegabyte = "hit of 1 MiB"
  case proxyConnections = "hit of 1 KiB, a connection for each request"
  case proxyMany = "hit of 1 KiB, 1,000 connections"
  case proxyNotModified = "304 to If-None-Match"
  case proxyRange = "range of 64 KiB out of 10 MiB"
  case proxyPass = "no-store of 1 KiB, passed on"
  case proxyRevalidate = "revalidation of 1 KiB by a 304"
  case proxyMiss = "miss of 1 KiB, stored"
  case proxyDisk = "hits of 16 KiB in files"
  case proxyZipf = "hits of 1 KiB, 10,000 URLs by zipf"

  // Responses in Redis: those of the shared tier, and the same bytes without a cache.
  case fetchFromRedis = "the bytes of a response"
  case sharedHit = "found in the shared tier"
  case localHit = "local hit"
  case localHitBesideTier = "local hit, with a shared tier"

  // A fleet of proxies with a shared tier.
  case coldFleet = "cold, URLs by zipf"
  case removal = "removed by another proxy"
  case purge = "PURGE answered"

  // Requests to a proxy that come at the same time.
  case waitNoStore = "no-store, in a loop"
  case waitReload = "no-store, requests with max-age=0"
  case waitFailing = "no-store, status 503"
  case waitPrivate = "private, last round"
  case waitSlowUser = "fast, another user's is slow"
  case waitLongPoll = "long poll, no-store"
  case waitStreamNoCache = "second of a stream, no-cache"
  case waitStream = "second of a stream, no Cache-Control"
  case waitHang = "fast, the first hangs for 10 s"
  case waitSlowLeader = "100 MB, the first stops reading"
  case waitSlowReaders = "20 KB, 150 others read slowly"
  case waitLostConnection = "first connection is lost"
  case waitShortLived = "max-age=1, in a loop"
  case waitUnshared = "no-store, 50 ms"
  case waitMicrocaching = "a page of 2 s, max-age=1"
  case waitReloads = "fresh, requests with no-cache"
  case waitNoLifetime = "Last-Modified alone"
  case waitStopped = "stale, the origin is silent"
  case waitFailingLater = "stale, the origin answers 503"
  case waitCookies = "Set-Cookie with max-age=60"
  case waitCodings = "Accept-Encoding of 7 browsers"

  /// Memory that entries occupy.
  case occupy = "memory"
  // A trace whose entries all count the same, or count by their bytes.
  case replayUnits = "unit"
  case replayBytes = "real"

  /// Whether it is measured with several sizes of values.
  package var isBySize: Bool {
    [.diskGet, .diskStore, .diskMixed, .hash, .fetchFromRedis, .sharedHit].contains(self)
  }
  /// Whether it measures the disk tier alone.
  package var isOnDisk: Bool { rawValue.hasPrefix("disk") }
  /// Whether it fills a cache, each key once.
  package var isFilling: Bool { self == .store || self == .judgeAndStore || self == .diskStore }
  /// Whether it makes no lookups, so that there are no hits to count.
  package var onlyStores: Bool { isFilling || [.storeAgain, .churn, .judge, .hash].contains(self) }

  /// Whether every operation must succeed (`true`), none may (`false`), or both results are valid.
  package func mustSucceed(isBounded: Bool) -> Bool? {
    switch self {
    case .miss: false
    // If two threads store the same key at once, one is refused.
    case .mixed, .storeAgain: nil
    case .get, .getByKey, .getAndRead, .decide: isBounded ? nil : true
    default: true
    }
  }
}
