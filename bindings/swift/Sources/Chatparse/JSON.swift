#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// JSON text. As a literal, its objects keep the order of their members, which prompts and grammars follow:
///
///     let request: JSON = ["messages": [["role": "user", "content": JSON(question)]]]
public struct JSON: Sendable, Hashable, CustomStringConvertible {
  public let text: String

  /// Takes a text for JSON, unchecked: the functions that read it check it.
  public init(text: String) { self.text = text }

  /// A value as JSON. Members come in alphabetical order: an encoder knows no other that is the same each time.
  public init(encoding value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    text = String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  /// A JSON string.
  public init(_ string: String) {
    var quoted = "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case "\n": quoted += "\\n"
      case "\0"..<" ":
        let hex = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    text = quoted + "\""
  }

  public init(_ bool: Bool) { text = String(bool) }

  public init(_ integer: Int) { text = String(integer) }

  /// A number, which must be finite.
  public init(_ number: Double) { text = "\(number)" }

  public init(_ elements: [JSON]) { text = "[" + elements.map(\.text).joined(separator: ",") + "]" }

  /// An object, with its members in this order.
  public init(members: [(String, JSON)]) {
    text = "{" + members.map { JSON($0).text + ":" + $1.text }.joined(separator: ",") + "}"
  }

  /// The value as a type of yours.
  public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    try JSONDecoder().decode(type, from: Data(text.utf8))
  }

  public var description: String { text }
}

extension JSON: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, ExpressibleByStringInterpolation,
  ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByNilLiteral
{
  public init(dictionaryLiteral elements: (String, JSON)...) { self.init(members: elements) }
  public init(arrayLiteral elements: JSON...) { self.init(elements) }
  public init(stringLiteral value: String) { self.init(value) }
  public init(booleanLiteral value: Bool) { self.init(value) }
  public init(integerLiteral value: Int) { self.init(value) }
  public init(floatLiteral value: Double) { self.init(value) }
  public init(nilLiteral: ()) { text = "null" }
}

extension ToolCall {
  /// The arguments as a type of yours.
  public func decodeArguments<Arguments: Decodable>(as type: Arguments.Type = Arguments.self) throws -> Arguments {
    try JSON(text: arguments).decode(type)
  }
}

extension Data: OutputPiece {}

extension ChatparseError: LocalizedError {
  public var errorDescription: String? { message }
}
