import CChatparse

/// A piece of what a model writes. Bytes may be cut anywhere, also inside a character.
public protocol OutputPiece {
  func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result
}

extension Array: OutputPiece where Element == UInt8 {}
extension ArraySlice: OutputPiece where Element == UInt8 {}

extension String: OutputPiece {
  public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    var text = self
    return try text.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
  }
}

extension Substring: OutputPiece {
  public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    var text = self
    return try text.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
  }
}

extension UInt8: OutputPiece {
  public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try Swift.withUnsafeBytes(of: self, body)
  }
}

extension OutputPiece {
  func withChars<Result>(_ body: (UnsafePointer<CChar>?, Int) throws -> Result) rethrows -> Result {
    try withUnsafeBytes { try body($0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count) }
  }
}

/// A text to append to the message or, after `rollback`, to take from it. All deltas of a stream, applied in order, are its message.
public struct Delta: Sendable, Hashable {
  public let kind: Kind
  /// Which tool call; 0 for text.
  public let call: Int
  public let text: String
  /// The bytes of the output that the text comes from; empty for text that the output does not have.
  public let span: Range<Int>

  /// The part of the message that a delta changes. Those that end with `Withdrawn` come from `rollback` alone.
  public enum Kind: UInt32, Sendable, CaseIterable, CustomStringConvertible {
    /// One that this version does not know: skip it.
    case other = 0
    case reasoning = 1
    case content
    /// All of the name: the first delta of each call.
    case toolName
    /// All of the id; at most once for each call.
    case toolID
    /// A piece of JSON text.
    case toolArguments
    /// The call is complete; the text is empty.
    case toolEnd
    case reasoningWithdrawn = 101
    case contentWithdrawn
    /// All of the last call; the text is its name.
    case callWithdrawn
    case toolIDWithdrawn
    case toolArgumentsWithdrawn
    /// The call is not complete any more; the text is empty.
    case toolEndWithdrawn

    public var description: String { String(cString: chat_delta_kind_name(rawValue)) }
  }
}

/// A parse in progress: pieces of the output in, what they add to the message out. One task at a time.
public final class MessageStream {
  private let handle: Handle

  init(handle: Handle) { self.handle = handle }

  /// Takes the next piece of the output. It costs as much as the piece, however long the output is.
  public func feed(_ piece: some OutputPiece) throws -> [Delta] {
    try piece.withChars { bytes, count in
      try deltas { chat_stream_feed($0, bytes, count, $1) }
    }
  }

  /// The same with the places of special tokens in the piece: a marker that is or holds a special token counts only if it came as one.
  public func feed(_ piece: some OutputPiece, specialTokens: [Range<Int>]) throws -> [Delta] {
    let spans = specialTokens.map(\.span)
    return try piece.withChars { bytes, count in
      try deltas { chat_stream_feed_marked($0, bytes, count, spans, spans.count, $1) }
    }
  }

  /// The texts of the model's special tokens, for `feed(_:specialTokens:)`; before the first piece.
  public func setSpecialTokens(_ tokens: [String]) throws {
    try withViews(tokens) { views in try call { chat_stream_set_special_tokens($0, views, views.count, $1) } }
  }

  /// Ends the output; the deltas hold the text that could have become a marker.
  ///
  /// - Parameters:
  ///   - partial: Something cut the output off.
  ///   - strict: An output that does not match the format is an error; the message is there all the same.
  public func finish(partial: Bool = false, strict: Bool = false) throws -> [Delta] {
    try deltas { chat_stream_finish($0, flags(partial: partial, strict: strict), $1) }
  }

  /// Takes all pieces as they come, and the end; gives each delta as soon as it is known.
  ///
  ///     for try await delta in stream.deltas(pieces) { print(delta.text) }
  ///     let message = try stream.message()
  public func deltas<Pieces: AsyncSequence>(_ pieces: Pieces) -> Deltas<Pieces> where Pieces.Element: OutputPiece {
    Deltas(stream: self, pieces: pieces)
  }

  /// Notes how the parse stands: `rollback` goes back to here, or to any later byte. There is one at a time.
  public func checkpoint() throws { try call(chat_stream_checkpoint) }

  /// Takes back all output behind its first `length` bytes, and tells what that withdraws from the message.
  public func rollback(to length: Int) throws -> [Delta] {
    try deltas { chat_stream_rollback($0, length, $1) }
  }

