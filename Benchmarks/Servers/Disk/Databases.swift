// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import Foundation
import HTTPCacheStore

/// A database under a lock, which is never synced. If it has transactions, each has 64 puts.
final class DatabaseCache: DiskCache {
  private struct State: @unchecked Sendable {
    // Unchecked: used only under the lock.
    var database: any Database
    var pending = 0
  }

  let data: Dataset
  private let state: Mutex<State>

  init(_ data: Dataset, _ type: any Database.Type, directory: String, capacity: Int) throws {
    self.data = data
    state = Mutex(State(database: try type.init(directory, capacity: capacity)))
  }

  func close() {
    state.withLock { state in
      if state.pending > 0 { _ = state.database.commit() }
      state.database.close()
    }
  }

  func put(_ key: Int) -> Bool {
    let (keyBytes, body) = (data.keys[key].bytes, data.body(key))
    return state.withLock { state in
      if state.pending == 0, !state.database.begin() { return false }
      let isDone = keyBytes.withUnsafeBytes { state.database.put($0, data.head, body) }
      state.pending += 1
      guard state.pending == 64 else { return isDone }
      state.pending = 0
      return state.database.commit() && isDone
    }
  }

  func get(_ key: Int) -> Int? {
    let keyBytes = data.keys[key].bytes
    return state.withLock { state in
      keyBytes.withUnsafeBytes { state.database.get($0, headCount: data.head.count) }
    }
  }
}

/// A database in a system library. The constants of a conforming type are the functions of the library, with the types
/// of its C interface.
protocol Database {
  typealias Bytes = UnsafeRawBufferPointer

  static var library: SystemLibrary { get }
  /// Opens an empty database.
  init(_ directory: String, capacity: Int) throws
  func close()
  mutating func begin() -> Bool
  mutating func commit() -> Bool
  func put(_ key: Bytes, _ head: [UInt8], _ body: [UInt8]) -> Bool
  /// Copies head and body, and returns the bytes of the body.
  func get(_ key: Bytes, headCount: Int) -> Int?
}

extension Database {
  func begin() -> Bool { true }
  func commit() -> Bool { true }

  fileprivate func check(_ isDone: Bool, _ what: String) throws {
    guard isDone else { throw BenchError.unprepared("\(Self.self) cannot \(what)") }
  }
}

/// A system library, opened when it is needed: a build needs neither its header nor its file.
final class SystemLibrary: @unchecked Sendable {
  // Unchecked: a handle of `dlopen` may be used from any thread.
  private let handle: UnsafeMutableRawPointer?
  private let file: String
  private let prefix: String

  /// - Parameters:
  ///   - files: candidate files; the first that exists is opened.
  ///   - prefix: the prefix of its function names.
  init(_ files: [String], prefix: String) {
    let opened = files.lazy.compactMap { file in dlopen(file, RTLD_NOW | RTLD_LOCAL).map { (file, $0) } }
      .first
    (file, handle) = (opened?.0 ?? files[0], opened?.1)
    self.prefix = prefix
  }

  var isInstalled: Bool { handle != nil }

  /// Returns the function of a name, with the type that the caller expects.
  ///
  /// - Throws: ``BenchError`` if the library is missing, or is too old to have the function.
  func callAsFunction<Function>(_ name: String) throws -> Function {
    guard let handle else { throw BenchError.unprepared("cannot open \(file); install the library") }
    guard let function = dlsym(handle, prefix + name) else {
      throw BenchError.unprepared(
        "\(file) has no function \(prefix)\(name); install a later version of the library")
    }
    return unsafeBitCast(function, to: Function.self)
  }
}

private typealias Object = OpaquePointer
private typealias Text = UnsafePointer<CChar>
private typealias Pointer = UnsafeRawPointer
private typealias Place = UnsafeMutableRawPointer
private typealias Out<Value> = UnsafeMutablePointer<Value>

