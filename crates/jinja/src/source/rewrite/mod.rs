//! The pass over a template's source before the engine compiles it: normalises line ends, patches
//! single templates, rewrites unknown tags, operators and literals (see `expr`), and inserts code
//! that counts captured text.

pub mod expr;
pub mod token;

use self::expr::{Rewrite, Rewriter, Stop};
use self::token::{Token, find_tag, tokens};
use crate::request::context::ASKS;
use crate::source::macros::{self, Around, Extras};
use chatparse_base::limits::{NAME_BYTES, OPEN_ELIFS, OPEN_SCOPES};
use chatparse_base::{Error, ErrorKind, Place, Result};

/// The source with line feeds only, and without the last one.
pub fn normalize(source: &str) -> String {
    let mut source = source.replace("\r\n", "\n").replace('\r', "\n");
    if source.ends_with('\n') {
        source.pop();
    }
    source
}

/// The source with the patches for known faults, if it has one.
pub fn patched(source: &str) -> Option<String> {
    let mut patched: Option<String> = None;
    for line in include_str!("../patches.txt").lines() {
        if let Some((text, condition)) = line.split_once(' ')
            && !line.starts_with('#')
            && source.contains(text)
            && source.contains(condition)
        {
            let before = patched.as_deref().unwrap_or(source);
            patched = Some(before.replace(condition, "{%- if false %}"));
        }
    }
    patched
}

/// A source in the form that the engine compiles. Line numbers are unchanged.
pub struct Rewritten {
    pub text: String,
    /// The positions of each tag: in `text`, and in the source.
    pub tags: Vec<(usize, usize)>,
    /// The first tag whose syntax the pass does not know, if there is one.
    pub unread: Option<Error>,
    /// Whether the source ends with `{% if add_generation_prompt %}...{% endif %}`, without an
    /// `else`, and the variable is the one that the template was given.
    pub opens_last: bool,
}

/// The line and the column of a position in a source, from 1.
pub fn line_and_column(source: &str, at: usize) -> (usize, usize) {
    let before = &source[..at];
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    (
        before.matches('\n').count() + 1,
        before[line..].chars().count() + 1,
    )
}

/// The first line of a text, shortened if it is long.
pub fn excerpt(text: &str) -> String {
    const CHARS: usize = 80;
    shortened(text.lines().next().unwrap_or_default().trim(), CHARS)
}

/// At most so many characters of a text, and dots if that is not all.
pub fn shortened(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The place of a byte of a source.
pub fn place(source: &str, at: usize) -> Place {
    let (line, column) = line_and_column(source, at);
    Place {
        line,
        column: Some(column),
        excerpt: excerpt(&source[at..]),
    }
}

/// Rewrites the source. `callers`: the variables that macros may read of their callers.
pub fn rewrite(source: &str, callers: &[&str]) -> Result<Rewritten> {
    let mut pass = Pass {
        source,
        extras: Extras::of(source, callers),
        out: String::with_capacity(source.len() * 2),
        ..Pass::default()
    };
    let mut pos = 0;
    while let Some(next) = find_tag(source, pos) {
        pass.text(&source[pos..next]);
        pos = match &source[next..next + 2] {
            "{#" => pass.verbatim(next, token::comment_end(source, next)),
            "{{" => pass.tag(next, "}}")?,
            _ => pass.tag(next, "%}")?,
        };
    }
    pass.text(&source[pos..]);
    let opens_last = pass.asked == Some(source.len()) && !pass.hides;
    Ok(Rewritten {
        text: pass.out,
        tags: pass.tags,
        unread: pass.unread,
        opens_last,
    })
}

/// A block whose text must be counted, and the place of the count in the output.
struct Block {
    name: &'static str,
    /// Its output is captured, or that of a block around it is.
    captured: bool,
    account: Option<usize>,
    bytes: usize,
    /// Tags to insert after the closing tag, without the end of the last.
    after: String,
}

const TOO_DEEP: &str = "an expression is nested too deeply";

/// The width of the placeholder for a number of bytes.
const DIGITS: usize = 8;

#[derive(Default)]
struct Pass<'s> {
    source: &'s str,
    extras: Extras<'s>,
    out: String,
    /// As in [`Rewritten`].
    tags: Vec<(usize, usize)>,
    blocks: Vec<Block>,
    /// For each open `if`, the number of its `elif`s: the engine nests each in the previous one.
    elifs: Vec<usize>,
    /// The number of open loops and `with`s, each of which the engine asks for a variable.
    scopes: usize,
    unread: Option<Error>,
    /// Where the last block ends that asks for the opening of a turn and has no `else`; 0 while it
    /// is open.
    asked: Option<usize>,
    /// The variable that asks may be set, or a template is included, maybe this one.
    hides: bool,
}

