//! Formats of the host's own, expression by expression.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use super::error::chat_error;
use super::guard::{Guarded, guard};
use super::parser::chat_parser;
use super::ptr::{give, required};
use super::status::chat_status;
use super::text::{array, chat_str, texts, utf8};
use chatparse_base::{Error, ErrorKind, Result};
use chatparse_learn::format::Tag;
use chatparse_peg::{Builder, CharSet, ExprId};
use chatparse_stream::Parser;

/// A builder of parsers for formats that no template shows, from expressions with tags. One thread at a time.
///
/// The expressions are those of a parsing expression grammar (PEG). Tags select the text of the message. Each function
/// adds an expression and returns its number, for use in others. A function that fails, also for NULL or text that is
/// not UTF-8, returns `CHAT_EXPR_NONE`; all others accept and return it, and `chat_expr_build` reports the first
/// failure. So calls can be nested:
///
/// ```c
/// // Content up to a call such as [weather]{"city": "Oslo"}[/weather], or to the end.
/// chat_expr_builder *b = NULL;
/// chat_parser *parser = NULL;
/// if (chat_expr_builder_new(&b, &error) != CHAT_STATUS_OK) return NULL;
/// const chat_str call[] = {{"[weather]", 9}};
/// const chat_expr open = chat_expr_tag(b, CHAT_TAG_TOOL_OPEN, chat_expr_sequence(b, (const chat_expr[]){
///     chat_expr_literal(b, "[", 1), chat_expr_tag(b, CHAT_TAG_TOOL_NAME, chat_expr_literal(b, "weather", 7)),
///     chat_expr_literal(b, "]", 1)}, 3));
/// const chat_expr parts[] = {
///   chat_expr_tag(b, CHAT_TAG_CONTENT, chat_expr_until(b, call, 1)),
///   chat_expr_repeat(b, chat_expr_sequence(b, (const chat_expr[]){
///       chat_expr_atomic(b, open), chat_expr_tag(b, CHAT_TAG_TOOL_ARGUMENTS, chat_expr_json(b, "", 0, "{}", 2)),
///       chat_expr_tag(b, CHAT_TAG_TOOL_CLOSE, chat_expr_literal(b, "[/weather]", 10))}, 3), 0, 1),
///   chat_expr_end(b),
/// };
/// const chat_status status = chat_expr_build(b, chat_expr_sequence(b, parts, 3), "", 0, &parser, &error);
/// chat_expr_builder_free(b);
/// ```
///
/// An output that does not match the format still becomes a message: see `CHAT_OUTCOME_RECOVERED`.
pub struct chat_expr_builder(Guarded<Formats>);

pub(super) struct Formats {
    pub(super) builder: Builder,
    failure: Option<Error>,
}

/// The number of an expression in its builder.
pub type chat_expr = u32;

/// The number that a function returns if it could not add an expression.
pub const CHAT_EXPR_NONE: u32 = 0;

/// No upper bound, for `chat_expr_repeat`.
pub const CHAT_EXPR_UNBOUNDED: u32 = u32::MAX;

/// The meaning of a part of an output. A call is `CHAT_TAG_TOOL_OPEN` with the name inside, then the arguments, then
/// `CHAT_TAG_TOOL_CLOSE`. The arguments are either one JSON object (`CHAT_TAG_TOOL_ARGUMENTS`), or pairs of name and
/// value (`CHAT_TAG_ARGUMENT_...`), which the library makes an object. Tags of a call have no effect outside of one.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_tag {
    /// Text of `reasoning_content`.
    Reasoning = 1,
    /// Text of `content`.
    Content = 2,
    /// The start of a call. It may match empty text.
    ToolOpen = 3,
    /// The end of a call. It may match empty text; without it the call counts as cut off.
    ToolClose = 4,
    /// The call's name.
    ToolName = 5,
    /// The call's id, with or without quotes.
    ToolId = 6,
    /// The call's arguments, a JSON object.
    ToolArguments = 7,
    /// The name of one argument.
    ArgumentName = 8,
    /// The value of one argument, as JSON or as a Python literal.
    ArgumentJson = 9,
    /// The value of one argument as raw text: becomes a JSON string.
    ArgumentText = 10,
    /// The end of a value. It may match empty text.
    ArgumentClose = 11,
}

const TAGS: &[(chat_tag, Tag)] = &[
    (chat_tag::Reasoning, Tag::Reasoning),
    (chat_tag::Content, Tag::Content),
    (chat_tag::ToolOpen, Tag::ToolOpen),
    (chat_tag::ToolClose, Tag::ToolClose),
    (chat_tag::ToolName, Tag::ToolName),
    (chat_tag::ToolId, Tag::ToolId),
    (chat_tag::ToolArguments, Tag::ToolArgs),
    (chat_tag::ArgumentName, Tag::ArgName),
    (chat_tag::ArgumentJson, Tag::ArgJson),
    (chat_tag::ArgumentText, Tag::ArgText),
    (chat_tag::ArgumentClose, Tag::ArgClose),
];

