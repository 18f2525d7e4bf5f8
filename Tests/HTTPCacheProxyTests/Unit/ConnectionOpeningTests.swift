// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPCacheProxy

@Suite("The beginning of a connection", .timeLimit(.minutes(10)))
struct ConnectionOpeningTests {
  /// How a connection begins, and ends.
  enum Course: CaseIterable {
    case isTakenOver
    case isRejected
    case endsBefore
    case isTooSlow
  }

  @Test("Nothing of a connection stays after its end, however far it got", arguments: Course.allCases)
  func released(course: Course) throws {
    let loop = EmbeddedEventLoop()
    let context = try ProxyContext.embedded(on: loop) {
      $0.expectsProxyHeader = true
      $0.trustedPeers = [try ProxyConfiguration.AddressRange(parsing: "127.0.0.1")]
    }
    let table = ConnectionTable(
      .init(connections: 2), of: "connections", statistics: nil,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    weak var opening: ConnectionOpening?
    weak var place: ConnectionPlace?
    weak var connection: ClientConnection?
    do {
      var made: ClientConnection?
      let first = ConnectionOpening(context, encryption: nil, service: .answers) {
        channel, client, service, _, _ in
        let connection = ClientConnection(context, on: loop, service: service, client: client)
        try channel.pipeline.syncOperations.addHandler(connection)
        made = connection
        return connection
      }
      let channel = EmbeddedChannel(handler: first, loop: loop)
      first.place = table.add(channel, first)
      (opening, place) = (first, first.place)
      channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
      switch course {
      case .isTakenOver:
        try channel.writeInbound(ByteBuffer(string: "PROXY TCP4 192.0.2.1 192.0.2.2 1 80\r\n"))
      case .isRejected: try channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
      case .endsBefore: try channel.writeInbound(ByteBuffer(string: "PROXY "))
      case .isTooSlow: loop.advanceTime(by: .seconds(10))
      }
      #expect((made != nil) == (course == .isTakenOver))
      #expect(channel.isActive == (course == .isTakenOver || course == .endsBefore))
      connection = made
      made = nil
      _ = try? channel.finish()
    }
    loop.run()
    #expect(opening == nil && place == nil && connection == nil)
  }
}
