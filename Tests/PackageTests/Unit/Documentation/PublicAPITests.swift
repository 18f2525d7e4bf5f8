// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import TestSupport
import Testing

@testable import TestTool

@Suite("The list of public declarations", .timeLimit(.minutes(5)))
struct PublicAPITests {
  private let digest = APIDigest(root: Repository.root)

  @Test("Documentation/API has a file for each library product, and each is up to date")
  func upToDate() throws {
    let lines = try digest.lines()
    #expect(Set(try digest.files().map(\.lastPathComponent)) == Set(lines.keys.map { $0 + ".txt" }))
    for (module, lines) in lines {
      let committed = (try? String(contentsOf: digest.file(of: module), encoding: .utf8)) ?? ""
      let current = APIDigest.text(lines, of: module)
      guard committed != current else { continue }
      let (old, new) = (committed.split(separator: "\n"), current.split(separator: "\n"))
      let changes = new.difference(from: old).map { change in
        switch change {
        case .insert(_, let line, _): "+ \(line)"
        case .remove(_, let line, _): "- \(line)"
        }
      }
      Issue.record(
        """
        The public API of \(module) differs from Documentation/API/\(module).txt. \
        If the change is intended, run: make api
        \(changes.joined(separator: "\n"))
        """)
    }
  }

  @Test("Every library product has public declarations")
  func notEmpty() throws {
    let lines = try digest.lines()
    #expect(lines.count >= 7)
    for (module, lines) in lines {
      #expect(!lines.isEmpty, "\(module)")
    }
  }

  struct Example: CustomTestStringConvertible {
    var testDescription: String
    var source: String
    var lines: [String]
  }

  private static let examples = [
    Example(
      testDescription: "Only public and open declarations are listed",
      source: """
        public struct A { public func a() {} ; package func b() {} ; func c() {} ; private var d = 1 }
        struct B { public func e() {} }
        package struct C { public struct D { public var f: Int } }
        open class E { open func g() {} ; public final func h() {} }
        """,
      lines: ["struct A", "func A.a()", "open class E", "open func E.g()", "final func E.h()"]),
    Example(
      testDescription: "A declaration on several lines is one line, with default values and without its body",
      source: """
        public struct A {
          /// A comment with `public var no: Int { `.
          public init(
            first: Int = 1,  // why
            second: [String] = [
              "}", "\\("{")",
            ],
            third: @escaping @Sendable (Int) -> Void = { _ in },
          ) throws(Failure) {
            public_ = { "unbalanced }" }()
          }
        }
        """,
      lines: [
        "struct A",
        #"A.init(first: Int = 1, second: [String] = ["}", "\("{")"], third: @escaping @Sendable (Int) -> Void = {…}) throws(Failure)"#,
      ]),
    Example(
      testDescription: "Cases of public enums and requirements of public protocols are public",
      source: """
        public enum A: String { case a, b = "c" ; indirect case d(A, e: [Int: Int])
          case f }
        enum B { case g }
        public protocol C: Sendable { associatedtype T: Hashable ; var h: Int { get set }
          func i() async throws -> T }
        extension C { public func i() async throws -> T { fatalError() } ; func j() {} }
        """,
      lines: [
        "enum A: String", "case A.a", #"case A.b = "c""#, "indirect case A.d(A, e: [Int: Int])", "case A.f",
        "protocol C: Sendable", "requirement associatedtype C.T: Hashable",
        "requirement var C.h: Int { get set }",
        "func C.i() async throws -> T", "requirement func C.i() async throws -> T",
      ]),
    Example(
      testDescription: "A property says whether it can be set",
      source: """
        public struct A {
          public var a: Int { 1 }
          public var b: Int {
            get { 1 }
            set {}
          }
          public private(set) var c = [1: "}"]
          public var d: Int = 2 { didSet { e() } }
          public let f, g: (Int, Swift
            .Int)
          public var h: Int { get async throws { 1 } }
          public var i: Int {
            @inline(__always) get { 1 }
            nonmutating _modify { yield &x }
          }
          public var j: [Int] { [1].map { $0 } }
          public var k: String { set.description }
          public static let l = { 1 }()
          public subscript(m: Int) -> Int { get { 1 } set {} }
        }
        """,
      lines: [
        "struct A", "var A.a: Int { get }", "var A.b: Int { get set }", #"var A.c = [1: "}"] { get }"#,
        "var A.d: Int = 2", "let A.f: (Int, Swift.Int)", "let A.g: (Int, Swift.Int)",
        "var A.h: Int { get async throws }",
        "var A.i: Int { get set }", "var A.j: [Int] { get }", "var A.k: String { get }",
        "static let A.l = {…}()",
        "A.subscript(m: Int) -> Int { get set }",
      ]),
    Example(
      testDescription: "Members of an extension belong to the type, with the extension's constraints",
      source: """
        extension A.B: @unchecked Sendable, Hidden where T: Equatable {
          public static func == (a: Self, b: Self) -> Bool { a === b }
        }
        public extension Array { func c() {} ; internal func d() {} }
        extension Shut { public func e() {} }
        struct Shut {}
        protocol Hidden {}
        extension F: Hidden {}
        public struct G<T: Sendable>: ~Copyable {}
        """,
      lines: [
        "extension A.B: @unchecked Sendable where T: Equatable",
        "static func A.B.== (a: Self, b: Self) -> Bool (extension where T: Equatable)", "func Array.c()",
        "struct G<T: Sendable>: ~Copyable",
      ]),
    Example(
      testDescription: "Attributes that callers see are kept, and both branches of a condition are read",
      source: """
        @_exported import Other
        #if os(Linux)
          @available(*, deprecated, message: "Use b.") @inlinable public func a() {}
        #else
          @discardableResult
          public func c<T>(_ d: T, _: inout Int) -> Result<T, any Error>
          where T: Hashable
          { fatalError() }
        #endif
        public typealias E =
          (Int) -> Void
        public var f:
          @Sendable () -> Void
        """,
      lines: [
        "@_exported import Other", "typealias E = (Int) -> Void",
        #"@available(*, deprecated, message: "Use b.") func a()"#,
        "@discardableResult func c<T>(_ d: T, _: inout Int) -> Result<T, any Error> where T: Hashable",
        "var f: @Sendable () -> Void",
      ]),
  ]

  @Test("The scanner lists the public declarations of each example", arguments: examples)
  func scanning(example: Example) throws {
    let scanner = try DeclarationScanner(example.source)
    let lines = APIDigest.lines(
      scanner.declarations, hiddenTypes: scanner.hiddenTypes, hiddenProtocols: scanner.hiddenProtocols)
    #expect(lines == example.lines)
  }

  @Test(
    "A source with unmatched brackets is an error",
    arguments: ["struct A {", "struct A {}}", "func a() { \"}\""])
  func unbalanced(source: String) {
    #expect(throws: DeclarationScanner.Failure.self) { try DeclarationScanner(source) }
  }
}