/// The system's SQLite, with one table and a write-ahead log. Its C interface has been the same since version 3.3.9.
struct SQLite: Database {
  private let open: @convention(c) (Text, Out<Object?>) -> Int32
  private let closeDatabase: @convention(c) (Object?) -> Int32
  private let exec: @convention(c) (Object?, Text, Pointer?, Pointer?, Pointer?) -> Int32
  private let prepare: @convention(c) (Object?, Text, Int32, Out<Object?>, Pointer?) -> Int32
  private let bindBlob: @convention(c) (Object?, Int32, Pointer?, Int32, Pointer?) -> Int32
  private let step: @convention(c) (Object?) -> Int32
  private let reset: @convention(c) (Object?) -> Int32
  private let columnBlob: @convention(c) (Object?, Int32) -> Pointer?
  private let columnBytes: @convention(c) (Object?, Int32) -> Int32
  private let finalize: @convention(c) (Object?) -> Int32

  static let library = SystemLibrary(
    ["libsqlite3.so.0", "libsqlite3.so", "libsqlite3.dylib"], prefix: "sqlite3_")
  private static let (done, row): (Int32, Int32) = (101, 100)

  private var database: Object?
  private var insert: Object?
  private var select: Object?

  static func version() throws -> String {
    let version: @convention(c) () -> Text = try library("libversion")
    return String(cString: version())
  }

  init(_ directory: String, capacity: Int) throws {
    open = try Self.library("open")
    closeDatabase = try Self.library("close")
    exec = try Self.library("exec")
    prepare = try Self.library("prepare_v2")
    bindBlob = try Self.library("bind_blob")
    step = try Self.library("step")
    reset = try Self.library("reset")
    columnBlob = try Self.library("column_blob")
    columnBytes = try Self.library("column_bytes")
    finalize = try Self.library("finalize")
    try check(open(directory + "/cache.sqlite", &database) == 0, "open a database")
    for statement in [
      "PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF",
      "CREATE TABLE entries (key BLOB PRIMARY KEY, head BLOB, body BLOB)",
    ] { try check(run(statement), statement) }
    for (statement, path) in [
      ("INSERT OR REPLACE INTO entries VALUES (?,?,?)", \Self.insert),
      ("SELECT head, body FROM entries WHERE key=?", \Self.select),
    ] { try check(prepare(database, statement, -1, &self[keyPath: path], nil) == 0, statement) }
  }

  func close() { _ = (finalize(insert), finalize(select), closeDatabase(database)) }

  private func run(_ statement: String) -> Bool { exec(database, statement, nil, nil, nil) == 0 }
  func begin() -> Bool { run("BEGIN") }
  func commit() -> Bool { run("COMMIT") }

  /// SQLite reads them in place, in the step.
  func put(_ key: Bytes, _ head: [UInt8], _ body: [UInt8]) -> Bool {
    defer { _ = reset(insert) }
    return head.withUnsafeBytes { head in
      body.withUnsafeBytes { body in
        bind(insert, 1, key) && bind(insert, 2, head) && bind(insert, 3, body) && step(insert) == Self.done
      }
    }
  }

  private func bind(_ statement: Object?, _ index: Int32, _ bytes: Bytes) -> Bool {
    bindBlob(statement, index, bytes.baseAddress, Int32(bytes.count), nil) == 0
  }

  func get(_ key: Bytes, headCount: Int) -> Int? {
    defer { _ = reset(select) }
    guard bind(select, 1, key), step(select) == Self.row, let head = column(0), let body = column(1),
      head.count == headCount
    else { return nil }
    return body.count
  }

  /// Returns a copy: SQLite's memory is gone after the next step.
  private func column(_ index: Int32) -> [UInt8]? {
    columnBlob(select, index).map { Array(Bytes(start: $0, count: Int(columnBytes(select, index)))) }
  }
}

/// LMDB: keys are looked up in the mapped file. Its C interface has been the same since version 0.9.
struct LMDB: Database {
  /// `MDB_val`.
  private struct Value {
    var count: Int
    var bytes: UnsafeRawPointer?
  }