/// The tag that C knows by this name.
fn tag_named(name: &str) -> Option<Tag> {
    TAGS.iter().map(|(_, tag)| *tag).find(|tag| tag.name() == name)
}

/// An inclusive range of characters.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct chat_char_range {
    /// The first, as a Unicode code point.
    pub first: u32,
    /// The last.
    pub last: u32,
}

/// The number C has for an expression.
fn number(id: ExprId) -> chat_expr {
    u32::try_from(id.index() + 1).unwrap_or(CHAT_EXPR_NONE)
}

impl Formats {
    pub(super) fn child(&self, child: chat_expr) -> Result<Option<ExprId>> {
        let Some(index) = child.checked_sub(1) else { return Ok(None) };
        match self.builder.at(index as usize) {
            Some(id) => Ok(Some(id)),
            None => Err(Error::invalid(format!("{child} is no expression of this builder"))),
        }
    }

    /// `None` where one of them is none, which has been reported already.
    fn children(&self, children: &[chat_expr]) -> Result<Option<Vec<ExprId>>> {
        children.iter().map(|&child| self.child(child)).collect()
    }
}

impl Formats {
    /// What was made; or, for the first failure, remembers it. Compiled once for all functions.
    #[inline(never)]
    fn noted(&mut self, name: &str, made: Result<Option<ExprId>>) -> Option<ExprId> {
        made.unwrap_or_else(|error| {
            let named = || Error::new(error.kind(), format!("{name}: {}", error.message()));
            self.failure.get_or_insert_with(named);
            None
        })
    }
}

/// Adds an expression; remembers why that failed, if it is the first time. `name` is the function's.
pub(super) fn add(
    builder: Option<&mut chat_expr_builder>,
    name: &str,
    body: impl FnOnce(&mut Formats) -> Result<Option<ExprId>>,
) -> chat_expr {
    let Some(builder) = builder else { return CHAT_EXPR_NONE };
    let mut id = None;
    guard(None, || {
        builder.0.change(|formats| {
            let made = body(formats);
            id = formats.noted(name, made);
            Ok(())
        })
    });
    id.map_or(CHAT_EXPR_NONE, number)
}

/// Adds an expression with one child.
fn wrap(
    builder: Option<&mut chat_expr_builder>,
    name: &str,
    child: chat_expr,
    body: impl FnOnce(&Builder, ExprId) -> ExprId,
) -> chat_expr {
    add(builder, name, |formats| Ok(formats.child(child)?.map(|child| body(&formats.builder, child))))
}

/// Markers from C; none of them may be empty.
///
/// # Safety
/// As [`texts`].
pub(super) unsafe fn markers<'a>(markers: *const chat_str, count: usize) -> Result<Vec<&'a str>> {
    // SAFETY: this function's contract is the same.
    let texts = unsafe { texts(markers, count, "markers") }?;
    if texts.iter().any(|text| text.is_empty()) {
        return Err(Error::invalid("markers: must not be empty"));
    }
    Ok(texts)
}

/// Makes a builder without expressions.
#[unsafe(no_mangle)]
pub extern "C" fn chat_expr_builder_new(
    out: Option<&mut MaybeUninit<*mut chat_expr_builder>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let formats = Formats { builder: Builder::new(), failure: None };
        required(out, "out")?.write(give(chat_expr_builder(Guarded::new(formats))));
        Ok(())
    })
}

/// Matches exactly this text, which may be empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_expr_literal(
    builder: Option<&mut chat_expr_builder>,
    text: *const c_char,
    text_len: usize,
) -> chat_expr {
    add(builder, "chat_expr_literal", |formats| {
        // SAFETY: the caller's text, by the contract.
        let text = unsafe { utf8(text, text_len, "text") }?;
        Ok(Some(formats.builder.literal(text)))
    })
}

/// Matches text up to the first of these markers or up to the end of the output, without the marker. Without markers:
/// all text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_expr_until(
    builder: Option<&mut chat_expr_builder>,
    markers: *const chat_str,
    marker_count: usize,
) -> chat_expr {
    add(builder, "chat_expr_until", |formats| {
        // SAFETY: the caller's array and the texts in it, by the contract.
        let texts = unsafe { self::markers(markers, marker_count) }?;
        Ok(Some(formats.builder.until_any(texts)))
    })
}

