/// The targets of the disk tier, each with what a report has of it.
struct DiskTargetTable {
  var report: Report

  private static let size = 16 << 10

  var rows: [TargetResult] {
    getRows + putRows + coldRows + openingRows + churnRows + memoryRows + foundationRows
  }

  private var getRows: [TargetResult] {
    [
      row(
        "get, 16 KB, warm, checksum verified: time against raw pread", .atMost, 1.7,
        ratio(.diskGet, .rawFile).map { 1 / $0 }, note(.diskGet, .rawFile)),
      row(
        "get, 16 KB, warm: speed against SQLite", .atLeast, 2.5, ratio(.diskGet, .sqlite),
        note(.diskGet, .sqlite)),
      row(
        "get, 16 KB, warm: speed against a file per entry", .atLeast, 2, ratio(.diskGet, .files),
        note(.diskGet, .files)),
    ]
  }

  private var putRows: [TargetResult] {
    [
      row(
        "put, 16 KB: throughput against a raw append", .atLeast, 0.8, ratio(.diskStore, .rawFile),
        note(.diskStore, .rawFile)),
      row(
        "put, 16 KB: speed against SQLite", .atLeast, 8, ratio(.diskStore, .sqlite), note(.diskStore, .sqlite)
      ),
      row(
        "put, 16 KB: speed against a file per entry", .atLeast, 5, ratio(.diskStore, .files),
        note(.diskStore, .files)),
    ]
  }

  private var coldRows: [TargetResult] {
    let figure = report.disk?.coldGets.first { $0.cache == .ours }
    let raw = report.disk?.coldGets.first { $0.cache == .rawFile }
    return [
      row(
        "cold get, 16 KB: reads", .atMost, 1, figure?.readCallsPerGet,
        figure.map {
          "\(Format.bytes($0.deviceBytesPerGet)) from the device, raw \(raw.map { Format.bytes($0.deviceBytesPerGet) } ?? "?")"
        })
    ]
  }

  private var openingRows: [TargetResult] {
    func opening(_ valueBytes: Int, _ ending: OpeningFigure.Ending, _ limit: Double) -> TargetResult {
      let one = report.disk?.openings.first { $0.valueBytes == valueBytes && $0.ending == ending }
      let entries = one.map { Format.count($0.entries) } ?? "?"
      return row(
        "reopen, \(entries) of \(valueBytes >> 10) KB, \(ending.title), page cache cold", .atMost, limit,
        one.flatMap { $0.nanosecondsByRound.isEmpty ? nil : $0.nanoseconds }, unit: .nanoseconds,
        one.map { "\(Format.bytes(Double($0.deviceBytes))) from the device" })
    }
    return [
      opening(Self.size, .closed, 50e6), opening(1024, .closed, 0.6e9), opening(1024, .killed, 1.5e9),
    ]
  }

  private var churnRows: [TargetResult] {
    let one = report.disk?.churn.first
    return [
      row(
        "churn: most of the capacity that was ever used", .atMost, 1,
        one.map { Double($0.mostBytes) / Double($0.capacityBytes) }, unit: .share),
      row(
        "churn: live share of the capacity", .atLeast, 0.85, one?.liveShare, unit: .share,
        one.map {
          "least \(Format.percent($0.leastLiveShare)), files by live \(Format.times($0.spaceAmplification))"
        }),
      row("churn: bytes written for each byte stored", .atMost, 1.3, one?.writtenPerByte),
    ]
  }

  private var memoryRows: [TargetResult] {
    // Of the largest index there is.
    let one = report.disk?.openings.max { $0.entries < $1.entries }
    return [
      row(
        "memory for each entry on disk, by malloc", .atMost, 40, one?.memoryBytesPerEntry, unit: .bytes,
        one.map { "at \(Format.count($0.entries)) entries" })
    ]
  }

  private var foundationRows: [TargetResult] {
    [
      row(
        "get, 100 entries of 1 KB: speed against URLCache", .atLeast, 200, ratio(.diskGet, .urlCache, 1024),
        note(.diskGet, .urlCache, 1024)),
      row(
        "store, 100 entries of 1 KB: speed against URLCache", .atLeast, 500,
        ratio(.diskStore, .urlCache, 1024),
        note(.diskStore, .urlCache, 1024)),
    ]
  }

  // MARK: Figures

  private func row(
    _ what: String, _ bound: TargetResult.Bound, _ limit: Double, _ figure: Double?,
    unit: TargetResult.Unit = .times, _ note: String? = nil
  ) -> TargetResult {
    TargetResult(what: what, bound: bound, limit: limit, unit: unit, figure: figure, note: note)
  }

  private func pair(
    _ action: Action, _ yardstick: CacheName, _ size: Int
  ) -> (own: Measurement, other: Measurement)? {
    guard
      let other = report.measurements.first(where: {
        $0.action == action && $0.cache == yardstick && $0.valueBytes == size
      }),
      let own = report.measurements.first(where: {
        $0.action == action && $0.cache == .ours && $0.valueBytes == size && $0.entries == other.entries
      })
    else { return nil }
    return (own, other)
  }

  /// How many times as fast ours is; by the processor's time where that is known.
  private func ratio(_ action: Action, _ yardstick: CacheName, _ size: Int = size) -> Double? {
    pair(action, yardstick, size).flatMap { Ratio(of: $0.own, to: $0.other)?.timesAsFast }
  }

  private func note(_ action: Action, _ yardstick: CacheName, _ size: Int = size) -> String? {
    pair(action, yardstick, size).map { own, other in
      "\(Format.duration(own.nanoseconds)) and \(Format.duration(other.nanoseconds)) by the clock"
    }
  }
}
