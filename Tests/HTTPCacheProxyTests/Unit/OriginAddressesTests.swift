// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import InMemoryLogging
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("The addresses of a server's name", .timeLimit(.minutes(10)))
struct OriginAddressesTests {
  private static let time = TimeAmount.seconds(10)

  /// A resolver whose answers a test sets.
  private final class Names: Sendable {
    let answers: Mutex<[String]>
    let asked = EventCount()

    init(_ answers: [String]) { self.answers = Mutex(answers) }

    func lookup(_ host: String, _ port: Int) throws -> [SocketAddress] {
      asked.next()
      let answers = answers.withLock { $0 }
      if answers == ["failure"] { throw HostLookupFailure(description: "the resolver is gone") }
      return try answers.map { try SocketAddress(ipAddress: $0, port: port) }
    }
  }

  private static func next(_ addresses: OriginAddresses, on loop: NIOAsyncTestingEventLoop) async throws
    -> [String]
  {
    try await addresses.next(on: loop, within: time).get().map { $0.ipAddress ?? "" }
  }

  @Test("Each connection begins with another address, and may go on to the others")
  func turns() async throws {
    let names = Names(["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2", "2001:db8::3"])
    let addresses = OriginAddresses(
      .init(host: "app", port: 80), lookup: { try names.lookup($0, $1) }, logger: Logger(label: "test"))
    let loop = NIOAsyncTestingEventLoop()
    var (first, firstIPv4): ([String], [String]) = ([], [])
    for _ in 1...6 {
      let all = try await Self.next(addresses, on: loop)
      #expect(Set(all).count == 5)
      first.append(all[0])
      firstIPv4.append(all.first { $0.hasPrefix("192") } ?? "")
    }
    #expect(Set(first.prefix(3)).count == 3 && first.prefix(3) == first.suffix(3))
    // Each family has its own turns.
    #expect(Set(firstIPv4.prefix(2)).count == 2 && firstIPv4[0] == firstIPv4[2])
    #expect(names.asked.count == 1)
    let resolver = addresses.resolver(on: loop, within: Self.time)
    #expect(try await resolver.initiateAQuery(host: "app", port: 80).get().count == 2)
    #expect(try await resolver.initiateAAAAQuery(host: "app", port: 80).get().map(\.port) == [80, 80, 80])
    await loop.shutdownGracefully()
  }

  @Test("The name is resolved again after its time; if that fails, the last addresses stay in use")
  func again() async throws {
    let log = InMemoryLogHandler()
    let names = Names(["failure"])
    let addresses = OriginAddresses(
      .init(host: "app", port: 80), lookup: { try names.lookup($0, $1) },
      logger: Logger(label: "test") { _ in log })
    let loop = NIOAsyncTestingEventLoop()
    await #expect(throws: HostLookupFailure.self) { try await Self.next(addresses, on: loop) }
    names.answers.withLock { $0 = ["192.0.2.1"] }
    #expect(try await Self.next(addresses, on: loop) == ["192.0.2.1"])
    names.answers.withLock { $0 = ["192.0.2.2"] }
    await loop.advanceTime(by: .seconds(9))
    #expect(try await Self.next(addresses, on: loop) == ["192.0.2.1"])
    await loop.advanceTime(by: .seconds(1))
    #expect(try await Self.next(addresses, on: loop) == ["192.0.2.2"])
    #expect(try addresses.contains(SocketAddress(ipAddress: "192.0.2.1", port: 80)))
    for answer in [["failure"], []] {
      names.answers.withLock { $0 = answer }
      await loop.advanceTime(by: .seconds(10))
      #expect(try await Self.next(addresses, on: loop) == ["192.0.2.2"])
    }
    // An address is gone after three answers without it. An attempt that fails does not count.
    names.answers.withLock { $0 = ["192.0.2.2"] }
    for isLast in [false, true] {
      #expect(try addresses.contains(SocketAddress(ipAddress: "192.0.2.1", port: 80)))
      await addresses.refresh(on: loop)
      #expect(try addresses.contains(SocketAddress(ipAddress: "192.0.2.1", port: 80)) != isLast)
    }
    #expect(try addresses.contains(SocketAddress(ipAddress: "192.0.2.2", port: 80)))
    // Not for each connection.
    #expect(try await Self.next(addresses, on: loop) == ["192.0.2.2"])
    #expect(names.asked.count == 7)
    // Not in each line, either.
    #expect(log.entries.filter { $0.level == .warning }.count == 1)
    #expect(
      "\(log.entries[0].message)".hasSuffix("'app' of the origin cannot be resolved: the resolver is gone"))
    await loop.shutdownGracefully()
  }

  @Test("Connections that are made at once ask once", arguments: [true, false])
  func once(isAnswered: Bool) async throws {
    let (isAsked, mayAnswer, count) = (Gate(), Gate(), EventCount())
    let addresses = OriginAddresses(
      .init(host: "app", port: 80),
      lookup: { _, port in
        count.next()
        isAsked.open()
        await mayAnswer.pass()
        if !isAnswered { throw HostLookupFailure(description: "no answer") }
        return [try SocketAddress(ipAddress: "192.0.2.1", port: port)]
      }, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let loop = NIOAsyncTestingEventLoop()
    let waiting = (1...20).map { _ in addresses.next(on: loop, within: Self.time) }
    await isAsked.pass()
    await addresses.refresh(on: loop)
    mayAnswer.open()
    for one in waiting {
      if isAnswered {
        #expect(try await one.get().count == 1)
      } else {
        await #expect(throws: HostLookupFailure.self) { try await one.get() }
      }
    }
    #expect(count.count == 1)
    await loop.shutdownGracefully()
  }

  @Test("A resolver that does not answer delays one connection for a second, while addresses are known")
  func hanging() async throws {
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let isHanging = Mutex(false)
    defer { mayAnswer.open() }
    let addresses = OriginAddresses(
      .init(host: "app", port: 80),
      lookup: { _, port in
        if isHanging.withLock({ $0 }) {
          isAsked.open()
          await mayAnswer.pass()
        }
        return [try SocketAddress(ipAddress: "192.0.2.1", port: port)]
      }, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let loop = NIOAsyncTestingEventLoop()
    #expect(try await Self.next(addresses, on: loop) == ["192.0.2.1"])
    isHanging.withLock { $0 = true }
    await loop.advanceTime(by: .seconds(10))
    let first = addresses.next(on: loop, within: Self.time)
    await isAsked.pass()
    #expect(try await Self.next(addresses, on: loop) == ["192.0.2.1"])
    let isDone = Mutex(false)
    first.whenComplete { _ in isDone.withLock { $0 = true } }
    await loop.advanceTime(by: .milliseconds(999))
    #expect(!isDone.withLock { $0 })
    await loop.advanceTime(by: .milliseconds(1))
    #expect(try await first.get().map { $0.ipAddress } == ["192.0.2.1"])
    mayAnswer.open()
    await loop.shutdownGracefully()
  }

  @Test("The system's resolver returns all addresses, or the reason for none")
  func system() async throws {
    let found = try await systemHostLookup("127.0.0.1", 81)
    #expect(try found == [SocketAddress(ipAddress: "127.0.0.1", port: 81)])
    let six = try await systemHostLookup("::1", 81)
    #expect(try six == [SocketAddress(ipAddress: "::1", port: 81)])
    let error = await #expect(throws: HostLookupFailure.self) { try await systemHostLookup("a..b", 81) }
    #expect(error?.description.isEmpty == false)
  }
}
