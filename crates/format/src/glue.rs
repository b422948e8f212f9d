//! Turns glue into expressions. A grammar has it as the template writes it; the parser accepts
//! other white space.

use crate::rules::texts::{JSON_TEXT, MARKER, NUMBER};
use chatparse_grammar::spelled;
use chatparse_learn::analysis::turn::{Glue, GluePiece};
use chatparse_message::Tool;
use chatparse_peg::ExprId;

use super::builder::FormatBuilder;
use super::coverage;
use super::{tag::Tag, wrappers};
use chatparse_base::brackets::{self, begins_token, is_bar};

/// All pieces. `tool` and `key`: the names that the glue may repeat.
pub fn glue(p: &FormatBuilder, glue: &Glue, tool: Option<&Tool>, key: &str) -> ExprId {
    with_texts(p, glue, tool, key, json_text)
}

/// All pieces, for glue that ends a text: JSON in it is as the template writes it.
pub fn as_written(p: &FormatBuilder, glue: &Glue) -> ExprId {
    with_texts(p, glue, None, "", json_part)
}

impl FormatBuilder {
    /// All pieces of glue that repeats no names.
    pub fn glue(&self, text: &Glue) -> ExprId {
        glue(self, text, None, "")
    }
}

fn with_texts(
    p: &FormatBuilder,
    glue: &Glue,
    tool: Option<&Tool>,
    key: &str,
    text_of: fn(&FormatBuilder, &str) -> ExprId,
) -> ExprId {
    let text_of = if p.exact.get() {
        |p: &FormatBuilder, text: &str| p.marker(text)
    } else {
        text_of
    };
    if let Some(text) = glue.literal().filter(|text| !text.is_empty()) {
        return text_of(p, text);
    }
    let pieces: Vec<GluePiece> = glue.pieces().collect();
    let attribute = numbered_attribute(&pieces);
    let mut exprs = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        if let Some((number, before, behind)) = attribute
            && (number - 1..=number + 1).contains(&at)
        {
            if at == number {
                exprs.push(numbered_tag(p, before, behind, text_of));
            }
            continue;
        }
        exprs.push(match piece {
            GluePiece::Any => any_words(p, &pieces[at + 1..]),
            GluePiece::Text(text) => text_of(p, text),
            GluePiece::Name => again(p, tool.map_or("", |tool| &tool.name)),
            GluePiece::Key => again(p, key),
            GluePiece::Counter => coverage::number(p),
            GluePiece::Word => coverage::any_word(p),
        });
    }
    p.sequence(exprs)
}

/// A tag with the number of a call as an attribute. The number means nothing, so a model may leave
/// it out.
fn numbered_tag(
    p: &FormatBuilder,
    before: (&str, &str),
    behind: &str,
    text_of: fn(&FormatBuilder, &str) -> ExprId,
) -> ExprId {
    let number = coverage::number(p);
    let [front, name, quote, behind] =
        [before.0, before.1, "\"", behind].map(|text| text_of(p, text));
    let written = p.sequence([front, name, number, quote, behind]);
    p.or(p.atomic(written), NUMBER, |way| way(p, front, behind))
}

/// Words and special tokens that mean nothing, up to the next of these pieces.
fn any_words(p: &FormatBuilder, next: &[GluePiece]) -> ExprId {
    let ends = match next.first() {
        Some(GluePiece::Text(text)) => p.not(p.marker(text.trim_start())),
        _ => p.empty(),
    };
    let word = coverage::any_word(p);
    let each = p.sequence([ends, p.choice([word, wrappers::token(p, word)]), p.space()]);
    p.only_read(true, p.after_space(p.repeat(each, 0, Some(HEADER_WORDS))))
}

/// A name before a call that has its own.
pub fn announced_name(p: &FormatBuilder) -> ExprId {
    p.tag(Tag::Announced, coverage::any_word(p))
}

/// A special token and punctuation without the word between, which models leave out.
pub fn without_word(glue: &Glue) -> Option<Glue> {
    let (head, token) = (glue.head(), glue.marker_spans().into_iter().next()?.end);
    let rest = head[token..].trim();
    let word = rest
        .find(|c: char| !c.is_ascii_lowercase())
        .unwrap_or(rest.len());
    let special = begins_token(head) && glue.is_literal() && word > 0 && rest.len() <= word + 1;
    special.then(|| Glue::from(format!("{}{}", &head[..token], &rest[word..])))
}

