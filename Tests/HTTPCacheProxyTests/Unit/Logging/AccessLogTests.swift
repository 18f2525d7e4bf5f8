// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCacheObserving
import HTTPCaching
import InMemoryLogging
import Logging
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("The access log in virtual time", .timeLimit(.minutes(10)))
struct AccessLogTests {
  /// A log whose thread is the test's.
  private struct Setting {
    let loop = EmbeddedEventLoop()
    let handler = InMemoryLogHandler()
    let file: LogFile
    let dropped = MetricCount("dropped")
    let log: AccessLog
    let lines: AccessLogLines

    init(_ file: LogFile, limit: Int = AccessLog.limit) throws {
      self.file = file
      let handler = handler
      log = try AccessLog(
        ProxyConfiguration.AccessLogOptions(.file(file.path), format: .common), loop: loop, dropped: dropped,
        logger: Logger(label: "test") { _ in handler }, clock: ManualClock(Timestamp(seconds: 1_763_802_482)),
        limit: limit, patience: 0)
      lines = log.lines(of: loop)
    }

    func request(_ path: String) {
      lines.append(
        AccessLogEntry(
          client: "192.0.2.7", status: 200, contentBytes: 0, provenance: Provenance(.hit), microseconds: 0,
          isAborted: false), HTTPRequest(method: .get, scheme: "http", authority: "a", path: path))
    }

    func pass(_ time: TimeAmount) { loop.advanceTime(by: time) }
  }

  private static func paths(_ lines: [String]) -> [String] {
    lines.map { String($0.split(separator: " ", maxSplits: 7)[6]) }
  }

  @Test("Log lines are written after a second, or at once if there are many")
  func delay() throws {
    let setting = try Setting(LogFile())
    setting.request("/1")
    setting.pass(.milliseconds(999))
    #expect(try setting.file.lines == [])
    setting.request("/2")
    setting.pass(.milliseconds(1))
    #expect(try Self.paths(setting.file.lines) == ["/1", "/2"])
    setting.request("/3")
    setting.pass(.seconds(1))
    #expect(try setting.file.lines.count == 3)
    for number in 1...2000 { setting.request("/\(number)") }
    setting.loop.run()
    #expect(try setting.file.lines.count > 100)
    setting.pass(.seconds(1))
    #expect(try setting.file.lines.count == 2003)
    #expect(setting.handler.entries.isEmpty)
  }

