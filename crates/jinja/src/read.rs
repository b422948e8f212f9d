//! Reads a source: bounds what its parser would nest, and puts what Jinja has and the parser
//! does not into the parser's words, each of the same length, so that places stay.

use minijinja::machinery;
use minijinja::syntax::SyntaxConfig;

use crate::source::texts::open_block;
use crate::source::token::{self, Token, find_tag};
use crate::source::{excerpt, line_and_column, place, tag_start};
use crate::tree::Tree;
use chatparse_base::limits::{
    EXPRESSION_BRACKETS, EXPRESSION_HEIGHT, NAME_BYTES, OPEN_ELIFS, OPEN_SCOPES,
};
use chatparse_base::{Error, ErrorKind, Place, Result};

/// The tag whose block the model writes. The parser reads it as a filter.
pub const MARK: &str = "generation";

/// Reads a source.
///
/// # Errors
/// [`ErrorKind::Template`] with the place where it does not parse, [`ErrorKind::Limit`] where it
/// nests too deeply.
pub fn read(source: &str) -> Result<Tree> {
    let text = readable(source)?;
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build();
    let syntax = syntax.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
    let root = machinery::parse(&text, "template", syntax);
    let root = root.map_err(|error| unreadable(source, &error))?;
    Tree::of(&root, source).map_err(|(at, name)| {
        let what = format!("there is no other template for {name}");
        Error::in_template(ErrorKind::Template, place(source, at), &what, "")
    })
}

/// Where and why a source does not parse, and which block has no end.
fn unreadable(source: &str, error: &minijinja::Error) -> Error {
    let detail = error.detail().unwrap_or_default();
    let at = error
        .range()
        .map_or(source.len(), |range| range.start.min(source.len()));
    let tag = tag_start(source, at);
    let mut what = format!("syntax error: {detail}");
    let up_to = match detail {
        _ if detail.starts_with("unexpected end of input") => Some(source.len()),
        _ if detail.starts_with("unknown statement end") => Some(tag),
        _ => None,
    };
    if let Some((name, at)) = up_to.and_then(|to| open_block(&source[..to])) {
        let (line, _) = line_and_column(source, at);
        what += &format!("; the innermost open block is {name}, in line {line}");
    }
    let (line, _) = line_and_column(source, at);
    let mut place = place(source, tag);
    if place.line != line {
        place = Place {
            line,
            column: None,
            excerpt: excerpt(source.lines().nth(line - 1).unwrap_or_default()),
        };
    }
    let more = match place.excerpt.is_empty() {
        true => String::new(),
        false => format!(" (at `{}`)", place.excerpt),
    };
    Error::in_template(ErrorKind::Template, place, &what, &more)
}

/// The source in the parser's words.
fn readable(source: &str) -> Result<String> {
    let mut text = source.as_bytes().to_vec();
    let mut open = Open::default();
    let mut at = 0;
    while let Some(tag) = find_tag(source, at) {
        at = match source.as_bytes()[tag + 1] {
            b'#' => token::comment_end(source, tag),
            b'{' => open.tag(source, tag, "}}", &mut text)?,
            _ => {
                let end = open.tag(source, tag, "%}", &mut text)?;
                match open.is_raw {
                    true => raw_end(source, end),
                    false => end,
                }
            }
        };
    }
    String::from_utf8(text).map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))
}

/// Where the tag begins that ends a raw block.
fn raw_end(source: &str, from: usize) -> usize {
    let mut at = from;
    while let Some(next) = source[at..].find("{%") {
        at += next + 2;
        let inside = source[at..].trim_start_matches(['-', '+']).trim_start();
        if inside.starts_with("endraw") {
            return at - 2;
        }
    }
    source.len()
}

/// What is open at a place of a source.
#[derive(Default)]
struct Open {
    elifs: Vec<usize>,
    scopes: usize,
    is_raw: bool,
}

impl Open {
    /// Looks at a tag. Returns where it ends.
    fn tag(
        &mut self,
        source: &str,
        tag: usize,
        end: &'static str,
        text: &mut [u8],
    ) -> Result<usize> {
        let excess =
            |what: &str| Error::in_template(ErrorKind::Limit, place(source, tag), what, "");
        let mut at = token::inside(source, tag);
        let (mut brackets, mut is_first) = (0_usize, end == "%}");
        // The operators of each open bracket since its last comma: no tree is higher.
        let mut heights = vec![0_usize];
        let mut before = Token::Sign("(");
        self.is_raw = false;
        loop {
            let (token, start, behind) = token::next(source, at, end, brackets > 0);
            token.count_brackets(&mut brackets);
            match token {
                Token::End(_) => {
                    if self.is_raw && source[start - 1..].starts_with(" %}") {
                        // The parser trims a line break here, Jinja does not.
                        text[start - 1] = b'+';
                    }
                    return Ok(behind);
                }
                Token::None => {
                    let what = "syntax error: the tag cannot be read";
                    return Err(Error::in_template(
                        ErrorKind::Template,
                        place(source, tag),
                        what,
                        "",
                    ));
                }
                Token::Name(name) => {
                    if name.len() > NAME_BYTES {
                        return Err(excess("a name is too long"));
                    }
                    if is_first {
                        self.statement(name, &mut text[start..behind]);
                    }
                    if matches!(name, "not" | "and" | "or" | "if" | "else" | "is" | "in") {
                        *heights.last_mut().unwrap_or(&mut 0) += 1;
                    }
                }
                Token::Sign("(" | "[" | "{") => heights.push(1),
                Token::Sign(")" | "]" | "}") => drop(heights.pop()),
                Token::Sign("," | ":") => {
                    if let Some(last) = heights.last_mut() {
                        *last = 1;
                    }
                }
                Token::Sign("+") if matches!(before, Token::Sign(sign) if !matches!(sign, ")" | "]" | "}")) =>
                {
                    text[start] = b'-';
                }
                Token::Sign(_) => *heights.last_mut().unwrap_or(&mut 0) += 1,
                Token::Literal => {}
            }
            if heights.len() > EXPRESSION_BRACKETS
                || heights.iter().sum::<usize>() > EXPRESSION_HEIGHT
            {
                return Err(excess("an expression is nested too deeply"));
            }
            if self.elifs.iter().sum::<usize>() > OPEN_ELIFS {
                return Err(excess("too many branches of conditions"));
            }
            if self.scopes > OPEN_SCOPES {
                return Err(excess("too many nested loops"));
            }
            (before, at, is_first) = (token, behind, false);
        }
    }

    /// Notes what a tag opens or closes; `text` is its name in the parser's source.
    fn statement(&mut self, name: &str, text: &mut [u8]) {
        match name {
            "generation" => text.copy_from_slice(b"filter g  "),
            "endgeneration" => text.copy_from_slice(b"endfilter    "),
            "raw" => self.is_raw = true,
            "if" => self.elifs.push(0),
            "elif" => {
                if let Some(count) = self.elifs.last_mut() {
                    *count += 1;
                }
            }
            "endif" => drop(self.elifs.pop()),
            "for" | "with" => self.scopes += 1,
            "endfor" | "endwith" => self.scopes = self.scopes.saturating_sub(1),
            _ => {}
        }
    }
}
