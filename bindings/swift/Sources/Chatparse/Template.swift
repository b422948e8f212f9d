import CChatparse

/// A compiled chat template; make one for each model. What it shows of how its model writes is learnt from it once.
public struct Template: Sendable {
  let handle: Handle

  /// Compiles a template.
  ///
  /// - Parameters:
  ///   - source: Jinja, or the text of a `tokenizer_config.json` or `chat_template.json` that holds a template.
  ///   - bos: The text of the token that begins a text, and `eos` of the one that ends a turn; where empty, those of the file.
  ///   - ends: The texts of further tokens that end the model's output, which templates do not see.
  ///   - name: Which of several templates of the file.
  ///   - learnOnly: Whether only what the template's text shows is used: no built-in reader of a family.
  ///   - prove: Whether several ways to read the format are tried at the first request; otherwise the first is taken.
  public init(
    _ source: String, bos: String = "", eos: String = "", ends: [String] = [], name: String = "default",
    learnOnly: Bool = false, prove: Bool = true
  ) throws {
    let options: JSON = [
      "bos": JSON(bos), "eos": JSON(eos), "ends": JSON(ends.map { JSON($0) }), "name": JSON(name),
      "learn_only": JSON(learnOnly), "prove": JSON(prove),
    ]
    handle = try Handle(chat_template_free) {
      chat_template_with_options(source, source.utf8.count, options.text, options.text.utf8.count, $0, $1)
    }
  }

  /// A template that the library brings along, such as `chatml`: for a model that has none.
  public init(builtin name: String) throws {
    handle = try Handle(chat_template_free) { chat_template_builtin(name, name.utf8.count, $0, $1) }
  }

  /// The names that `init(builtin:)` takes.
  public static var builtinNames: [String] {
    let names = chat_template_builtins()
    return (0..<names.len).map { String(names.data[$0]) }
  }

  /// The text as it is rendered: line feeds only, none at its end, known faults corrected.
  public var source: String { handle.text(chat_template_source) }

  /// What reads the model's output: `turn` for what was learnt, or the name of a family of templates.
  public func reader() throws -> String { try handle.written(chat_template_reader) }

  /// What the template accepts: `supports_tools` and so on.
  public func capabilities() throws -> [String: Bool] {
    let all: [String: Capability] = try capabilitiesJSON().decode()
    return all.compactMapValues(\.supported)
  }

  /// The same with `reasoning_effort_levels`, a list of the levels that the template renders each in its own way.
  public func capabilitiesJSON() throws -> JSON { try report(CHAT_REPORT_CAPS) }

  /// How well what the template writes is read back. The first call renders and parses some sixty messages.
  public func proof() throws -> Proof { try proofJSON().decode() }

  /// The same with all that `chatparse.h` lists.
  public func proofJSON() throws -> JSON { try report(CHAT_REPORT_PROOF) }

  /// For authors of templates: what is not read back, or is rendered otherwise the second time, and where prompts do not only grow. The
  /// first call renders some hundred conversations.
  public func lint() throws -> Lint { try lintJSON().decode() }

  /// The same with all that `chatparse.h` lists.
  public func lintJSON() throws -> JSON { try report(CHAT_REPORT_LINT) }

  /// What was learnt by comparing renders: what opens and closes each part, how calls are written.
  public func layout() throws -> JSON { try report(CHAT_REPORT_LAYOUT) }

  /// What was learnt of an assistant's turn; `null` where nothing was.
  public func turn() throws -> JSON { try report(CHAT_REPORT_TURN) }

  /// How outputs are read, as a response template for other programs, and the limits of that.
  public func responseTemplate() throws -> JSON { try report(CHAT_REPORT_RESPONSE_TEMPLATE) }

  private func report(_ what: some RawRepresentable<UInt32>) throws -> JSON {
    try handle.json { chat_template_report($0, what.rawValue, $1, $2) }
  }

  /// Renders the prompt of a request and builds the parser of its output.
  ///
  /// - Parameters:
  ///   - request: An OpenAI chat-completions body.
  ///   - options: Options of the host, such as `enable_thinking`; each counts before the request's member of that name.
  public func params(_ request: JSON, options: JSON = [:]) throws -> Params {
    let (request, options) = (request.text, options.text)
    return Params(
      handle: try handle.use { template in
        try Handle(chat_params_free) {
          chat_params_from_template_with(
            template, request, request.utf8.count, options, options.utf8.count, $0, $1)
        }
      })
  }