impl<'s> Pass<'s> {
    fn text(&mut self, text: &str) {
        self.out.push_str(text);
        if let Some(block) = self.blocks.last_mut() {
            block.bytes += text.len();
        }
    }

    fn verbatim(&mut self, from: usize, to: usize) -> usize {
        self.out.push_str(&self.source[from..to]);
        to
    }

    /// Rewrites the tag at `start`. Returns its end.
    fn tag(&mut self, start: usize, end: &'static str) -> Result<usize> {
        let inside = token::inside(self.source, start);
        self.tags.push((self.out.len(), start));
        self.out.push_str(&self.source[start..inside]);
        let written = self.out.len();
        let mut rewriter = Rewriter::new(self.source, inside, end, std::mem::take(&mut self.out));
        let kind = if end == "}}" {
            rewriter.expression().map(|_| Kind::Plain)
        } else {
            statement(&mut rewriter, &self.extras)
        };
        if rewriter.longest_name > NAME_BYTES {
            return Err(self.excess(start, "a name is too long"));
        }
        match (kind, rewriter.peek()) {
            (Ok(kind), Token::End(mark)) => {
                rewriter.copy();
                let behind = rewriter.pos();
                self.out = rewriter.out;
                let raw = matches!(kind, Kind::Raw);
                if end == "%}" {
                    self.look_for_opening(&kind, inside, behind);
                }
                self.finish(kind, mark);
                if self.elifs.iter().sum::<usize>() > OPEN_ELIFS {
                    return Err(self.excess(start, "too many branches of conditions"));
                }
                if self.scopes > OPEN_SCOPES {
                    return Err(self.excess(start, "too many nested loops"));
                }
                Ok(if raw { self.raw(behind) } else { behind })
            }
            (Err(Stop::Depth), _) => Err(self.excess(start, TOO_DEEP)),
            _ => {
                rewriter.out.truncate(written);
                self.copy_unknown(start, Rewriter::new(self.source, inside, end, rewriter.out))
            }
        }
    }

    /// Copies a tag of unknown syntax, for the engine to report it. Returns its end.
    fn copy_unknown(&mut self, start: usize, mut rewriter: Rewriter) -> Result<usize> {
        match rewriter.copy_to_end() {
            Ok(()) => {
                rewriter.copy();
                let end = rewriter.pos();
                self.out = rewriter.out;
                if self.unread.is_none() {
                    self.unread = Some(self.unreadable(start, "this tag cannot be read"));
                }
                Ok(end)
            }
            Err(Stop::Syntax) => Err(self.unreadable(start, "the tag has no end")),
            Err(Stop::Depth) => Err(self.excess(start, TOO_DEEP)),
        }
    }

    fn unreadable(&self, at: usize, what: &str) -> Error {
        let what = format!("syntax error: {what}");
        Error::in_template(ErrorKind::Template, place(self.source, at), &what, "")
    }

    fn excess(&self, at: usize, what: &str) -> Error {
        Error::in_template(ErrorKind::Limit, place(self.source, at), what, "")
    }

    fn raw(&mut self, from: usize) -> usize {
        let mut at = from;
        while let Some(next) = self.source[at..].find("{%") {
            at += next + 2;
            let name = self.source[at..]
                .trim_start_matches(['-', '+'])
                .trim_start();
            if name.starts_with("endraw") {
                self.text(&self.source[from..at - 2]);
                return at - 2;
            }
        }
        self.verbatim(from, self.source.len())
    }

    /// Inserts `tags`, without the end of the last, after the previous tag, whose end is `mark`.
    fn append(&mut self, tags: &str, mark: &str) {
        if !tags.is_empty() {
            self.out.truncate(self.out.len() - mark.len());
            self.out.extend([tags, mark]);
        }
    }

    /// Opens a block, and counts its output if that is captured.
    fn open(&mut self, name: &'static str, around: Around, mark: &str) {
        self.scopes += usize::from(name == "for");
        let captured = name != "for" || self.blocks.iter().any(|block| block.captured);
        self.append(&around.before, mark);
        let account = captured.then(|| {
            self.out.truncate(self.out.len() - mark.len());
            self.out += "%}{% if ";
            let account = self.out.len();
            self.out += &format!("{:DIGITS$}|op.spend %}}{{% endif {mark}", 0);
            account
        });
        self.blocks.push(Block {
            name,
            captured,
            account,
            bytes: 0,
            after: around.after,
        });
    }

