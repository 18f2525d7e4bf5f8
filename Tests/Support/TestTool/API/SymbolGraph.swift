// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The public symbols of a module, as `swift-symbolgraph-extract` writes them.
struct SymbolGraph: Decodable {
  struct Symbol: Decodable {
    struct Identifier: Decodable { var precise: String }
    struct Kind: Decodable { var identifier: String }
    struct Fragment: Decodable {
      var kind: String
      var spelling: String
    }
    struct Extension: Decodable {
      struct Constraint: Decodable {
        var kind: String
        var lhs: String
        var rhs: String
      }
      var constraints: [Constraint]?
    }
    /// What it is there for is not read.
    struct Comment: Decodable {}

    var identifier: Identifier
    var kind: Kind
    /// The names of the types around it, and its own.
    var pathComponents: [String]
    var declarationFragments: [Fragment]
    var docComment: Comment?
    var swiftExtension: Extension?
  }

  struct Relationship: Decodable {
    var kind: String
    var source: String
    var target: String
    var targetFallback: String?
  }

  var symbols: [Symbol]
  var relationships: [Relationship]
}

extension SymbolGraph {
  /// Protocols that every type has, or that others imply.
  private static let implied: Set = [
    "Swift.Copyable", "Swift.Escapable", "Swift.SendableMetatype", "Swift.BitwiseCopyable",
  ]

  /// A line for each declaration, sorted by names.
  var lines: [String] {
    let names = Dictionary(
      symbols.map { ($0.identifier.precise, $0.pathComponents.joined(separator: ".")) },
      uniquingKeysWith: { $1 })
    var conformances: [String: Set<String>] = [:]
    var requirements: Set<String> = []
    for relationship in relationships {
      switch relationship.kind {
      case "conformsTo":
        let name = names[relationship.target] ?? relationship.targetFallback ?? relationship.target
        guard !Self.implied.contains(name) else { continue }
        conformances[relationship.source, default: []].insert(
          name.hasPrefix("Swift.") ? String(name.dropFirst(6)) : name)
      case "requirementOf": requirements.insert(relationship.source)
      default: break
      }
    }
    let lines = symbols.compactMap { symbol -> (name: String, text: String)? in
      let own = conformances[symbol.identifier.precise]
      // An extension of a type in another module says nothing without a conformance: its members have lines of their own.
      if symbol.kind.identifier == "swift.extension", own == nil { return nil }
      let prefix = requirements.contains(symbol.identifier.precise) ? "requirement " : ""
      let suffix = own.map { ": " + $0.sorted().joined(separator: ", ") } ?? ""
      return (symbol.pathComponents.joined(separator: "."), prefix + symbol.declaration + suffix)
    }
    return lines.sorted { ($0.name, $0.text) < ($1.name, $1.text) }.map(\.text)
  }

  /// The names of the declarations without a comment of their own, or of the protocol that requires them.
  var undocumented: [String] {
    symbols.filter { $0.docComment == nil && $0.kind.identifier != "swift.extension" }
      .map { $0.pathComponents.joined(separator: ".") }
  }
}

extension SymbolGraph.Symbol {
  /// The declaration on one line, with the qualified name in the place of the name.
  fileprivate var declaration: String {
    let owner = pathComponents.dropLast().map { $0 + "." }.joined()
    var isNamed = kind.identifier == "swift.extension"
    var text = ""
    for fragment in declarationFragments {
      // What a type inherits is known from its relationships, where extensions are counted.
      if kind.identifier == "swift.protocol" || kind.identifier == "swift.class", fragment.spelling == " : " {
        break
      }
      let isName =
        fragment.kind == "identifier"
        || fragment.kind == "keyword" && ["init", "subscript"].contains(fragment.spelling)
      text += (isName && !isNamed ? owner : "") + fragment.spelling
      isNamed = isNamed || isName
    }
    text = text.split(separator: /\s+/).joined(separator: " ")
    guard let constraints = swiftExtension?.constraints, !constraints.isEmpty else { return text }
    let clauses = constraints.map { "\($0.lhs) \($0.kind == "sameType" ? "==" : ":") \($0.rhs)" }
    return "\(text) (extension where \(clauses.joined(separator: ", ")))"
  }
}
