// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import Synchronization

/// A database under a lock, which is never synced, with transactions of 64 puts where it has transactions.
final class DatabaseCache<Library: DatabaseLibrary>: DiskCache {
  private struct State: @unchecked Sendable {
    // Unchecked: used under the lock alone.
    var connection: Library.Connection
    var pending = 0
  }

  let data: Dataset
  private let library: Library
  private let state: Mutex<State>

  init(_ data: Dataset, _ library: Library, directory: String, capacity: Int) throws {
    (self.data, self.library) = (data, library)
    state = Mutex(State(connection: try library.connect(directory, capacity: capacity)))
  }

  func close() {
    state.withLock { state in
      if state.pending > 0 { _ = library.commit(&state.connection) }
      library.disconnect(state.connection)
    }
  }

  func put(_ key: Int) -> Bool {
    let (keyBytes, body) = (data.keys[key].bytes, data.body(key))
    return state.withLock { state in
      if state.pending == 0, !library.begin(&state.connection) { return false }
      let isDone = keyBytes.withUnsafeBytes { library.put(state.connection, $0, data.head, body) }
      state.pending += 1
      guard state.pending == 64 else { return isDone }
      state.pending = 0
      return library.commit(&state.connection) && isDone
    }
  }

  func get(_ key: Int) -> Int? {
    let keyBytes = data.keys[key].bytes
    return state.withLock { state in
      keyBytes.withUnsafeBytes { library.get(state.connection, $0, headCount: data.head.count) }
    }
  }
}

/// A database in a library of the system. The properties of a conforming type are the library's functions, with the
/// types of its C interface.
protocol DatabaseLibrary: Sendable {
  associatedtype Connection
  typealias Bytes = UnsafeRawBufferPointer

  static var library: SystemLibrary { get }
  init()

  func connect(_ directory: String, capacity: Int) throws -> Connection
  func disconnect(_ connection: Connection)
  func begin(_ connection: inout Connection) -> Bool
  func commit(_ connection: inout Connection) -> Bool
  func put(_ connection: Connection, _ key: Bytes, _ head: [UInt8], _ body: [UInt8]) -> Bool
  /// Copies head and body, and returns the bytes of the body.
  func get(_ connection: Connection, _ key: Bytes, headCount: Int) -> Int?
}

extension DatabaseLibrary {
  func begin(_ connection: inout Connection) -> Bool { true }
  func commit(_ connection: inout Connection) -> Bool { true }

  /// `nil` where the library is not installed.
  static func open() -> Self? {
    let functions = Self()
    return library.isComplete ? functions : nil
  }

  func maker(_ data: Dataset, capacity: Int) -> (_ directory: String) throws -> any BenchCache {
    { try DatabaseCache(data, self, directory: $0, capacity: capacity) }
  }

  func check(_ isDone: Bool, _ what: String) throws {
    guard isDone else { throw BenchError.unprepared("\(Self.self) cannot \(what)") }
  }
}

/// A library of the system, opened when it is needed: a build needs neither its header nor its file.
final class SystemLibrary: @unchecked Sendable {
  // Unchecked: what `dlopen` gives may be used from any thread.
  private let handle: UnsafeMutableRawPointer?
  private let prefix: String
  private let isMissing = Atomic(false)

  /// - Parameters:
  ///   - files: files, of which the first that there is is opened.
  ///   - prefix: what the names of its functions begin with.
  init(_ files: [String], prefix: String) {
    handle = files.lazy.compactMap { dlopen($0, RTLD_NOW | RTLD_LOCAL) }.first
    self.prefix = prefix
  }

  /// Whether all functions were found that were asked for.
  var isComplete: Bool { !isMissing.load(ordering: .relaxed) }

  /// The function of a name, as the type that its caller expects. In place of one that is missing, the end of the
  /// process: see ``isComplete``.
  func callAsFunction<Function>(_ name: String, _: Function.Type) -> Function {
    if let handle, let function = dlsym(handle, prefix + name) {
      return unsafeBitCast(function, to: Function.self)
    }
    isMissing.store(true, ordering: .relaxed)
    let end: @convention(c) () -> Void = { abort() }
    return unsafeBitCast(end, to: Function.self)
  }
}

