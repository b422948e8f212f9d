import Chatparse
import Testing

@Suite struct TemplateTests {
  @Test func proofAndErrors() throws {
    let template = try Template(builtin: "json-call")
    let proof = try template.proof()
    #expect(proof.cases > 20 && proof.readBack == proof.cases && proof.failures.isEmpty)
    #expect(proof.reader == (try template.reader()))
    #expect(try template.capabilities()["supports_tools"] == true)
    #expect(Template.builtinNames.contains("json-call"))
    #expect(template.source.contains("tool_call"))

    let error = try #require(throws: ChatparseError.self) { try Template("{% for %}") }
    #expect(error.kind == .template && error.message.contains("line"))
    #expect("\(error)".hasPrefix("template: "))
    let request = #expect(throws: ChatparseError.self) { try template.params(["messages": [["role": 1]]]) }
    #expect(request?.kind == .invalidArgument && request?.message.hasPrefix("messages[0]") == true)
  }

  @Test func options() throws {
    let source = "{# <|channel|> #}{{ bos_token }}{{ messages[0].content }}"
    #expect(try Template(source).reader() == "gpt-oss")
    let template = try Template(source, bos: "<s>", learnOnly: true)
    #expect(try template.reader() == "turn")
    let params = try template.params(["messages": [["role": "user", "content": "a\"\\\n\u{1}é"]]])
    #expect(params.prompt == "<s>a\"\\\n\u{1}é")
  }

  @Test func lint() throws {
    let template = try Template(builtin: "json-call")
    let lint = try template.lint()
    #expect(lint.cases.count > 20 && lint.cases.filter { $0.outcome == "survives" }.count > lint.faults)
    #expect(lint.cases.allSatisfy { !$0.probe.isEmpty })
    #expect(try template.layout().text.hasPrefix("{"))
  }

  @Test func requestsKeepTheOrderOfMembers() throws {
    struct Body: Encodable {
      let messages = [["role": "user", "content": "Hi"]]
    }
    let template = try Template("{{ messages | tojson }}{{ name }}")
    let request: JSON = ["messages": [["role": "user", "content": "Hi"]], "plain": true]
    #expect(try template.params(request).prompt == #"[{"role": "user", "content": "Hi"}]"#)
    let params = try template.params(JSON(encoding: Body()), options: ["chat_template_kwargs": ["name": "Eve"]])
    #expect(params.prompt.hasSuffix("Eve"))
    let all: JSON = ["a": [1, -2.5, true, nil], "z": "\(request)"]
    #expect(all.text.hasPrefix(#"{"a":[1,-2.5,true,null],"z":"{\"messages"#))
  }

  @Test func segmentsAndMasks() throws {
    let template = try Template(builtin: "chatml")
    let segments = try template.segments([
      "messages": [["role": "user", "content": "Hi"], ["role": "assistant", "content": "Hello"]],
      "add_generation_prompt": false,
    ])
    let prompt = Array(segments.prompt.utf8)
    let list = try segments.list()
    #expect(list.first?.span.lowerBound == 0 && list.last?.span.upperBound == prompt.count)
    let user = try #require(list.first { $0.origin == .message && $0.path == "/content" })
    #expect(user.index == 0 && prompt[user.span].elementsEqual("Hi".utf8))
    #expect(segments.mask(.content).map { String(decoding: prompt[$0], as: UTF8.self) } == ["Hello"])
    #expect(segments.mask([.calls]).isEmpty && !segments.mask().isEmpty)
  }
}
