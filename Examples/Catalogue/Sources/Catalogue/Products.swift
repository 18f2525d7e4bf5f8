// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheHummingbird
import Hummingbird
import Synchronization

struct Product: Sendable {
  let id: String
  let name: String
  var price: Int
  var stock = 7
  var version = 1

  var text: String { "\(name), version \(version)" }
}

/// The products, which would be in a database.
final class Products: Sendable {
  private let state = Mutex([
    Product(id: "1", name: "apple", price: 3), Product(id: "2", name: "pear", price: 2),
  ])

  var all: [Product] { state.withLock { $0 } }

  /// A number that each change increments.
  var version: Int { all.reduce(0) { $0 + $1.version } }

  /// The product that the path names.
  subscript(context: some RequestContext) -> Product {
    get throws {
      let id = context.parameters.get("id")
      guard let product = all.first(where: { $0.id == id }) else { throw HTTPError(.notFound) }
      return product
    }
  }

  func list(by order: Substring?) -> String {
    let products = order == "price" ? all.sorted { $0.price < $1.price } : all
    return products.map(\.name).joined(separator: ", ")
  }

  /// Changes a product, unless it has another version by now.
  ///
  /// - Returns: whether it has changed.
  func change(_ product: Product, _ body: (inout Product) -> Void) -> Bool {
    state.withLock { products in
      let index = products.firstIndex { $0.id == product.id && $0.version == product.version }
      guard let index else { return false }
      body(&products[index])
      products[index].version += 1
      return true
    }
  }
}

/// Remembers the runs of handlers.
final class Runs: RouterMiddleware {
  private let state = Mutex<[String]>([])

  func handle(
    _ request: Request, context: BasicRequestContext,
    next: (Request, BasicRequestContext) async throws -> Response
  ) async throws -> Response {
    // No client waits for what the cache asks by itself.
    let run = context.isRequestOfCache ? "the handler ran for the cache" : "the handler ran"
    state.withLock { $0.append(run) }
    return try await next(request, context)
  }

  /// Returns the runs since the last call.
  func take() -> [String] {
    state.withLock { runs in
      defer { runs = [] }
      return runs
    }
  }
}
