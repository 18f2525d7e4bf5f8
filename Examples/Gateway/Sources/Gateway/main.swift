// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Hummingbird
import Logging
import ServiceLifecycle

// `Gateway` serves on port 8080 until it is stopped; `Gateway --tour` takes a tour, and ends.
let isTour = CommandLine.arguments.contains("--tour")
let upstreams = Upstreams()
await upstreams.prices.start()
await upstreams.news.start()

var logger = Logger(label: "gateway")
logger.logLevel = isTour ? .error : .info

let gateway = try Gateway(upstreams: upstreams)
let (running, started) = AsyncStream.makeStream(of: Int.self)
let app = Application(
  responder: gateway.responder(),
  configuration: .init(address: .hostname("127.0.0.1", port: isTour ? 0 : 8080)),
  onServerRunning: { channel in started.yield(channel.localAddress?.port ?? 0) },
  logger: logger)

/// Ends the group when the tour is over.
struct TourService: Service {
  let gateway: Gateway
  let running: AsyncStream<Int>

  func run() async throws {
    for await port in running {
      try await Tour(port: port, gateway: gateway).run()
      return
    }
  }
}

var services: [ServiceGroupConfiguration.ServiceConfiguration] = [.init(service: app)]
if isTour {
  services.append(
    .init(
      service: TourService(gateway: gateway, running: running),
      successTerminationBehavior: .gracefullyShutdownGroup))
}
let group = ServiceGroup(
  configuration: .init(services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
try await group.run()
try await gateway.shutdown()
await upstreams.prices.stop()
await upstreams.news.stop()