private typealias Object = OpaquePointer
private typealias Text = UnsafePointer<CChar>
private typealias Pointer = UnsafeRawPointer
private typealias Place = UnsafeMutableRawPointer
private typealias Out<Value> = UnsafeMutablePointer<Value>

/// The system's SQLite, with one table and a write-ahead log. Its C interface has been the same since version 3.3.9.
struct SQLite: DatabaseLibrary {
  struct Connection {
    fileprivate var database: OpaquePointer?
    fileprivate var insert: OpaquePointer?
    fileprivate var select: OpaquePointer?
  }

  private let open = Self.library("open", (@convention(c) (Text, Out<Object?>) -> Int32).self)
  private let close = Self.library("close", (@convention(c) (Object?) -> Int32).self)
  private let exec = Self.library(
    "exec", (@convention(c) (Object?, Text, Pointer?, Pointer?, Pointer?) -> Int32).self)
  private let prepare = Self.library(
    "prepare_v2", (@convention(c) (Object?, Text, Int32, Out<Object?>, Pointer?) -> Int32).self)
  private let bindBlob = Self.library(
    "bind_blob", (@convention(c) (Object?, Int32, Pointer?, Int32, Pointer?) -> Int32).self)
  private let step = Self.library("step", (@convention(c) (Object?) -> Int32).self)
  private let reset = Self.library("reset", (@convention(c) (Object?) -> Int32).self)
  private let columnBlob = Self.library("column_blob", (@convention(c) (Object?, Int32) -> Pointer?).self)
  private let columnBytes = Self.library("column_bytes", (@convention(c) (Object?, Int32) -> Int32).self)
  private let finalize = Self.library("finalize", (@convention(c) (Object?) -> Int32).self)
  private let libversion = Self.library("libversion", (@convention(c) () -> Text).self)

  static let shared = SQLite.open()
  static let library = SystemLibrary(
    ["libsqlite3.so.0", "libsqlite3.so", "libsqlite3.dylib"], prefix: "sqlite3_")
  private static let (done, row): (Int32, Int32) = (101, 100)

  var version: String { String(cString: libversion()) }

  func connect(_ directory: String, capacity: Int) throws -> Connection {
    var connection = Connection()
    try check(open(directory + "/cache.sqlite", &connection.database) == 0, "open a database")
    for statement in [
      "PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF",
      "CREATE TABLE entries (key BLOB PRIMARY KEY, head BLOB, body BLOB)",
    ] { try check(run(statement, connection), statement) }
    for (statement, path) in [
      ("INSERT OR REPLACE INTO entries VALUES (?,?,?)", \Connection.insert),
      ("SELECT head, body FROM entries WHERE key=?", \Connection.select),
    ] {
      try check(prepare(connection.database, statement, -1, &connection[keyPath: path], nil) == 0, statement)
    }
    return connection
  }

  func disconnect(_ connection: Connection) {
    _ = (finalize(connection.insert), finalize(connection.select), close(connection.database))
  }

  private func run(_ statement: String, _ connection: Connection) -> Bool {
    exec(connection.database, statement, nil, nil, nil) == 0
  }

  func begin(_ connection: inout Connection) -> Bool { run("BEGIN", connection) }
  func commit(_ connection: inout Connection) -> Bool { run("COMMIT", connection) }

  /// SQLite reads them where they are, in the step.
  func put(_ connection: Connection, _ key: Bytes, _ head: [UInt8], _ body: [UInt8]) -> Bool {
    defer { _ = reset(connection.insert) }
    return head.withUnsafeBytes { head in
      body.withUnsafeBytes { body in
        bind(connection.insert, 1, key) && bind(connection.insert, 2, head)
          && bind(connection.insert, 3, body) && step(connection.insert) == Self.done
      }
    }
  }

  private func bind(_ statement: OpaquePointer?, _ index: Int32, _ bytes: Bytes) -> Bool {
    bindBlob(statement, index, bytes.baseAddress, Int32(bytes.count), nil) == 0
  }

  func get(_ connection: Connection, _ key: Bytes, headCount: Int) -> Int? {
    defer { _ = reset(connection.select) }
    guard bind(connection.select, 1, key), step(connection.select) == Self.row,
      let head = column(connection.select, 0), let body = column(connection.select, 1),
      head.count == headCount
    else { return nil }
    return body.count
  }

