// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// Writes commands: a command is an array of bulk strings, and nothing else.
///
/// hiredis' formatter (`redisFormatCommandArgv`) returns the same bytes in a block of its own, which would be copied once
/// more. A test compares the two.
enum CommandWriter {
  /// Returns commands in the form in which they are sent, in one buffer.
  static func write(_ commands: [[[UInt8]]], with allocator: ByteBufferAllocator) -> ByteBuffer {
    var size = 0
    for command in commands {
      size += header
      for argument in command { size += header + argument.count + 2 }
    }
    var buffer = allocator.buffer(capacity: size)
    for command in commands {
      write(UInt8(ascii: "*"), command.count, to: &buffer)
      for argument in command {
        write(UInt8(ascii: "$"), argument.count, to: &buffer)
        buffer.writeBytes(argument)
        buffer.writeInteger(lineEnd)
      }
    }
    return buffer
  }

  /// The length of a sign, the digits of a usual number and the end of the line. More make the buffer grow.
  private static let header = 10
  private static let lineEnd: UInt16 = 0x0D0A

  private static func write(_ sign: UInt8, _ number: Int, to buffer: inout ByteBuffer) {
    buffer.writeInteger(sign)
    if number < 10 {
      buffer.writeInteger(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number))
    } else {
      buffer.writeString(String(number))
    }
    buffer.writeInteger(lineEnd)
  }
}