  /// Bounds the work of the parse: `base`, and `perByte` for each byte of output. What comes behind it is content.
  public func setBudget(base: UInt64, perByte: UInt64) throws {
    try call { chat_stream_set_budget($0, base, perByte, $1) }
  }

  /// What the parse has taken so far of its budget.
  public var work: UInt64 { handle.use { chat_stream_view($0).pointee.work } }

  /// Back to the start of the output.
  public func reset() throws { try call(chat_stream_reset) }

  /// Another stream with the same output: for choices that share a beginning.
  public func copy() throws -> MessageStream {
    MessageStream(
      handle: try handle.use { stream in try Handle(chat_stream_free) { chat_stream_clone(stream, $0, $1) } })
  }

  /// `partial` until the stream is finished.
  public var outcome: Outcome { handle.use { Outcome(rawValue: chat_stream_view($0).pointee.outcome) ?? .recovered } }

  /// The last deltas as the `delta` object of an OpenAI chunk; `{}` where they add nothing.
  public func chunk() throws -> JSON { try handle.json(chat_stream_chunk_json) }

  /// The last bytes fed that are in no delta yet, and are not known to be markup either: what a host that stops parsing here still has to
  /// show. They may end inside a character.
  public var pending: [UInt8] {
    handle.use {
      let view = chat_stream_view($0).pointee.pending
      return Array(UnsafeRawBufferPointer(start: view.data, count: view.len))
    }
  }

  /// In what the output stands: `part` (`reasoning`, `content`, `markup`, `name`, `key` or `value`), the number of the open `call` and its
  /// `tool`, a JSON `pointer` into its arguments, `in_string`, and `left_at`, the byte at which it has left the format.
  public func state() throws -> JSON { try handle.json(chat_stream_state_json) }

  /// The schema of the value at the pointer of `state`: what the tool asks of it; `true` where it asks nothing, `false` where no value may be,
  /// `null` where no call is open or its tool is not known.
  public func schema() throws -> JSON { try handle.json(chat_stream_schema_json) }

  /// What closes the output now, in the model's own words: `text`; whether it is `complete` behind that; the values that are `missing`, each
  /// with `tool`, `pointer` and `begun`; and the `reason` why it is not complete.
  public func closing() throws -> JSON { try handle.json(chat_stream_close_json) }

  /// What may follow what was fed, for an engine that begins here: all of the format, also where the request's grammar is lazy.
  public func grammar(in dialect: Grammar.Dialect) throws -> Grammar {
    Grammar(
      handle: try handle.use { stream in
        try Handle(chat_grammar_free) { chat_stream_grammar(stream, dialect.rawValue, $0, $1) }
      })
  }

  /// The message so far or, after `finish`, the message.
  public func message() throws -> Message {
    try Message(try handle.use { stream in try Handle(chat_message_free) { chat_stream_message(stream, $0, $1) } })
  }

  private func call(_ call: (OpaquePointer, Handle.Out<OpaquePointer?>) -> UInt32) throws {
    try handle.use { stream in try check { call(stream, $0) } }
  }

  private func deltas(_ change: (OpaquePointer, Handle.Out<OpaquePointer?>) -> UInt32) throws -> [Delta] {
    try call(change)
    return handle.list({ $0.data }, { $0.len }, of: { chat_stream_view($0).pointee.deltas }) {
      Delta(
        kind: Delta.Kind(rawValue: $0.kind) ?? .other, call: $0.call, text: String($0.text),
        span: $0.span_begin..<$0.span_end)
    }
  }
}

/// The deltas of pieces that are waited for.
public struct Deltas<Pieces: AsyncSequence>: AsyncSequence where Pieces.Element: OutputPiece {
  let stream: MessageStream
  let pieces: Pieces

  public func makeAsyncIterator() -> Iterator { Iterator(stream: stream, pieces: pieces.makeAsyncIterator()) }

  public struct Iterator: AsyncIteratorProtocol {
    let stream: MessageStream
    var pieces: Pieces.AsyncIterator
    var ready: ArraySlice<Delta> = []
    var isFinished = false

    /// Where the caller runs, so the stream stays with one task.
    public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Delta? {
      while ready.isEmpty && !isFinished {
        if let piece = try await pieces.next(isolation: actor) {
          ready = try stream.feed(piece)[...]
        } else {
          isFinished = true
          ready = try stream.finish()[...]
        }
      }
      return ready.popFirst()
    }
  }
}
