// chatparse for Swift, a small overlay over the module CChatparse. Objects free what they hold, in any order: none needs another. Templates,
// params and parsers may be in use by any number of threads, a stream by one at a time.
import CChatparse

/// A call that failed: the number of `chat_status`, and what is wrong and where.
public struct ChatparseError: Error {
  public let status: UInt32
  public let message: String
}

/// A text to append to the message or, after `rollback`, to take from it; `kind` is a `chat_delta_kind`.
public struct Delta {
  public let kind: UInt32
  public let call: Int
  public let text: String
}

/// A compiled chat template; make one for each model.
public final class Template {
  fileprivate var handle: OpaquePointer?

  public init(_ source: String, bos: String = "", eos: String = "") throws {
    try check { chat_template_new(source, source.utf8.count, bos, bos.utf8.count, eos, eos.utf8.count, &handle, &$0) }
  }

  private init(builtin name: String) throws { try check { chat_template_builtin(name, name.utf8.count, &handle, &$0) } }

  /// A template that the library brings along, such as `chatml`.
  public static func builtin(_ name: String) throws -> Template { try Template(builtin: name) }

  deinit { chat_template_free(handle) }

  /// How many messages that the template writes are read back, and of how many.
  public func proof() throws -> (readBack: Int, cases: Int) {
    var readBack = 0
    var cases = 0
    try check { chat_template_proof(handle, &readBack, &cases, &$0) }
    return (readBack, cases)
  }
}

/// What one request, an OpenAI chat-completions body, needs.
public final class Params {
  fileprivate var handle: OpaquePointer?

  public init(_ template: Template, request: String) throws {
    try check { chat_params_from_template(template.handle, request, request.utf8.count, &handle, &$0) }
  }

  private init(_ before: Params, output: String, messages: String) throws {
    try check {
      chat_params_continue(before.handle, output, output.utf8.count, messages, messages.utf8.count, 0, &handle, &$0)
    }
  }

  deinit { chat_params_free(handle) }

  /// What the model is given.
  public var prompt: String { text(chat_params_prompt(handle)) }

  /// Goes on behind an output with new messages, the JSON text of an array, so that nothing that was sent is written anew: `append` of the
  /// new params is what to send behind the first `kept` bytes.
  public func next(output: String, messages: String) throws -> Params { try Params(self, output: output, messages: messages) }

  /// How many bytes of what was sent before `next`, prompt and output, stand in the prompt.
  public var kept: Int { chat_params_kept(handle) }

  /// What to send behind these.
  public var append: String { text(chat_params_append(handle)) }

  /// Why the template writes anew what was sent behind byte `kept`; empty where it does not.
  public var rewrite: String { text(chat_params_rewrite(handle).words) }
}

/// What an output is parsed with, by itself: as a text it can be kept, or sent to another process.
public final class Parser {
  fileprivate var handle: OpaquePointer?

  public init(_ params: Params) throws { try check { chat_params_parser(params.handle, &handle, &$0) } }

  public init(text: String) throws { try check { chat_parser_from_text(text, text.utf8.count, &handle, &$0) } }

  deinit { chat_parser_free(handle) }

  public func asText() throws -> String {
    var out = chat_str()
    try check { chat_parser_text(handle, &out, &$0) }
    return text(out)
  }
}

/// A parse in progress; one thread at a time.
public final class Stream {
  private var handle: OpaquePointer?

  public init(_ params: Params) throws { try check { chat_stream_new(params.handle, &handle, &$0) } }

  public init(_ parser: Parser) throws { try check { chat_stream_from_parser(parser.handle, &handle, &$0) } }

  deinit { chat_stream_free(handle) }

  public func feed(_ piece: String) throws -> [Delta] {
    try check { chat_stream_feed(handle, piece, piece.utf8.count, &$0) }
    return try deltas()
  }

  /// A piece that is cut anywhere, also inside a character.
  public func feed(_ piece: [UInt8]) throws -> [Delta] {
    try check { error in
      piece.withUnsafeBytes { bytes in
        chat_stream_feed(handle, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, &error)
      }
    }
    return try deltas()
  }

  public func finish(flags: UInt32 = 0) throws -> [Delta] {
    try check { chat_stream_finish(handle, flags, &$0) }
    return try deltas()
  }

  /// Notes how the parse stands; `rollback` goes back to here, or to any later byte. There is one at a time.
  public func checkpoint() throws { try check { chat_stream_checkpoint(handle, &$0) } }

  /// Takes back all output behind its first `length` bytes, and tells what that withdraws from the message.
  public func rollback(to length: Int) throws -> [Delta] {
    try check { chat_stream_rollback(handle, length, &$0) }
    return try deltas()
  }

  /// Bounds the work of the parse: `base`, and `perByte` for each byte of output. What comes behind it is content.
  public func setBudget(base: UInt64, perByte: UInt64) throws {
    try check { chat_stream_set_budget(handle, base, perByte, &$0) }
  }

  /// What the parse has taken so far of its budget.
  public var work: UInt64 { chat_stream_work(handle) }

  /// The last deltas as the `delta` object of an OpenAI chunk.
  public func chunkJSON() throws -> String {
    var json = chat_str()
    try check { chat_stream_chunk_json(handle, &json, &$0) }
    return text(json)
  }

  /// The message as OpenAI JSON.
  public func messageJSON() throws -> String {
    var message: OpaquePointer?
    try check { chat_stream_message(handle, &message, &$0) }
    defer { chat_message_free(message) }
    var json = chat_str()
    try check { chat_message_json(message, &json, &$0) }
    return text(json)
  }

  private func deltas() throws -> [Delta] {
    try (0..<chat_stream_delta_count(handle)).map { index in
      var raw = chat_delta()
      try check { chat_stream_delta(handle, index, &raw, &$0) }
      return Delta(kind: raw.kind, call: Int(raw.call), text: text(raw.text))
    }
  }
}

private func check(_ call: (inout OpaquePointer?) -> UInt32) throws {
  var error: OpaquePointer?
  let status = call(&error)
  guard status != 0 else { return }
  defer { chat_error_free(error) }
  throw ChatparseError(status: status, message: text(chat_error_message(error)))
}

private func text(_ view: chat_str) -> String {
  String(decoding: UnsafeRawBufferPointer(start: view.data, count: view.len), as: UTF8.self)
}
