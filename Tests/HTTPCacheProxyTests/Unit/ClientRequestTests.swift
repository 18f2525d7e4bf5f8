// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import NIOCore
import NIOHPACK
import Testing

@testable import HTTPCacheProxy

@Suite("Requests of clients", .timeLimit(.minutes(10)))
struct ClientRequestTests {
  private func read(_ head: String, scheme: String = "http") throws -> ClientRequest {
    try ClientRequest(
      ByteBuffer(string: head), HeadReader(limits: .init(), isResponse: false), scheme: scheme
    )
  }

  @Test(
    "A field that CGI takes for one that the proxy sets or removes is removed",
    arguments: [
      "Content_Length", "content_length", "Transfer_Encoding", "TRANSFER_ENCODING", "X_Forwarded_For",
      "X-Forwarded_Host", "x_forwarded-proto", "X_Forwarded", "X_Real_IP", "Keep_Alive", "Proxy_Connection",
      "Proxy_Authorization", "Max_Forwards", "HTTP2_Settings", "If_None_Match", "If-Modified_Since",
      "If_Range",
    ])
  func underscores(name: String) throws {
    let head = "GET / HTTP/1.1\r\nHost: a\r\n\(name): 5\r\nX_Other: 1\r\nX-Other: 2\r\n_: 3\r\n\r\n"
    let request = try read(head)
    #expect(request.request.headerFields.map(\.name.rawName) == ["X_Other", "X-Other", "_"])
    #expect(request.framing == .none)
  }

  @Test(
    "Fields that name another method are removed from what the cache may answer or store, and from nothing else",
    arguments: [
      ("GET", true), ("HEAD", true), ("QUERY", true), ("POST", false), ("PUT", false), ("PATCH", false),
      ("DELETE", false), ("OPTIONS", false), ("PROPFIND", false), ("get", false),
    ])
  func methodOverride(method: String, isRemoved: Bool) throws {
    let names = ["X-HTTP-Method-Override", "x-http-method", "X-METHOD-OVERRIDE"]
    let fields = names.map { "\($0): DELETE\r\nX-One: 1\r\n" }.joined()
    // CGI takes it for the first one.
    let text = "\(method) / HTTP/1.1\r\nHost: a\r\n\(fields)X_HTTP_Method_Override: PUT\r\n\r\n"
    let request = try read(text)
    let kept = request.request.headerFields.map(\.name.rawName)
    #expect(kept == (isRemoved ? ["X-One", "X-One", "X-One"] : names.flatMap { [$0, "X-One"] }))
    #expect(request.methodOverrides?.map(\.name.rawName) == (isRemoved ? names : nil))
  }

  @Test(
    "A target whose scheme is not that of the proxy is refused (RFC 9110 §7.4)",
    arguments: ["http", "https"], ["http", "https", "HTTP", "hTTpS"])
  func scheme(served: String, named: String) throws {
    let head = "GET \(named)://b.example/x?y HTTP/1.1\r\nHost: a\r\n\r\n"
    guard served == named.lowercased() else {
      #expect(throws: MessageFault.self) { try read(head, scheme: served) }
      return
    }
    let request = try read(head, scheme: served).request
    #expect(request.scheme == served && request.authority == "b.example" && request.path == "/x?y")
  }

  @Test(
    "Max-Forwards of OPTIONS and TRACE is a number, of which one beyond any integer counts as the greatest (RFC 9110 §7.6.2)",
    arguments: [
      ("0", 0, nil), ("1", 1, "0"), ("007", 7, "6"), ("9223372036854775807", .max, "9223372036854775806"),
      ("9223372036854775808", .max, "9223372036854775806"),
      ("99999999999999999999999999999999999999", .max, "9223372036854775806"),
      ("00000000000000000000000000000000000001", 1, "0"),
      ("", nil, nil), ("-1", nil, nil), ("+1", nil, nil), ("1 2", nil, nil), ("1.0", nil, nil),
      ("x", nil, nil),
      ("0x1", nil, nil), ("1, 2", nil, nil),
    ] as [(String, Int?, String?)])
  func maxForwards(value: String, number: Int?, sent: String?) throws {
    let name = try #require(HTTPField.Name("Max-Forwards"))
    for method in ["OPTIONS", "TRACE", "GET"] {
      func read(_ isHTTP2: Bool) throws -> ClientRequest {
        guard isHTTP2 else {
          return try self.read("\(method) / HTTP/1.1\r\nHost: a\r\nMax-Forwards: \(value)\r\n\r\n")
        }
        return try ClientRequest(
          [":method": method, ":scheme": "http", ":authority": "a", ":path": "/", "max-forwards": value],
          hasContent: false, .init(), scheme: "http", isEncrypted: false)
      }
      for isHTTP2 in [false, true] {
        if method == "GET" {
          // It has no meaning for other methods.
          let request = try read(isHTTP2)
          #expect(request.maxForwards == nil && request.request.headerFields[name] == value)
        } else if let number {
          let request = try read(isHTTP2)
          #expect(request.maxForwards == number && request.request.headerFields[name] == sent)
        } else {
          #expect {
            try read(isHTTP2)
          } throws: {
            ($0 as? MessageFault)?.status == 400
          }
        }
      }
    }
  }
}
