// How the C functions are called: objects that free themselves, statuses that become errors, views that become texts.
import CChatparse

/// An object of the C library, freed with its last reference. Objects need none of the others. All but streams and builders are
/// immutable there, and those are inside of classes that are not `Sendable`.
final class Handle: @unchecked Sendable {
  private let pointer: OpaquePointer
  private let free: @convention(c) (OpaquePointer?) -> Void

  typealias Out<Value> = UnsafeMutablePointer<Value>

  init(
    _ free: @convention(c) (OpaquePointer?) -> Void, _ make: (Out<OpaquePointer?>, Out<OpaquePointer?>) -> UInt32
  ) throws {
    var made: OpaquePointer?
    try check { make(&made, $0) }
    pointer = made!
    self.free = free
  }

  deinit { free(pointer) }

  /// Calls with the object, which lives until the call has returned and what it gave is copied.
  func use<Result>(_ body: (OpaquePointer) throws -> Result) rethrows -> Result {
    try withExtendedLifetime(self) { try body(pointer) }
  }

  /// What a function of the object writes: a text or a struct.
  func read<Value>(_ value: Value, _ call: (OpaquePointer, Out<Value>, Out<OpaquePointer?>) -> UInt32) throws -> Value {
    var value = value
    try check { call(pointer, &value, $0) }
    return value
  }

  func text(_ view: (OpaquePointer) -> chat_str) -> String { use { String(view($0)) } }

  func written(_ call: (OpaquePointer, Out<chat_str>, Out<OpaquePointer?>) -> UInt32) throws -> String {
    try use { _ in String(try read(chat_str(), call)) }
  }

  func json(_ call: (OpaquePointer, Out<chat_str>, Out<OpaquePointer?>) -> UInt32) throws -> JSON {
    JSON(text: try written(call))
  }

  func texts(_ texts: (OpaquePointer) -> chat_str_list) -> [String] {
    list({ $0.data }, { $0.len }, of: texts) { String($0) }
  }

  /// A list of structs, copied.
  func list<List, Raw, Value>(
    _ data: (List) -> UnsafePointer<Raw>?, _ len: (List) -> Int, of list: (OpaquePointer) -> List, _ value: (Raw) -> Value
  ) -> [Value] {
    use { object in
      let list = list(object)
      return UnsafeBufferPointer(start: data(list), count: len(list)).map(value)
    }
  }
}

func check(_ call: (UnsafeMutablePointer<OpaquePointer?>) -> UInt32) throws {
  var error: OpaquePointer?
  let status = call(&error)
  guard status != 0 else { return }
  defer { chat_error_free(error) }
  throw ChatparseError(kind: ChatparseError.Kind(status: status), message: String(chat_error_message(error)))
}

extension String {
  init(_ view: chat_str) {
    self.init(decoding: UnsafeRawBufferPointer(start: view.data, count: view.len), as: UTF8.self)
  }
}

/// Calls with views of all texts, which end with the call.
func withViews<Result>(_ texts: [String], _ body: ([chat_str]) throws -> Result) rethrows -> Result {
  try texts.flatMap { Array($0.utf8) }.withChars { first, _ in
    var end = 0
    return try body(
      texts.map { text in
        defer { end += text.utf8.count }
        return chat_str(data: first.map { $0 + end }, len: text.utf8.count)
      })
  }
}

extension Range<Int> {
  var span: chat_span { chat_span(begin: lowerBound, end: upperBound) }
}

/// An index that may be none.
func index(_ number: Int) -> Int? { number == Int(bitPattern: UInt.max) ? nil : number }

/// The version of the library.
public var version: String { String(cString: chat_version()) }

/// A call that failed.
public struct ChatparseError: Error, Hashable, CustomStringConvertible {
  public let kind: Kind
  /// What is wrong and where, for people.
  public let message: String

  public var description: String { "\(kind): \(message)" }

  public enum Kind: UInt32, Sendable, CustomStringConvertible {
    /// The caller's input has the wrong form.
    case invalidArgument = 100
    /// The template does not parse, or fails while it renders.
    case template = 200
    /// A JSON schema cannot be used.
    case schema = 300
    /// The input is too long, too deep or too costly.
    case limit = 400
    /// Where `strict` was asked for: the output does not match the format.
    case parse = 500
    /// A defect of the library.
    case `internal` = 900

    init(status: UInt32) { self = Kind(rawValue: status) ?? Kind(rawValue: status / 100 * 100) ?? .internal }

    public var description: String { String(cString: chat_status_name(rawValue)) }
  }
}
