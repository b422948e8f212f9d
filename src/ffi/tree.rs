//! What an output is made of.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use super::error::chat_error;
use super::guard::filled;
use super::message::{Flags, chat_message};
use super::parser::chat_parser;
use super::ptr::{give, item};
use super::status::chat_status;
use super::text::{bytes, chat_str, view};
use chatparse_base::{Error, ErrorKind};
use chatparse_learn::format::Tag;
use chatparse_peg::{Outcome, Region, Tree};
use chatparse_stream::Parser;

/// A syntax tree of a text: a node for each rule, tag and label that matched. Immutable.
pub struct chat_tree {
    tree: Tree,
    parser: Parser,
    text: Box<[u8]>,
    from: usize,
    partial: bool,
}

/// How a text relates to the format of a tree.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_match {
    /// It does not match; the tree has no nodes.
    Failed = 0,
    /// It matches. Text after the match is ignored unless the format ends with `chat_expr_end`.
    Matched = 1,
    /// It ended before the match did, without a mismatch (only with `CHAT_PARSE_PARTIAL`).
    Partial = 2,
}

/// One rule, tag or label that matched.
#[repr(C)]
pub struct chat_node {
    /// The rule's name; empty for a tag or label.
    pub rule: chat_str,
    /// The tag's name (`content`, `tool-name`, ...) or the label; empty for a rule.
    pub tag: chat_str,
    /// Position of its first byte in the text.
    pub begin: usize,
    /// Position after its last byte.
    pub end: usize,
    /// Index of the node around it, which is lower than its own; its own if there is none.
    pub parent: usize,
    /// The text ended inside of it.
    pub partial: bool,
}

/// Parses a text to a tree, from byte `from` on. `text` is the whole text of the format, prefill included, any bytes.
/// `flags` is 0 for a complete text or `CHAT_PARSE_PARTIAL`. The call succeeds even if the text does not match: see
/// `chat_tree_outcome`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a `from` above `text_len`; `CHAT_STATUS_LIMIT` for a format with too many
/// rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_parser_tree(
    parser: Option<&chat_parser>,
    text: *const c_char,
    text_len: usize,
    from: usize,
    flags: u32,
    out: Option<&mut MaybeUninit<*mut chat_tree>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    filled(parser, "parser", out, error, |parser| {
        // SAFETY: the caller's bytes, by the contract.
        let text = unsafe { bytes(text, text_len, "text") }?;
        let (parser, partial) = (parser.parser.clone(), Flags::from_bits(flags)?.partial);
        let tree = parser.tree(text, from, partial)?;
        Ok(give(chat_tree { tree, parser, text: text.into(), from, partial }))
    })
}

/// Returns how the text relates to the format. `CHAT_MATCH_FAILED` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_tree_outcome(tree: Option<&chat_tree>) -> chat_match {
    match tree.map(|tree| tree.tree.outcome) {
        None | Some(Outcome::Failed) => chat_match::Failed,
        Some(Outcome::Matched) => chat_match::Matched,
        Some(Outcome::Partial) => chat_match::Partial,
    }
}

/// Returns the position after the match; of a text that does not match, how far it could have matched.
#[unsafe(no_mangle)]
pub extern "C" fn chat_tree_end(tree: Option<&chat_tree>) -> usize {
    tree.map_or(0, |tree| tree.tree.end)
}

/// Returns how many nodes there are.
#[unsafe(no_mangle)]
pub extern "C" fn chat_tree_node_count(tree: Option<&chat_tree>) -> usize {
    tree.map_or(0, |tree| tree.tree.nodes.len())
}

/// Fills `*out` with node `index`. Nodes are in the order of their first bytes, the outer before the inner.
#[unsafe(no_mangle)]
pub extern "C" fn chat_tree_node(
    tree: Option<&chat_tree>,
    index: usize,
    out: Option<&mut MaybeUninit<chat_node>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    filled(tree, "tree", out, error, |tree| {
        let node = item(&tree.tree.nodes, index, "nodes")?;
        let (rule, tag) = match &node.region {
            Region::Rule(name) => (Some(name.as_str()), None),
            Region::Tag(tag) => (None, Tag::from_id(*tag).map(Tag::name).or_else(|| tree.parser.label(*tag))),
        };
        let parent = node.parent.unwrap_or(index);
        let (rule, tag) = (view(rule), view(tag));
        Ok(chat_node { rule, tag, begin: node.begin, end: node.end, parent, partial: node.partial })
    })
}

/// Makes a message of the tagged text alone. Its outcome is `CHAT_OUTCOME_PARTIAL` if the text was cut off.
///
/// Errors: `CHAT_STATUS_PARSE` for a text that does not match.
#[unsafe(no_mangle)]
pub extern "C" fn chat_tree_message(
    tree: Option<&chat_tree>,
    out: Option<&mut MaybeUninit<*mut chat_message>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    filled(tree, "tree", out, error, |tree| {
        let ended = tree.parser.tagged(&tree.text, tree.from, tree.partial).ok_or_else(|| {
            Error::new(ErrorKind::Parse, format!("the text does not match the format from byte {} on", tree.tree.end))
        })?;
        Ok(give(chat_message::new(ended)))
    })
}

/// Frees the tree. Messages that were made from it stay valid.
#[unsafe(no_mangle)]
pub extern "C" fn chat_tree_free(tree: Option<Box<chat_tree>>) {
    drop(tree);
}
