// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheStore
import HTTPCaching

#if !Redis
  #error("HTTPCacheRedis needs the trait Redis: pass --traits Redis or set it in your .package")
#endif

/// A shared tier on Redis 7 or Valkey.
///
/// ```swift
/// var configuration = HTTPCache.Configuration(kind: .shared)
/// configuration.sharedTier = try .redis("redis://cache.internal/0")
/// let cache = try HTTPCache(configuration)
/// ```
///
/// **Keys.** All begin with ``Configuration/prefix``. The entries of one URL have one hash tag, so all pieces of a response
/// are in one slot of a cluster. The tag is a hash of the key with a random seed that the server keeps; the whole key is in
/// the entry, and is compared. The log and the list of nodes have the hash tag `{log}`.
///
/// **Memory.** Entries have an expiry, and the log has none. With `maxmemory`, use a policy that begins with `volatile-`:
/// then the server evicts entries and never the log. With an `allkeys-` policy it may evict the log. That is safe: the log
/// gets a new epoch, and every node validates what it has.
///
/// **What the server promises.** A restart or a failover may lose the last records of the log. So the log gets a new epoch
/// then, unless ``Configuration/isDurable`` is set.
///
/// **One server or a cluster.** On one server, a script compares the position of an entry with the log in the same step as
/// it stores the entry. In a cluster, the log is in another slot, and the server accepts the entry. In both cases, each
/// node compares the position of every entry that it finds with the log before it uses the entry. So an entry that was
/// requested before a removal is not used; in a cluster, it takes memory until it expires.
public final class RedisSharedTier: SharedTier {
  let configuration: Configuration
  let client: RedisClient
  let keys: RedisKeys
  private let isCluster: Bool
  private let line: RedisLine
  private let releases: ReleaseWatch
  /// The seed of the hashes, once the server has told it.
  private let seed = Mutex<UInt64?>(nil)

  /// Makes a tier with the default configuration. The first call connects to the server.
  ///
  /// - Parameters:
  ///   - url: the URL of the server; see ``Configuration``.
  ///   - password: a password that replaces the URL's.
  /// - Throws: ``RedisError`` if the URL is invalid, or if a certificate or a key cannot be used.
  public convenience init(_ url: String, password: String? = nil) throws(RedisError) {
    try self.init(Configuration(url, password: password))
  }

  /// Makes a tier. The first call connects to the server.
  ///
  /// - Parameter configuration: the server, and how the tier uses it.
  /// - Throws: ``RedisError`` if a certificate or a key cannot be used.
  public init(_ configuration: Configuration) throws(RedisError) {
    self.configuration = configuration
    client = try RedisClient(configuration)
    keys = RedisKeys(prefix: configuration.prefix)
    isCluster = configuration.endpoint.mode == .cluster
    line = RedisLine(client, key: keys.log)
    releases = ReleaseWatch(client, stream: keys.released)
  }

  // MARK: - Scripts

  /// Runs a script by its digest, and sends it as a whole if the server does not have it.
  private func run(
    _ script: RedisScript, keys: [[UInt8]], _ arguments: [[UInt8]], after commands: [[[UInt8]]] = [],
    until deadline: CallDeadline
  ) async throws -> RedisValue {
    let rest = [bytes(keys.count)] + keys + arguments
    let replies = try await client.pipeline(
      commands + [[Array("EVALSHA".utf8), script.digest] + rest], key: keys.first, timeout: deadline.rest)
    for reply in replies.dropLast() { try check(reply) }
    let reply = replies[replies.count - 1]
    guard reply.errorCode == "NOSCRIPT" else { return try check(reply) }
    return try await send([Array("EVAL".utf8), script.source] + rest, key: keys.first, until: deadline)
  }

  private func deadline(in limit: Duration) -> CallDeadline {
    CallDeadline(in: limit, on: configuration.clock)
  }

  /// Sends a command, and throws the error that it returns.
  @discardableResult
  private func send(_ arguments: [[UInt8]], key: [UInt8]?, until deadline: CallDeadline) async throws
    -> RedisValue
  {
    try check(try await client.send(arguments, key: key, timeout: deadline.rest))
  }

  @discardableResult
  private func check(_ reply: RedisValue) throws -> RedisValue {
    if case .error(let message) = reply { throw RedisError(.commandFailed, message) }
    return reply
  }

