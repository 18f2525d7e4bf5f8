// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Finds the declarations of a source file that other modules can see.
///
/// It reads what the formatter accepts, and of that only declarations: bodies are skipped. It knows no types, so it prints
/// them as the source has them.
struct DeclarationScanner {
  /// A declaration on one line.
  struct Declaration: Hashable {
    /// The qualified name, without parameters.
    var name: String
    /// The type that the declaration is a member of; empty at the top of a file.
    var owner: String
    var text: String
    /// The types after the colon of a type or an extension. They are not part of `text`.
    var inherited: [String] = []
    /// What comes after the inherited types: the `where` clause.
    var constraints = ""
    /// Whether it says nothing without inherited types.
    var isExtension = false

    /// Whether it declares a type.
    var isType: Bool { !isExtension && name == owner }
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  private struct Scope {
    var path = ""
    /// Whether members without an access modifier are public.
    var isPublic = false
    var isProtocol = false
    var isEnum = false
    /// The `where` clause of the extension that holds the members.
    var constraints = ""
  }

  private struct Modifiers {
    var attributes: [String] = []
    var words: [String] = []
    /// `nil` if the declaration has no access modifier.
    var access: String?
    var hasNarrowSetter = false

    var text: String { (attributes + words).map { $0 + " " }.joined() }
  }

  private static let accessWords: Set = ["public", "open", "package", "internal", "fileprivate", "private"]
  private static let modifierWords: Set = [
    "static", "final", "mutating", "nonmutating", "consuming", "borrowing", "convenience", "required",
    "override", "lazy", "weak", "unowned", "indirect", "nonisolated", "dynamic", "optional", "prefix",
    "postfix",
    "infix", "distributed", "class",
  ]
  private static let typeWords: Set = ["struct", "class", "enum", "protocol", "actor", "extension"]
  private static let memberWords: Set = [
    "func", "var", "let", "init", "subscript", "typealias", "associatedtype", "case", "operator",
    "precedencegroup",
  ]
  /// Attributes that matter to the compiler and not to a caller.
  private static let unseenAttributes: Set = [
    "@inlinable", "@inline", "@usableFromInline", "@specialize", "@_specialize", "@_optimize", "@_semantics",
    "@_alwaysEmitIntoClient", "@_transparent",
  ]
  private static let accessorWords: Set = [
    "get", "set", "_read", "_modify", "willSet", "didSet", "unsafeAddress",
  ]

  /// What is public, unless a type around it is not.
  private(set) var declarations: [Declaration] = []
  /// The qualified names of types that are not public.
  private(set) var hiddenTypes: Set<String> = []
  private(set) var hiddenProtocols: Set<String> = []

  private let tokens: [Token]
  private var position = 0
  private var endsEarly = false

  /// - Throws: ``Failure`` if the brackets of the source do not match.
  init(_ source: String) throws(Failure) {
    tokens = Lexer.tokens(of: source)
    readMembers(of: Scope())
    if endsEarly { throw Failure(description: "a closing bracket is missing") }
    if position < tokens.count {
      throw Failure(description: "closing bracket without an opening one: token \(position)")
    }
  }

  // MARK: - Tokens

  private var token: Token? { position < tokens.count ? tokens[position] : nil }

  private func isNext(_ text: String, at offset: Int = 0) -> Bool {
    position + offset < tokens.count && tokens[position + offset].kind != .string
      && tokens[position + offset].text == text
  }

  /// The tokens of the group of brackets that begins here, with its brackets.
  private mutating func takeGroup() -> ArraySlice<Token> {
    let start = position
    var depth = 0
    repeat {
      guard let token else {
        endsEarly = true
        break
      }
      if token.kind == .mark {
        if ["(", "[", "{"].contains(token.text) { depth += 1 }
        if [")", "]", "}"].contains(token.text) { depth -= 1 }
      }
      position += 1
    } while depth > 0
    return tokens[start..<position]
  }

