import Chatparse
import Testing

let call = "\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1}}\n</tool_call>"

func makeParams(_ options: JSON = [:]) throws -> Params {
  let function: JSON = ["name": "f", "parameters": ["type": "object", "properties": ["x": ["type": "integer"]]]]
  return try Template(builtin: "json-call").params(
    ["messages": [["role": "user", "content": "Hi"]], "tools": [["type": "function", "function": function]]],
    options: options)
}

@Suite struct StreamTests {
  @Test func deltasAreTheMessage() async throws {
    let output = "Blåbær — \0! " + call
    let (bytes, model) = AsyncStream.makeStream(of: UInt8.self)
    for byte in output.utf8 { model.yield(byte) }
    model.finish()
    let stream = try makeParams().stream()
    var content = ""
    var arguments = ""
    var kinds: [Delta.Kind] = []
    for try await delta in stream.deltas(bytes) {
      kinds.append(delta.kind)
      if delta.kind == .content { content += delta.text }
      if delta.kind == .toolArguments { arguments += delta.text }
    }
    #expect(kinds.first == .content && kinds.last == .toolEnd && kinds.contains(.toolName))

    let message = try stream.message()
    #expect(message.outcome == .complete && stream.outcome == .complete)
    #expect(message.content == content && content.hasPrefix("Blåbær — \0!"))
    let toolCall = try #require(message.toolCalls.first)
    #expect(toolCall.arguments == arguments && toolCall.name == "f" && toolCall.origin == .format)
    #expect(toolCall.isComplete && toolCall.isKnown && toolCall.isValid)
    struct Arguments: Decodable { let x: Int }
    #expect(try toolCall.decodeArguments(as: Arguments.self).x == 1)
    #expect(try message == makeParams().parse(output))
    #expect(try message.json().text.contains(#""name":"f""#))
    #expect(throws: ChatparseError.self) { try stream.feed("more") }
  }