  private let createEnvironment: @convention(c) (Out<Object?>) -> Int32
  private let setMapSize: @convention(c) (Object?, Int) -> Int32
  private let openEnvironment: @convention(c) (Object?, Text, UInt32, UInt32) -> Int32
  private let closeEnvironment: @convention(c) (Object?) -> Void
  private let beginTransaction: @convention(c) (Object?, Object?, UInt32, Out<Object?>) -> Int32
  private let openDatabase: @convention(c) (Object?, Text?, UInt32, Out<UInt32>) -> Int32
  private let commitTransaction: @convention(c) (Object?) -> Int32
  private let abort: @convention(c) (Object?) -> Void
  private let putValue: @convention(c) (Object?, UInt32, Place, Place, UInt32) -> Int32
  private let getValue: @convention(c) (Object?, UInt32, Place, Place) -> Int32

  static let library = SystemLibrary(
    ["liblmdb.so.0", "liblmdb.so", "liblmdb.dylib", "/opt/homebrew/lib/liblmdb.dylib"], prefix: "mdb_")
  /// NOSYNC, WRITEMAP, NOTLS and NOLOCK: our own lock protects everything.
  private static let flags: UInt32 = 0x10000 | 0x80000 | 0x20_0000 | 0x40_0000
  private static let readOnly: UInt32 = 0x20000
  /// Returns the memory for a value instead of copying it.
  private static let reserve: UInt32 = 0x10000

  private var environment: Object?
  /// The open write transaction. It sees its own puts, and others do not.
  private var writing: Object?
  private var database: UInt32 = 0

  init(_ directory: String, capacity: Int) throws {
    createEnvironment = try Self.library("env_create")
    setMapSize = try Self.library("env_set_mapsize")
    openEnvironment = try Self.library("env_open")
    closeEnvironment = try Self.library("env_close")
    beginTransaction = try Self.library("txn_begin")
    openDatabase = try Self.library("dbi_open")
    commitTransaction = try Self.library("txn_commit")
    abort = try Self.library("txn_abort")
    putValue = try Self.library("put")
    getValue = try Self.library("get")
    try check(createEnvironment(&environment) == 0, "create an environment")
    try check(setMapSize(environment, capacity) == 0, "reserve \(capacity) bytes")
    try check(openEnvironment(environment, directory, Self.flags, 0o600) == 0, "open a directory")
    try check(begin(), "begin a transaction")
    try check(openDatabase(writing, nil, 0, &database) == 0, "open a database")
    try check(commit(), "commit")
  }

  func close() { closeEnvironment(environment) }

  mutating func begin() -> Bool { beginTransaction(environment, nil, 0, &writing) == 0 }

  mutating func commit() -> Bool {
    defer { writing = nil }
    return commitTransaction(writing) == 0
  }

  func put(_ key: Bytes, _ head: [UInt8], _ body: [UInt8]) -> Bool {
    var key = Value(count: key.count, bytes: key.baseAddress)
    var value = Value(count: head.count + body.count)
    guard putValue(writing, database, &key, &value, Self.reserve) == 0, let place = value.bytes else {
      return false
    }
    let target = UnsafeMutableRawBufferPointer(start: Place(mutating: place), count: value.count)
    target.copyBytes(from: head)
    UnsafeMutableRawBufferPointer(rebasing: target[head.count...]).copyBytes(from: body)
    return true
  }

  func get(_ key: Bytes, headCount: Int) -> Int? {
    var reading = writing
    guard reading != nil || beginTransaction(environment, nil, Self.readOnly, &reading) == 0 else {
      return nil
    }
    defer { if writing == nil { abort(reading) } }
    var key = Value(count: key.count, bytes: key.baseAddress)
    var value = Value(count: 0)
    guard getValue(reading, database, &key, &value) == 0, value.count >= headCount else { return nil }
    // A copy: LMDB may reuse its memory after the next commit.
    return Array(Bytes(start: value.bytes, count: value.count)).count - headCount
  }
}

/// RocksDB with its defaults, without compression, with a write-ahead log.
struct RocksDB: Database {
  private typealias Failure = Out<Out<CChar>?>

