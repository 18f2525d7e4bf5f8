import Foundation

/// A report that was read from a file, which somebody may have written by hand.
struct ReportFile {
  var name: String
  var report: Report

  private static let mostBytes = 64 << 20
  /// Of each kind.
  private static let mostRows = 2_000

  /// - Throws: ``InputError``.
  init(path: String) throws {
    let bytes = try InputFile.bytes(of: path, limit: Self.mostBytes)
    try self.init(name: String(path.split(separator: "/").last ?? "-"), bytes: bytes, path: path)
  }

  init(name: String, bytes: [UInt8], path: String) throws {
    func broken(_ what: String) -> InputError { InputError(path: path, isUnreadable: false, what: what) }
    self.name = name
    guard !bytes.isEmpty else { throw broken("it is empty; give what a command wrote with --json") }
    let data = Data(bytes)
    struct Head: Decodable {
      var format: Int
    }
    do {
      let format = try JSONDecoder().decode(Head.self, from: data).format
      guard format == Report.currentFormat else {
        throw broken(
          "it has format \(format), and this version reads \(Report.currentFormat): measure again, or use the version "
            + "that wrote it")
      }
      report = try JSONDecoder().decode(Report.self, from: data)
    } catch let error as DecodingError {
      throw broken(Self.explain(error))
    }
    for (what, count) in [
      ("measurements", report.measurements.count), ("ratios", report.ratios.count),
      ("session", report.session.count), ("replays", report.replays.count), ("memory", report.memory.count),
      ("targets", report.targets.count), ("notes", report.notes.count),
    ] where count > Self.mostRows {
      throw broken("\(what) has \(count) rows, and \(Self.mostRows) are the most")
    }
  }

  private static func explain(_ error: DecodingError) -> String {
    func place(_ path: [any CodingKey], _ last: String? = nil) -> String {
      let names = path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue } + (last.map { [$0] } ?? [])
      return Printable.text(names.joined(separator: "."))
    }
    return switch error {
    case .keyNotFound(let key, let context):
      "it is no result of cache-bench: '\(place(context.codingPath, key.stringValue))' is missing"
    case .typeMismatch(_, let context), .valueNotFound(_, let context):
      "it is no result of cache-bench: '\(place(context.codingPath))' is not of the right kind"
    case .dataCorrupted(let context) where !context.codingPath.isEmpty:
      "it is no result of cache-bench: '\(place(context.codingPath))' has a value that this version does not know"
    default: "it is no JSON"
    }
  }
}
