import CChatparse

/// What one request needs: its prompt, what a sampler and a tokeniser must know, and the parser of the output.
public struct Params: Sendable {
  let handle: Handle

  /// What the model is given.
  public var prompt: String { handle.text { chat_params_view($0).pointee.prompt } }

  /// The end of the prompt that is already the assistant's turn. Streams know it: do not feed it to them.
  public var generationPrompt: String { handle.text { chat_params_view($0).pointee.generation_prompt } }

  /// The name of the output's format, for logs.
  public var format: String { handle.text { chat_params_view($0).pointee.format } }

  /// Texts that the tokeniser must keep as single tokens and the detokeniser must print.
  public var preservedTokens: [String] {
    handle.texts { chat_params_view($0).pointee.preserved_tokens }
  }

  /// Texts that end the output besides the end-of-turn token.
  public var additionalStops: [String] {
    handle.texts { chat_params_view($0).pointee.additional_stops }
  }

  /// What the template writes to end the assistant's turn; empty where nothing does, or where that is unknown.
  public var endOfTurn: String { handle.text(chat_params_end_of_turn) }

  /// Whether the template has reasoning.
  public var supportsThinking: Bool { handle.use { chat_params_view($0).pointee.supports_thinking } }

  /// What opens reasoning; empty where nothing does.
  public var thinkingStartTag: String { handle.text { chat_params_view($0).pointee.thinking_start_tag } }

  /// What closes reasoning: each of them does.
  public var thinkingEndTags: [String] {
    handle.texts { chat_params_view($0).pointee.thinking_end_tags }
  }

  /// Texts at the start of a role's turns in a prompt.
  public var messageDelimiters: [MessageDelimiter] {
    handle.list({ $0.data }, { $0.len }, of: { chat_params_view($0).pointee.message_delimiters }) {
      MessageDelimiter(role: String($0.role), text: String($0.text))
    }
  }

  /// The media that the prompt refers to, in its order.
  public func media() throws -> [Media] {
    handle.list({ $0.data }, { $0.len }, of: chat_params_media) {
      Media(
        kind: String($0.kind), text: String($0.text), source: JSON(text: String($0.source)), message: $0.message,
        part: $0.part, isNative: $0.native)
    }
  }

  /// What the sampler should hold the output to; its text is empty where nothing constrains the output. Where `isGrammarLazy`, apply it from
  /// the first trigger on, otherwise from the first byte of the generation prompt. With a dialect it is for an engine that sees only the
  /// output: it applies from the output's first byte on.
  public func grammar(in dialect: Grammar.Dialect? = nil) throws -> Grammar {
    Grammar(
      handle: try handle.use { params in
        try Handle(chat_grammar_free) {
          chat_params_grammar(params, (dialect ?? .gbnf).rawValue, $0, $1)
        }
      })
  }

  /// What may come next in the output, and what must. Each call makes it anew; keep it, and copy it.
  public func matcher() throws -> Matcher {
    Matcher(
      handle: try handle.use { params in try Handle(chat_matcher_free) { chat_params_matcher(params, $0, $1) } })
  }

  /// Whether the output is free up to the first trigger, and the grammar applies from there.
  public var isGrammarLazy: Bool { handle.use { chat_params_view($0).pointee.grammar_lazy } }

  /// What makes a lazy grammar start.
  public func grammarTriggers() throws -> [Trigger] {
    handle.list({ $0.data }, { $0.len }, of: { chat_params_view($0).pointee.grammar_triggers }) {
      $0.kind == 2 ? .pattern(String($0.value)) : .word(String($0.value))
    }
  }

  /// All of the params. `chatparse.h` lists the members.
  public func json() throws -> JSON { try handle.json(chat_params_json) }

  /// The params of the next turn: goes on behind an output with new messages, so that what the model has read stays. `appended` of the new
  /// params is what to send behind the first `kept` bytes.
  ///
  /// - Parameters:
  ///   - output: What the model wrote after this prompt.
  ///   - messages: An array of messages: results of tools, or the user's.
  public func next(output: some OutputPiece, messages: JSON) throws -> Params {
    let messages = messages.text
    return Params(
      handle: try handle.use { params in
        try output.withChars { output, count in
          try Handle(chat_params_free) {
            chat_params_continue(params, output, count, messages, messages.utf8.count, 0, $0, $1)
          }
        }
      })
  }

  /// How many bytes of what was sent before `next`, prompt and output, the prompt begins with.
  public var kept: Int { handle.use { chat_params_turn($0).pointee.kept } }

  /// The prompt behind these.
  public var appended: String { handle.text { chat_params_turn($0).pointee.append } }