  private let destroyOptions: @convention(c) (Object?) -> Void
  private let destroyReading: @convention(c) (Object?) -> Void
  private let destroyWriting: @convention(c) (Object?) -> Void
  private let createIfMissing: @convention(c) (Object?, UInt8) -> Void
  private let setCompression: @convention(c) (Object?, Int32) -> Void
  private let open: @convention(c) (Object?, Text, Failure) -> Object?
  private let closeDatabase: @convention(c) (Object?) -> Void
  private let putValue: @convention(c) (Object?, Object?, Pointer?, Int, Pointer?, Int, Failure) -> Void
  private let getValue: @convention(c) (Object?, Object?, Pointer?, Int, Out<Int>, Failure) -> Place?
  private let free: @convention(c) (Place?) -> Void

  // The file name contains the version, unless the development package is installed.
  static let library = SystemLibrary(
    ["librocksdb.so"]
      + (6...10).flatMap { major in (0...29).map { "librocksdb.so.\(major).\($0)" } }
      + ["librocksdb.dylib", "/opt/homebrew/lib/librocksdb.dylib"], prefix: "rocksdb_")

  private let options: Object?
  private let reading: Object?
  private let writing: Object?
  private var database: Object?

  private static func make(_ name: String) throws -> Object? {
    let make: @convention(c) () -> Object? = try library(name)
    return make()
  }

  init(_ directory: String, capacity: Int) throws {
    destroyOptions = try Self.library("options_destroy")
    destroyReading = try Self.library("readoptions_destroy")
    destroyWriting = try Self.library("writeoptions_destroy")
    createIfMissing = try Self.library("options_set_create_if_missing")
    setCompression = try Self.library("options_set_compression")
    open = try Self.library("open")
    closeDatabase = try Self.library("close")
    putValue = try Self.library("put")
    getValue = try Self.library("get")
    free = try Self.library("free")
    options = try Self.make("options_create")
    reading = try Self.make("readoptions_create")
    writing = try Self.make("writeoptions_create")
    createIfMissing(options, 1)
    setCompression(options, 0)
    var error: Out<CChar>?
    database = open(options, directory, &error)
    let message = error.map { String(cString: $0) } ?? ""
    free(error)
    try check(error == nil, "open a directory: \(message)")
  }

  func close() {
    closeDatabase(database)
    destroyReading(reading)
    destroyWriting(writing)
    destroyOptions(options)
  }

  func put(_ key: Bytes, _ head: [UInt8], _ body: [UInt8]) -> Bool {
    var error: Out<CChar>?
    (head + body).withUnsafeBytes {
      putValue(database, writing, key.baseAddress, key.count, $0.baseAddress, $0.count, &error)
    }
    free(error)
    return error == nil
  }

  func get(_ key: Bytes, headCount: Int) -> Int? {
    var error: Out<CChar>?
    var count = 0
    // This is already a copy.
    let value = getValue(database, reading, key.baseAddress, key.count, &count, &error)
    free(error)
    guard let value else { return nil }
    free(value)
    return count - headCount
  }
}

extension DiskContest {
  /// The yardsticks of `databases` by the names of the flag `--beside`.
  static let yardsticks: KeyValuePairs<String, Yardstick> = [
    "sqlite": (.sqlite, { try DatabaseCache($0, SQLite.self, directory: $1, capacity: $2) }),
    "lmdb": (.lmdb, { try DatabaseCache($0, LMDB.self, directory: $1, capacity: $2) }),
    "rocksdb": (.rocksDB, { try DatabaseCache($0, RocksDB.self, directory: $1, capacity: $2) }),
    "raw": rawFile, "files": files,
  ]
}

extension Contender {
  /// Whether the system has the library of a database.
  var isInstalled: Bool {
    switch self {
    case .sqlite: SQLite.library.isInstalled
    case .lmdb: LMDB.library.isInstalled
    case .rocksDB: RocksDB.library.isInstalled
    default: true
    }
  }
}