  /// The tokens of a declaration up to its body, or up to its end if it has none. Groups are taken whole.
  ///
  /// - Parameter takesClosures: whether a brace after `=` belongs to a value.
  private mutating func takeSignature(takesClosures: Bool = false) -> ArraySlice<Token> {
    let start = position
    var hasValue = false
    while let token {
      if token.kind == .directive || isNext("}") || isNext(";") { break }
      if position > start, token.startsLine, !continues(tokens[position - 1], token) { break }
      if isNext("=") { hasValue = true }
      if isNext("{") {
        guard takesClosures, hasValue, !isNext("didSet", at: 1), !isNext("willSet", at: 1) else { break }
        _ = takeGroup()
      } else if isNext("(") || isNext("[") {
        _ = takeGroup()
      } else {
        position += 1
      }
    }
    return tokens[start..<position]
  }

  /// Whether a declaration goes on at a token that is the first of its line.
  private func continues(_ last: Token, _ next: Token) -> Bool {
    if next.kind == .mark, !["@", "}", "(", "["].contains(next.text) { return true }
    if ["where", "throws", "rethrows", "async", "as", "is", "in"].contains(next.text) { return true }
    guard last.kind == .mark else { return last.text == "where" }
    return last.text == "->" || ![")", "]", "}", ">", "?", "!"].contains { last.text.hasSuffix($0) }
  }

  // MARK: - Declarations

  private mutating func readMembers(of scope: Scope) {
    while let token, !isNext("}") {
      if token.kind == .directive || !readDeclaration(in: scope) { position += 1 }
    }
  }

  /// Reads a declaration. `false` if none begins here.
  private mutating func readDeclaration(in scope: Scope) -> Bool {
    let start = position
    let modifiers = takeModifiers()
    guard let token, token.kind == .word else { return position > start }
    if token.text == "import" {
      position += 1
      let module = takeSignature()
      if modifiers.attributes.contains("@_exported") {
        add("", in: Scope(), "@_exported import \(Self.text(of: module))")
      }
    } else if Self.typeWords.contains(token.text) {
      position += 1
      readType(token.text, modifiers, in: scope)
    } else if Self.memberWords.contains(token.text) {
      position += 1
      readMember(token.text, modifiers, in: scope)
    } else if token.text == "deinit" {
      position += 1
      if isNext("{") { _ = takeGroup() }
    } else {
      return position > start
    }
    return true
  }

  private mutating func takeModifiers() -> Modifiers {
    var modifiers = Modifiers()
    while let token {
      if isNext("@") {
        let start = position
        position += 2
        let name = "@" + tokens[min(start + 1, tokens.count - 1)].text
        if isNext("("), self.token?.isSpaced == false { _ = takeGroup() }
        if !Self.unseenAttributes.contains(name) {
          modifiers.attributes.append(Self.text(of: tokens[start..<position]))
        }
      } else if token.kind == .word, Self.accessWords.contains(token.text) {
        position += 1
        if isNext("(") {
          modifiers.hasNarrowSetter = !["public", "open"].contains(token.text)
          _ = takeGroup()
        } else {
          modifiers.access = token.text
        }
      } else if token.kind == .word, Self.modifierWords.contains(token.text), isModifier(token) {
        let start = position
        position += 1
        if isNext("(") { _ = takeGroup() }
        modifiers.words.append(Self.text(of: tokens[start..<position]))
      } else {
        break
      }
    }
    return modifiers
  }

  /// `class` begins a type, or stands before a member.
  private func isModifier(_ token: Token) -> Bool {
    guard token.text == "class", position + 1 < tokens.count else { return true }
    let next = tokens[position + 1].text
    return Self.memberWords.contains(next) || Self.modifierWords.contains(next)
      || Self.accessWords.contains(next)
  }

