import CChatparse

/// A grammar for a sampler: of a request (`Params.grammar`), of a JSON schema, or put together by a `GrammarBuilder`.
public struct Grammar: Sendable {
  let handle: Handle

  init(handle: Handle) { self.handle = handle }

  /// The grammar of the JSON values that a schema allows.
  public init(schema: JSON, style: Style = .faithful) throws {
    let schema = schema.text
    handle = try Handle(chat_grammar_free) {
      chat_grammar_from_json_schema(schema, schema.utf8.count, style.rawValue, $0, $1)
    }
  }

  /// GBNF has a line for each rule and starts at `root`. Empty if nothing is constrained.
  public var text: String { handle.text { chat_grammar_view($0).pointee.text } }

  /// Where it departs from its schemas; of a converted one, what the dialect cannot express.
  public func report() throws -> [Departure] {
    handle.list({ $0.data }, { $0.len }, of: { chat_grammar_view($0).pointee.report }) {
      Departure(
        kind: Departure.Kind(rawValue: $0.kind) ?? .other, schema: String($0.schema), pointer: String($0.pointer),
        message: String($0.message))
    }
  }

  /// The same grammar in another dialect.
  public func converted(to dialect: Dialect) throws -> Grammar {
    Grammar(
      handle: try handle.use { grammar in
        try Handle(chat_grammar_free) { chat_grammar_as(grammar, dialect.rawValue, $0, $1) }
      })
  }

  /// Whether the grammar, which must be GBNF, allows a text. Each call reads the grammar anew: for tests.
  public func check(_ text: String) throws -> Verdict { try Grammar.check(text, against: self.text) }

  /// The same of GBNF from any source.
  public static func check(_ text: String, against gbnf: String) throws -> Verdict {
    var verdict: UInt32 = 0
    try Chatparse.check { chat_grammar_check(gbnf, gbnf.utf8.count, text, text.utf8.count, &verdict, $0) }
    return Verdict(rawValue: verdict) ?? .refused
  }

  /// The notations of grammars.
  public enum Dialect: UInt32, Sendable, CaseIterable {
    /// As llama.cpp writes it.
    case gbnf = 1
    /// For all versions of llama.cpp, and for XGrammar.
    case portableGBNF
    /// For llguidance, XGrammar and vLLM.
    case lark
    /// XGrammar's structural tag, as JSON.
    case structuralTag
  }

  /// How schemas become rules.
  public enum Style: UInt32, Sendable {
    /// As closely as a grammar can.
    case faithful = 1
    /// The same text as llama.cpp.
    case llamaCpp
    /// The same text as llama.cpp before 0.5.0.
    case llamaCppB10587
  }

  public enum Verdict: UInt32, Sendable {
    case allowed = 1
    /// Some longer text that begins so is allowed.
    case prefix
    case refused
  }

  /// A place of a schema where a grammar departs from it.
  public struct Departure: Sendable, Hashable {
    public let kind: Kind
    /// The rule or tool that the schema belongs to; empty for a grammar's only schema.
    public let schema: String
    /// `#` and a JSON pointer.
    public let pointer: String
    /// What the grammar has there instead.
    public let message: String

    public enum Kind: UInt32, Sendable {
      case other = 0
      /// It allows more.
      case widened
      /// The part could not be used, and was replaced.
      case refused
      /// It allows less.
      case narrowed
    }
  }
}

/// Puts a grammar together. What adds a rule returns the rule's name: use that one in other rules. `root` is where the grammar starts. One
/// task at a time.
public final class GrammarBuilder {
  private let handle: Handle

  public init(style: Grammar.Style = .faithful) throws {
    handle = try Handle(chat_grammar_builder_free, chat_grammar_builder_new)
    try handle.use { builder in
      try check { chat_grammar_builder_set_style(builder, style.rawValue, $0) }
    }
  }

  /// Adds a rule; `body` is what GBNF has right of `::=`.
  public func addRule(_ name: String, _ body: String) throws -> String {
    try handle.written { chat_grammar_builder_add_rule($0, name, name.utf8.count, body, body.utf8.count, $1, $2) }
  }

  /// Adds a rule for exactly this text.
  public func addLiteral(_ name: String, _ text: String) throws -> String {
    try handle.written { chat_grammar_builder_add_literal($0, name, name.utf8.count, text, text.utf8.count, $1, $2) }
  }

  /// Adds the rules of a JSON schema.
  public func addSchema(_ name: String, _ schema: JSON) throws -> String {
    let schema = schema.text
    return try handle.written {
      chat_grammar_builder_add_schema($0, name, name.utf8.count, schema, schema.utf8.count, $1, $2)
    }
  }

  /// Adds the rules of `Parser.grammar`. The one for all of it is `root`.
  public func addParser(_ parser: Parser, lazy: Bool = false) throws {
    try handle.use { builder in
      try parser.handle.use { parser in
        try check { chat_grammar_builder_add_parser(builder, parser, lazy, $0) }
      }
    }
  }

  /// The grammar of all rules so far.
  public func build() throws -> Grammar {
    Grammar(
      handle: try handle.use { builder in
        try Handle(chat_grammar_free) { chat_grammar_builder_build(builder, $0, $1) }
      })
  }
}