    /// Looks whether a statement opens or closes the block of [`Rewritten::opens_last`].
    fn look_for_opening(&mut self, kind: &Kind, inside: usize, end: usize) {
        let only_reads = matches!(kind, Kind::If | Kind::Elif);
        self.hides |=
            matches!(kind, Kind::Include) || !only_reads && self.source[inside..end].contains(ASKS);
        if !self.blocks.is_empty() || self.scopes > 0 {
            return;
        }
        let mut tokens = tokens(self.source, inside, "%}").fuse().skip(1);
        self.asked = match (kind, self.asked, self.elifs.len()) {
            (Kind::If, _, 0) => Some(0).filter(|_| {
                tokens.next() == Some(Token::Name(ASKS))
                    && matches!(tokens.next(), None | Some(Token::Name("and")))
                    && !tokens.any(|token| matches!(token, Token::Name("or" | "if")))
            }),
            (Kind::Elif | Kind::Else, _, 1) => None,
            (Kind::EndIf, Some(0), 1) => Some(end),
            (_, asked, _) => asked,
        };
    }

    /// Begins or ends the count of a block whose tag, with the end `mark`, was just written.
    fn finish(&mut self, kind: Kind, mark: &str) {
        match kind {
            Kind::Open(name, around) => self.open(name, around, mark),
            Kind::Close(name) if self.blocks.last().is_some_and(|block| block.name == name) => {
                let Some(block) = self.blocks.pop() else {
                    return;
                };
                self.scopes -= usize::from(name == "for");
                self.append(&block.after, mark);
                if let Some(account) = block.account {
                    let bytes = format!("{:DIGITS$}", block.bytes);
                    self.out.replace_range(account..account + DIGITS, &bytes);
                }
            }
            Kind::Assign => self.append("%}{% endif ", mark),
            Kind::Scope => self.scopes += 1,
            Kind::EndScope => self.scopes = self.scopes.saturating_sub(1),
            Kind::If => self.elifs.push(0),
            Kind::Elif => {
                if let Some(count) = self.elifs.last_mut() {
                    *count += 1;
                }
            }
            Kind::EndIf => drop(self.elifs.pop()),
            // The engine trims a line break here, Jinja does not.
            Kind::Raw if mark == "%}" => {
                self.out.truncate(self.out.len() - mark.len());
                self.out.push_str("+%}");
            }
            _ => {}
        }
    }
}