  private mutating func readType(_ kind: String, _ modifiers: Modifiers, in scope: Scope) {
    let head = Array(takeSignature())
    // Not the colon in `<T: Hashable>`.
    let end = Self.firstIndex(of: [":", "where"], in: head) ?? head.endIndex
    let full = Self.text(of: head[..<end])
    let bare = String(full.prefix { $0 != "<" })
    let isExtension = kind == "extension"
    let path = isExtension ? bare : Self.path(scope.path, bare)
    let rest = head[end...]
    let clause = rest.firstIndex { $0.text == "where" } ?? head.endIndex
    let inherited = Self.split(rest[..<clause].dropFirst()).map { Self.text(of: $0) }
    let constraints = clause < head.endIndex ? " " + Self.text(of: head[clause...]) : ""
    let isPublic = isPublic(modifiers, in: scope)

    if isExtension {
      declarations.append(
        Declaration(
          name: path, owner: path, text: "extension \(path)", inherited: inherited, constraints: constraints,
          isExtension: true))
    } else if isPublic {
      let generics = full.dropFirst(bare.count)
      let access = modifiers.access == "open" ? "open " : ""
      declarations.append(
        Declaration(
          name: path, owner: path, text: "\(access)\(modifiers.text)\(kind) \(path)\(generics)",
          inherited: inherited, constraints: constraints))
    } else {
      hiddenTypes.insert(path)
      if kind == "protocol" { hiddenProtocols.insert(path) }
    }
    guard isNext("{") else { return }
    position += 1
    readMembers(
      of: Scope(
        path: path, isPublic: isExtension ? modifiers.access == "public" : kind == "protocol" && isPublic,
        isProtocol: kind == "protocol", isEnum: kind == "enum" && isPublic,
        constraints: isExtension ? constraints : ""))
    if isNext("}") { position += 1 } else { endsEarly = true }
  }

  private func isPublic(_ modifiers: Modifiers, in scope: Scope) -> Bool {
    modifiers.access.map { $0 == "public" || $0 == "open" } ?? scope.isPublic
  }

  private mutating func readMember(_ kind: String, _ modifiers: Modifiers, in scope: Scope) {
    let isProperty = kind == "var" || kind == "let"
    let head = takeSignature(takesClosures: isProperty)
    let body = isNext("{") ? takeGroup() : []
    guard kind == "case" ? scope.isEnum : isPublic(modifiers, in: scope) else { return }
    let access = modifiers.access == "open" ? "open " : ""
    let before = (scope.isProtocol ? "requirement " : "") + access + modifiers.text

    switch kind {
    case "case":
      for element in Self.split(head) {
        add(name(element), in: scope, "\(before)case \(qualified(element, in: scope))")
      }
    case "var", "let":
      let bindings = Self.split(head)
      // In `let a, b: Int`, the type stands behind the last name only.
      let type =
        bindings.last.flatMap { last in last.firstIndex { $0.text == ":" }.map { last[$0...] } } ?? []
      for binding in bindings {
        let isTyped = binding.contains { $0.text == ":" || $0.text == "=" }
        add(
          name(binding), in: scope,
          before + "\(kind) " + qualified(binding, in: scope) + (isTyped ? "" : Self.text(of: type))
            + Self.accessors(body, modifiers))
      }
    case "init", "subscript":
      // `init?` has its mark behind it.
      add(
        kind, in: scope,
        before + Self.path(scope.path, kind) + Self.text(of: head)
          + (kind == "subscript" ? Self.accessors(body, modifiers) : ""))
    default:
      add(name(head), in: scope, "\(before)\(kind) \(qualified(head, in: scope))")
    }
  }

  private func name(_ head: ArraySlice<Token>) -> String { head.first?.text ?? "" }

  private func qualified(_ head: ArraySlice<Token>, in scope: Scope) -> String {
    Self.path(scope.path, Self.text(of: head))
  }

  private static func path(_ path: String, _ name: String) -> String {
    path.isEmpty ? name : "\(path).\(name)"
  }

  private mutating func add(_ name: String, in scope: Scope, _ text: String) {
    declarations.append(
      Declaration(
        name: Self.path(scope.path, name), owner: scope.path,
        text: scope.constraints.isEmpty ? text : "\(text) (extension\(scope.constraints))"))
  }

