// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CHiredis
import NIOCore

/// Parses what a server sends, with the parser of hiredis.
///
/// hiredis is the client library of the Redis project. Its parser (`redisReader`) is used without its connections: these
/// would need a thread each, or an event loop beside SwiftNIO's, and TLS by another library. On SwiftNIO's sockets, one
/// event loop serves the connections of the proxy and of the tier, and deadlines and cancellation are those of SwiftNIO.
///
/// The limits are checked here, as hiredis has none for the length of a string. A length that a server announces never
/// allocates anything: hiredis waits for the bytes, and ``ReplyBuilder`` for the elements.
struct ReplyReader: ~Copyable {
  /// The longest line: a simple string, an error, or the digits of a number.
  static let maximumLine = 64 << 10
  /// hiredis keeps a buffer of up to this size when it is empty, and else allocates one for each reply.
  private static let keptBuffer = 1 << 20

  /// The server sent what is not valid, or more than the limit.
  struct Violation: Error, Equatable {
    var what: String
  }

  private let reader: UnsafeMutablePointer<redisReader>
  private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
  private let builder: ReplyBuilder

  /// Makes a reader whose replies have up to `limit` bytes each.
  init(limit: Int) {
    let builder = ReplyBuilder(limit: limit)
    let functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
    functions.initialize(to: .building)
    guard let reader = redisReaderCreateWithFunctions(functions) else {
      // As Swift's own allocations do, this ends the process when memory is exhausted. No input can cause it.
      fatalError("no memory for the parser of hiredis")
    }
    reader.pointee.maxbuf = Self.keptBuffer
    // The builder lives as long as the reader, which holds it.
    reader.pointee.privdata = Unmanaged.passUnretained(builder).toOpaque()
    self.reader = reader
    self.functions = functions
    self.builder = builder
  }

  deinit {
    redisReaderFree(reader)
    functions.deallocate()
  }

  /// Adds bytes that came from the server.
  borrowing func feed(_ buffer: ByteBuffer) throws(Violation) {
    let status = buffer.withUnsafeReadableBytes { bytes in
      guard let start = bytes.baseAddress, !bytes.isEmpty else { return REDIS_OK }
      return redisReaderFeed(reader, start.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    guard status == REDIS_OK else { throw Violation(what: "no memory for the reply") }
  }

  /// Returns the next complete reply, or `nil` if more bytes are needed.
  borrowing func next() throws(Violation) -> RedisValue? {
    var reply: UnsafeMutableRawPointer?
    guard redisReaderGetReply(reader, &reply) == REDIS_OK else {
      throw Violation(what: builder.violation ?? errorText)
    }
    guard reply != nil else {
      try checkUnparsed()
      return nil
    }
    // A value of RESP 3, which this client does not ask for, reaches no function of the builder.
    guard let value = builder.take() else { throw Violation(what: "a value that RESP 2 does not have") }
    return value
  }

  private var errorText: String {
    withUnsafeBytes(of: reader.pointee.errstr) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  /// Stops a server that announces too long a string, or never ends a line: hiredis would buffer it all.
  private borrowing func checkUnparsed() throws(Violation) {
    let (position, length) = (reader.pointee.pos, reader.pointee.len)
    // An announced length has up to 20 digits.
    guard length - position > 32, let buffer = reader.pointee.buf else { return }
    let unparsed = UnsafeRawBufferPointer(start: buffer + position, count: length - position)
    // The parser has read the sign already, and reads the length of a string again and again until the string is complete.
    guard chiredis_type_in_progress(reader) == REDIS_REPLY_STRING else {
      guard unparsed.count <= Self.maximumLine else { throw Violation(what: "a line of more than 64 KiB") }
      return
    }
    var announced = 0
    for digit in unparsed.prefix(32) {
      if digit == UInt8(ascii: "\r") { break }
      guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9"), announced <= Int.max / 16 else {
        throw Violation(what: "an invalid length of a string")
      }
      announced = announced * 10 + Int(digit - UInt8(ascii: "0"))
    }
    guard announced <= builder.remaining else {
      throw Violation(what: "a reply of more than \(builder.limit) bytes")
    }
  }
}

extension redisReplyObjectFunctions {
  /// What hiredis calls for each value of a reply. The results only say that the value was accepted.
  fileprivate static var building: Self {
    var functions = Self()
    functions.createString = { task, bytes, count in
      guard let task, let builder = ReplyBuilder.of(task) else { return nil }
      let content = UnsafeRawBufferPointer(start: bytes, count: count)
      let isError = task.pointee.type == REDIS_REPLY_ERROR
      return builder.add(string: content, isError: isError) ? .accepted : nil
    }
    functions.createArray = { task, count in
      guard let task, let builder = ReplyBuilder.of(task) else { return nil }
      return builder.open(count: Int(count)) ? .accepted : nil
    }
    functions.createInteger = { task, value in
      guard let task, let builder = ReplyBuilder.of(task) else { return nil }
      return builder.add(.integer(Int64(value))) ? .accepted : nil
    }
    functions.createNil = { task in
      guard let task, let builder = ReplyBuilder.of(task) else { return nil }
      return builder.add(.null) ? .accepted : nil
    }
    functions.freeObject = { _ in }
    return functions
  }
}

extension UnsafeMutableRawPointer {
  /// An object that hiredis takes for a value and never looks into.
  fileprivate static var accepted: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: 1) }
}

extension ReplyBuilder {
  fileprivate static func of(_ task: UnsafePointer<redisReadTask>) -> ReplyBuilder? {
    task.pointee.privdata.map { Unmanaged<ReplyBuilder>.fromOpaque($0).takeUnretainedValue() }
  }
}
