import CChatparse

/// What may come next in an output, and what must: of a request (`Params.matcher`), or of a grammar. One task at a time.
public final class Matcher {
  private let handle: Handle

  init(handle: Handle) { self.handle = handle }

  /// The matcher of a grammar, which must be GBNF.
  public init(gbnf: String) throws {
    handle = try Handle(chat_matcher_free) { chat_matcher_new(gbnf, gbnf.utf8.count, $0, $1) }
  }

  /// Goes on behind this piece of the output. Returns how many of its bytes are allowed; if those are not all, it stands in front of the
  /// first that is not.
  public func feed(_ piece: some OutputPiece) throws -> Int {
    var taken = 0
    try handle.use { matcher in
      try piece.withChars { bytes, count in
        try check { chat_matcher_feed(matcher, bytes, count, &taken, $0) }
      }
    }
    return taken
  }

  /// Whether all of this may come next.
  public func can(_ piece: some OutputPiece) -> Bool {
    handle.use { matcher in piece.withChars { chat_matcher_can(matcher, $0, $1) } }
  }

  /// The bytes that may come next, each once, in order.
  public func allowed() throws -> [UInt8] {
    let words = try handle.use { _ in try handle.read(chat_byte_set(), chat_matcher_allowed).words }
    let all = [words.0, words.1, words.2, words.3]
    return (UInt8.min...UInt8.max).filter { all[Int($0 / 64)] >> UInt64($0 % 64) & 1 == 1 }
  }

  /// The longest text that must come next; empty where there is a choice, or where the output may end. It may end inside a character.
  public var forced: [UInt8] {
    handle.use { matcher in
      let text = [CChar](unsafeUninitializedCapacity: chat_matcher_forced(matcher, nil, 0)) {
        $1 = chat_matcher_forced(matcher, $0.baseAddress, $0.count)
      }
      return text.map { UInt8(bitPattern: $0) }
    }
  }

  /// Whether the output may end here.
  public var mayEnd: Bool { handle.use(chat_matcher_may_end) }

  /// Whether the output must end here.
  public var hasEnded: Bool { handle.use(chat_matcher_ended) }

  /// What may follow what was fed, for an engine that begins there.
  public func grammar(in dialect: Grammar.Dialect) throws -> Grammar {
    Grammar(
      handle: try handle.use { matcher in
        try Handle(chat_grammar_free) { chat_matcher_grammar(matcher, dialect.rawValue, $0, $1) }
      })
  }

  /// Another matcher at this place, to go back to; it is cheap.
  public func copy() throws -> Matcher {
    Matcher(
      handle: try handle.use { matcher in try Handle(chat_matcher_free) { chat_matcher_clone(matcher, $0, $1) } })
  }
}