/// Matches one character in one of the ranges or, if `negated`, in none of them: without ranges, any character.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_expr_character(
    builder: Option<&mut chat_expr_builder>,
    ranges: *const chat_char_range,
    range_count: usize,
    negated: bool,
) -> chat_expr {
    add(builder, "chat_expr_character", |formats| {
        // SAFETY: the caller's array, by the contract.
        let ranges = unsafe { array(ranges, range_count, "ranges") }?;
        let point = |code: u32| {
            char::from_u32(code).ok_or_else(|| Error::invalid(format!("ranges: {code:#x} is not a character")))
        };
        let range = |range: &chat_char_range| match (point(range.first)?, point(range.last)?) {
            (first, last) if first <= last => Ok((first, last)),
            (first, last) => Err(Error::invalid(format!("ranges: {:#x} comes after {:#x}", first as u32, last as u32))),
        };
        let ranges = ranges.iter().map(range).collect::<Result<Vec<_>>>()?;
        let p = &formats.builder;
        match (ranges.is_empty(), negated) {
            (true, false) => Err(Error::invalid("ranges: must not be empty")),
            (true, true) => Ok(Some(p.any())),
            (false, false) => Ok(Some(p.one_of(&ranges))),
            (false, true) => Ok(Some(p.none_of(&ranges))),
        }
    })
}

/// Matches one character of a class, e.g. `[a-z_]`, `[^"\\]` or `[\u4E00-\u9FFF]`. The brackets are optional. After a
/// backslash a character is literal, except in `\n`, `\t`, `\r`, `\xHH`, `\uHHHH` and `\UHHHHHHHH`. The class must not
/// be empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_expr_class(
    builder: Option<&mut chat_expr_builder>,
    text: *const c_char,
    text_len: usize,
) -> chat_expr {
    add(builder, "chat_expr_class", |formats| {
        // SAFETY: the caller's text, by the contract.
        let class = unsafe { utf8(text, text_len, "class") }?;
        Ok(Some(formats.builder.character(CharSet::parse(class)?)))
    })
}

/// Matches the inside of a quoted string up to `quote` (ASCII), without it: text with JSON's escapes, and with `quote`
/// after a backslash. Any other escape ends it.
#[unsafe(no_mangle)]
pub extern "C" fn chat_expr_string_body(builder: Option<&mut chat_expr_builder>, quote: c_char) -> chat_expr {
    add(builder, "chat_expr_string_body", |formats| match u8::try_from(quote) {
        Ok(quote) if quote.is_ascii() => Ok(Some(formats.builder.string_body(quote))),
        _ => Err(Error::invalid("quote: must be ASCII")),
    })
}

/// Matches all white space at this place, also none.
#[unsafe(no_mangle)]
pub extern "C" fn chat_expr_space(builder: Option<&mut chat_expr_builder>) -> chat_expr {
    add(builder, "chat_expr_space", |formats| Ok(Some(formats.builder.space())))
}

/// Matches empty text at the start of the output, or of the prefill if there is one.
#[unsafe(no_mangle)]
pub extern "C" fn chat_expr_start(builder: Option<&mut chat_expr_builder>) -> chat_expr {
    add(builder, "chat_expr_start", |formats| Ok(Some(formats.builder.start())))
}

/// Matches empty text at the end of the output. Text after the match of a format without it becomes content.
#[unsafe(no_mangle)]
pub extern "C" fn chat_expr_end(builder: Option<&mut chat_expr_builder>) -> chat_expr {
    add(builder, "chat_expr_end", |formats| Ok(Some(formats.builder.end())))
}

/// Matches all of the expressions, in order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_expr_sequence(
    builder: Option<&mut chat_expr_builder>,
    children: *const chat_expr,
    child_count: usize,
) -> chat_expr {
    add(builder, "chat_expr_sequence", |formats| {
        // SAFETY: the caller's array, by the contract.
        let children = formats.children(unsafe { array(children, child_count, "children") }?)?;
        Ok(children.map(|children| formats.builder.sequence(children)))
    })
}

/// Ordered choice: tries each expression in turn and keeps the first that matches. Text that an alternative captures is
/// streamed to the caller before the alternative has matched. If two alternatives capture the same bytes differently,
/// wrap them in `chat_expr_atomic`. Without expressions it never matches; the grammar has empty text then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_expr_choice(
    builder: Option<&mut chat_expr_builder>,
    children: *const chat_expr,
    child_count: usize,
) -> chat_expr {
    add(builder, "chat_expr_choice", |formats| {
        // SAFETY: the caller's array, by the contract.
        let children = formats.children(unsafe { array(children, child_count, "children") }?)?;
        Ok(children.map(|children| formats.builder.choice(children)))
    })
}