  /// The params of a prompt that the host has rendered itself: what its end leaves open, reasoning or a text, is read from it. Of the
  /// request the tools and the options count; its messages may be empty.
  public func params(forPrompt prompt: String, _ request: JSON = ["messages": []]) throws -> Params {
    let request = request.text
    return Params(
      handle: try handle.use { template in
        try Handle(chat_params_free) {
          chat_params_for_prompt(template, prompt, prompt.utf8.count, request, request.utf8.count, $0, $1)
        }
      })
  }

  /// The prompt of a request, and where each of its bytes comes from.
  public func segments(_ request: JSON, options: JSON = [:]) throws -> Segments {
    let (request, options) = (request.text, options.text)
    return Segments(
      handle: try handle.use { template in
        try Handle(chat_segments_free) {
          chat_segments_from_template(template, request, request.utf8.count, options, options.utf8.count, $0, $1)
        }
      })
  }

  /// The segments of each request, on at most this many threads; 0: on as many as the machine runs at once. The options hold for all. The
  /// first request that fails is the error, with its index.
  public func segmentsBatch(_ requests: [JSON], options: JSON = [:], threads: Int = 0) throws -> [Segments] {
    let options = options.text
    var made = [OpaquePointer?](repeating: nil, count: requests.count)
    do {
      try handle.use { template in
        try withViews(requests.map(\.text)) { views in
          try check {
            chat_segments_batch(template, views, views.count, options, options.utf8.count, threads, &made, $0)
          }
        }
      }
    } catch {
      made.forEach { chat_segments_free($0) }
      throw error
    }
    return try made.map { one in
      Segments(
        handle: try Handle(chat_segments_free) { out, _ in
          out.pointee = one
          return 0
        })
    }
  }
}

/// How well a template's messages are read back.
public struct Proof: Sendable, Hashable, Decodable {
  public let reader: String
  /// How many messages were rendered and parsed.
  public let cases: Int
  /// How many of them came back.
  public let readBack: Int
  public let failures: [Failure]

  /// A message that does not come back.
  public struct Failure: Sendable, Hashable, Decodable {
    /// The kind of message.
    public let probe: String
    /// `off`, `silent` or `on`.
    public let thinking: String
    /// The template's text.
    public let turn: String
    /// The message, and what was read: JSON texts.
    public let expected: String
    public let got: String
    public let why: String
  }

  private enum CodingKeys: String, CodingKey {
    case reader, cases, failures
    case readBack = "read_back"
  }
}

/// What an author of a template may want to mend.
public struct Lint: Sendable, Hashable, Decodable {
  /// How many faults there are in all.
  public let faults: Int
  /// The verdict for each law: `fault`, `note`, `holds` or `not asked`.
  public let laws: [String: String]
  /// The laws that the template breaks.
  public let findings: [Finding]
  public let cases: [Case]

  /// A law that a template breaks.
  public struct Finding: Sendable, Hashable, Decodable {
    /// The name of the law, such as `shown`; `docs/lint.md` lists them.
    public let rule: String
    /// Whether it is a fault; otherwise a note: it costs something, and may be meant.
    public let fault: Bool
    /// What is wrong, and the cost to users.
    public let message: String
    public let effect: String
    /// The places in the template's source, if it is one of these that is wrong.
    public let places: [Place]
    /// What is expected, and what is there instead.
    public let shown: [Shown]
  }

  /// A place in a template's source, counted from 1.
  public struct Place: Sendable, Hashable, Decodable {
    public let line: Int
    public let column: Int
    /// The line, or a part of it.
    public let excerpt: String
  }

  /// A part of a render.
  public struct Shown: Sendable, Hashable, Decodable {
    /// Which render, such as `history`.
    public let from: String
    public let text: String
  }