  /// Arguments of the scripts that may begin a new log.
  private func beginning() -> [[UInt8]] {
    [
      configuration.isDurable ? [0x31] : [0x30], bytes(UInt64.random(in: 1 ... .max)),
      bytes(UInt64.random(in: 1 ... .max)),
    ]
  }

  private func learn(_ seed: RedisValue?) throws {
    guard let text = seed?.text, let value = UInt64(text) else {
      throw RedisError(.commandFailed, "the server returned no seed for the keys")
    }
    self.seed.withLock { $0 = value }
  }

  /// Returns the seed; asks the server for it once.
  private func knownSeed(until deadline: CallDeadline) async throws -> UInt64 {
    if let seed = seed.withLock({ $0 }) { return seed }
    let reply = try await run(.begin, keys: [keys.meta, keys.log], beginning(), until: deadline)
    try learn(reply.elements?.dropFirst().first)
    guard let seed = seed.withLock({ $0 }) else {
      throw RedisError(.commandFailed, "the server returned no seed")
    }
    return seed
  }

  // MARK: - The log

  /// Registers a node, and returns the end of the log. See `SharedTier.heartbeat(_:within:)`.
  public func heartbeat(_ node: SharedNode, within limit: Duration) async throws -> SharedLogHead {
    let applied = node.applied ?? SharedLogPosition(epoch: 0, number: 0)
    let reply = try await run(
      .heartbeat, keys: [keys.meta, keys.log],
      beginning() + [
        bytes(node.id), bytes(applied.epoch), bytes(applied.number), bytes(node.lifetime.milliseconds),
      ], until: deadline(in: limit))
    guard let values = reply.elements, values.count == 5, let epoch = values[0].text.flatMap({ UInt64($0) }),
      let last = values[2].integer, let first = values[3].integer, let all = values[4].integer, last >= 0,
      first > 0, all >= 0
    else { throw RedisError(.commandFailed, "the reply to a heartbeat is malformed") }
    try learn(values[1])
    return SharedLogHead(
      last: SharedLogPosition(epoch: epoch, number: UInt64(last)), first: UInt64(first),
      appliedByAll: UInt64(all))
  }

  /// Forgets a node. See `SharedTier.leave(_:within:)`.
  public func leave(_ node: SharedNode, within limit: Duration) async throws {
    try await send(
      [Array("HDEL".utf8), keys.meta, Array("n:".utf8) + bytes(node.id)], key: keys.meta,
      until: deadline(in: limit))
  }

  /// Adds a removal to the log. See `SharedTier.append(_:within:)`.
  public func append(_ removal: SharedRemoval, within limit: Duration) async throws -> SharedLogPosition {
    let deadline = deadline(in: limit)
    for _ in 0..<3 {
      let seed = try await knownSeed(until: deadline)
      let tags = tags(removal.keys.map { (0, $0) } + removal.scopes.map { (1, $0) }, seed)
      let entries = removal.keys.map { keys.entry($0, seed) }
      let reply = try await run(
        .append, keys: [keys.meta, keys.log] + (isCluster ? [] : entries),
        beginning() + [
          bytes(seed), removal.payload, tags, removal.isBroad ? [0x31] : [0x30],
          bytes(configuration.logLimit),
        ], until: deadline)
      guard let values = reply.elements, let epoch = values.first?.text.flatMap({ UInt64($0) }) else {
        throw RedisError(.commandFailed, "the reply to a removal is malformed")
      }
      guard values.count == 3, let number = values[2].integer, number > 0 else {
        // The hashes have another seed now.
        try learn(values.dropFirst().first)
        continue
      }
      if isCluster {
        // Only to free memory: each node compares what it finds with the log.
        for entry in entries { _ = try? await run(.remove, keys: [entry], [], until: deadline) }
      }
      return SharedLogPosition(epoch: epoch, number: UInt64(number))
    }
    throw RedisError(.commandFailed, "the seed of the keys changes again and again")
  }

