// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A script that the server runs as one step.
struct RedisScript: Sendable {
  let source: [UInt8]
  /// The digest by which the server knows it, in hexadecimal.
  let digest: [UInt8]

  private init(_ source: String) {
    self.source = Array(source.utf8)
    digest = Array(SHA1.hexadecimal(self.source).utf8)
  }

  /// Finds the log. Begins a new one if the log is missing, or if the server has restarted and may have lost records.
  ///
  /// KEYS: meta, log. ARGV: whether the server is durable, a new epoch, a new seed.
  private static let findLog = """
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
    local meta = redis.call('HMGET', KEYS[1], 'epoch', 'began', 'run', 'seed')
    local epoch, began, seed = meta[1], tonumber(meta[2] or 0), meta[4]
    if not epoch or not seed or redis.call('EXISTS', KEYS[2]) == 0 or (meta[3] ~= run and ARGV[1] ~= '1') then
      redis.call('DEL', KEYS[1], KEYS[2])
      epoch, began, seed = ARGV[2], now, seed or ARGV[3]
      redis.call('HSET', KEYS[1], 'epoch', epoch, 'began', now, 'run', run, 'seed', seed)
      redis.call('XGROUP', 'CREATE', KEYS[2], 'x', '0', 'MKSTREAM')
    elseif meta[3] ~= run then
      began = now
      redis.call('HSET', KEYS[1], 'began', now, 'run', run)
    end
    local function number(entries) return entries[1] and tonumber(string.match(entries[1][1], '^%d+')) end
    local last = number(redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)) or 0

    """

  /// The pieces of a value; removes them, or an entry with all its pieces.
  private static let discard = """
    local function pieces(key, value)
      local stamp, count = string.match(string.sub(value, 1, 128), '^%d+:%d+:%d+:(%d+):(%d+):')
      local found = {}
      for i = 0, math.min(tonumber(count or 0), 16384) - 1 do found[i + 1] = key .. ':' .. stamp .. ':' .. i end
      return found
    end
    local function discard_pieces(key, value)
      for _, piece in ipairs(pieces(key, value)) do redis.call('UNLINK', piece) end
    end
    local function discard(key)
      -- An entry of another type has no pieces.
      for _, name in ipairs(redis.pcall('HKEYS', key)) do
        -- The fields of contents begin with 'b'.
        if string.sub(name, 1, 1) ~= 'b' then discard_pieces(key, redis.call('HGET', key, name)) end
      end
      redis.call('UNLINK', key)
    end

    """

  /// Removes an entry.
  ///
  /// KEYS: entry.
  static let remove = RedisScript(discard + "discard(KEYS[1])")

  /// Returns the variants of entries, without their contents: for each, the names and the values of its fields.
  ///
  /// KEYS: entries.
  static let variants = RedisScript(
    """
    local found = {}
    for i, key in ipairs(KEYS) do
      local names, values = {}, {}
      -- An entry of another type has no fields.
      for _, name in ipairs(redis.pcall('HKEYS', key)) do
        if string.sub(name, 1, 1) ~= 'b' then names[#names + 1] = name end
      end
      if #names > 0 then values = redis.call('HMGET', key, unpack(names)) end
      found[i] = {names, values}
    end
    return found
    """)

  /// Removes variants of an entry that still have these values, with their contents; returns their number.
  ///
  /// KEYS: entry. ARGV: name and value of each.
  static let forget = RedisScript(
    discard + """
      local count = 0
      for i = 1, #ARGV, 2 do
        if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
          discard_pieces(KEYS[1], ARGV[i + 1])
          redis.call('HDEL', KEYS[1], ARGV[i], 'b' .. ARGV[i])
          count = count + 1
        end
      end
      return count
      """)

  /// Returns the epoch and the seed.
  static let begin = RedisScript(findLog + "return {epoch, seed}")

  /// Registers a node, and returns epoch, seed, last and first number, and the number that all nodes have applied.
  ///
  /// More ARGV: node, its epoch and number, its lifetime in milliseconds. Heartbeats of a node may arrive in another order
  /// than they were sent: the number never decreases within an epoch. What a node has applied once stays applied, also if it
  /// reads the log again.
  static let heartbeat = RedisScript(
    findLog + """
      local applied = tonumber(ARGV[6])
      local e, n = string.match(redis.call('HGET', KEYS[1], 'n:' .. ARGV[4]) or '', '^(%d+):(%d+):')
      if e == ARGV[5] then applied = math.max(applied, tonumber(n)) end
      redis.call('HSET', KEYS[1], 'n:' .. ARGV[4],
        ARGV[5] .. ':' .. string.format('%.0f:%.0f', applied, now + tonumber(ARGV[7])))
      local all = redis.call('HGETALL', KEYS[1])
      local least = last
      for i = 1, #all, 2 do
        if string.sub(all[i], 1, 2) == 'n:' then
          local e, n, stop = string.match(all[i + 1], '^(%d+):(%d+):(%d+)$')
          if not stop or tonumber(stop) <= now then
            redis.call('HDEL', KEYS[1], all[i])
          elseif e ~= epoch then
            least = 0
          else
            least = math.min(least, tonumber(n))
          end
        end
      end
      if now < began + tonumber(ARGV[7]) then least = 0 end
      local first = number(redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)) or last + 1
      return {epoch, seed, last, first, least}
      """)