/// The effect of a tag on counts.
enum Kind {
    Plain,
    Include,
    Assign,
    Raw,
    If,
    Elif,
    Else,
    EndIf,
    Scope,
    EndScope,
    Open(&'static str, Around),
    Close(&'static str),
}

/// Rewrites the inside of `{% ... %}`.
fn statement(tag: &mut Rewriter, extras: &Extras) -> Rewrite<Kind> {
    let Token::Name(name) = tag.peek() else {
        return Err(Stop::Syntax);
    };
    match name {
        // Marks the model's text, for training. Like any block, it is a scope.
        "generation" => Ok(replace(tag, " with %}{% filter op.generation", Kind::Scope)),
        "endgeneration" => Ok(replace(tag, " endfilter %}{% endwith", Kind::EndScope)),
        "if" | "elif" | "do" => {
            tag.copy();
            tag.expression()?;
            Ok(match name {
                "if" => Kind::If,
                "elif" => Kind::Elif,
                _ => Kind::Plain,
            })
        }
        "for" => {
            while tag.peek() != Token::Name("in") {
                if let Token::End(_) = tag.peek() {
                    return Err(Stop::Syntax);
                }
                tag.copy_unread()?;
            }
            tag.copy();
            let start = tag.out.len();
            tag.condition()?;
            tag.wrap(start, "(", ")|op.each");
            if tag.copy_if(Token::Name("if")) {
                tag.expression()?;
            }
            tag.copy_to_end()?;
            Ok(Kind::Open("for", Around::default()))
        }
        "set" => assignment(tag),
        "macro" => {
            let start = tag.pos();
            Ok(Kind::Open("macro", macros::head(tag, extras, start)?))
        }
        "with" => {
            tag.assignments(|token| matches!(token, Token::End(_)))?;
            Ok(Kind::Scope)
        }
        "call" => {
            tag.copy();
            tag.parameters()?;
            tag.expression()?;
            Ok(Kind::Open("call", Around::default()))
        }
        "filter" => {
            tag.copy();
            tag.filter_chain()?;
            Ok(Kind::Open("filter", Around::default()))
        }
        "include" | "extends" | "import" | "from" | "autoescape" => {
            tag.copy();
            tag.expression()?;
            tag.copy_to_end()?;
            Ok(Kind::Include)
        }
        _ => {
            tag.copy_to_end()?;
            Ok(match name {
                "raw" => Kind::Raw,
                "else" => Kind::Else,
                "endif" => Kind::EndIf,
                "endwith" => Kind::EndScope,
                "endfor" => Kind::Close("for"),
                "endmacro" => Kind::Close("macro"),
                "endcall" => Kind::Close("call"),
                "endfilter" => Kind::Close("filter"),
                "endset" => Kind::Close("set"),
                _ => Kind::Plain,
            })
        }
    }
}

fn replace(tag: &mut Rewriter, text: &str, kind: Kind) -> Kind {
    tag.skip();
    tag.out.extend([text, " "]);
    kind
}

/// `set a = value`, `set a.b = value`, `set a, b = values`, or the opening of a captured block.
fn assignment(tag: &mut Rewriter) -> Rewrite<Kind> {
    let start = tag.out.len();
    tag.copy();
    let target = tag.out.len();
    let mut last_dot = None;
    let mut several = false;
    loop {
        match tag.peek() {
            Token::Sign("=") => break,
            Token::Sign("|") | Token::End(_) => {
                let mut around = Around::default();
                // A block for `a.b` is captured in a temporary variable first.
                if let Some(dot) = last_dot {
                    let (holder, name) = split_place(tag, target, dot);
                    tag.out.truncate(target);
                    tag.out.push_str(" op_block ");
                    around.after = format!(
                        "%}}{{% if ({holder})|op.assign(\"{name}\", op_block) %}}{{% endif "
                    );
                }
                if tag.copy_if(Token::Sign("|")) {
                    tag.filter_chain()?;
                }
                return Ok(Kind::Open("set", around));
            }
            Token::Sign(".") => last_dot = Some(tag.out.len()),
            Token::Sign(",") => several = true,
            _ => {}
        }
        tag.copy_unread()?;
    }
    let Some(dot) = last_dot.filter(|_| !several) else {
        tag.copy();
        values(tag)?;
        return Ok(Kind::Plain);
    };
    let (holder, name) = split_place(tag, target, dot);
    tag.out.truncate(start);
    tag.out += &format!(" if ({holder})|op.assign(\"{name}\", ");
    tag.skip();
    let value = tag.out.len();
    if values(tag)? {
        tag.wrap(value, "(", ")|op.tuple");
    } else if tag.joined == (value..tag.out.len()) {
        grow(&mut tag.out, value, holder.trim(), &name);
    }
    tag.out.push(')');
    Ok(Kind::Assign)
}

/// An expression, or several with commas. Returns whether there is a comma.
fn values(tag: &mut Rewriter) -> Rewrite<bool> {
    tag.expression()?;
    let mut tuple = false;
    while tag.copy_if(Token::Sign(",")) {
        tuple = true;
        if !matches!(tag.peek(), Token::End(_)) {
            tag.expression()?;
        }
    }
    Ok(tuple)
}

/// A sum from `value` on that begins with the place that it is assigned to appends to it.
fn grow(out: &mut String, value: usize, holder: &str, name: &str) {
    let Some((first, _)) = out[value + 1..].split_once(")|op.") else {
        return;
    };
    let rest = first.trim().strip_prefix(holder).unwrap_or_default();
    if rest.strip_prefix('.') != Some(name) {
        return;
    }
    let filter = value + 1 + first.len() + 2;
    for way in ["op.add", "op.cat"] {
        if out[filter..].starts_with(way) {
            let held = format!("({holder})|op.held(\"{name}\")|op.grow(\"{way}\", ");
            out.replace_range(value..filter + way.len() + 1, &held);
            return;
        }
    }
}

/// Splits the text from `target` on: the object before the last dot, and the name after it.
fn split_place(tag: &Rewriter, target: usize, dot: usize) -> (String, String) {
    let name = tag.out[dot..].trim().trim_start_matches('.').trim();
    (tag.out[target..dot].to_owned(), name.to_owned())
}