  /// In memory of its own: SQLite's is gone with the next step.
  private func column(_ statement: OpaquePointer?, _ index: Int32) -> [UInt8]? {
    guard let bytes = columnBlob(statement, index) else { return nil }
    return Array(Bytes(start: bytes, count: Int(columnBytes(statement, index))))
  }
}

/// LMDB: keys are looked up in the mapped file. Its C interface has been the same since version 0.9.
struct LMDB: DatabaseLibrary {
  struct Connection {
    fileprivate var environment: OpaquePointer?
    /// What is being written; it sees what was put, and others do not.
    fileprivate var writing: OpaquePointer?
    fileprivate var database: UInt32 = 0
  }

  /// `MDB_val`.
  private struct Value {
    var count: Int
    var bytes: UnsafeRawPointer?
  }

  private let createEnvironment = Self.library("env_create", (@convention(c) (Out<Object?>) -> Int32).self)
  private let setMapSize = Self.library("env_set_mapsize", (@convention(c) (Object?, Int) -> Int32).self)
  private let openEnvironment = Self.library(
    "env_open", (@convention(c) (Object?, Text, UInt32, UInt32) -> Int32).self)
  private let closeEnvironment = Self.library("env_close", (@convention(c) (Object?) -> Void).self)
  private let beginTransaction = Self.library(
    "txn_begin", (@convention(c) (Object?, Object?, UInt32, Out<Object?>) -> Int32).self)
  private let openDatabase = Self.library(
    "dbi_open", (@convention(c) (Object?, Text?, UInt32, Out<UInt32>) -> Int32).self)
  private let commitTransaction = Self.library("txn_commit", (@convention(c) (Object?) -> Int32).self)
  private let abort = Self.library("txn_abort", (@convention(c) (Object?) -> Void).self)
  private let putValue = Self.library(
    "put", (@convention(c) (Object?, UInt32, Place, Place, UInt32) -> Int32).self)
  private let getValue = Self.library("get", (@convention(c) (Object?, UInt32, Place, Place) -> Int32).self)

  static let shared = LMDB.open()
  static let library = SystemLibrary(
    ["liblmdb.so.0", "liblmdb.so", "liblmdb.dylib", "/opt/homebrew/lib/liblmdb.dylib"],
    prefix: "mdb_")
  /// NOSYNC, WRITEMAP, NOTLS and NOLOCK: a lock of ours is around everything.
  private static let flags: UInt32 = 0x10000 | 0x80000 | 0x20_0000 | 0x40_0000
  private static let readOnly: UInt32 = 0x20000
  /// Gives the place for a value instead of copying it.
  private static let reserve: UInt32 = 0x10000

  func connect(_ directory: String, capacity: Int) throws -> Connection {
    var connection = Connection()
    try check(createEnvironment(&connection.environment) == 0, "make an environment")
    try check(setMapSize(connection.environment, capacity) == 0, "have so much room")
    try check(openEnvironment(connection.environment, directory, Self.flags, 0o600) == 0, "open a directory")
    try check(begin(&connection), "begin a transaction")
    try check(openDatabase(connection.writing, nil, 0, &connection.database) == 0, "open a database")
    try check(commit(&connection), "commit")
    return connection
  }

  func disconnect(_ connection: Connection) { closeEnvironment(connection.environment) }

  func begin(_ connection: inout Connection) -> Bool {
    beginTransaction(connection.environment, nil, 0, &connection.writing) == 0
  }

  func commit(_ connection: inout Connection) -> Bool {
    defer { connection.writing = nil }
    return commitTransaction(connection.writing) == 0
  }

  func put(_ connection: Connection, _ key: Bytes, _ head: [UInt8], _ body: [UInt8]) -> Bool {
    var key = Value(count: key.count, bytes: key.baseAddress)
    var value = Value(count: head.count + body.count)
    guard putValue(connection.writing, connection.database, &key, &value, Self.reserve) == 0,
      let place = value.bytes
    else { return false }
    let target = UnsafeMutableRawBufferPointer(
      start: UnsafeMutableRawPointer(mutating: place), count: value.count)
    target.copyBytes(from: head)
    UnsafeMutableRawBufferPointer(rebasing: target[head.count...]).copyBytes(from: body)
    return true
  }