  /// What a body says of a property: ` { get }`, ` { get set }`, or nothing for a stored one that can be set.
  private static func accessors(_ body: ArraySlice<Token>, _ modifiers: Modifiers) -> String {
    var found: [String] = []
    var effects: [String] = []
    var depth = 0
    var index = body.startIndex
    while index < body.endIndex {
      let token = body[index]
      defer { index += 1 }
      if token.kind == .mark {
        if [")", "]", "}"].contains(token.text) { depth -= 1 }
        if ["(", "[", "{"].contains(token.text) { depth += 1 }
        if token.text == "@" { index += 1 }
      } else if depth == 1, token.kind == .word {
        if ["async", "throws"].contains(token.text), found.last == "get" {
          effects.append(token.text)
        } else if accessorWords.contains(token.text), index + 1 < body.endIndex,
          body[index + 1].kind == .word || ["{", "(", "}"].contains(body[index + 1].text)
        {
          found.append(token.text)
        }
      }
      // Anything but an accessor at the beginning: the body of a getter without its keyword.
      let mayPrecedeAccessor =
        token.kind != .string && ["@", "{", "(", ")", "mutating", "nonmutating"].contains(token.text)
      if found.isEmpty, depth == 1, !mayPrecedeAccessor { return " { get }" }
    }
    if found.isEmpty, !body.isEmpty { return " { get }" }
    let isObserved = found.contains("willSet") || found.contains("didSet")
    if found.isEmpty || isObserved { return modifiers.hasNarrowSetter ? " { get }" : "" }
    let isSettable =
      !modifiers.hasNarrowSetter && found.contains { ["set", "_modify"].contains($0) }
    let getter = (["get"] + effects).joined(separator: " ")
    return isSettable ? " { \(getter) set }" : " { \(getter) }"
  }

  // MARK: - Text

  /// Splits at the commas that are in no brackets.
  private static func split(_ tokens: ArraySlice<Token>) -> [ArraySlice<Token>] {
    var parts: [ArraySlice<Token>] = []
    var rest = tokens
    while let comma = firstIndex(of: [","], in: rest) {
      parts.append(rest[..<comma])
      rest = rest[(comma + 1)...]
    }
    return rest.isEmpty ? parts : parts + [rest]
  }

  /// Where one of the texts stands first, in no brackets.
  private static func firstIndex<Tokens: Collection<Token>>(of texts: Set<String>, in tokens: Tokens)
    -> Tokens.Index?
  {
    var depth = 0
    return tokens.firstIndex { token in
      if token.kind == .string { return false }
      switch token.text {
      case "(", "[", "{": depth += 1
      case ")", "]", "}": depth -= 1
      case "->": break
      default:
        if depth == 0, texts.contains(token.text) { return true }
        // Also `>?` and `>>`.
        if token.kind == .mark {
          depth += token.text.count { $0 == "<" } - token.text.count { $0 == ">" }
        }
      }
      return false
    }
  }

  /// The tokens on one line, spaced as in the source. Closures are `{…}`.
  private static func text(of tokens: some Sequence<Token>) -> String {
    var text = ""
    var closures = 0
    for token in tokens {
      if token.kind == .mark, token.text == "}" {
        closures -= 1
        if closures == 0 { text += "…}" }
        continue
      }
      guard closures == 0 else {
        if token.kind == .mark, token.text == "{" { closures += 1 }
        continue
      }
      let isClosing = token.kind == .mark && [")", "]", ",", ":"].contains(token.text)
      // A comma behind the last argument is a matter of layout.
      if isClosing, token.text != ",", token.text != ":", text.hasSuffix(",") { text.removeLast() }
      // A member on a line of its own belongs to what is before it.
      let isMember = token.kind == .mark && token.startsLine && token.text == "."
      if token.isSpaced, !isClosing, !isMember, !text.isEmpty, !text.hasSuffix("("), !text.hasSuffix("[") {
        text += " "
      }
      text += token.kind == .string ? singleLine(token.text) : token.text
      if token.kind == .mark, token.text == "{" { closures += 1 }
    }
    return text
  }

  private static func singleLine(_ literal: String) -> String {
    literal.contains("\n") ? "\"\"\"…\"\"\"" : literal
  }
}