  // An actor may wait for the pieces of its own stream.
  @Test @MainActor func streamsStayWithTheirActor() async throws {
    let stream = try makeParams().stream()
    let (pieces, model) = AsyncThrowingStream.makeStream(of: String.self)
    model.yield("Hm")
    model.finish(throwing: CancellationError())
    var text = ""
    await #expect(throws: CancellationError.self) {
      for try await delta in stream.deltas(pieces) { text += delta.text }
    }
    #expect(text == "Hm")
    #expect(try stream.message().content == "Hm" && stream.outcome == .partial)
  }

  @Test func piecesOfManyTypes() throws {
    let stream = try makeParams().stream()
    #expect(try stream.feed("Hm").map(\.text) == ["Hm"])
    #expect(try stream.chunk().text == #"{"content":"Hm"}"#)
    #expect(try stream.feed("-s-"[...].dropFirst()).map(\.text).joined() == "s-")
    #expect(try stream.feed(Array("é".utf8)[..<1]).isEmpty)
    #expect(try stream.feed(Array("é".utf8)[1...]).map(\.span) == [4..<6])
    #expect(try stream.feed("").isEmpty)
    let copy = try stream.copy()
    #expect(try copy.finish(partial: true).isEmpty)
    #expect(try copy.message().outcome == .partial)
    #expect(try stream.finish().isEmpty)
    #expect(try stream.message().content == "Hms-é")
    try stream.reset()
    #expect(try stream.message().content.isEmpty)
  }

  @Test func aDraftIsTakenBack() throws {
    let stream = try makeParams().stream()
    let error = #expect(throws: ChatparseError.self) { try stream.rollback(to: 0) }
    #expect(error?.kind == .invalidArgument)
    _ = try stream.feed("Let me")
    try stream.checkpoint()
    _ = try stream.feed(" look." + call)
    let withdrawn = try stream.rollback(to: "Let me look".utf8.count)
    #expect(withdrawn.map(\.kind) == [.callWithdrawn, .contentWithdrawn])
    #expect(withdrawn.map(\.text) == ["f", "."])
    #expect(stream.work > 0)
    try stream.setBudget(base: 0, perByte: 0)
    _ = try stream.feed(call)
    _ = try stream.finish()
    let message = try stream.message()
    #expect(message.outcome == .recovered && message.content == "Let me look" + call)
    #expect(try message.diagnostics().map(\.kind).contains(.limit))
  }

  @Test func whereAnOutputStandsAndWhatMayFollow() throws {
    let request: JSON = [
      "messages": [],
      "tools": [
        [
          "type": "function",
          "function": [
            "name": "weather",
            "parameters": ["type": "object", "properties": ["city": ["type": "string"]], "required": ["city"]],
          ],
        ]
      ],
    ]
    let template = try Template(builtin: "json-call")
    let stream = try template.params(forPrompt: "<|im_start|>assistant\n<think>\nLet me", request).stream()
    #expect(try stream.state().text.contains(#""part":"reasoning""#))
    _ = try stream.feed(" see.\n</think>\n\n<tool_")
    #expect(String(decoding: stream.pending, as: UTF8.self).hasSuffix("<tool_"))
    _ = try stream.feed("call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Os")
    #expect(try stream.state().text.contains(#""pointer":"/city""#))
    #expect(try stream.schema().text == #"{"type":"string"}"#)
    struct Closing: Decodable { let text: String, complete: Bool }
    let closing: Closing = try stream.closing().decode()
    #expect(closing.text == "\"}}\n</tool_call>" && closing.complete)
    #expect(try stream.grammar(in: .lark).text.contains("tool_call>"))
    #expect(try template.params(forPrompt: "Hi").parse("Hello").content == "Hello")
  }

  @Test func specialTokens() throws {
    let stream = try makeParams().stream()
    try stream.setSpecialTokens(["<tool_call>", "</tool_call>"])
    _ = try stream.feed(call, specialTokens: [])
    _ = try stream.finish()
    #expect(try stream.message().toolCalls.isEmpty)
    try stream.reset()
    _ = try stream.feed(call, specialTokens: [1..<12, call.utf8.count - 12..<call.utf8.count])
    #expect(try stream.message().toolCalls.count == 1)
  }

  @Test func whereThingsStand() throws {
    let output = "Før" + call
    let message = try makeParams().parse(output)
    #expect(try message.parts().map(\.kind) == [.content, .call])
    let bytes = Array(output.utf8)
    #expect(try message.spans(of: .content).map { String(decoding: bytes[$0], as: UTF8.self) } == [message.content])
    #expect(try message.spans(of: .toolName, call: 0).map(\.count) == [1])
    #expect(try message.report().text.contains(#""status":"complete""#))
    let cut = try makeParams().parse(call.dropLast(20), partial: true)
    #expect(cut.outcome == .partial && cut.toolCalls.map(\.isComplete) == [false])
    let error = #expect(throws: ChatparseError.self) { try makeParams().parse("<tool_call>no", strict: true) }
    #expect(error?.kind == .parse)
  }

  @Test func aParserAsText() throws {
    let parser = try Parser(text: makeParams().parser().text())
    #expect(try parser.stream().feed("Hm.").map(\.text) == ["Hm."])
    #expect(try parser.parse(call, strict: true).toolCalls.map(\.name) == ["f"])
    #expect(try parser.grammar().text.contains("root ::="))
    #expect(throws: ChatparseError.self) { try Parser(text: "{}") }
  }

  @Test func theNextTurn() throws {
    let first = try makeParams()
    let next = try first.next(output: "Hello", messages: [["role": "user", "content": "Bye"]])
    #expect(next.kept == first.prompt.utf8.count + 5 && next.rewrite == nil)
    #expect(next.prompt == first.prompt + "Hello" + next.appended)

    let forgetful = try Template(
      """
      {% for m in messages %}[{{ m.role }}]{% if m.reasoning_content and loop.last %}<think>{{ m.reasoning_content }}</think>{% endif %}\
      {{ m.content }}[end]{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}
      """, eos: "[end]")
    let params = try forgetful.params(["messages": [["role": "user", "content": "Hi"]]])
    let again = try params.next(
      output: "<think>Hm.</think>Hello", messages: [["role": "user", "content": "Bye"]])
    #expect(again.rewrite?.reason == .reasoning && again.rewrite?.message == 1)
    #expect(again.kept < params.prompt.utf8.count + 23)
  }

  @Test func kindsHaveTheNamesOfTheLibrary() {
    let names: [Delta.Kind: String] = [
      .other: "unknown", .reasoning: "reasoning", .content: "content", .toolName: "tool_name", .toolID: "tool_id",
      .toolArguments: "tool_arguments", .toolEnd: "tool_end", .reasoningWithdrawn: "reasoning_withdrawn",
      .contentWithdrawn: "content_withdrawn", .callWithdrawn: "call_withdrawn", .toolIDWithdrawn: "tool_id_withdrawn",
      .toolArgumentsWithdrawn: "tool_arguments_withdrawn", .toolEndWithdrawn: "tool_end_withdrawn",
    ]
    for kind in Delta.Kind.allCases { #expect(kind.description == names[kind]) }
  }

  @Test func tasksShareATemplate() async throws {
    let template = try Template(builtin: "json-call")
    try await withThrowingTaskGroup(of: Message.self) { group in
      for number in 0..<8 {
        group.addTask {
          try template.params(["messages": [["role": "user", "content": "\(number)"]]]).parse("Number \(number)")
        }
      }
      var contents: Set<String> = []
      for try await message in group { contents.insert(message.content) }
      #expect(contents.count == 8)
    }
  }
}