  /// Returns the next records of the log. See `SharedTier.records(after:waiting:)`.
  public func records(after position: SharedLogPosition, waiting wait: Duration) async throws -> SharedLogPage
  {
    let block = wait > .zero ? [Array("BLOCK".utf8), bytes(max(1, wait.milliseconds))] : []
    let reply = try await line.send(
      [Array("XREAD".utf8), Array("COUNT".utf8), bytes(256)] + block
        + [Array("STREAMS".utf8), keys.log, bytes(position.number) + Array("-0".utf8)],
      timeout: wait + configuration.requestTimeout)
    try check(reply)
    guard let stream = reply.elements?.first?.elements, stream.count == 2, let entries = stream[1].elements
    else {
      // Nothing new, or no log at all: a heartbeat finds out.
      return SharedLogPage(epoch: nil, records: [])
    }
    var page = SharedLogPage(epoch: nil, records: [])
    for entry in entries {
      let parts = entry.elements ?? []
      let number = parts.first?.text.flatMap { UInt64($0.prefix { $0 != "-" }) }
      let fields = parts.dropFirst().first?.elements ?? []
      var payload: [UInt8] = []
      var epoch: UInt64?
      for index in stride(from: 0, to: fields.count - 1, by: 2) {
        switch fields[index].text {
        case "p": payload = fields[index + 1].bytes ?? []
        case "e": epoch = fields[index + 1].text.flatMap { UInt64($0) }
        default: break
        }
      }
      guard let number, let epoch, parts[0].text == "\(number)-0" else {
        if !page.records.isEmpty { break }
        throw RedisError(
          .commandFailed,
          """
          '\(String(decoding: keys.log, as: UTF8.self))' has a record that no cache wrote; remove this key, and give \
          only the caches access
          """)
      }
      if page.records.isEmpty { page.epoch = epoch }
      guard epoch == page.epoch else { break }
      page.records.append(SharedLogRecord(number: number, payload: payload))
    }
    return page
  }

  // MARK: - Entries

  // Each lookup sends these: they are made once.
  private static let hgetall = Array("HGETALL".utf8)
  private static let time = [Array("TIME".utf8)]

  /// Finds all variants of a key. See `SharedTier.find(_:within:)`.
  public func find(_ key: [UInt8], within limit: Duration) async throws -> [FoundSharedEntry] {
    let deadline = deadline(in: limit)
    let entry = keys.entry(key, try await knownSeed(until: deadline))
    let replies = try await client.pipeline(
      [[Self.hgetall, entry], Self.time], key: entry, timeout: deadline.rest)
    for reply in replies { try check(reply) }
    guard let fields = replies[0].elements, !fields.isEmpty else { return [] }
    guard let time = replies[1].elements, time.count == 2, let seconds = time[0].integer,
      let microseconds = time[1].integer, (0..<1 << 40).contains(seconds),
      (0..<1_000_000).contains(microseconds)
    else { throw RedisError(.commandFailed, "the time of the server is malformed") }
    let now = seconds * 1000 + microseconds / 1000
    var variants = RedisEntryValue.Fields(fields)
    var found: [FoundSharedEntry] = []
    while let (head, content) = variants.next() {
      guard let value = RedisEntryValue(head) else {
        // Let the caller count it.
        found.append(FoundSharedEntry(head: [], body: nil, elapsed: .zero))
        continue
      }
      if value.end <= now { continue }
      let body: [UInt8]? =
        switch value.body {
        case .ownField: content
        case .pieces(let stamp, let count): try await pieces(of: entry, stamp, count, until: deadline)
        }
      found.append(
        FoundSharedEntry(head: value.head, body: body, elapsed: .milliseconds(max(0, now - value.at))))
    }
    return found
  }

  /// Reads the pieces of a content; `nil` if one is lost.
  private func pieces(
    of entry: [UInt8], _ stamp: UInt64, _ count: Int, until deadline: CallDeadline
  ) async throws -> [UInt8]? {
    let reply = try await send(
      [Array("MGET".utf8)] + (0..<count).map { RedisKeys.piece(entry, stamp, $0) }, key: entry,
      until: deadline)
    guard let values = reply.elements else { return nil }
    var body: [UInt8] = []
    for value in values {
      guard let bytes = value.bytes else { return nil }
      body += bytes
    }
    return body
  }