/// Most words and tokens of [`GluePiece::Any`].
const HEADER_WORDS: u32 = 8;

/// The number of a call as an attribute of a tag, ` index="1"`: its place, the text before the
/// attribute and its name, and the text after it.
fn numbered_attribute<'g>(
    pieces: &[GluePiece<'g>],
) -> Option<(usize, (&'g str, &'g str), &'g str)> {
    let at = pieces
        .iter()
        .position(|piece| *piece == GluePiece::Counter)?;
    let (GluePiece::Text(before), GluePiece::Text(behind)) =
        (pieces.get(at.checked_sub(1)?)?, pieces.get(at + 1)?)
    else {
        return None;
    };
    let name = before.strip_suffix("=\"")?.rfind(char::is_whitespace)?;
    Some((at, before.split_at(name), behind.strip_prefix('"')?))
}

/// Glue after JSON, whose white space is free.
pub fn behind_json(p: &FormatBuilder, close: &Glue, tool: Option<&Tool>) -> ExprId {
    let (space, rest) = split_space(close);
    if rest.is_empty() {
        return glue(p, close, tool, "");
    }
    let head = rest.head();
    let open = if space.is_empty() {
        p.empty()
    } else {
        p.space_as(space)
    };
    if head.starts_with(']') {
        let behind = rest.without_start(1);
        let (space, behind) = split_space(&behind);
        let list = [
            open,
            glue(p, &rest.up_to(1), tool, ""),
            p.markup_ends(),
            p.space_as(space),
        ];
        return p.sequence(list.into_iter().chain([glue(p, &behind, tool, "")]));
    }
    let closers = head.len() - head.trim_start_matches(['}', ']']).len();
    let marked = closers > 0 && head[closers..].starts_with(|sign: char| !sign.is_whitespace());
    if !marked {
        return p.sequence([open, glue(p, &rest, tool, "")]);
    }
    // Models write the marker after the object on a line of its own.
    let line = p.stray_space();
    p.sequence([
        open,
        glue(p, &rest.up_to(closers), tool, ""),
        line,
        glue(p, &rest.without_start(closers), tool, ""),
    ])
}

/// The end of calls that are JSON, with the white space after it.
pub fn end_of_json(p: &FormatBuilder, end: &Glue) -> ExprId {
    let core = end.trim_end();
    let closed = behind_json(p, &core, None);
    if core == *end {
        closed
    } else {
        p.sequence([closed, p.space()])
    }
}

/// A text of the template. White space around the punctuation of JSON is free.
pub fn json_text(p: &FormatBuilder, text: &str) -> ExprId {
    p.once(text, || free_json(p, text))
}

fn free_json(p: &FormatBuilder, text: &str) -> ExprId {
    let (mut parts, mut compact, mut from) = (Vec::new(), String::new(), 0);
    for (at, sign) in text.match_indices(['{', '[', ',', ':']) {
        let (before, behind) = (text[..at].trim_end(), text[at + 1..].trim_start());
        let free_before = match sign {
            ":" if before.ends_with('"') => true,
            "," if behind.starts_with(['"', '{'])
                && (before.is_empty() || before.ends_with(['"', '}', ']'])) =>
            {
                true
            }
            "{" if behind.starts_with('"') => false,
            "[" if behind.starts_with('{') => false,
            "{" | "[" | "," if behind.is_empty() && text[at + 1..].contains('\n') => false,
            _ => continue,
        };
        if free_before {
            let before = &text[from..before.len().max(from)];
            compact.extend([before, sign]);
            parts.extend([json_part(p, before), p.space(), p.literal(sign)]);
        } else {
            compact.push_str(&text[from..=at]);
            parts.push(json_part(p, &text[from..=at]));
        }
        // A value follows.
        if sign == ":" && behind.is_empty() {
            parts.push(p.markup_ends());
        }
        parts.push(p.space());
        from = text.len() - behind.len();
    }
    if from == 0 {
        return spelled_text(p, text);
    }
    compact.push_str(&text[from..]);
    parts.push(json_part(p, &text[from..]));
    p.fixed(p.sequence(parts), text, &compact)
}

