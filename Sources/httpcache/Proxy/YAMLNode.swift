// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CLibYAML

/// A node of a YAML document, parsed by libyaml. Yams has the same nodes, but links all of Foundation.
struct YAMLNode {
  enum Content {
    case scalar(String)
    /// A plain scalar that stands for no value, such as `~`.
    case null
    case sequence([YAMLNode])
    case mapping([(key: YAMLNode, value: YAMLNode)])
  }

  var content: Content
  /// Counted from 1.
  var line: Int

  /// An error in a document, and its line.
  struct Fault: Error {
    var line: Int
    var text: String
  }

  /// Returns the root of a document; `nil` if the text has none.
  static func root(of text: String) throws(Fault) -> YAMLNode? {
    // The byte order mark of some editors, which libyaml takes for a column (YAML 1.2 §5.2).
    let text = text.utf8.starts(with: "\u{FEFF}".utf8) ? text.utf8.dropFirst(3) : text.utf8[...]
    return try Array(text).withUnsafeBufferPointer { bytes throws(Fault) in try YAMLReader(bytes).root() }
  }
}

private final class YAMLReader {
  private let bytes: UnsafeBufferPointer<UInt8>
  /// Has an address of its own, because libyaml keeps that in it.
  private let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
  private var event = yaml_event_t()
  private var anchors: [String: (node: YAMLNode, size: Size)] = [:]
  /// The nodes and the bytes of the document so far, with those that aliases stand for, and how deep it is.
  private var size = Size()
  /// The part of them that aliases stand for.
  private var expanded = Size()

  /// The size of a part of a document.
  private struct Size {
    var nodes = 0
    var bytes = 0
    var depth = 0
  }

  /// What the aliases of a document may stand for: a few lines of aliases of aliases would otherwise fill the memory.
  private static let mostExpanded = Size(nodes: 100_000, bytes: 16 << 20)
  private static let mostDepth = 100

  /// - Parameter bytes: must outlive the reader.
  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    self.bytes = bytes
    parser.initialize(to: yaml_parser_t())
  }

  deinit {
    yaml_event_delete(&event)
    yaml_parser_delete(parser)
    parser.deallocate()
  }

  private var line: Int { event.start_mark.line + 1 }

  func root() throws(YAMLNode.Fault) -> YAMLNode? {
    guard yaml_parser_initialize(parser) == 1 else { throw YAMLNode.Fault(line: 1, text: "out of memory") }
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
    try advance()  // The start of the stream.
    try advance()  // The start of a document.
    guard event.type == YAML_DOCUMENT_START_EVENT else { return nil }
    try advance()
    let root = try node(depth: 0)
    try advance()  // The end of the document.
    try advance()
    guard event.type == YAML_STREAM_END_EVENT else {
      throw YAMLNode.Fault(line: line, text: "expected a single document in the stream")
    }
    return root
  }

  /// Reads a node from its first event to its last.
  private func node(depth: Int) throws(YAMLNode.Fault) -> YAMLNode {
    try check(depth)
    let before = size
    size.nodes += 1
    size.depth = depth
    let (line, type) = (line, event.type)
    let data = event.data
    let anchor: String?
    let content: YAMLNode.Content
    switch type {
    case YAML_ALIAS_EVENT:
      let name = Self.text(data.alias.anchor) ?? ""
      guard let anchor = anchors[name] else { throw YAMLNode.Fault(line: line, text: "undefined alias") }
      try expand(anchor.size, at: depth)
      size.depth = max(before.depth, size.depth)
      return anchor.node
    case YAML_SEQUENCE_START_EVENT:
      anchor = Self.text(data.sequence_start.anchor)
      var nodes: [YAMLNode] = []
      while try follows(YAML_SEQUENCE_END_EVENT) { nodes.append(try node(depth: depth + 1)) }
      content = .sequence(nodes)
    case YAML_MAPPING_START_EVENT:
      anchor = Self.text(data.mapping_start.anchor)
      var pairs: [(key: YAMLNode, value: YAMLNode)] = []
      while try follows(YAML_MAPPING_END_EVENT) {
        let key = try node(depth: depth + 1)
        try advance()
        pairs.append((key, try node(depth: depth + 1)))
      }
      content = .mapping(pairs)
    default:
      anchor = Self.text(data.scalar.anchor)
      let bytes = UnsafeBufferPointer(start: data.scalar.value, count: data.scalar.length)
      let text = String(decoding: bytes, as: UTF8.self)
      size.bytes += bytes.count
      let isNull =
        data.scalar.style == YAML_PLAIN_SCALAR_STYLE && ["", "~", "null", "Null", "NULL"].contains(text)
      content = isNull ? .null : .scalar(text)
    }
    let node = YAMLNode(content: content, line: line)
    if let anchor {
      let own = Size(
        nodes: size.nodes - before.nodes, bytes: size.bytes - before.bytes, depth: size.depth - depth)
      anchors[anchor] = (node, own)
    }
    size.depth = max(before.depth, size.depth)
    return node
  }

  private func check(_ depth: Int) throws(YAMLNode.Fault) {
    guard depth < Self.mostDepth else {
      throw YAMLNode.Fault(line: line, text: "nested more than \(Self.mostDepth) levels deep")
    }
  }

  /// Counts what an alias stands for.
  private func expand(_ part: Size, at depth: Int) throws(YAMLNode.Fault) {
    try check(depth + part.depth)
    size = Size(nodes: size.nodes + part.nodes, bytes: size.bytes + part.bytes, depth: depth + part.depth)
    expanded.nodes += part.nodes
    expanded.bytes += part.bytes
    let most = Self.mostExpanded
    guard expanded.nodes <= most.nodes, expanded.bytes <= most.bytes else {
      throw YAMLNode.Fault(
        line: line,
        text: "the aliases up to here stand for more than \(most.nodes) values or \(most.bytes >> 20) MB")
    }
  }

  /// Advances, and returns whether a member of the collection follows instead of its end.
  private func follows(_ end: yaml_event_type_t) throws(YAMLNode.Fault) -> Bool {
    try advance()
    return event.type != end
  }

  private func advance() throws(YAMLNode.Fault) {
    yaml_event_delete(&event)
    guard yaml_parser_parse(parser, &event) == 1 else { throw fault }
  }

  private var fault: YAMLNode.Fault {
    let context = parser.pointee.context.map { String(cString: $0) }
    let texts = [context, parser.pointee.problem.map { String(cString: $0) }].compactMap(\.self)
    // YAML reports a missing colon or an open quote on a line after the faulty one.
    let isMissedLater = ["simple key", "quoted scalar"].contains { context?.contains($0) == true }
    let mark = isMissedLater ? parser.pointee.context_mark : parser.pointee.problem_mark
    let line =
      parser.pointee.error == YAML_READER_ERROR
      ? bytes.prefix(parser.pointee.problem_offset).count { $0 == UInt8(ascii: "\n") } : mark.line
    return YAMLNode.Fault(line: line + 1, text: texts.joined(separator: ", "))
  }

  private static func text(_ name: UnsafePointer<UInt8>?) -> String? { name.map { String(cString: $0) } }
}
