// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Answers the requests of a `URLSession` from ``HTTPStubs``; see `URLSessionConfiguration.stubbed(by:base:)`.
class StubURLProtocol: URLProtocol {
  private let loads = ProtocolLoads()

  /// The stubs that answer, and the configuration of the session; `nil` if there are none.
  class var binding: StubBinding? { StubClasses.shared.value(of: self) }

  override class func canInit(with request: URLRequest) -> Bool {
    guard binding != nil else { return false }
    return ["http", "https"].contains(request.url?.scheme?.lowercasedASCII)
  }

  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override func startLoading() {
    let request = request
    guard let client = loads.start(self) else { return }
    do {
      guard let binding = Self.binding, let url = request.url else { throw URLError(.badURL) }
      let whole = try TaskBody.request(request, of: self.task)
      guard let head = HTTPRequest(plain: whole)?.adding(binding.additionalFields) else {
        throw URLError(.badURL)
      }
      let task = Task {
        do {
          let body =
            try await client.stream?.content().collect(upTo: .max)
            ?? whole.httpBody.map { ArraySlice($0) } ?? []
          let answer = try await binding.stubs.answer(head, body, timeout: binding.timeout(of: whole))
          let (response, bytes) = try answer.made()
          guard let response = HTTPURLResponse(response, url: url) else {
            throw URLError(.cannotParseResponse)
          }
          let content = Data(head.method == .head ? [] : bytes.prefix(answer.cut ?? .max))
          let error = answer.cut == nil ? nil : answer.lost
          client.end(ClientAnswer(response, content, error: error.map(described)))
        } catch {
          client.end(ClientAnswer(error: described(error)))
        }
      }
      client.note(task)
    } catch {
      client.endAtOnce(ClientAnswer(error: error))
    }
  }

  override func stopLoading() { loads.stop(self) }
}

private func described(_ error: any Error) -> any Error {
  error is CancellationError ? URLError(.cancelled) : error
}

/// The stubs of a session, and the configuration that it was made from.
struct StubBinding: Sendable {
  let stubs: HTTPStubs
  /// `nil` for `URLSession.shared`, whose configuration is the default.
  var configuration: SendableConfiguration?

  /// The timeout of a request; that of the configuration unless the request has its own.
  func timeout(of request: URLRequest) -> Duration {
    let usual = URLRequest(url: URL(fileURLWithPath: "/")).timeoutInterval
    let isOwn = request.timeoutInterval != usual
    return .seconds(
      isOwn ? request.timeoutInterval : configuration?.value.timeoutIntervalForRequest ?? usual)
  }

  /// The fields that Foundation on Linux adds after the protocol has seen the request.
  var additionalFields: [(name: String, value: String)] { configuration?.additionalFields ?? [] }
}

/// The stubs of every class that was made.
enum StubClasses: ClassMaker {
  static let shared = ClassTable<StubClasses, StubBinding>()

  static func makeClass<Digits>(_ digits: Digits.Type) -> StubURLProtocol.Type {
    BoundStubProtocol<Digits>.self
  }
}

/// The class that one configuration lists.
final class BoundStubProtocol<Digits>: StubURLProtocol {}
