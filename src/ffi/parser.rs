//! A parser by itself: out of params, out of text, or of a format of the host's own.

use std::ffi::c_char;
use std::sync::OnceLock;

use super::grammar::{chat_grammar, made};
use super::message::{Flags, chat_message};
use super::params::chat_params;
use super::status::{ErrorOut, Out, chat_status, filled, give, written};
use super::text::{bytes, chat_str, utf8, view};
use chatparse_stream::Parser;

/// A parser of outputs, without the rest of the params. Immutable.
///
/// Store a parser as a text, send it to another process, or describe one for a format that no
/// template shows.
pub struct chat_parser {
    pub(super) parser: Parser,
    text: OnceLock<String>,
}

impl chat_parser {
    pub(super) fn new(parser: Parser) -> Self {
        chat_parser {
            parser,
            text: OnceLock::new(),
        }
    }
}

/// Makes the parser of these params.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_parser(
    params: Option<&chat_params>,
    out: Out<*mut chat_parser>,
    error: ErrorOut,
) -> chat_status {
    filled(params, "params", out, error, |params| {
        Ok(give(chat_parser::new(params.params().parser.clone())))
    })
}

/// Makes a parser from JSON text: that of `chat_parser_json`, or a description of a format of your
/// own. The text may come from an untrusted source: the library checks it. docs/formats.md has all
/// kinds of nodes.
///
/// ```c
/// // Content up to a call such as [weather]{"city": "Oslo"}[/weather], or to the end.
/// static const char text[] =
///   "{\"format\": {\"root\": {\"sequence\": ["
///   "  {\"tag\": [\"content\", {\"until\": [\"[weather]\"]}]},"
///   "  {\"repeat\": [{\"sequence\": ["
///   "    {\"atomic\": {\"tag\": [\"tool-open\", {\"sequence\": ["
///   "      {\"literal\": \"[\"}, {\"tag\": [\"tool-name\", {\"literal\": \"weather\"}]}, {\"literal\": \"]\"}]}]}},"
///   "    {\"tag\": [\"tool-args\", \"json\"]},"
///   "    {\"tag\": [\"tool-close\", {\"literal\": \"[/weather]\"}]}]}, 0, 1]},"
///   "  \"end\"]}}}";
/// chat_parser *parser = NULL;
/// const chat_status status = chat_parser_from_json(text, sizeof text - 1, &parser, &error);
/// ```
///
/// An output that does not match the format still becomes a message: see `CHAT_OUTCOME_RECOVERED`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for text of another shape or version, with the number of
/// the node, and for a format that cannot be used, e.g. with a rule that begins with itself;
/// `CHAT_STATUS_LIMIT` for one that is too deep or too long.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_parser_from_json(
    text: *const c_char,
    text_len: usize,
    out: Out<*mut chat_parser>,
    error: ErrorOut,
) -> chat_status {
    written(out, error, || {
        // SAFETY: the caller's text, by the contract.
        let text = unsafe { utf8(text, text_len, "text") }?;
        Ok(give(chat_parser::new(Parser::from_text(text)?)))
    })
}

/// Writes the parser as JSON text for `chat_parser_from_json` of the same library version, in any
/// process. Its form may change between versions. The first call writes the text; later ones return
/// the same.
#[unsafe(no_mangle)]
pub extern "C" fn chat_parser_json(
    parser: Option<&chat_parser>,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    filled(parser, "parser", out, error, |parser| {
        Ok(view(parser.text.get_or_init(|| parser.parser.to_text())))
    })
}

/// Makes the grammar of the outputs that the parser accepts. If `lazy`, the grammar describes only
/// what may follow a trigger: the rules with `trigger`. Otherwise it describes the prefill and the
/// output together.
#[unsafe(no_mangle)]
pub extern "C" fn chat_parser_grammar(
    parser: Option<&chat_parser>,
    lazy: bool,
    out: Out<*mut chat_grammar>,
    error: ErrorOut,
) -> chat_status {
    filled(parser, "parser", out, error, |parser| {
        Ok(made(parser.parser.grammar(lazy)))
    })
}

/// As `chat_parse_partial`, with a parser instead of params.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_parser_parse(
    parser: Option<&chat_parser>,
    text: *const c_char,
    text_len: usize,
    flags: u32,
    out: Out<*mut chat_message>,
    error: ErrorOut,
) -> chat_status {
    filled(parser, "parser", out, error, |parser| {
        // SAFETY: the caller's bytes, by the contract.
        let text = unsafe { bytes(text, text_len, "text") }?;
        chat_message::parse(&parser.parser, text, flags)
    })
}

/// Parses a text to the message of its tagged parts alone; `chat_message_tree_json` has all that
/// matched. `text` is the whole text of the format, prefill included, any bytes, of which bytes
/// before `from` are not read. `flags` is 0 for a complete text or `CHAT_PARSE_PARTIAL`. The
/// message of a text that does not match is empty, and `CHAT_OUTCOME_RECOVERED`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a `from` above `text_len`; `CHAT_STATUS_LIMIT` for a
/// format with too many rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_parser_tagged(
    parser: Option<&chat_parser>,
    text: *const c_char,
    text_len: usize,
    from: usize,
    flags: u32,
    out: Out<*mut chat_message>,
    error: ErrorOut,
) -> chat_status {
    filled(parser, "parser", out, error, |parser| {
        // SAFETY: the caller's bytes, by the contract.
        let text = unsafe { bytes(text, text_len, "text") }?;
        let by = Flags::from_bits(flags)?.by;
        let tree = parser.parser.tree_json(text, from, by)?.to_string();
        let mut message = chat_message::new(parser.parser.tagged(text, from, by));
        message.tree = tree;
        Ok(give(message))
    })
}

/// Frees the parser. Streams, messages and grammars that were made with it stay valid.
#[unsafe(no_mangle)]
pub extern "C" fn chat_parser_free(parser: Option<Box<chat_parser>>) {
    drop(parser);
}
