import XCTest

@testable import Chatparse

final class ChatparseTests: XCTestCase {
  let request = """
    {"messages": [{"role": "user", "content": "Hi"}],
     "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]}
    """
  let call = "\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>"

  func params() throws -> Params { try Params(Template.builtin("json-call"), request: request) }

  func testDeltasAreTheMessage() throws {
    let stream = try Chatparse.Stream(params())
    var kinds: [UInt32] = []
    for byte in Array("Let me look — ".utf8) { kinds += try stream.feed([byte]).map(\.kind) }
    XCTAssertEqual(Set(kinds), [2])
    kinds = try stream.feed(call).map(\.kind)
    XCTAssertEqual(kinds.first, 3)
    XCTAssertEqual(kinds.last, 6)
    XCTAssertTrue(try stream.finish().isEmpty)
    XCTAssertTrue(try stream.messageJSON().contains("\"name\":\"f\""))
  }

  func testADraftIsTakenBack() throws {
    let stream = try Chatparse.Stream(params())
    XCTAssertThrowsError(try stream.rollback(to: 0)) { XCTAssertEqual(($0 as? ChatparseError)?.status, 100) }
    _ = try stream.feed("Let me")
    try stream.checkpoint()
    _ = try stream.feed(" look." + call)
    let withdrawn = try stream.rollback(to: "Let me look".utf8.count)
    XCTAssertEqual(withdrawn.map(\.kind), [103, 102])
    XCTAssertEqual(withdrawn.map(\.text), ["f", "."])
    XCTAssertGreaterThan(stream.work, 0)
  }

  func testAParserAsText() throws {
    let text = try Parser(params()).asText()
    let stream = try Chatparse.Stream(Parser(text: text))
    XCTAssertEqual(try stream.feed("Hm.").map(\.text), ["Hm."])
    XCTAssertEqual(try stream.chunkJSON(), "{\"content\":\"Hm.\"}")
    XCTAssertThrowsError(try Parser(text: "{}"))
  }

  func testTheNextTurn() throws {
    let first = try params()
    let next = try first.next(output: "Hello", messages: "[{\"role\": \"user\", \"content\": \"Bye\"}]")
    XCTAssertEqual(next.kept, first.prompt.utf8.count + 5)
    XCTAssertEqual(next.prompt, first.prompt + "Hello" + next.append)
    XCTAssertEqual(next.rewrite, "")
  }

  func testProofAndErrors() throws {
    let proof = try Template.builtin("json-call").proof()
    XCTAssertGreaterThan(proof.cases, 20)
    XCTAssertEqual(proof.cases, proof.readBack)
    XCTAssertThrowsError(try Template("{% for %}")) { error in
      XCTAssertEqual((error as? ChatparseError)?.status, 200)
      XCTAssertTrue((error as? ChatparseError)?.message.contains("line") ?? false)
    }
  }
}