  /// A message that the template rendered.
  public struct Case: Sendable, Hashable, Decodable {
    /// The kind of message.
    public let probe: String
    /// `off`, `silent` or `on`.
    public let thinking: String
    /// The template's text.
    public let turn: String
    /// `survives`, `omitted`, `no_turn`, `lost`, `alike`, `spaced`, `rewritten` or `refused`.
    public let outcome: String
  }
}

/// A prompt with the origin of each of its bytes. A tokeniser should encode special tokens only where that is the template: then no text of
/// a user becomes one.
public struct Segments: Sendable {
  let handle: Handle

  public var prompt: String { handle.text { chat_segments_view($0).pointee.prompt } }

  /// The segments in the order of the prompt. They cover it, and none is empty.
  public func list() throws -> [Segment] {
    handle.list({ $0.data }, { $0.len }, of: { chat_segments_view($0).pointee.segments }) {
      Segment(
        span: $0.begin..<$0.end, origin: Segment.Origin(rawValue: $0.origin) ?? .unknown, index: $0.index,
        path: String($0.path))
    }
  }

  /// The bytes of the prompt that models wrote, for training.
  public func mask(_ parts: MaskParts = .all) -> [Range<Int>] {
    handle.use { segments in
      let spans = [chat_span](unsafeUninitializedCapacity: chat_segments_mask(segments, parts.rawValue, nil, 0)) {
        $1 = chat_segments_mask(segments, parts.rawValue, $0.baseAddress, $0.count)
      }
      return spans.map { $0.begin..<$0.end }
    }
  }

  /// What the tokens at these places of the prompt are. Places are in characters (Unicode scalars), as tokenizers of transformers give
  /// them, or in bytes. `parts` says what counts as sampled, as for `mask`.
  public func tokens(_ offsets: [Range<Int>], _ parts: MaskParts = .all, inBytes: Bool = false) throws -> [Token] {
    let places = offsets.map(\.span)
    var labels = [chat_segment_token](repeating: chat_segment_token(), count: places.count)
    try handle.use { segments in
      try check {
        chat_segments_tokens(segments, parts.rawValue, places, places.count, !inBytes, &labels, $0)
      }
    }
    return labels.map {
      Token(
        origin: Segment.Origin(rawValue: $0.origin) ?? .unknown, message: index($0.message), sampled: $0.sampled)
    }
  }

  /// What ran out in search of origins and turns; empty where nothing did. If something did, more is `unknown` than need be, or turns are
  /// missing in masks.
  public var limit: String { handle.text { chat_segments_view($0).pointee.limit } }
}

/// What a token of a prompt is.
public struct Token: Sendable, Hashable {
  /// Whose text it is; with a byte of a value it is never the template's.
  public let origin: Segment.Origin
  /// Which message it comes from, or in whose turn it is; nil for others.
  public let message: Int?
  /// Whether a model wrote a byte of it.
  public let sampled: Bool
}

/// A part of a prompt from one source.
public struct Segment: Sendable, Hashable {
  /// Its bytes in the prompt's UTF-8.
  public let span: Range<Int>
  public let origin: Origin
  /// Which message or tool of the request; 0 for others.
  public let index: Int
  /// Of a message: the field, a JSON pointer. Of a variable: its name.
  public let path: String

  /// Take `unknown` for a user's text.
  public enum Origin: UInt32, Sendable {
    case template = 1
    case message, tool, variable, unknown
  }
}

/// What of the models' text a mask holds.
public struct MaskParts: OptionSet, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  public static let reasoning = MaskParts(rawValue: 1)
  public static let content = MaskParts(rawValue: 2)
  public static let calls = MaskParts(rawValue: 4)
  /// What ends a turn.
  public static let end = MaskParts(rawValue: 8)
  /// Of the last turn alone.
  public static let lastOnly = MaskParts(rawValue: 16)
  /// What the prompt has already written of a turn.
  public static let prefill = MaskParts(rawValue: 32)
  /// The white space behind the end of a turn.
  public static let space = MaskParts(rawValue: 64)
  public static let all: MaskParts = [.reasoning, .content, .calls, .end]
}

/// A value of the capabilities: whether something is supported, or, as nil, something else.
private struct Capability: Decodable {
  let supported: Bool?

  init(from decoder: Decoder) throws {
    supported = try? decoder.singleValueContainer().decode(Bool.self)
  }
}