  /// The prompt as the template renders the whole conversation; another one where the request's option `append` is `always`.
  public var rendered: String { handle.text { chat_params_turn($0).pointee.rendered } }

  /// Why the template writes anew what was sent, behind byte `kept` unless the option `append` is `always`; nil where it does not.
  public var rewrite: Rewrite? {
    handle.use {
      let rewrite = chat_params_turn($0).pointee
      guard rewrite.reason != 0 else { return nil }
      return Rewrite(
        reason: Rewrite.Reason(rawValue: rewrite.reason) ?? .changed, words: String(rewrite.words),
        message: index(rewrite.message))
    }
  }

  /// What the output is parsed with, by itself.
  public func parser() throws -> Parser {
    Parser(handle: try handle.use { params in try Handle(chat_parser_free) { chat_params_parser(params, $0, $1) } })
  }

  /// A parse at the start of an output.
  public func stream() throws -> MessageStream {
    MessageStream(handle: try handle.use { params in try Handle(chat_stream_free) { chat_stream_new(params, $0, $1) } })
  }

  /// Parses an output that is there.
  ///
  /// - Parameters:
  ///   - partial: The output is cut off, or more of it will come.
  ///   - strict: An output that does not match the format is an error.
  public func parse(_ output: some OutputPiece, partial: Bool = false, strict: Bool = false) throws -> Message {
    try handle.use { params in
      try output.withChars { output, count in
        try Message(
          Handle(chat_message_free) {
            chat_parse_partial(params, output, count, flags(partial: partial, strict: strict), $0, $1)
          })
      }
    }
  }
}

/// What an output is parsed with, without the rest of the params. As a text it can be kept, or sent to another process whose library has
/// the same version.
public struct Parser: Sendable {
  let handle: Handle

  /// The parser of a text that `text()` has given, or of a description (docs/formats.md). It may come from anybody: it is checked.
  public init(text: String) throws {
    handle = try Handle(chat_parser_free) { chat_parser_from_json(text, text.utf8.count, $0, $1) }
  }

  init(handle: Handle) { self.handle = handle }

  /// What `init(text:)` takes.
  public func text() throws -> String { try handle.written(chat_parser_json) }

  /// The grammar of the outputs that the parser accepts or, if `lazy`, of what may follow a trigger.
  public func grammar(lazy: Bool = false) throws -> Grammar {
    Grammar(
      handle: try handle.use { parser in
        try Handle(chat_grammar_free) { chat_parser_grammar(parser, lazy, $0, $1) }
      })
  }

  /// A parse at the start of an output.
  public func stream() throws -> MessageStream {
    MessageStream(
      handle: try handle.use { parser in
        try Handle(chat_stream_free) { chat_stream_from_parser(parser, $0, $1) }
      })
  }

  /// As `Params.parse`.
  public func parse(_ output: some OutputPiece, partial: Bool = false, strict: Bool = false) throws -> Message {
    try handle.use { parser in
      try output.withChars { output, count in
        try Message(
          Handle(chat_message_free) {
            chat_parser_parse(parser, output, count, flags(partial: partial, strict: strict), $0, $1)
          })
      }
    }
  }
}

/// How an output ended, as the library has it.
func flags(partial: Bool, strict: Bool) -> UInt32 { (partial ? 1 : 0) | (strict ? 2 : 0) }

/// What makes a lazy grammar start.
public enum Trigger: Sendable, Hashable {
  case word(String)
  /// A regular expression (ECMAScript) to search for in the output. The grammar applies from the match's first group that took part, or
  /// else from its start.
  case pattern(String)
}

/// A text that the turns of a role begin with.
public struct MessageDelimiter: Sendable, Hashable {
  public let role: String
  public let text: String
}

/// A piece of media that a prompt refers to.
public struct Media: Sendable, Hashable {
  /// `image`, `audio`, `video` or `file`.
  public let kind: String
  /// What stands for it in the prompt.
  public let text: String
  /// The part of the request.
  public let source: JSON
  /// Which message of the request, and which part of its content.
  public let message: Int
  public let part: Int
  /// Whether the template wrote `text`; otherwise it is the option `media_marker`.
  public let isNative: Bool
}

/// What a template writes anew.
public struct Rewrite: Sendable, Hashable {
  public let reason: Reason
  /// The reason as a sentence.
  public let words: String
  /// The message that holds the first other byte; nil for text of the template.
  public let message: Int?

  public enum Reason: UInt32, Sendable {
    /// The reasoning of an earlier turn is left out.
    case reasoning = 1
    /// The turn opens otherwise than the prompt opened it.
    case opening
    /// What was sent comes further on.
    case moved
    /// Other text stands there.
    case changed
    /// The template does not write the turn as the model did.
    case output
    /// The request does not go on from what was sent.
    case request
  }
}
