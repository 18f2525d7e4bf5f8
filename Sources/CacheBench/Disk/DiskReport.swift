/// What `disk` finds beyond what single operations take.
struct DiskReport: Codable, Sendable {
  var churn: [ChurnFigure] = []
  var coldGets: [ColdGetFigure] = []
  var openings: [OpeningFigure] = []
}

/// A store at its capacity, into which new entries keep coming, one in ten of them in place of another.
struct ChurnFigure: Codable, Hashable, Sendable {
  var valueBytes: Int
  var capacityBytes: Int
  var puts: Int
  var putsPerSecond: Double
  /// The most that the files occupied at any look at them.
  var mostBytes: Int
  /// Bytes of key, head and body of what could be found, by the capacity: the median of many looks, and the least.
  var liveShare: Double
  var leastLiveShare: Double
  /// Bytes handed to the system to write, for each byte of key, head and body; `nil` where it does not say.
  var writtenPerByte: Double?
  /// Bytes of the files for each byte of what could be found, at the end.
  var spaceAmplification: Double
}

/// Lookups of entries that are not in the page cache.
struct ColdGetFigure: Codable, Hashable, Sendable {
  var cache: CacheName
  var valueBytes: Int
  var gets: Int
  /// Calls of the system that read, for each lookup.
  var readCallsPerGet: Double
  /// Bytes from the device, for each lookup.
  var deviceBytesPerGet: Double
  var latency: Percentiles
}

/// Opening a directory whose files are not in the page cache, in a process of its own.
struct OpeningFigure: Codable, Hashable, Sendable {
  enum Ending: String, Codable, Sendable {
    case closed
    case killed

    var title: String { self == .closed ? "closed" : "killed (SIGKILL)" }
  }

  var entries: Int
  var valueBytes: Int
  /// How the store before it ended.
  var ending: Ending
  /// The median, and every one.
  var nanoseconds: Double
  var nanosecondsByRound: [Double]
  var deviceBytes: Int
  /// What the process occupied more afterwards, by malloc, for each entry; `nil` where that is not known.
  var memoryBytesPerEntry: Double?
}

extension DiskReport {
  var tables: [Table] {
    var tables: [Table] = []
    if !churn.isEmpty { tables.append(churnTable) }
    if !coldGets.isEmpty { tables.append(coldTable) }
    if !openings.isEmpty { tables.append(openingTable) }
    return tables
  }

  private var churnTable: Table {
    var table = Table(
      title: "Churn at capacity, one put in ten in place of another",
      header: [
        "values", "capacity", "most used", "puts", "live, median", "live, least", "used by live",
        "written by stored",
      ])
    table.rows = churn.map { one in
      [
        Format.bytes(Double(one.valueBytes)), Format.bytes(Double(one.capacityBytes)),
        Format.percent(Double(one.mostBytes) / Double(max(1, one.capacityBytes))),
        Format.rate(one.putsPerSecond), Format.percent(one.liveShare), Format.percent(one.leastLiveShare),
        Format.times(one.spaceAmplification), one.writtenPerByte.map(Format.times) ?? "",
      ]
    }
    return table
  }

  private var coldTable: Table {
    var table = Table(
      title: "Gets with a cold page cache",
      header: ["", "values", "gets", "reads, each", "from the device, each", "p50", "p99"])
    table.rows = coldGets.map { one in
      [
        one.cache.title, Format.bytes(Double(one.valueBytes)), Format.count(one.gets),
        Format.times(one.readCallsPerGet), Format.bytes(one.deviceBytesPerGet),
        Format.duration(Double(one.latency.p50Nanoseconds)),
        Format.duration(Double(one.latency.p99Nanoseconds)),
      ]
    }
    return table
  }

  private var openingTable: Table {
    var table = Table(
      title: "Opening, page cache cold, in a process of its own",
      header: ["ended by being", "entries", "values", "opens in", "from the device", "memory, each entry"])
    table.rows = openings.map { one in
      [
        one.ending.title, Format.count(one.entries), Format.bytes(Double(one.valueBytes)),
        Format.duration(one.nanoseconds), Format.bytes(Double(one.deviceBytes)),
        one.memoryBytesPerEntry.map { Format.bytes($0) } ?? "",
      ]
    }
    return table
  }
}
