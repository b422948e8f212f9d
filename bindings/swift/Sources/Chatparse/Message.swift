import CChatparse

/// How an output relates to the template's format.
public enum Outcome: UInt32, Sendable {
  /// There is no message.
  case none = 0
  /// The whole output matches.
  case complete
  /// The output was cut off, is still coming, or stopped inside the reasoning.
  case partial
  /// The output does not match. No text is lost: calls in another format are calls, all else is content.
  case recovered
}

/// A call of a tool. One that is complete, known and valid may be run if the output marked it as a call.
public struct ToolCall: Sendable, Hashable {
  /// Empty where the model wrote none.
  public let id: String
  public let name: String
  /// JSON text, or a prefix of it where the output was cut off.
  public let arguments: String
  /// Whether the output has its end.
  public let isComplete: Bool
  /// Whether the request offers the tool.
  public let isKnown: Bool
  /// Whether it is complete, and its arguments are a JSON object that does not certainly violate the tool's schema.
  public let isValid: Bool
  public let origin: Origin

  /// How the output marks a call as one.
  public enum Origin: UInt32, Sendable {
    case other = 0
    /// By the template's own markers.
    case format
    /// By other markers.
    case dialect
    /// By none: it may be text that a model only quotes.
    case bare
  }
}

/// What a model wrote.
public struct Message: Sendable, Equatable {
  private let handle: Handle
  public let outcome: Outcome
  public let content: String
  /// What it thought, where the request separates that from the content.
  public let reasoning: String
  public let toolCalls: [ToolCall]

  init(_ handle: Handle) throws {
    self.handle = handle
    outcome = handle.use { Outcome(rawValue: chat_message_view($0).pointee.outcome) ?? .recovered }
    content = handle.text { chat_message_view($0).pointee.content }
    reasoning = handle.text { chat_message_view($0).pointee.reasoning }
    toolCalls = handle.use { message in
      let calls = chat_message_view(message).pointee.calls
      let reports = chat_message_report(message).pointee.calls
      return (0..<calls.len).map {
        let (call, report) = (calls.data[$0], reports.data[$0])
        return ToolCall(
          id: String(call.id), name: String(call.name), arguments: String(call.arguments), isComplete: report.complete,
          isKnown: report.known, isValid: report.valid, origin: ToolCall.Origin(rawValue: report.origin) ?? .other)
      }
    }
  }

  public static func == (one: Message, other: Message) -> Bool {
    one.outcome == other.outcome && one.content == other.content && one.reasoning == other.reasoning
      && one.toolCalls == other.toolCalls
  }

  /// The message as OpenAI has it: `role` and `content` always, `reasoning_content` and `tool_calls` where there are any.
  public func json() throws -> JSON { try handle.json(chat_message_json) }

  /// How well it all fitted: `status`, `left_at`, `calls`, `diagnostics`.
  public func report() throws -> JSON { try handle.json(chat_message_report_json) }

  /// What is unusual, in the order of the output.
  public func diagnostics() throws -> [Diagnostic] {
    handle.list({ $0.data }, { $0.len }, of: { chat_message_report($0).pointee.diagnostics }) {
      Diagnostic(
        kind: Diagnostic.Kind(rawValue: $0.kind) ?? .other, call: index($0.call), span: $0.span_begin..<$0.span_end,
        message: String($0.message))
    }
  }

  /// Reasoning, content and calls in the order of the output.
  public func parts() throws -> [Part] {
    handle.list({ $0.data }, { $0.len }, of: { chat_message_view($0).pointee.parts }) {
      Part(
        kind: Part.Kind(rawValue: $0.kind) ?? .other, call: $0.call, text: String($0.text),
        span: $0.span_begin..<$0.span_end)
    }
  }

  /// The bytes of the output that a field comes from: `reasoning`, `content`, or `toolName`, `toolID`, `toolArguments` of a call.
  public func spans(of field: Delta.Kind, call: Int = 0) throws -> [Range<Int>] {
    handle.use { message in
      let count = chat_message_spans(message, field.rawValue, call, nil, 0)
      let spans = [chat_span](unsafeUninitializedCapacity: count) {
        $1 = chat_message_spans(message, field.rawValue, call, $0.baseAddress, $0.count)
      }
      return spans.map { $0.begin..<$0.end }
    }
  }
}

/// A remark about an output, for hosts and for their logs.
public struct Diagnostic: Sendable, Hashable {
  public let kind: Kind
  /// Which tool call it is about.
  public let call: Int?
  /// The bytes of the output that it is about.
  public let span: Range<Int>
  /// One sentence for people.
  public let message: String

  public enum Kind: UInt32, Sendable {
    /// One that this version does not know.
    case other = 0
    /// From here on, the output does not match the format.
    case leftFormat
    /// A call in another format than the template's.
    case dialect
    /// A call inside reasoning that was not closed.
    case callInReasoning
    /// A call without its end.
    case unfinishedCall
    /// A call of a tool that the request does not offer.
    case unknownTool
    /// Arguments that are not a JSON object, or violate the tool's schema.
    case invalidArguments
    /// An argument that occurs more than once.
    case duplicateArgument
    /// The parser used up its budget: the rest is content.
    case limit
    /// The output ends inside the reasoning.
    case unfinishedReasoning
    /// Arguments that were nearly JSON: the call has what was meant.
    case mendedArguments
  }
}

/// A range of the output that became reasoning, content or a call.
public struct Part: Sendable, Hashable {
  public let kind: Kind
  /// Which tool call; 0 for text.
  public let call: Int
  /// Empty for a call.
  public let text: String
  /// Its bytes in the output.
  public let span: Range<Int>

  /// Skip `other`.
  public enum Kind: UInt32, Sendable {
    case other = 0
    case reasoning, content, call
  }
}
