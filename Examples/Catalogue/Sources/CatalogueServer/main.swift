// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Catalogue
import Hummingbird
import Logging

// `CatalogueServer` serves on port 8080 until it is stopped; `CatalogueServer --tour` takes a tour, and ends.
if CommandLine.arguments.contains("--tour") {
  let tour = try Tour { print($0) }
  let (ports, started) = AsyncStream.makeStream(of: Int.self)
  let app = Application(
    responder: tour.catalogue.responder(), configuration: .init(address: .hostname("127.0.0.1", port: 0)),
    onServerRunning: { channel in started.yield(channel.localAddress?.port ?? 0) },
    logger: Logger(label: "catalogue") { _ in SwiftLogNoOpLogHandler() })
  let server = Task {
    defer { started.finish() }
    try await app.run()
  }
  for await port in ports {
    try await tour.run(on: port)
    server.cancel()
  }
  _ = await server.result
  tour.catalogue.cache.close()
} else {
  let catalogue = try Catalogue()
  let app = Application(
    responder: catalogue.responder(), configuration: .init(address: .hostname("127.0.0.1", port: 8080)))
  try await app.runService()
  // After the last response.
  catalogue.cache.close()
}
