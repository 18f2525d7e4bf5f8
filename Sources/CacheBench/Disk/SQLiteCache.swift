import Foundation
import HTTPCacheStore
import Synchronization

/// One table in SQLite, with a write-ahead log, in transactions of 64 puts, and never synced, as nothing here is.
final class SQLiteCache: BenchCache {
  private struct State: @unchecked Sendable {
    // Unchecked: used under the lock alone.
    var database: OpaquePointer?
    var insert: OpaquePointer?
    var select: OpaquePointer?
    var pending = 0
  }

  private static let batch = 64

  private let data: DiskData
  private let library: SQLiteLibrary
  private let state: Mutex<State>

  init(_ data: DiskData, _ library: SQLiteLibrary, directory: String) throws {
    self.data = data
    self.library = library
    var state = State()
    func check(_ code: Int32, _ what: String) throws {
      guard code == 0 else { throw BenchError.unprepared("SQLite cannot \(what): error \(code)") }
    }
    try check(library.open(directory + "/cache.sqlite", &state.database), "open a database")
    for statement in [
      "PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF",
      "CREATE TABLE entries (key BLOB PRIMARY KEY, head BLOB, body BLOB)",
    ] {
      try check(library.exec(state.database, statement, nil, nil, nil), statement)
    }
    try check(
      library.prepare(
        state.database, "INSERT OR REPLACE INTO entries VALUES (?,?,?)", -1, &state.insert, nil),
      "prepare a put")
    try check(
      library.prepare(state.database, "SELECT head, body FROM entries WHERE key=?", -1, &state.select, nil),
      "prepare a get")
    self.state = Mutex(state)
  }

  func warm(_ key: Int) { data.touch(key) }

  func close() {
    state.withLock { state in
      if state.pending > 0 { _ = library.exec(state.database, "COMMIT", nil, nil, nil) }
      _ = library.finalize(state.insert)
      _ = library.finalize(state.select)
      _ = library.close(state.database)
      state = State()
    }
  }

  func operation(_ action: Action) -> (@Sendable (Int) -> Bool)? {
    data.operation(action, put: { self.put($0) }, get: { self.get($0) })
  }

  private func put(_ key: Int) -> Bool {
    let (keyBytes, head, body) = (data.keys[key].bytes, data.head, data.body(key))
    return state.withLock { state in
      if state.pending == 0, library.exec(state.database, "BEGIN", nil, nil, nil) != 0 { return false }
      // SQLite reads them where they are, in the step.
      let isDone = keyBytes.withUnsafeBytes { keyBytes in
        head.withUnsafeBytes { head in
          body.withUnsafeBytes { body in
            bind(state.insert, 1, keyBytes) && bind(state.insert, 2, head) && bind(state.insert, 3, body)
              && library.step(state.insert) == SQLiteLibrary.done
          }
        }
      }
      _ = library.reset(state.insert)
      state.pending += 1
      guard state.pending == Self.batch else { return isDone }
      state.pending = 0
      return library.exec(state.database, "COMMIT", nil, nil, nil) == 0 && isDone
    }
  }

  private func bind(_ statement: OpaquePointer?, _ index: Int32, _ bytes: UnsafeRawBufferPointer) -> Bool {
    library.bindBlob(statement, index, bytes.baseAddress, Int32(bytes.count), nil) == 0
  }

  private func get(_ key: Int) -> Int? {
    let keyBytes = data.keys[key].bytes
    return state.withLock { state in
      keyBytes.withUnsafeBytes { keyBytes in
        defer { _ = library.reset(state.select) }
        guard bind(state.select, 1, keyBytes), library.step(state.select) == SQLiteLibrary.row,
          let head = column(state.select, 0), let body = column(state.select, 1),
          head.count == data.head.count
        else { return nil }
        return body.count
      }
    }
  }

  /// In memory of its own: SQLite's is gone with the next step.
  private func column(_ statement: OpaquePointer?, _ index: Int32) -> [UInt8]? {
    guard let bytes = library.columnBlob(statement, index) else { return nil }
    let count = Int(library.columnBytes(statement, index))
    return Array(UnsafeRawBufferPointer(start: bytes, count: count))
  }
}