/// Matches the expression as often as possible, at least `min` and at most `max` times (`CHAT_EXPR_UNBOUNDED`).
#[unsafe(no_mangle)]
pub extern "C" fn chat_expr_repeat(
    builder: Option<&mut chat_expr_builder>,
    child: chat_expr,
    min: u32,
    max: u32,
) -> chat_expr {
    add(builder, "chat_expr_repeat", |formats| {
        if min > max {
            return Err(Error::invalid(format!("max: {max} is less than min, {min}")));
        }
        let max = (max != CHAT_EXPR_UNBOUNDED).then_some(max);
        Ok(formats.child(child)?.map(|child| formats.builder.repeat(child, min, max)))
    })
}

/// Matches empty text where the expression matches or, if `negated`, does not match.
#[unsafe(no_mangle)]
pub extern "C" fn chat_expr_lookahead(
    builder: Option<&mut chat_expr_builder>,
    child: chat_expr,
    negated: bool,
) -> chat_expr {
    wrap(builder, "chat_expr_lookahead", child, |p, child| if negated { p.not(child) } else { p.and(child) })
}

/// Matches the expression, and delays the text of its tags until it has matched. The text of a tag around it is not
/// delayed.
#[unsafe(no_mangle)]
pub extern "C" fn chat_expr_atomic(builder: Option<&mut chat_expr_builder>, child: chat_expr) -> chat_expr {
    wrap(builder, "chat_expr_atomic", child, Builder::atomic)
}

/// Matches the expression and gives it a meaning, a `chat_tag`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_expr_tag(builder: Option<&mut chat_expr_builder>, tag: u32, child: chat_expr) -> chat_expr {
    add(builder, "chat_expr_tag", |formats| {
        let known = TAGS.iter().find(|(known, _)| *known as u32 == tag);
        let (_, tag) = known.ok_or_else(|| Error::invalid(format!("tag: {tag} is unknown")))?;
        let p = &formats.builder;
        Ok(formats.child(child)?.map(|child| {
            let tagged = p.tag(*tag, child);
            if tag.streams() { tagged } else { p.atomic(tagged) }
        }))
    })
}

/// Matches the expression and labels its node in `chat_parser_tree`. A label that is the name of a `chat_tag`, e.g.
/// `tool-name` for `CHAT_TAG_TOOL_NAME`, also gives it that meaning; the text is streamed as it comes, unless it is
/// inside of `chat_expr_atomic`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_expr_label(
    builder: Option<&mut chat_expr_builder>,
    label: *const c_char,
    label_len: usize,
    child: chat_expr,
) -> chat_expr {
    add(builder, "chat_expr_label", |formats| {
        // SAFETY: the caller's text, by the contract.
        let label = unsafe { utf8(label, label_len, "label") }?;
        let Some(child) = formats.child(child)? else { return Ok(None) };
        let p = &formats.builder;
        let made = match tag_named(label) {
            Some(tag) => Some(p.tag(tag, child)),
            None => p.labelled(label, child),
        };
        made.map(Some).ok_or_else(|| Error::new(ErrorKind::Limit, "label: there are too many of them"))
    })
}

/// Makes the parser of the format `root`. `prefill` is the part of the model's turn that the prompt holds: the parser
/// reads it as if the model had written it. The builder keeps its expressions and can build other formats.
///
/// Errors: the first failure of the builder's functions, with the function's name; such a builder builds nothing more.
/// `CHAT_STATUS_INVALID_ARGUMENT` for a root that is not an expression of the builder, a reference to a missing rule,
/// and a rule that begins with itself; `CHAT_STATUS_LIMIT` for a format that is too deep or too long.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_expr_build(
    builder: Option<&mut chat_expr_builder>,
    root: chat_expr,
    prefill: *const c_char,
    prefill_len: usize,
    out: Option<&mut MaybeUninit<*mut chat_parser>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (builder, out) = (required(builder, "builder")?, required(out, "out")?);
        // SAFETY: the caller's text, by the contract.
        let prefill = unsafe { utf8(prefill, prefill_len, "prefill") }?;
        builder.0.change(|formats| {
            if let Some(failure) = &formats.failure {
                return Err(failure.clone());
            }
            let root = formats.child(root)?.ok_or_else(|| Error::invalid("root: is no expression"))?;
            out.write(give(chat_parser::new(Parser::new(formats.builder.clone().finish(root), prefill)?)));
            Ok(())
        })
    })
}

/// Frees the builder. Parsers that it made stay valid.
#[unsafe(no_mangle)]
pub extern "C" fn chat_expr_builder_free(builder: Option<Box<chat_expr_builder>>) {
    drop(builder);
}
