//! What an output is made of.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use super::error::chat_error;
use super::guard::guard;
use super::message::{Flags, chat_message};
use super::parser::chat_parser;
use super::ptr::{give, item, required};
use super::status::chat_status;
use super::text::{bytes, chat_str, view};
use crate::error::{Error, ErrorKind};
use crate::format::Tag;
use crate::parser::Parser;
use crate::peg::{Outcome, Region, Tree};

/// What an output is made of: a node for each rule and each tag or label of the format that took part, and how far the match reached.
/// For formats of your own whose outputs are no messages. Immutable; may be used by several threads at once.
pub struct chat_tree {
    tree: Tree,
    parser: Parser,
    text: Box<[u8]>,
    from: usize,
    partial: bool,
}

/// How a text related to the format, by its tree.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_match {
    /// It did not match; there are no nodes.
    Failed = 0,
    /// It matched. What follows the match is nobody's business, unless the format ends with `chat_expr_end`.
    Matched = 1,
    /// It was cut off before anything was wrong (`CHAT_PARSE_PARTIAL` only).
    Partial = 2,
}

/// One rule or tag that took part in a match. Its texts are valid until the tree is freed.
#[repr(C)]
pub struct chat_node {
    /// The rule's name; empty for a tag.
    pub rule: chat_str,
    /// The tag's name (`content`, `tool-name`, ..., see `chat_tag`) or the label; empty for a rule.
    pub tag: chat_str,
    /// Where it begins, in bytes of the text.
    pub begin: usize,
    /// Where it ends.
    pub end: usize,
    /// The index of the node around it, which is lower than its own; its own where there is none.
    pub parent: usize,
    /// The text was cut off in it.
    pub partial: bool,
}

/// Parses a text to a tree, from byte `from` on. `text` is the whole of what the format describes, a prefill included; it may hold any
/// bytes, and is copied. `flags` is 0 for a text that is all there, or `CHAT_PARSE_PARTIAL` for one that was cut off.
///
/// On success, which says nothing about whether the text matches, `*out` is a new object, to be freed with `chat_tree_free`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for unknown flags and for a `from` behind the text; `CHAT_STATUS_LIMIT` for a format
/// with too many rules.
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
    guard(error, || {
        let (parser, out) = (required(parser, "parser")?, required(out, "out")?);
        // SAFETY: the caller's bytes, by the contract.
        let text = unsafe { bytes(text, text_len, "text") }?;
        let (parser, partial) = (parser.parser.clone(), Flags::from_bits(flags)?.partial);
        let tree = parser.tree(text, from, partial)?;
        out.write(give(chat_tree { tree, parser, text: text.into(), from, partial }));
        Ok(())
    })
}

/// How the text related to the format. `CHAT_MATCH_FAILED` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_tree_outcome(tree: Option<&chat_tree>) -> chat_match {
    match tree.map(|tree| tree.tree.outcome) {
        None | Some(Outcome::Failed) => chat_match::Failed,
        Some(Outcome::Matched) => chat_match::Matched,
        Some(Outcome::Partial) => chat_match::Partial,
    }
}

/// How far the match reached, in bytes of the text; where it failed, up to where the text could still have been one. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_tree_end(tree: Option<&chat_tree>) -> usize {
    tree.map_or(0, |tree| tree.tree.end)
}

/// How many nodes there are. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_tree_node_count(tree: Option<&chat_tree>) -> usize {
    tree.map_or(0, |tree| tree.tree.nodes.len())
}

/// Node number `index` (from 0). Nodes come in the order in which they begin, the outer before the inner.
///
/// On success `*out` is filled.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn chat_tree_node(
    tree: Option<&chat_tree>,
    index: usize,
    out: Option<&mut MaybeUninit<chat_node>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (tree, out) = (required(tree, "tree")?, required(out, "out")?);
        let node = item(&tree.tree.nodes, index, "nodes")?;
        let (rule, tag) = match &node.region {
            Region::Rule(name) => (Some(name.as_str()), None),
            Region::Tag(tag) => (None, Tag::from_id(*tag).map(Tag::name).or_else(|| tree.parser.label(*tag))),
        };
        let parent = node.parent.unwrap_or(index);
        let (rule, tag) = (view(rule), view(tag));
        out.write(chat_node { rule, tag, begin: node.begin, end: node.end, parent, partial: node.partial });
        Ok(())
    })
}

/// What is tagged in the tree as a message. In contrast to `chat_parser_parse` there is nothing in it but that.
///
/// On success `*out` is a new message, to be freed with `chat_message_free`; its outcome is `CHAT_OUTCOME_PARTIAL` where the text was cut
/// off.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL; `CHAT_STATUS_PARSE` where the text did not match.
#[unsafe(no_mangle)]
pub extern "C" fn chat_tree_message(
    tree: Option<&chat_tree>,
    out: Option<&mut MaybeUninit<*mut chat_message>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (tree, out) = (required(tree, "tree")?, required(out, "out")?);
        let ended = tree.parser.tagged(&tree.text, tree.from, tree.partial).ok_or_else(|| {
            Error::new(ErrorKind::Parse, format!("the text does not match the format from byte {} on", tree.tree.end))
        })?;
        out.write(give(chat_message::new(ended)));
        Ok(())
    })
}

/// Frees the tree. Messages that were made of it stay valid. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn chat_tree_free(tree: Option<Box<chat_tree>>) {
    drop(tree);
}
