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
    #expect(lint.cases.allSatisfy { !$0.probe.isEmpty } && lint.laws["read"] == "holds")
    let calls = "{% for c in m.tool_calls or [] %}{% endfor %}"
    let turns = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\(calls)<|end|>{% endfor %}"
    let faulty = try Template(turns + "{% if add_generation_prompt %}<|assistant|>{% endif %}").lint()
    #expect(faulty.findings.first?.rule == "shown" && faulty.faults == faulty.findings.filter(\.fault).count)
    #expect(faulty.findings.first?.shown.map(\.from) == ["expected", "prompt"])
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

  @Test func tokensAndBatches() throws {
    let template = try Template(builtin: "chatml")
    let said: JSON = ["messages": [["role": "user", "content": "Hå"], ["role": "assistant", "content": "Né"]]]
    let asked: JSON = ["messages": [["role": "user", "content": "a"]]]
    let batch = try template.segmentsBatch([said, asked], options: ["for_training": true], threads: 2)
    #expect(batch.map { $0.prompt.hasSuffix("<|im_end|>\n") } == [true, true])
    let scalars = Array(batch[0].prompt.unicodeScalars)
    let labels = try batch[0].tokens(scalars.indices.map { $0..<$0 + 1 })
    let sampled = zip(scalars, labels).filter { $1.sampled }.map { String($0.0) }.joined()
    #expect(sampled == "Né<|im_end|>")
    #expect(labels[0].origin == .template && labels[0].message == nil && !labels[0].sampled)
    let answer = try batch[0].tokens(batch[0].mask(.content), inBytes: true)
    #expect(answer.count == 1 && answer[0].origin == .message && answer[0].message == 1 && answer[0].sampled)
    #expect(batch[0].limit.isEmpty)

    let beyond = #expect(throws: ChatparseError.self) { try batch[0].tokens([0..<scalars.count + 1]) }
    #expect(beyond?.kind == .invalidArgument && beyond?.message.contains("offsets[0]") == true)
    let second = #expect(throws: ChatparseError.self) { try template.segmentsBatch([said, [:], said]) }
    #expect(second?.message.contains("requests[1]") == true)
    #expect(try template.segmentsBatch([]).isEmpty)
  }
}