  @Test("With a slow pipe reader, whole lines are dropped and counted, in bounded memory")
  func slowReader() throws {
    let file = try LogFile()
    file.makePipe()
    let reader = open(file.path, O_RDONLY | O_NONBLOCK)
    defer { close(reader) }
    let setting = try Setting(file, limit: 300_000)
    let count = 20_000
    for number in 1...count {
      setting.request("/\(number)")
      if number.isMultiple(of: 100) { setting.pass(.milliseconds(100)) }
    }
    setting.pass(.seconds(10))
    var text: [UInt8] = []
    // As the reader takes the lines, the log writes those that wait.
    for _ in 1...100 {
      text += LogFile.unread(reader)
      setting.pass(.milliseconds(100))
    }
    let lines = String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.last == "")
    #expect(lines.dropLast().allSatisfy { $0.hasPrefix("192.0.2.7 ") && $0.hasSuffix(" aborted=no") })
    let dropped = setting.dropped.value
    #expect(dropped > 0 && lines.count - 1 + dropped == count)
    #expect(text.count < 1_000_000)
    let warnings = setting.handler.entries.filter { $0.level == .warning }
    #expect(
      warnings.map { "\($0.message)" } == ["the access log \(file.path) fell behind: lines are missing"])
    #expect(warnings.first?.metadata["failures"] == "\(dropped)")
    // It goes on.
    setting.request("/again")
    setting.pass(.seconds(1))
    text = LogFile.unread(reader)
    #expect(
      Self.paths(String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)) == ["/again"])
  }

  @Test("A pipe reader that leaves ends neither the process nor the log")
  func readerLeaves() throws {
    let file = try LogFile()
    file.makePipe()
    var reader = open(file.path, O_RDONLY | O_NONBLOCK)
    let setting = try Setting(file)
    close(reader)
    setting.request("/1")
    setting.pass(.seconds(5))
    #expect(setting.handler.entries.map { "\($0.level)" } == ["warning"])
    reader = open(file.path, O_RDONLY | O_NONBLOCK)
    defer { close(reader) }
    setting.pass(.seconds(5))
    #expect(String(decoding: LogFile.unread(reader), as: UTF8.self).contains("GET /1 "))
    #expect(setting.handler.entries.map { "\($0.level)" } == ["warning", "notice"])
  }

  @Test("A full disk causes one warning of each kind, and dropped lines are counted")
  func fullDisk() throws {
    guard FileManager.default.fileExists(atPath: "/dev/full") else { return }
    let file = try LogFile()
    try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: "/dev/full")
    let setting = try Setting(file, limit: 10_000)
    for number in 1...1000 {
      setting.request("/\(number)")
      setting.pass(.milliseconds(10))
    }
    let warnings = setting.handler.entries.filter { $0.level == .warning }.map { "\($0.message)" }
    #expect(
      warnings.sorted() == [
        "cannot write the access log \(file.path): No space left on device",
        "the access log \(file.path) fell behind: lines are missing",
      ])
    // There is room again.
    try FileManager.default.removeItem(atPath: file.path)
    setting.log.reopen()
    setting.pass(.seconds(2))
    let lines = try file.lines
    #expect(!lines.isEmpty && lines.count + setting.dropped.value == 1000)
    #expect(lines.allSatisfy { $0.hasPrefix("192.0.2.7 ") && $0.hasSuffix(" aborted=no") })
  }

  @Test("After the access log is reopened, new lines go to a new file")
  func rotates() throws {
    let setting = try Setting(LogFile())
    setting.request("/1")
    try FileManager.default.moveItem(atPath: setting.file.path, toPath: setting.file.path + ".1")
    setting.request("/2")
    setting.log.reopen()
    setting.loop.run()
    setting.request("/3")
    setting.pass(.seconds(1))
    #expect(try Self.paths(LogFile.lines(setting.file.path + ".1")) == ["/1", "/2"])
    #expect(try Self.paths(setting.file.lines) == ["/3"])
    #expect(setting.handler.entries.isEmpty)
  }

  @Test("If the access log cannot be reopened, the old file stays in use with a warning")
  func cannotRotate() throws {
    let setting = try Setting(LogFile())
    let old = setting.file.path + ".1"
    try FileManager.default.moveItem(atPath: setting.file.path, toPath: old)
    try FileManager.default.createDirectory(atPath: setting.file.path, withIntermediateDirectories: false)
    setting.log.reopen()
    setting.request("/1")
    setting.pass(.seconds(1))
    #expect(try Self.paths(LogFile.lines(old)) == ["/1"])
    #expect(
      setting.handler.entries.map { "\($0.level) \($0.message)" } == [
        "warning cannot reopen the access log \(setting.file.path): Is a directory; the old file stays in use"
      ])
  }

  @Test("An access log is readable by owner and group only, and lines are appended")
  func appends() throws {
    let file = try LogFile()
    _ = FileManager.default.createFile(atPath: file.path, contents: Data("before\n".utf8))
    let setting = try Setting(file)
    setting.request("/1")
    setting.pass(.seconds(1))
    #expect(try file.lines.first == "before")
    #expect(try file.lines.count == 2)
    let other = try Setting(LogFile())
    let mode = try FileManager.default.attributesOfItem(atPath: other.file.path)[.posixPermissions] as? Int
    #expect((mode ?? 0o777) & 0o027 == 0)
  }

  @Test("The error for an access log that cannot be opened names its file")
  func cannotOpen() throws {
    let file = try LogFile()
    let path = file.path + "/none/access.log"
    #expect(
      throws: ProxyConfiguration.ValidationError(
        "cannot open the access log \(path): No such file or directory; choose another file")
    ) {
      _ = try AccessLog(
        ProxyConfiguration.AccessLogOptions(.file(path)), loop: EmbeddedEventLoop(),
        dropped: MetricCount("dropped"),
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }
  }
}