  /// Adds a record, removes entries, and returns epoch, seed and number; without the number if the seed is another.
  ///
  /// More KEYS: entries. More ARGV: seed, payload, tags, whether it is broad, the limit of the log.
  static let append = RedisScript(
    discard + findLog + """
      if seed ~= ARGV[4] then return {epoch, seed} end
      local next = string.format('%.0f', last + 1)
      redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[8], next .. '-0',
        'p', ARGV[5], 't', ARGV[6], 'b', ARGV[7], 'e', epoch)
      for i = 3, #KEYS do discard(KEYS[i]) end
      return {epoch, seed, last + 1}
      """)

  /// Sets the variant of an entry; returns 2 instead if the entry has too many variants.
  ///
  /// There are 8 variants, of two fields each, or of one if the content is in pieces: each lookup reads all of them. A variant
  /// without content may be a note of how further variants are found: there is room for more of them.
  ///
  /// With the digest of a value, the content stays: 3 if the entry no longer has this value, or lacks a piece of its content.
  ///
  /// KEYS: entry. ARGV: variant, value without times, lifetime in milliseconds; the 8th is the name of the content's field,
  /// the 9th the content, unless it is in pieces or stays, and the 10th the digest.
  private static let set =
    discard + """
      local time = redis.call('TIME')
      local now = time[1] * 1000 + math.floor(time[2] / 1000)
      local lifetime = tonumber(ARGV[3])
      -- A content in pieces stays for a minute after its end: a 304 then needs to bring no content.
      local keep = lifetime + (string.match(ARGV[2], '^%d+:%d+:0:') and 0 or 60000)
      local old = redis.call('HGET', KEYS[1], ARGV[1])
      if ARGV[10] then
        if not old or redis.sha1hex(old) ~= ARGV[10] then return 3 end
        for _, piece in ipairs(pieces(KEYS[1], old)) do
          if redis.call('PEXPIRE', piece, keep) == 0 then return 3 end
        end
      elseif old then
        discard_pieces(KEYS[1], old)
      else
        local most = ARGV[9] == '' and 80 or ARGV[9] and 16 or 8
        if redis.call('HLEN', KEYS[1]) >= most then return 2 end
      end
      redis.call('HSET', KEYS[1], ARGV[1],
        string.format('%.0f:%.0f:', now, now + lifetime) .. ARGV[2])
      if not ARGV[10] then
        if ARGV[9] then
          redis.call('HSET', KEYS[1], ARGV[8], ARGV[9])
        else
          redis.call('HDEL', KEYS[1], ARGV[8])
        end
      end
      if redis.call('PTTL', KEYS[1]) < keep then redis.call('PEXPIRE', KEYS[1], keep) end
      return 1
      """

  /// Stores an entry without a look at the log, which is in another slot.
  static let storeUnchecked = RedisScript(set)

  /// Stores an entry unless the log has a later removal of it, or no longer reaches back to its position; returns 0 then, and otherwise what `set` does.
  ///
  /// More KEYS: meta, log. More ARGV: epoch, number, tags, seed.
  static let store = RedisScript(
    """
    local meta = redis.call('HMGET', KEYS[2], 'epoch', 'seed')
    if meta[1] ~= ARGV[4] or meta[2] ~= ARGV[7] then return 0 end
    local function number(entry) return tonumber(string.match(entry[1], '^%d+')) end
    local own = tonumber(ARGV[5])
    local last = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)[1]
    if last and number(last) > own then
      local records = redis.call('XRANGE', KEYS[3], string.format('%.0f-0', own + 1), '+', 'COUNT', 256)
      if not records[1] or number(records[1]) ~= own + 1 or number(records[#records]) < number(last) then
        return 0
      end
      for _, record in ipairs(records) do
        local tags, broad = '', '1'
        for i = 1, #record[2], 2 do
          if record[2][i] == 't' then tags = record[2][i + 1] end
          if record[2][i] == 'b' then broad = record[2][i + 1] end
        end
        if broad ~= '0' then return 0 end
        for i = 1, #tags, 8 do
          local tag = string.sub(tags, i, i + 7)
          for j = 1, #ARGV[6], 8 do
            if tag == string.sub(ARGV[6], j, j + 7) then return 0 end
          end
        end
      end
    end

    """ + set)

  /// Ends a lease if it belongs to its owner; returns 1 or 0.
  ///
  /// KEYS: lease. ARGV: owner.
  static let release = RedisScript(
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")
}