  /// Stores an entry, unless it has been removed since. See `SharedTier.store(_:within:)`.
  public func store(_ entry: SharedEntry, within limit: Duration) async throws -> SharedStoring {
    let deadline = deadline(in: limit)
    let seed = try await knownSeed(until: deadline)
    let key = keys.entry(entry.key, seed)
    // The script keeps the entry as long.
    let kept = bytes(max(1, entry.lifetime.milliseconds) + 60_000)
    var commands: [[[UInt8]]] = []
    let body: RedisEntryValue.Body
    var ownField: [UInt8]?
    if entry.body.count <= configuration.inlineLimit {
      body = .ownField
      ownField = entry.body
    } else {
      let stamp = UInt64.random(in: 1 ... .max)
      let size = max(1, configuration.pieceSize)
      for (number, start) in stride(from: 0, to: entry.body.count, by: size).enumerated() {
        commands.append([
          Array("SET".utf8), RedisKeys.piece(key, stamp, number),
          Array(entry.body[start..<min(start + size, entry.body.count)]), Array("PX".utf8), kept,
        ])
      }
      body = .pieces(stamp: stamp, count: commands.count)
    }
    let reply = try await set(
      entry, at: key, seed, body, [ownField].compactMap { $0 }, after: commands, until: deadline)
    if reply == 1 { return .stored }
    // Nothing refers to the pieces.
    let pieces = commands.map { $0[1] }
    if !pieces.isEmpty { _ = try? await send([Array("UNLINK".utf8)] + pieces, key: key, until: deadline) }
    return reply == 2 ? .full : .removedSince
  }

  /// Stores the head of an entry beside its content. See `SharedTier.refresh(_:within:where:)`.
  public func refresh(
    _ entry: SharedEntry, within limit: Duration,
    where hasContent: @escaping @Sendable (_ head: [UInt8]) -> Bool
  ) async throws -> SharedStoring? {
    let deadline = deadline(in: limit)
    let seed = try await knownSeed(until: deadline)
    let key = keys.entry(entry.key, seed)
    let known = try await send(
      [Array("HGET".utf8), key, field(of: entry, seed)], key: key, until: deadline)
    guard let bytes = known.bytes, let value = RedisEntryValue(bytes), hasContent(value.head) else {
      return nil
    }
    let digest = Array(SHA1.hexadecimal(bytes).utf8)
    switch try await set(entry, at: key, seed, value.body, [[], digest], until: deadline) {
    case 1: return .stored
    case 0: return .removedSince
    default: return nil
    }
  }

  private func field(of entry: SharedEntry, _ seed: UInt64) -> [UInt8] {
    bytes(XXH3.hash(entry.variant, seed: seed))
  }

  /// - Parameter content: the last arguments of the script.
  /// - Returns: what the script does.
  private func set(
    _ entry: SharedEntry, at key: [UInt8], _ seed: UInt64, _ body: RedisEntryValue.Body,
    _ content: [[UInt8]], after commands: [[[UInt8]]] = [], until deadline: CallDeadline
  ) async throws -> Int64? {
    let field = field(of: entry, seed)
    let tags = tags([(0, entry.key)] + entry.scopes.map { (1, $0) }, seed)
    return try await run(
      isCluster ? .storeUnchecked : .store, keys: isCluster ? [key] : [key, keys.meta, keys.log],
      [
        field, RedisEntryValue.rest(head: entry.head, body: body),
        bytes(max(1, entry.lifetime.milliseconds)), bytes(entry.position.epoch),
        bytes(entry.position.number), tags, bytes(seed), RedisEntryValue.bodyField(of: field),
      ] + content, after: commands, until: deadline
    ).integer
  }

  /// The tags of keys and scopes, 8 bytes each, which a script compares.
  private func tags(_ parts: [(kind: UInt8, bytes: [UInt8])], _ seed: UInt64) -> [UInt8] {
    parts.flatMap { part in
      let hash = XXH3.hash([part.kind] + part.bytes, seed: seed)
      return (0..<8).map { UInt8(truncatingIfNeeded: hash >> (8 * $0)) }
    }
  }

  // MARK: - Reclaiming

  /// Deletes the entries that no node will use again. See `SharedTier.reclaim(where:)`.
  ///
  /// It asks for some keys at a time, and pauses in between: lookups share the connections, and wait for 20 ms only. The entries of a
  /// cluster are left to expire.
  public func reclaim(where isRemoved: @escaping @Sendable (_ head: [UInt8]) -> Bool) async throws -> Int {
    guard !isCluster else { return 0 }
    var (count, cursor) = (0, bytes(0))
    repeat {
      try Task.checkCancellation()
      let deadline = deadline(in: configuration.requestTimeout)
      let reply = try await send(
        [Array("SCAN".utf8), cursor, Array("MATCH".utf8), keys.everyEntry, Array("COUNT".utf8), bytes(32)],
        key: nil, until: deadline)
      guard let parts = reply.elements, parts.count == 2, let next = parts[0].bytes,
        let found = parts[1].elements
      else { throw RedisError(.commandFailed, "the reply to SCAN is malformed") }
      let entries = found.compactMap(\.bytes).filter(keys.isEntry)
      if !entries.isEmpty { count += try await reclaim(entries, where: isRemoved, until: deadline) }
      cursor = next
      try await Task.sleep(for: .milliseconds(2))
    } while cursor != bytes(0)
    return count
  }