  func get(_ connection: Connection, _ key: Bytes, headCount: Int) -> Int? {
    var reading = connection.writing
    if reading == nil, beginTransaction(connection.environment, nil, Self.readOnly, &reading) != 0 {
      return nil
    }
    defer { if connection.writing == nil { abort(reading) } }
    var key = Value(count: key.count, bytes: key.baseAddress)
    var value = Value(count: 0)
    guard getValue(reading, connection.database, &key, &value) == 0, value.count >= headCount else {
      return nil
    }
    // In memory of its own: LMDB's may be another's after the next commit.
    return Array(Bytes(start: value.bytes, count: value.count)).count - headCount
  }
}

/// RocksDB with its defaults, without compression, with a write-ahead log.
struct RocksDB: DatabaseLibrary {
  struct Connection {
    fileprivate var database: OpaquePointer?
    fileprivate var options: OpaquePointer?
    fileprivate var reading: OpaquePointer?
    fileprivate var writing: OpaquePointer?
  }

  private typealias Failure = Out<Out<CChar>?>

  private let makeOptions = Self.library("options_create", (@convention(c) () -> Object?).self)
  private let makeReading = Self.library("readoptions_create", (@convention(c) () -> Object?).self)
  private let makeWriting = Self.library("writeoptions_create", (@convention(c) () -> Object?).self)
  private let destroyOptions = Self.library("options_destroy", (@convention(c) (Object?) -> Void).self)
  private let destroyReading = Self.library("readoptions_destroy", (@convention(c) (Object?) -> Void).self)
  private let destroyWriting = Self.library("writeoptions_destroy", (@convention(c) (Object?) -> Void).self)
  private let createIfMissing = Self.library(
    "options_set_create_if_missing", (@convention(c) (Object?, UInt8) -> Void).self)
  private let setCompression = Self.library(
    "options_set_compression", (@convention(c) (Object?, Int32) -> Void).self)
  private let open = Self.library("open", (@convention(c) (Object?, Text, Failure) -> Object?).self)
  private let close = Self.library("close", (@convention(c) (Object?) -> Void).self)
  private let putValue = Self.library(
    "put", (@convention(c) (Object?, Object?, Pointer?, Int, Pointer?, Int, Failure) -> Void).self)
  private let getValue = Self.library(
    "get", (@convention(c) (Object?, Object?, Pointer?, Int, Out<Int>, Failure) -> Place?).self)
  private let free = Self.library("free", (@convention(c) (Place?) -> Void).self)

  static let shared = RocksDB.open()
  // The file's name has the version in it, unless the development package is installed.
  static let library = SystemLibrary(
    ["librocksdb.so"]
      + (6...10).flatMap { major in (0...29).map { "librocksdb.so.\(major).\($0)" } }
      + ["librocksdb.dylib", "/opt/homebrew/lib/librocksdb.dylib"], prefix: "rocksdb_")

  func connect(_ directory: String, capacity: Int) throws -> Connection {
    var connection = Connection(
      options: makeOptions(), reading: makeReading(), writing: makeWriting())
    createIfMissing(connection.options, 1)
    setCompression(connection.options, 0)
    var error: UnsafeMutablePointer<CChar>?
    connection.database = open(connection.options, directory, &error)
    let message = error.map { String(cString: $0) } ?? ""
    free(error)
    try check(error == nil, "open a directory: \(message)")
    return connection
  }

  func disconnect(_ connection: Connection) {
    close(connection.database)
    destroyReading(connection.reading)
    destroyWriting(connection.writing)
    destroyOptions(connection.options)
  }

  func put(_ connection: Connection, _ key: Bytes, _ head: [UInt8], _ body: [UInt8]) -> Bool {
    var error: UnsafeMutablePointer<CChar>?
    (head + body).withUnsafeBytes { value in
      putValue(
        connection.database, connection.writing, key.baseAddress, key.count, value.baseAddress,
        value.count,
        &error)
    }
    free(error)
    return error == nil
  }

  func get(_ connection: Connection, _ key: Bytes, headCount: Int) -> Int? {
    var error: UnsafeMutablePointer<CChar>?
    var count = 0
    // It is a copy already.
    let value = getValue(
      connection.database, connection.reading, key.baseAddress, key.count, &count, &error)
    free(error)
    guard let value else { return nil }
    free(value)
    return count - headCount
  }
}
