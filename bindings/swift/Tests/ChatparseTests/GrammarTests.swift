import Chatparse
import Testing

@Suite struct GrammarTests {
  @Test func ofARequest() throws {
    let params = try makeParams()
    #expect(params.isGrammarLazy)
    let words = try params.grammarTriggers().map { if case .word(let word) = $0 { word } else { "" } }
    #expect(words.contains { call.contains($0) && !$0.isEmpty })
    #expect(try params.grammar().text.contains("root ::="))
    #expect(try params.grammar(in: .lark).text.contains("start:"))
    #expect(try params.json().text.contains("grammar_triggers"))
    #expect(try !makeParams(["json_schema": ["type": "object"]]).isGrammarLazy)
  }

  @Test func ofASchema() throws {
    let schema: JSON = [
      "type": "object", "properties": ["z": ["type": "integer"], "a": ["type": "boolean"]], "required": ["z", "a"],
      "additionalProperties": false,
    ]
    let grammar = try Grammar(schema: schema)
    #expect(try grammar.check(#"{"z": 1, "a": true}"#) == .allowed)
    #expect(try grammar.check(#"{"z": 1"#) == .prefix)
    #expect(try grammar.check(#"{"a": true}"#) == .refused)
    #expect(try grammar.report().map(\.kind) == [.narrowed])
    #expect(try grammar.converted(to: .structuralTag).text.contains("structural_tag"))
    let loose = try Grammar(schema: ["type": "array", "uniqueItems": true]).report()
    #expect(loose.map(\.kind) == [.widened] && loose.first?.pointer.hasPrefix("#") == true)
    let error = #expect(throws: ChatparseError.self) { try Grammar(schema: ["type": "no"]) }
    #expect(error?.kind == .schema)
  }

  @Test func matcher() throws {
    let matcher = try Matcher(gbnf: #"root ::= "say " ("yes" | "yellow" | "é")"#)
    #expect(matcher.forced == Array("say ".utf8) && !matcher.mayEnd)
    #expect(try matcher.feed("say ") == 4)
    #expect(try matcher.allowed() == [0x79, 0xc3] && matcher.forced.isEmpty)
    let before = try matcher.copy()
    #expect(matcher.can("yell") && !matcher.can("yelp"))
    #expect(try matcher.feed("yes!") == 3)
    #expect(matcher.mayEnd && matcher.hasEnded)
    let rest = try Matcher(gbnf: before.grammar(in: .portableGBNF).text)
    #expect(try rest.feed([0xc3] as [UInt8]) == 1)
    #expect(rest.forced == [0xa9] && !before.hasEnded)
    #expect(throws: ChatparseError.self) { try Matcher(gbnf: #"a ::= "b""#) }
    // A lazy grammar: text is free in front of a call.
    let params = try makeParams()
    #expect(params.isGrammarLazy)
    #expect(try params.matcher().can("Hm." + call) && !params.matcher().can(call + "\n<tool_call>\n{\"name\": \"g"))
  }

  @Test func builder() throws {
    let builder = try GrammarBuilder()
    let answer = try builder.addSchema("answer", ["type": "boolean"])
    let tag = try builder.addLiteral("tag", "<\"a\">")
    #expect(throws: ChatparseError.self) { try builder.build() }
    #expect(try builder.addRule("root", "\(tag) \(answer)") == "root")
    #expect(try builder.build().check("<\"a\">true") == .allowed)
    let other = try GrammarBuilder(style: .llamaCpp)
    try other.addParser(makeParams().parser())
    #expect(try other.build().text.contains("root ::="))
  }
}