  private func reclaim(
    _ entries: [[UInt8]], where isRemoved: (_ head: [UInt8]) -> Bool, until deadline: CallDeadline
  ) async throws -> Int {
    let variants = try await run(.variants, keys: entries, [], until: deadline).elements ?? []
    var count = 0
    for (entry, found) in zip(entries, variants) {
      guard let parts = found.elements, parts.count == 2, let names = parts[0].elements,
        let values = parts[1].elements
      else { continue }
      let removed = zip(names, values).flatMap { name, value -> [[UInt8]] in
        guard let name = name.bytes, let value = value.bytes, let head = RedisEntryValue(value)?.head,
          isRemoved(head)
        else { return [] }
        return [name, value]
      }
      if removed.isEmpty { continue }
      let reply = try await run(
        .forget, keys: [entry], removed, until: self.deadline(in: configuration.requestTimeout))
      count += reply.integer.map { Int(clamping: $0) } ?? 0
    }
    return count
  }

  // MARK: - Leases

  /// Takes a lease. See `SharedTier.acquire(_:within:)`.
  public func acquire(_ lease: SharedLease, within limit: Duration) async throws -> Bool {
    let deadline = deadline(in: limit)
    let key = keys.lease(lease.key, try await knownSeed(until: deadline))
    let reply = try await send(
      [
        Array("SET".utf8), key, bytes(lease.owner), Array("NX".utf8), Array("PX".utf8),
        bytes(max(1, lease.lifetime.milliseconds)),
      ], key: key, until: deadline)
    return reply != .null
  }

  /// Ends a lease. See `SharedTier.release(_:within:)`.
  public func release(_ lease: SharedLease, within limit: Duration) async throws {
    let deadline = deadline(in: limit)
    let key = keys.lease(lease.key, try await knownSeed(until: deadline))
    let reply = try await run(.release, keys: [key], [bytes(lease.owner)], until: deadline)
    guard reply.integer == 1 else { return }
    try await send(
      [
        Array("XADD".utf8), keys.released, Array("MAXLEN".utf8), Array("~".utf8), bytes(1000),
        Array("*".utf8), [0x6B], key,
      ], key: keys.released, until: deadline)
  }

  /// Waits for the end of a lease. See `SharedTier.waitForRelease(of:atMost:)`.
  public func waitForRelease(of key: [UInt8], atMost wait: Duration) async throws {
    let deadline = deadline(in: wait)
    let key = keys.lease(key, try await knownSeed(until: deadline))
    try await releases.wait(for: key, until: deadline) { [client] in
      let reply = try await client.send([Array("PTTL".utf8), key], key: key, timeout: $0)
      guard let left = reply.integer, left > 0 else { return nil }
      // A key still exists in the last millisecond that it was given.
      return .milliseconds(left) + .milliseconds(1)
    }
  }

  /// What the connections did so far, and what they hold now.
  public var statistics: RedisStatistics { client.statistics }

  /// Closes the connections. Calls in progress fail.
  public func close() async {
    releases.stop()
    line.stop()
    await client.close()
  }

  private func bytes(_ number: some BinaryInteger) -> [UInt8] { Array(String(number).utf8) }
}

extension Duration {
  var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1000 + attoseconds / 1_000_000_000_000_000
  }
}

extension XXH3 {
  static func hash(_ bytes: [UInt8], seed: UInt64) -> UInt64 {
    bytes.withUnsafeBytes { hash($0, seed: seed) }
  }
}

extension HTTPCache.SharedTierOptions {
  /// Returns the default options, with a tier on Redis or Valkey. The first call connects to the server.
  ///
  /// ```swift
  /// configuration.sharedTier = try .redis("redis://cache.internal/0")
  /// configuration.sharedTier?.trust = .seconds(5)
  /// ```
  ///
  /// - Parameters:
  ///   - url: the URL of the server; see ``RedisSharedTier/Configuration``.
  ///   - password: a password that replaces the URL's.
  /// - Throws: ``RedisError`` if the URL is invalid, or if a certificate or a key cannot be used.
  public static func redis(_ url: String, password: String? = nil) throws(RedisError) -> Self {
    Self(try RedisSharedTier(url, password: password))
  }
}
