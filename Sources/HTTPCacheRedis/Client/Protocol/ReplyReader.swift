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
  /// Bytes of a part that contain its sign and its length, which has up to 20 digits.
  private static let headLength = 32
  /// hiredis keeps a buffer of up to this size when it is empty, and else allocates one for each reply.
  private static let keptBuffer = 1 << 20

  /// The server sent what is not valid, or more than the limit.
  struct Violation: Error, Equatable {
    var what: String
  }

  private let reader: UnsafeMutablePointer<redisReader>
  private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
  private let builder: ReplyBuilder
  /// What was added last, until all of it is parsed that can be.
  private var latest = ByteBuffer()
  /// The first bytes of the part that is not complete.
  private var head: [UInt8] = []

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
    chiredis_set_private_data(reader, Unmanaged.passUnretained(builder).toOpaque())
    self.reader = reader
    self.functions = functions
    self.builder = builder
  }

  deinit {
    redisReaderFree(reader)
    functions.deallocate()
  }

  /// Adds bytes that came from the server, after ``next()`` returned `nil`.
  mutating func feed(_ buffer: ByteBuffer) throws(Violation) {
    let status = buffer.withUnsafeReadableBytes { bytes in
      guard let start = bytes.baseAddress, !bytes.isEmpty else { return REDIS_OK }
      return redisReaderFeed(reader, start.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    guard status == REDIS_OK else { throw Violation(what: "no memory for the reply") }
    builder.unparsed += buffer.readableBytes
    latest = buffer
  }

  /// Returns the next complete reply, or `nil` if more bytes are needed.
  mutating func next() throws(Violation) -> RedisValue? {
    var reply: UnsafeMutableRawPointer?
    guard redisReaderGetReply(reader, &reply) == REDIS_OK else {
      throw Violation(what: builder.violation ?? String(cString: chiredis_error(reader)))
    }
    guard reply != nil else {
      try checkUnparsed()
      return nil
    }
    // Some values of RESP 3, which this client does not ask for, reach no function of the builder.
    guard let value = builder.take() else { throw Violation(what: "a value that RESP 2 does not have") }
    return value
  }

  /// Stops a server that announces too long a string, or never ends a line: hiredis would buffer it all.
  private mutating func checkUnparsed() throws(Violation) {
    let unparsed = builder.unparsed
    // A null of RESP 3 is shorter than those of RESP 2.
    guard unparsed >= 0 else { throw Violation(what: "a value that RESP 2 does not have") }
    if unparsed <= latest.readableBytes {
      head = Array(latest.readableBytesView.suffix(unparsed).prefix(Self.headLength))
    } else {
      head += latest.readableBytesView.prefix(Self.headLength - head.count)
    }
    latest = ByteBuffer()
    guard unparsed > Self.headLength else { return }
    guard head.first == UInt8(ascii: "$") else {
      guard unparsed <= Self.maximumLine else { throw Violation(what: "a line of more than 64 KiB") }
      return
    }
    let digits = head.dropFirst().prefix { $0 != UInt8(ascii: "\r") }
    guard let announced = Int(String(decoding: digits, as: UTF8.self)) else {
      throw Violation(what: "an invalid length of a string")
    }
    // A string of RESP 2 has no more bytes than announced.
    guard announced <= builder.remaining, unparsed <= announced + 2 * Self.headLength else {
      throw Violation(what: "a reply of more than \(builder.limit) bytes")
    }
  }
}

extension redisReplyObjectFunctions {
  /// What hiredis calls for each value of a reply. The results only say that the value was accepted.
  fileprivate static var building: Self {
    var functions = Self()
    functions.createString = { task, bytes, count in
      guard let task else { return nil }
      let isBulk = task.pointee.type == REDIS_REPLY_STRING
      let size = isBulk ? ReplyBuilder.line(count) + count + 2 : count + 3
      guard let builder = ReplyBuilder.of(task, parsed: size) else { return nil }
      let content = UnsafeRawBufferPointer(start: bytes, count: count)
      let isError = task.pointee.type == REDIS_REPLY_ERROR
      return builder.add(string: content, isError: isError) ? .accepted : nil
    }
    functions.createArray = { task, count in
      guard let builder = ReplyBuilder.of(task, parsed: ReplyBuilder.line(count)) else { return nil }
      return builder.open(count: Int(count)) ? .accepted : nil
    }
    functions.createInteger = { task, value in
      guard let builder = ReplyBuilder.of(task, parsed: ReplyBuilder.line(value)) else { return nil }
      return builder.add(.integer(Int64(value))) ? .accepted : nil
    }
    functions.createNil = { task in
      guard let builder = ReplyBuilder.of(task, parsed: ReplyBuilder.line(-1)) else { return nil }
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
  /// Returns the builder of a part of `size` bytes, and counts the part as parsed; `nil` for a type of RESP 3.
  fileprivate static func of(_ task: UnsafePointer<redisReadTask>?, parsed size: Int) -> ReplyBuilder? {
    guard let task = task?.pointee, task.type <= REDIS_REPLY_ERROR, let data = task.privdata else {
      return nil
    }
    let builder = Unmanaged<ReplyBuilder>.fromOpaque(data).takeUnretainedValue()
    builder.unparsed -= size
    return builder
  }

  /// The length of a sign, a number and the end of the line. hiredis accepts only the shortest form of a number.
  fileprivate static func line(_ number: some BinaryInteger) -> Int { String(number).utf8.count + 3 }
}