/// A text of JSON, and what the rules read in its place.
fn json_part(p: &FormatBuilder, text: &str) -> ExprId {
    p.or(spelled_text(p, text), JSON_TEXT, |way| way(p, text))
}

/// A text of the template, and what the rules read in its place.
fn spelled_text(p: &FormatBuilder, text: &str) -> ExprId {
    if p.variants(text).nth(1).is_some() {
        p.shared(&format!("text {text}"), || spellings(p, text))
    } else {
        spellings(p, text)
    }
}

fn spellings(p: &FormatBuilder, text: &str) -> ExprId {
    // White space may be left out, so other texts in its place come first.
    let mut ways = p.with_spelled_breaks(text);
    ways.push(p.marker(text));
    ways.extend(p.ways(MARKER, |way| way(p, text)));
    p.choice(ways)
}

/// A name, repeated.
fn again(p: &FormatBuilder, name: &str) -> ExprId {
    if FormatBuilder::is_any(name) {
        coverage::any_word(p)
    } else {
        p.marker(name)
    }
}

/// Looks ahead: what follows is no end like `</f>` of another part, where `<` opens a member. No
/// name begins with such a sign.
pub fn no_closer(p: &FormatBuilder, opens: &Glue, close: &Glue) -> ExprId {
    let open = opens.core();
    let sign = close
        .head()
        .trim_start()
        .strip_prefix(open)
        .and_then(|rest| rest.chars().next());
    match sign.filter(|sign| !open.is_empty() && sign.is_ascii_punctuation()) {
        Some(sign) => p.not(p.sequence([
            p.space(),
            p.glue(&open.into()),
            p.literal(&*sign.to_string()),
        ])),
        None => p.empty(),
    }
}

/// White space that a template writes in several ways: the longest that matches.
pub fn any_space(p: &FormatBuilder, ways: &[&str]) -> ExprId {
    let longest = ways
        .iter()
        .max_by_key(|space| space.len())
        .copied()
        .unwrap_or_default();
    if longest.is_empty() {
        return p.empty();
    }
    let all: Vec<String> = ways
        .iter()
        .map(|space| format!("\"{}\"", spelled(space)))
        .collect();
    let all = if all.len() == 1 {
        all.concat()
    } else {
        format!("({})", all.join(" | "))
    };
    p.gbnf(p.each_optional(longest), all)
}

/// The leading white space of the glue, and the rest.
pub fn split_space(glue: &Glue) -> (&str, Glue) {
    let head = glue.head();
    let length = head.len() - head.trim_start().len();
    (&head[..length], glue.without_start(length))
}

/// The texts that end a text before this glue: with the template's white space in front, if it
/// has any, and without.
pub fn heads(glue: &Glue) -> Vec<String> {
    let whole = glue.head().trim_end();
    let core = whole.trim_start();
    let spaced = (core.len() < whole.len()).then_some(whole);
    spaced
        .into_iter()
        .chain([core])
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Whether this glue identifies a part of the template: it has a marker or the beginning of one,
/// such as `<call name="`, or a word before punctuation.
pub fn is_strong(glue: &Glue) -> bool {
    let text = glue.head().trim_start();
    let word = word_length(text);
    let after_word = &text[word..];
    let runs_on = word >= 3 && after_word.starts_with(|c: char| !c.is_whitespace());
    let mut signs = text.char_indices().rev();
    let open = signs.find(|(_, sign)| brackets::opens(*sign));
    let name = open.map_or("", |(at, sign)| {
        text[at + sign.len_utf8()..].trim_start_matches(|c| c == '/' || is_bar(c))
    });
    runs_on
        || word_length(name) >= 2
        || glue.markers().next().is_some()
        || glue
            .marker_spans()
            .into_iter()
            .any(|span| brackets::ends_token(&glue.head()[span]))
}

/// How many bytes of letters, digits and underscores a text begins with.
fn word_length(text: &str) -> usize {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    end.unwrap_or(text.len())
}
