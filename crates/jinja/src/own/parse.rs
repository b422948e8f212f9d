//! Jinja's grammar: a source to a tree.

use std::collections::HashMap;
use std::sync::Arc;

use super::text::Text;

/// A name, by its number in the tree's table.
pub type Name = u32;

#[derive(Debug)]
pub enum Expr {
    Text(Text),
    Int(i128),
    Float(f64),
    Bool(bool),
    None,
    Var(Name),
    Attr(Box<Expr>, Arc<str>),
    Item(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, [Option<Box<Expr>>; 3]),
    Call(Box<Expr>, Args),
    Method(Box<Expr>, Arc<str>, Args),
    Filter(Box<Expr>, Arc<str>, Args),
    Test(Box<Expr>, Arc<str>, Args),
    Not(Box<Expr>),
    Sign(Box<Expr>, bool),
    Two(&'static str, Box<Expr>, Box<Expr>),
    Concat(Vec<Expr>),
    Compare(Box<Expr>, Vec<(&'static str, Expr)>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Option<Box<Expr>>),
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
    /// What a filter block or a capture is applied to.
    Captured,
}

#[derive(Debug, Default)]
pub struct Args {
    pub given: Vec<Given>,
}

#[derive(Debug)]
pub enum Given {
    One(Expr),
    Named(Arc<str>, Expr),
    All(Expr),
    AllNamed(Expr),
}

#[derive(Debug)]
pub enum Target {
    Var(Name),
    Attr(Name, Arc<str>),
    Many(Vec<Target>),
}

pub type Body = Vec<(u32, Stmt)>;

#[derive(Debug)]
pub enum Stmt {
    Raw(Text),
    Emit(Expr),
    If(Vec<(Expr, Body)>, Body),
    For(Arc<For>),
    Set(Target, Expr),
    Capture(Target, Expr, Body),
    With(Vec<(Target, Expr)>, Body),
    Macro(Arc<MacroDef>),
    CallBlock(Expr, Arc<MacroDef>),
    Filter(Expr, Body),
    Generation(Body),
    Block(Body),
    Do(Expr),
    Break,
    Continue,
}

#[derive(Debug)]
pub struct For {
    pub target: Target,
    pub all: Expr,
    pub only: Option<Expr>,
    pub body: Body,
    pub otherwise: Body,
    pub recursive: bool,
}

#[derive(Debug)]
pub struct MacroDef {
    pub name: Name,
    pub params: Vec<(Name, Arc<str>, Option<Expr>)>,
    pub body: Body,
}

#[derive(Debug, Default)]
pub struct Tree {
    pub body: Body,
    pub names: HashMap<String, Name>,
}

#[derive(Clone, Debug, PartialEq)]
enum Tok {
    Data(String),
    OpenBlock,
    OpenVar,
    Close,
    Name(String),
    Int(i128),
    Float(f64),
    Str(String),
    Op(&'static str),
    Eof,
}

const OPS: [&str; 29] = [
    "**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "<", ">", "=", "(", ")", "[",
    "]", "{", "}", ",", ":", ".", "|", ";", "!", "&", "^",
];

type Result<T> = std::result::Result<T, (usize, String)>;

fn lex(src: &str) -> Result<Vec<(Tok, usize)>> {
    let mut toks = Vec::new();
    let mut pos = 0;
    let mut trim_start = false;
    let seen = std::cell::Cell::new((0, 1));
    let line_of = |at: usize| {
        let (from, line) = seen.get();
        let more = src
            .get(from..at)
            .map_or(0, |text| text.matches('\n').count());
        seen.set((from.max(at), line + more));
        line + more
    };
    loop {
        let rest = &src[pos..];
        let open = rest
            .match_indices('{')
            .map(|(at, _)| at)
            .find(|at| matches!(rest.as_bytes().get(at + 1), Some(b'{' | b'%' | b'#')));
        let end = open.unwrap_or(rest.len());
        let sign = open.and_then(|at| rest.as_bytes().get(at + 2)).copied();
        let is_var = open.is_some_and(|at| rest.as_bytes()[at + 1] == b'{');
        let mut data = &rest[..end];
        if std::mem::take(&mut trim_start) {
            data = data.trim_start();
        }
        match sign {
            Some(b'-') => data = data.trim_end(),
            Some(b'+') => {}
            Some(_) if !is_var => {
                let kept = data.trim_end_matches([' ', '\t']);
                let before = src[..pos + end].trim_end_matches([' ', '\t']);
                if before.ends_with('\n') || before.is_empty() {
                    data = kept;
                }
            }
            _ => {}
        }
        let line = line_of(pos);
        if !data.is_empty() {
            toks.push((Tok::Data(data.to_owned()), line));
        }
        let Some(open) = open else { break };
        let start = pos + open;
        let kind = src.as_bytes()[start + 1];
        let mut at = start + 2;
        if matches!(src.as_bytes().get(at), Some(b'-' | b'+')) {
            at += 1;
        }
        if kind == b'#' {
            let close = src[start + 2..]
                .find("#}")
                .ok_or((line_of(start), "a comment has no end".to_owned()))?;
            let close = start + 2 + close;
            pos = close + 2;
            match src.as_bytes()[close - 1] {
                b'-' if close > start + 2 => trim_start = true,
                b'+' if close > start + 2 => {}
                _ if src[pos..].starts_with('\n') => pos += 1,
                _ => {}
            }
            continue;
        }
        let close = if kind == b'{' { "}}" } else { "%}" };
        let first = toks.len();
        toks.push((
            if kind == b'{' {
                Tok::OpenVar
            } else {
                Tok::OpenBlock
            },
            line_of(start),
        ));
        let mut depth = 0_usize;
        loop {
            let rest = &src[at..];
            let trimmed = rest.trim_start();
            at += rest.len() - trimmed.len();
            let rest = &src[at..];
            let after_sign = rest.strip_prefix(['-', '+']);
            let ends = |text: &str| depth == 0 && text.starts_with(close);
            if ends(rest) {
                at += 2;
                if kind == b'%' && src[at..].starts_with('\n') {
                    at += 1;
                }
                break;
            }
            if let Some(after) = after_sign
                && ends(after)
            {
                trim_start = rest.starts_with('-');
                at += 3;
                break;
            }
            let line = line_of(at);
            let Some(c) = rest.chars().next() else {
                return Err((line, "the tag has no end".to_owned()));
            };
            if c == '"' || c == '\'' {
                let (text, len) =
                    string(&rest[1..], c).ok_or((line, "a string has no end".to_owned()))?;
                toks.push((Tok::Str(text), line));
                at += 1 + len;
            } else if c.is_ascii_digit() {
                let (tok, len) = numeral(rest);
                toks.push((tok, line));
                at += len;
            } else if c == '_' || c.is_alphabetic() {
                let len = rest
                    .find(|c: char| c != '_' && !c.is_alphanumeric())
                    .unwrap_or(rest.len());
                toks.push((Tok::Name(rest[..len].to_owned()), line));
                at += len;
            } else if let Some(op) = OPS.iter().find(|op| rest.starts_with(**op)) {
                match *op {
                    "(" | "[" | "{" => depth += 1,
                    ")" | "]" | "}" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                toks.push((Tok::Op(op), line));
                at += op.len();
            } else {
                return Err((line, format!("unexpected character {c:?}")));
            }
        }
        pos = at;
        if kind == b'%'
            && toks[first + 1..]
                .iter()
                .map(|t| &t.0)
                .eq([&Tok::Name("raw".into())])
        {
            // Jinja does not trim a line break after the tag.
            if src[..pos].ends_with("%}\n") {
                pos -= 1;
            }
            toks.truncate(first);
            let mut seek = pos;
            loop {
                let next = src[seek..]
                    .find("{%")
                    .ok_or((line_of(seek), "raw has no end".to_owned()))?;
                seek += next + 2;
                let inside = src[seek..].trim_start_matches(['-', '+']).trim_start();
                if inside.starts_with("endraw") {
                    break;
                }
            }
            let mut data = &src[pos..seek - 2];
            if std::mem::take(&mut trim_start) {
                data = data.trim_start();
            }
            if src[seek..].starts_with('-') {
                data = data.trim_end();
            } else {
                let kept = data.trim_end_matches([' ', '\t']);
                if kept.ends_with('\n') {
                    data = kept;
                }
            }
            toks.push((Tok::Data(data.to_owned()), line_of(pos)));
            let close = src[seek..]
                .find("%}")
                .ok_or((line_of(seek), "the tag has no end".to_owned()))?;
            trim_start = src[seek..seek + close].ends_with('-');
            pos = seek + close + 2;
            if !trim_start && src[pos..].starts_with('\n') {
                pos += 1;
            }
            continue;
        }
        toks.push((Tok::Close, line_of(pos.saturating_sub(1))));
    }
    toks.push((Tok::Eof, line_of(src.len())));
    Ok(toks)
}

/// The value of a string, and its length with the closing quote.
fn string(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut out = String::new();
    let mut chars = rest.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return Some((out, at + c.len_utf8()));
        }
        if c != '\\' {
            out.push(c);
            continue;
        }
        let (at, c) = chars.next()?;
        let mut code = |digits: usize| {
            let hex = rest.get(at + 1..at + 1 + digits)?;
            let code = u32::from_str_radix(hex, 16).ok()?;
            for _ in 0..digits {
                chars.next();
            }
            Some(code)
        };
        match c {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            '\\' | '\'' | '"' | '/' => out.push(c),
            '0'..='7' => {
                let len = rest[at..]
                    .bytes()
                    .take(3)
                    .take_while(|b| (b'0'..b'8').contains(b))
                    .count();
                for _ in 1..len {
                    chars.next();
                }
                out.push(char::from_u32(
                    u32::from_str_radix(&rest[at..at + len], 8).ok()?,
                )?);
            }
            'x' => out.push(char::from_u32(code(2)?)?),
            'u' => {
                let mut first = code(4)?;
                if (0xd800..0xdc00).contains(&first) {
                    chars.next();
                    let (at, _) = chars.next()?;
                    let second = u32::from_str_radix(rest.get(at + 1..at + 5)?, 16).ok()?;
                    for _ in 0..4 {
                        chars.next();
                    }
                    first =
                        0x10000 + ((first - 0xd800) << 10) + (second.wrapping_sub(0xdc00) & 0x3ff);
                }
                out.push(char::from_u32(first)?);
            }
            c => out.extend(['\\', c]),
        }
    }
    None
}

fn numeral(rest: &str) -> (Tok, usize) {
    let digits = |text: &str| {
        text.find(|c: char| !c.is_ascii_digit() && c != '_')
            .unwrap_or(text.len())
    };
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0o", 8), ("0b", 2)] {
        if let Some(code) = rest.strip_prefix(prefix) {
            let len = code
                .find(|c: char| !c.is_ascii_hexdigit() && c != '_')
                .unwrap_or(code.len());
            let number = i128::from_str_radix(&code[..len].replace('_', ""), radix);
            return (Tok::Int(number.unwrap_or_default()), 2 + len);
        }
    }
    let mut len = digits(rest);
    let mut is_float = false;
    if rest[len..].starts_with('.') && rest[len + 1..].starts_with(|c: char| c.is_ascii_digit()) {
        is_float = true;
        len += 1 + digits(&rest[len + 1..]);
    }
    if let Some(exp) = rest[len..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exp.starts_with(['+', '-']));
        if exp[sign..].starts_with(|c: char| c.is_ascii_digit()) {
            is_float = true;
            len += 1 + sign + digits(&exp[sign..]);
        }
    }
    let text = rest[..len].replace('_', "");
    match is_float {
        true => (Tok::Float(text.parse().unwrap_or_default()), len),
        false => (Tok::Int(text.parse().unwrap_or_default()), len),
    }
}

struct Parser {
    toks: Vec<(Tok, usize)>,
    at: usize,
    depth: usize,
    names: HashMap<String, Name>,
}

/// Parses a source.
pub fn parse(src: &str) -> Result<Tree> {
    let mut parser = Parser {
        toks: lex(src)?,
        at: 0,
        depth: 0,
        names: HashMap::new(),
    };
    let (body, _) = parser.body(&[])?;
    Ok(Tree {
        body,
        names: parser.names,
    })
}

impl Parser {
    fn peek(&self) -> &Tok {
        &self.toks[self.at].0
    }

    fn line(&self) -> usize {
        self.toks[self.at].1
    }

    fn next(&mut self) -> Tok {
        let tok = self.toks[self.at].0.clone();
        self.at = (self.at + 1).min(self.toks.len() - 1);
        tok
    }

    fn fail<T>(&self, what: impl Into<String>) -> Result<T> {
        Err((self.line(), what.into()))
    }

    fn is_op(&self, op: &str) -> bool {
        matches!(self.peek(), Tok::Op(known) if *known == op)
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(self.peek(), Tok::Name(known) if known == name)
    }

    fn op(&mut self, op: &str) -> bool {
        let found = self.is_op(op);
        self.at += usize::from(found);
        found
    }

    fn name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, op: &str) -> Result<()> {
        match self.op(op) {
            true => Ok(()),
            false => self.fail(format!("expected {op:?}, not {:?}", self.peek())),
        }
    }

    fn close(&mut self) -> Result<()> {
        match self.next() {
            Tok::Close => Ok(()),
            other => {
                self.at -= 1;
                self.fail(format!("expected the end of the tag, not {other:?}"))
            }
        }
    }

    fn number(&mut self, name: &str) -> Name {
        let next = self.names.len() as Name;
        *self.names.entry(name.to_owned()).or_insert(next)
    }

    fn ident(&mut self) -> Result<String> {
        match self.next() {
            Tok::Name(name) => Ok(name),
            other => {
                self.at -= 1;
                self.fail(format!("expected a name, not {other:?}"))
            }
        }
    }

    /// Statements up to one of these tags, whose name is read and returned.
    fn body(&mut self, ends: &[&str]) -> Result<(Body, String)> {
        self.depth += 1;
        if self.depth > 150 {
            return self.fail("blocks are nested too deeply");
        }
        let mut body = Body::new();
        loop {
            let line = self.line() as u32;
            match self.next() {
                Tok::Data(text) => body.push((line, Stmt::Raw(text.into()))),
                Tok::OpenVar => {
                    let expr = self.tuple_or_expr()?;
                    self.close()?;
                    body.push((line, Stmt::Emit(expr)));
                }
                Tok::OpenBlock => {
                    let name = self.ident()?;
                    if ends.contains(&&*name) {
                        self.depth -= 1;
                        return Ok((body, name));
                    }
                    body.push((line, self.statement(&name)?));
                }
                Tok::Eof if ends.is_empty() => return Ok((body, String::new())),
                _ => return self.fail(format!("unexpected end of input, expected {ends:?}")),
            }
        }
    }

    fn block(&mut self, end: &str) -> Result<Body> {
        self.close()?;
        let (body, _) = self.body(&[end])?;
        if let Tok::Name(_) = self.peek() {
            self.next();
        }
        self.close()?;
        Ok(body)
    }

    fn statement(&mut self, name: &str) -> Result<Stmt> {
        Ok(match name {
            "if" => {
                let mut branches = Vec::new();
                let mut condition = self.tuple_or_expr()?;
                self.close()?;
                loop {
                    let (body, end) = self.body(&["elif", "else", "endif"])?;
                    branches.push((condition, body));
                    if end == "elif" {
                        condition = self.tuple_or_expr()?;
                        self.close()?;
                        continue;
                    }
                    self.close()?;
                    let mut otherwise = Body::new();
                    if end == "else" {
                        otherwise = self.body(&["endif"])?.0;
                        self.close()?;
                    }
                    return Ok(Stmt::If(branches, otherwise));
                }
            }
            "for" => {
                let target = self.targets()?;
                if !self.name("in") {
                    return self.fail("expected in");
                }
                let mut all = self.or()?;
                if self.is_op(",") {
                    let mut items = vec![all];
                    while self.op(",") {
                        items.push(self.or()?);
                    }
                    all = Expr::Tuple(items);
                }
                let only = match self.name("if") {
                    true => Some(self.expr()?),
                    false => None,
                };
                // `a if b else c` is a list, too.
                let (all, only) = match self.name("else") {
                    true => {
                        let other = self.expr()?;
                        let condition = only.unwrap_or(Expr::None);
                        (
                            Expr::If(Box::new(condition), Box::new(all), Some(Box::new(other))),
                            None,
                        )
                    }
                    false => (all, only),
                };
                let recursive = self.name("recursive");
                self.close()?;
                let (body, end) = self.body(&["else", "endfor"])?;
                self.close()?;
                let mut otherwise = Body::new();
                if end == "else" {
                    otherwise = self.body(&["endfor"])?.0;
                    self.close()?;
                }
                Stmt::For(Arc::new(For {
                    target,
                    all,
                    only,
                    body,
                    otherwise,
                    recursive,
                }))
            }
            "set" => {
                let target = self.targets()?;
                if self.op("=") {
                    let value = self.tuple_or_expr()?;
                    self.close()?;
                    Stmt::Set(target, value)
                } else {
                    let filter = match self.op("|") {
                        true => self.filters(Expr::Captured)?,
                        false => Expr::Captured,
                    };
                    let body = self.block("endset")?;
                    Stmt::Capture(target, filter, body)
                }
            }
            "with" => {
                let mut set = Vec::new();
                while *self.peek() != Tok::Close {
                    let target = self.target()?;
                    self.expect("=")?;
                    set.push((target, self.expr()?));
                    if !self.op(",") {
                        break;
                    }
                }
                Stmt::With(set, self.block("endwith")?)
            }
            "macro" => {
                let name = self.ident()?;
                let name = self.number(&name);
                self.expect("(")?;
                let params = self.params()?;
                let body = self.block("endmacro")?;
                Stmt::Macro(Arc::new(MacroDef { name, params, body }))
            }
            "call" => {
                let params = match self.op("(") {
                    true => self.params()?,
                    false => Vec::new(),
                };
                let call = self.expr()?;
                let name = self.number("caller");
                let body = self.block("endcall")?;
                Stmt::CallBlock(call, Arc::new(MacroDef { name, params, body }))
            }
            "filter" => {
                let filter = self.filters(Expr::Captured)?;
                Stmt::Filter(filter, self.block("endfilter")?)
            }
            "generation" => Stmt::Generation(self.block("endgeneration")?),
            "block" => {
                self.ident()?;
                Stmt::Block(self.block("endblock")?)
            }
            "autoescape" => {
                self.expr()?;
                Stmt::Block(self.block("endautoescape")?)
            }
            "do" => {
                let expr = self.tuple_or_expr()?;
                self.close()?;
                Stmt::Do(expr)
            }
            "break" | "continue" => {
                self.close()?;
                if name == "break" {
                    Stmt::Break
                } else {
                    Stmt::Continue
                }
            }
            _ => return self.fail(format!("unknown statement {name}")),
        })
    }

    fn params(&mut self) -> Result<Vec<(Name, Arc<str>, Option<Expr>)>> {
        let mut params = Vec::new();
        while !self.op(")") {
            let name = self.ident()?;
            let value = match self.op("=") {
                true => Some(self.expr()?),
                false => None,
            };
            params.push((self.number(&name), (&*name).into(), value));
            if !self.op(",") && !self.is_op(")") {
                return self.fail("expected )");
            }
        }
        Ok(params)
    }

    fn target(&mut self) -> Result<Target> {
        if self.op("(") {
            let target = self.targets()?;
            self.expect(")")?;
            return Ok(target);
        }
        let name = self.ident()?;
        let number = self.number(&name);
        if self.op(".") {
            return Ok(Target::Attr(number, (&*self.ident()?).into()));
        }
        Ok(Target::Var(number))
    }

    fn targets(&mut self) -> Result<Target> {
        let first = self.target()?;
        if !self.is_op(",") {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.op(",") {
            if self.is_name("in") || self.is_op("=") {
                break;
            }
            all.push(self.target()?);
        }
        Ok(Target::Many(all))
    }

    fn tuple_or_expr(&mut self) -> Result<Expr> {
        let first = self.expr()?;
        if !self.is_op(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.op(",") {
            if matches!(self.peek(), Tok::Close) {
                break;
            }
            items.push(self.expr()?);
        }
        Ok(Expr::Tuple(items))
    }

    fn expr(&mut self) -> Result<Expr> {
        self.depth += 1;
        if self.depth > 150 {
            return self.fail("an expression is nested too deeply");
        }
        let mut value = self.or()?;
        while self.name("if") {
            let condition = Box::new(self.or()?);
            let otherwise = match self.name("else") {
                true => Some(Box::new(self.expr()?)),
                false => None,
            };
            value = Expr::If(condition, Box::new(value), otherwise);
        }
        self.depth -= 1;
        Ok(value)
    }

    fn or(&mut self) -> Result<Expr> {
        let mut left = self.and()?;
        while self.name("or") {
            left = Expr::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expr> {
        let mut left = self.not()?;
        while self.name("and") {
            left = Expr::And(Box::new(left), Box::new(self.not()?));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expr> {
        if self.name("not") {
            return Ok(Expr::Not(Box::new(self.not()?)));
        }
        self.compare()
    }

    fn compare(&mut self) -> Result<Expr> {
        let first = self.sum()?;
        let mut rest = Vec::new();
        loop {
            let op = match self.peek() {
                Tok::Op(op @ ("==" | "!=" | "<" | ">" | "<=" | ">=")) => *op,
                Tok::Name(name) if name == "in" => "in",
                Tok::Name(name)
                    if name == "not"
                        && matches!(&self.toks[self.at + 1].0, Tok::Name(name) if name == "in") =>
                {
                    self.at += 1;
                    "not in"
                }
                _ => break,
            };
            self.at += 1;
            rest.push((op, self.sum()?));
        }
        Ok(match rest.is_empty() {
            true => first,
            false => Expr::Compare(Box::new(first), rest),
        })
    }

    fn sum(&mut self) -> Result<Expr> {
        let mut left = self.concat()?;
        while let Tok::Op(op @ ("+" | "-")) = *self.peek() {
            self.at += 1;
            left = Expr::Two(op, Box::new(left), Box::new(self.concat()?));
        }
        Ok(left)
    }

    fn concat(&mut self) -> Result<Expr> {
        let first = self.product()?;
        if !self.is_op("~") {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.op("~") {
            all.push(self.product()?);
        }
        Ok(Expr::Concat(all))
    }

    fn product(&mut self) -> Result<Expr> {
        let mut left = self.power()?;
        while let Tok::Op(op @ ("*" | "/" | "//" | "%")) = *self.peek() {
            self.at += 1;
            left = Expr::Two(op, Box::new(left), Box::new(self.power()?));
        }
        Ok(left)
    }

    fn power(&mut self) -> Result<Expr> {
        let mut left = self.unary()?;
        while self.op("**") {
            left = Expr::Two("**", Box::new(left), Box::new(self.unary()?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr> {
        let value = self.signed()?;
        self.filtered(value)
    }

    /// A sign belongs to the operand with its subscripts; filters apply to the signed value.
    fn signed(&mut self) -> Result<Expr> {
        for (sign, negative) in [("-", true), ("+", false)] {
            if self.op(sign) {
                return Ok(Expr::Sign(Box::new(self.signed()?), negative));
            }
        }
        let value = self.primary()?;
        self.postfix(value)
    }

    fn postfix(&mut self, mut value: Expr) -> Result<Expr> {
        loop {
            if self.op(".") {
                match self.next() {
                    Tok::Name(name) => {
                        let name: Arc<str> = (&*name).into();
                        value = match self.op("(") {
                            true => Expr::Method(Box::new(value), name, self.args()?),
                            false => Expr::Attr(Box::new(value), name),
                        };
                    }
                    Tok::Int(index) => {
                        value = Expr::Item(Box::new(value), Box::new(Expr::Int(index)))
                    }
                    _ => return self.fail("expected a name"),
                }
            } else if self.op("[") {
                value = self.subscript(value)?;
            } else if self.op("(") {
                value = Expr::Call(Box::new(value), self.args()?);
            } else {
                return Ok(value);
            }
        }
    }

    fn subscript(&mut self, value: Expr) -> Result<Expr> {
        let mut bounds = [None, None, None];
        let (mut index, mut is_slice) = (0, false);
        while !self.op("]") {
            if self.op(":") {
                is_slice = true;
                index += 1;
                if index > 2 {
                    return self.fail("a slice has three parts");
                }
            } else {
                bounds[index] = Some(Box::new(self.tuple_in_brackets()?));
            }
        }
        if is_slice {
            return Ok(Expr::Slice(Box::new(value), bounds));
        }
        let [first, ..] = bounds;
        // `a[]` is undefined.
        let first = first.unwrap_or_else(|| Box::new(Expr::None));
        Ok(Expr::Item(Box::new(value), first))
    }

    fn tuple_in_brackets(&mut self) -> Result<Expr> {
        let first = self.expr()?;
        if !self.is_op(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.op(",") {
            items.push(self.expr()?);
        }
        Ok(Expr::Tuple(items))
    }

    /// Filters, tests and calls of what they give.
    fn filtered(&mut self, mut value: Expr) -> Result<Expr> {
        loop {
            if self.op("|") {
                value = self.one_filter(value)?;
            } else if self.name("is") {
                let negated = self.name("not");
                let name = self.dotted()?;
                let args = match self.peek() {
                    Tok::Op("(") => {
                        self.at += 1;
                        self.args()?
                    }
                    Tok::Str(_) | Tok::Int(_) | Tok::Float(_) | Tok::Op("[" | "{" | "-") => {
                        self.one_arg()?
                    }
                    Tok::Name(name)
                        if !matches!(
                            &**name,
                            "else" | "or" | "and" | "is" | "if" | "not" | "in" | "recursive"
                        ) =>
                    {
                        self.one_arg()?
                    }
                    _ => Args::default(),
                };
                value = Expr::Test(Box::new(value), name, args);
                if negated {
                    value = Expr::Not(Box::new(value));
                }
            } else if self.is_op("(") || self.is_op("[") || self.is_op(".") {
                value = self.postfix(value)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn one_arg(&mut self) -> Result<Args> {
        let given = vec![Given::One(self.signed()?)];
        Ok(Args { given })
    }

    fn dotted(&mut self) -> Result<Arc<str>> {
        let mut name = self.ident()?;
        while self.is_op(".") {
            self.at += 1;
            name = name + "." + &self.ident()?;
        }
        Ok((&*name).into())
    }

    fn one_filter(&mut self, value: Expr) -> Result<Expr> {
        let name = self.dotted()?;
        let args = match self.op("(") {
            true => self.args()?,
            false => Args::default(),
        };
        Ok(Expr::Filter(Box::new(value), name, args))
    }

    fn filters(&mut self, value: Expr) -> Result<Expr> {
        let mut value = self.one_filter(value)?;
        while self.op("|") {
            value = self.one_filter(value)?;
        }
        Ok(value)
    }

    fn args(&mut self) -> Result<Args> {
        let mut given = Vec::new();
        while !self.op(")") {
            if self.op("**") {
                given.push(Given::AllNamed(self.expr()?));
            } else if self.op("*") {
                given.push(Given::All(self.expr()?));
            } else if let (Tok::Name(name), Tok::Op("=")) = (self.peek(), &self.toks[self.at + 1].0)
            {
                let name: Arc<str> = (&**name).into();
                self.at += 2;
                given.push(Given::Named(name, self.expr()?));
            } else {
                given.push(Given::One(self.expr()?));
            }
            if !self.op(",") && !self.is_op(")") {
                return self.fail(format!("expected , or ), not {:?}", self.peek()));
            }
        }
        Ok(Args { given })
    }

    fn list(&mut self, close: &str) -> Result<Vec<Expr>> {
        let mut items = Vec::new();
        while !self.op(close) {
            items.push(self.expr()?);
            if !self.op(",") && !self.is_op(close) {
                return self.fail(format!("expected {close}, not {:?}", self.peek()));
            }
        }
        Ok(items)
    }

    fn primary(&mut self) -> Result<Expr> {
        Ok(match self.next() {
            Tok::Name(name) => match &*name {
                "true" | "True" => Expr::Bool(true),
                "false" | "False" => Expr::Bool(false),
                "none" | "None" => Expr::None,
                _ => Expr::Var(self.number(&name)),
            },
            Tok::Int(value) => Expr::Int(value),
            Tok::Float(value) => Expr::Float(value),
            Tok::Str(mut text) => {
                while let Tok::Str(more) = self.peek() {
                    text.push_str(more);
                    self.at += 1;
                }
                Expr::Text(text.into())
            }
            Tok::Op("(") => {
                let was_tuple = self.is_op(")");
                let mut items = Vec::new();
                let mut is_tuple = was_tuple;
                while !self.op(")") {
                    items.push(self.expr()?);
                    if self.op(",") {
                        is_tuple = true;
                    } else if !self.is_op(")") {
                        return self.fail(format!("expected ), not {:?}", self.peek()));
                    }
                }
                match is_tuple {
                    true => Expr::Tuple(items),
                    false => items.remove(0),
                }
            }
            Tok::Op("[") => Expr::List(self.list("]")?),
            Tok::Op("{") => {
                let mut pairs = Vec::new();
                while !self.op("}") {
                    let key = self.expr()?;
                    self.expect(":")?;
                    pairs.push((key, self.expr()?));
                    if !self.op(",") && !self.is_op("}") {
                        return self.fail("expected }");
                    }
                }
                Expr::Dict(pairs)
            }
            other => {
                self.at -= 1;
                return self.fail(format!("unexpected {other:?}"));
            }
        })
    }
}
