//! Grammars of custom tools in Lark's syntax, as a regular expression for the schema of the tool's
//! text.
//!
//! A call's arguments are constrained by their schema, and JSON Schema has expressions for texts,
//! not grammars. So rules are written out where they are used. A rule that refers to itself becomes
//! a repetition where it does so at one end of its branches, as lists do; a rule that nests cannot
//! be had. Also beyond the subset: look-arounds, anchors, flags, priorities, templates, and
//! extensions that only some readers of Lark know.

use std::collections::HashMap;

use chatparse_base::limits;

/// The error says what is wrong, and in which rule.
type Read<T> = Result<T, String>;

/// The maximum nesting of groups and of rules.
const DEPTH: usize = 64;

/// The maximum length of all expressions that are written, including rules inside of other rules.
const WRITTEN: usize = 8 * limits::PATTERN_SOURCE_BYTES;

/// Terminals that a grammar can import from `common`: a line has a name and its expression.
const COMMON: &str = include_str!("lark_common.txt");

/// The texts of the rule `start`, as an ECMAScript expression without anchors.
pub fn pattern(grammar: &str) -> Read<String> {
    let mut reader = Reader {
        tokens: tokens(grammar)?,
        at: 0,
        rule: String::new(),
        depth: 0,
    };
    let mut writer = Writer::default();
    reader.grammar(&mut writer)?;
    writer.ignored = match std::mem::take(&mut writer.ignores) {
        nodes if nodes.is_empty() => String::new(),
        nodes => format!(
            "(?:{})*",
            writer.write("%ignore", &Node::Choice(nodes), true)?
        ),
    };
    let start = writer.rule("start", "start")?;
    Ok(format!("{}{start}", writer.ignored))
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Name(String),
    /// The text, and whether upper and lower case are the same.
    Text(String, bool),
    Regex(String),
    /// A mark of one or two characters.
    Mark(&'static str),
}

const MARKS: [&str; 18] = [
    "..", "->", ":", "|", "(", ")", "[", "]", "?", "*", "+", "~", ".", "%", ",", "!", "{", "}",
];

/// The tokens, and whether each is the first of its line.
fn tokens(grammar: &str) -> Read<Vec<(Token, bool)>> {
    let (mut tokens, mut rest, mut first) = (Vec::new(), grammar, true);
    while let Some(c) = rest.chars().next() {
        let token;
        (token, rest) = match c {
            '\n' | ' ' | '\t' | '\r' | '\u{c}' => {
                first |= c == '\n';
                rest = &rest[1..];
                continue;
            }
            _ if c == '#' || rest.starts_with("//") => {
                rest = rest.find('\n').map_or("", |end| &rest[end..]);
                continue;
            }
            '"' => {
                let (text, rest) = quoted(rest)?;
                let folded = rest.strip_prefix('i');
                (Token::Text(text, folded.is_some()), folded.unwrap_or(rest))
            }
            '/' => {
                let end =
                    unescaped(&rest[1..], b'/').ok_or_else(|| format!("no / ends {rest:.20}"))?;
                (Token::Regex(rest[1..=end].to_owned()), &rest[end + 2..])
            }
            c if c == '_' || c.is_ascii_alphanumeric() => {
                let end = rest
                    .find(|c: char| c != '_' && !c.is_ascii_alphanumeric())
                    .unwrap_or(rest.len());
                (Token::Name(rest[..end].to_owned()), &rest[end..])
            }
            _ => match MARKS.into_iter().find(|mark| rest.starts_with(mark)) {
                Some(mark) => (Token::Mark(mark), &rest[mark.len()..]),
                None => return wrong("", &format!("unexpected {c:?}")),
            },
        };
        tokens.push((token, std::mem::take(&mut first)));
    }
    Ok(tokens)
}

/// The place of the first unescaped `byte`.
fn unescaped(text: &str, byte: u8) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|c| {
        let found = c == byte && !escaped;
        escaped = c == b'\\' && !escaped;
        found
    })
}

/// The text in quotes that `rest` begins with, and what follows.
fn quoted(rest: &str) -> Read<(String, &str)> {
    let end = unescaped(&rest[1..], b'"').ok_or_else(|| format!("no quote ends {rest:.20}"))? + 2;
    let text = serde_json::from_str(&rest[..end])
        .map_err(|_| format!("{} is no text as JSON has it", &rest[..end]))?;
    Ok((text, &rest[end..]))
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    /// An expression of one token.
    Token(String),
    /// A rule or a terminal.
    Use(String),
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    /// With the quantifier.
    Repeat(Box<Node>, String),
}

impl Node {
    /// The only node, or several as `many` makes them one.
    fn of(mut nodes: Vec<Node>, many: fn(Vec<Node>) -> Node) -> Node {
        if nodes.len() == 1 {
            nodes.swap_remove(0)
        } else {
            many(nodes)
        }
    }

    fn repeat(self, quantifier: &str) -> Node {
        Node::Repeat(Box::new(self), quantifier.to_owned())
    }

    fn uses(&self, name: &str) -> bool {
        match self {
            Node::Token(_) => false,
            Node::Use(used) => used == name,
            Node::Sequence(parts) | Node::Choice(parts) => parts.iter().any(|part| part.uses(name)),
            Node::Repeat(part, _) => part.uses(name),
        }
    }
}

struct Reader {
    tokens: Vec<(Token, bool)>,
    at: usize,
    /// The rule that is read, for errors.
    rule: String,
    depth: usize,
}

impl Reader {
    /// Reads rules and directives up to the end.
    fn grammar(&mut self, into: &mut Writer) -> Read<()> {
        while self.at < self.tokens.len() {
            if self.skip("%") {
                self.directive(into)?;
                continue;
            }
            // These change the tree that a parser makes, not the texts.
            while self.skip("?") || self.skip("!") {}
            self.rule = self.name()?;
            if !self.skip(":") {
                return self.fail("priorities and templates cannot be had");
            }
            let body = self.choice()?;
            if into.rules.insert(self.rule.clone(), body).is_some() {
                return self.fail("there is another one of that name");
            }
        }
        Ok(())
    }

    fn directive(&mut self, into: &mut Writer) -> Read<()> {
        self.rule = format!("%{}", self.name()?);
        match &*self.rule {
            "%ignore" => into.ignores.push(self.choice()?),
            "%import" => {
                if self.name()? != "common" {
                    return self.fail("only common can be imported from");
                }
                let mut imported = Vec::new();
                if self.skip("(") {
                    while !self.skip(")") {
                        imported.push(self.name()?);
                        self.skip(",");
                    }
                } else if self.skip(".") {
                    imported.push(self.name()?);
                }
                let other = if self.skip("->") {
                    Some(self.name()?)
                } else {
                    None
                };
                for name in imported {
                    let Some(text) = COMMON
                        .lines()
                        .find_map(|line| line.strip_prefix(&*name)?.strip_prefix(' '))
                    else {
                        return self.fail(&format!("common has no {name} here"));
                    };
                    into.rules
                        .insert(other.clone().unwrap_or(name), Node::Token(text.to_owned()));
                }
            }
            _ => return self.fail("only %ignore and %import can be had"),
        }
        Ok(())
    }

    fn choice(&mut self) -> Read<Node> {
        self.depth += 1;
        if self.depth > DEPTH {
            return self.fail(&format!("groups are nested more than {DEPTH} deep"));
        }
        let mut branches = vec![self.sequence()?];
        while self.skip("|") {
            branches.push(self.sequence()?);
        }
        self.depth -= 1;
        Ok(Node::of(branches, Node::Choice))
    }

    fn sequence(&mut self) -> Read<Node> {
        let mut parts = Vec::new();
        while let Some(part) = self.part()? {
            parts.push(self.repeated(part)?);
        }
        // The name of a branch is for the tree.
        if self.skip("->") {
            self.name()?;
        }
        Ok(Node::of(parts, Node::Sequence))
    }

    /// The next part of a sequence; `None` at its end.
    fn part(&mut self) -> Read<Option<Node>> {
        let Some((token, first)) = self.next().cloned() else {
            return Ok(None);
        };
        let ends = match token {
            Token::Mark("|" | ")" | "]" | "->") => true,
            Token::Mark("%") => first,
            Token::Mark("(" | "[") | Token::Text(..) | Token::Regex(_) => false,
            // A rule begins.
            _ => first && self.depth == 1,
        };
        if ends {
            return Ok(None);
        }
        self.at += 1;
        Ok(Some(match token {
            Token::Name(name) => Node::Use(name),
            Token::Text(text, _) if self.skip("..") => Node::Token(self.range(&text)?),
            Token::Text(text, folded) => {
                Node::Token(text.chars().map(|c| literal(c, folded)).collect())
            }
            Token::Regex(source) => {
                if let Some((Token::Name(flags), false)) = self.next()
                    && flags.chars().all(|c| "imslux".contains(c))
                {
                    return self.fail("flags of an expression cannot be had");
                }
                Node::Token(self.expression(&source)?)
            }
            Token::Mark("(") => self.group(")")?,
            Token::Mark("[") => self.group("]")?.repeat("?"),
            Token::Mark(mark) => return self.fail(&format!("unexpected {mark:?}")),
        }))
    }

    /// The inside of a group, whose opening bracket was read, and its closing bracket.
    fn group(&mut self, close: &str) -> Read<Node> {
        let inner = self.choice()?;
        if self.skip(close) {
            Ok(inner)
        } else {
            self.fail(&format!("a group has no {close:?}"))
        }
    }

    /// The part with the quantifiers that follow it.
    fn repeated(&mut self, mut part: Node) -> Read<Node> {
        for _ in 0..DEPTH {
            match self.next() {
                Some((Token::Mark(mark @ ("?" | "*" | "+")), false)) => part = part.repeat(mark),
                Some((Token::Mark("~"), _)) => {
                    self.at += 1;
                    let least = self.number()?;
                    let most = if self.skip("..") {
                        self.number()?
                    } else {
                        least
                    };
                    part = part.repeat(&format!("{{{least},{most}}}"));
                    continue;
                }
                _ => return Ok(part),
            }
            self.at += 1;
        }
        self.fail("too many repetitions of repetitions")
    }

    fn range(&mut self, from: &str) -> Read<String> {
        let Some((Token::Text(to, false), _)) = self.next().cloned() else {
            return self.fail("a range needs two characters");
        };
        self.at += 1;
        let (mut from, mut to) = (from.chars(), to.chars());
        match (from.next(), from.next(), to.next(), to.next()) {
            (Some(from), None, Some(to), None) if from <= to => {
                let [from, to] = [from, to].map(|c| escaped(c, "\\[]^-"));
                Ok(format!("[{from}-{to}]"))
            }
            _ => self.fail("a range needs two characters in order"),
        }
    }

    /// An expression between slashes, as ECMAScript has it.
    fn expression(&self, source: &str) -> Read<String> {
        let (mut text, mut in_class, mut chars) =
            ("(?:".to_owned(), false, source.chars().peekable());
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('/') => text.push('/'),
                    Some(c) if "pP".contains(c) || !in_class && "AZbBzG".contains(c) => {
                        return self.fail(&format!("\\{c} of an expression cannot be had"));
                    }
                    Some(c) => text.extend(['\\', c]),
                    None => return self.fail("an expression ends in a backslash"),
                },
                '[' | ']' => {
                    in_class = c == '[';
                    text.push(c);
                }
                '.' if !in_class => text.push_str("[^\\n]"),
                '^' | '$' if !in_class => {
                    return self.fail("anchors of an expression cannot be had");
                }
                '(' if !in_class && chars.peek() == Some(&'?') => {
                    chars.next();
                    if chars.next() != Some(':') {
                        return self
                            .fail("look-arounds, flags and names in an expression cannot be had");
                    }
                    text.push_str("(?:");
                }
                c => text.push(c),
            }
            // `[^` is not an anchor.
            if c == '[' && chars.peek() == Some(&'^') {
                text.extend(chars.next());
            }
        }
        text.push(')');
        Ok(text)
    }

    /// The next token, and whether it is the first of its line.
    fn next(&self) -> Option<&(Token, bool)> {
        self.tokens.get(self.at)
    }

    fn skip(&mut self, mark: &str) -> bool {
        let is_next = matches!(self.next(), Some((Token::Mark(next), _)) if *next == mark);
        self.at += usize::from(is_next);
        is_next
    }

    fn name(&mut self) -> Read<String> {
        let Some((Token::Name(name), _)) = self.next().cloned() else {
            return self.fail("there should be a name");
        };
        self.at += 1;
        Ok(name)
    }

    fn number(&mut self) -> Read<u32> {
        let name = self.name()?;
        name.parse()
            .or_else(|_| self.fail(&format!("{name} is no number of repetitions")))
    }

    fn fail<T>(&self, what: &str) -> Read<T> {
        wrong(&self.rule, what)
    }
}

/// The error about a rule; `""` is the whole grammar.
fn wrong<T>(rule: &str, what: &str) -> Read<T> {
    Err(match rule {
        "" => format!("the grammar: {what}"),
        _ => format!("the rule {rule}: {what}"),
    })
}

/// A character of a text.
fn literal(c: char, folded: bool) -> String {
    if folded && c.is_ascii_alphabetic() {
        format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase())
    } else {
        escaped(c, "\\^$.|?*+()[]{}/")
    }
}

/// A character, with a backslash if it is `special`.
fn escaped(c: char, special: &str) -> String {
    if special.contains(c) {
        format!("\\{c}")
    } else {
        c.to_string()
    }
}

fn is_terminal(name: &str) -> bool {
    name.chars().all(|c| !c.is_ascii_lowercase())
}

/// The rules, and their expressions as far as they are written.
#[derive(Default)]
struct Writer {
    rules: HashMap<String, Node>,
    ignores: Vec<Node>,
    /// The expression that may follow each token.
    ignored: String,
    written: HashMap<String, String>,
    open: Vec<String>,
    length: usize,
}

impl Writer {
    /// The expression of a rule that `user` uses.
    fn rule(&mut self, name: &str, user: &str) -> Read<String> {
        if let Some(known) = self.written.get(name) {
            return Ok(known.clone());
        }
        let Some(body) = self.rules.get(name).cloned() else {
            return wrong(user, &format!("there is no rule {name}"));
        };
        if self.open.iter().any(|open| open == name) {
            return wrong(
                name,
                "it nests in itself, which no regular expression can say",
            );
        }
        if self.open.len() == DEPTH {
            return wrong(name, &format!("rules are nested more than {DEPTH} deep"));
        }
        self.open.push(name.to_owned());
        let body = unrolled(name, body);
        let text = self.write(name, &body, is_terminal(name))?;
        self.open.pop();
        self.written.insert(name.to_owned(), text.clone());
        Ok(text)
    }

    fn write(&mut self, rule: &str, node: &Node, in_terminal: bool) -> Read<String> {
        let text = match node {
            Node::Token(text) if in_terminal => text.clone(),
            Node::Token(text) => format!("{text}{}", self.ignored),
            Node::Use(name) if !in_terminal && is_terminal(name) => {
                format!("{}{}", self.rule(name, rule)?, self.ignored)
            }
            Node::Use(name) => self.rule(name, rule)?,
            Node::Sequence(parts) => self.all(rule, parts, in_terminal)?.concat(),
            Node::Choice(parts) => format!("(?:{})", self.all(rule, parts, in_terminal)?.join("|")),
            Node::Repeat(part, quantifier) => {
                format!("(?:{}){quantifier}", self.write(rule, part, in_terminal)?)
            }
        };
        self.length = self.length.saturating_add(text.len());
        if text.len() > limits::PATTERN_SOURCE_BYTES || self.length > WRITTEN {
            return wrong(rule, "it is too long, with all rules that it uses");
        }
        Ok(text)
    }

    fn all(&mut self, rule: &str, parts: &[Node], in_terminal: bool) -> Read<Vec<String>> {
        parts
            .iter()
            .map(|part| self.write(rule, part, in_terminal))
            .collect()
    }
}

/// A rule that refers to itself at one end of its branches, as a repetition.
fn unrolled(name: &str, body: Node) -> Node {
    let Node::Choice(branches) = &body else {
        return body;
    };
    let (again, once): (Vec<Node>, Vec<Node>) = branches
        .iter()
        .cloned()
        .partition(|branch| branch.uses(name));
    if again.is_empty() {
        return body;
    }
    for first in [false, true] {
        let rests = again.iter().map(|branch| rest_of(branch, name, first));
        let Some(rests) = rests.collect() else {
            continue;
        };
        let mut parts = vec![Node::Choice(rests).repeat("*"), Node::Choice(once)];
        if first {
            parts.reverse();
        }
        return Node::Sequence(parts);
    }
    body
}

/// A branch of the rule `name` without the rule itself, if that is its first part, or its last.
fn rest_of(branch: &Node, name: &str, first: bool) -> Option<Node> {
    let Node::Sequence(parts) = branch else {
        return None;
    };
    let (end, rest) = if first {
        parts.split_first()?
    } else {
        parts.split_last()?
    };
    let is_own = matches!(end, Node::Use(used) if used == name);
    (is_own && !rest.iter().any(|part| part.uses(name))).then(|| Node::Sequence(rest.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn a_rule_that_repeats_at_one_end_is_a_repetition() {
        let list = "start: item | start \",\" item\nitem: WORD~1..2\n%import common.WORD\n";
        let word = "(?:[a-zA-Z]+){1,2}";
        assert_eq!(pattern(list), Ok(format!("(?:{word})(?:(?:,{word}))*")));
        let nested = pattern("start: \"(\" start \")\" | \"x\"\n");
        let why = "the rule start: it nests in itself, which no regular expression can say";
        assert_eq!(nested, Err(why.to_owned()));
    }

    #[test]
    fn tokens_are_escaped_and_followed_by_what_is_ignored() {
        let grammar = "start: \"a.\"i \"[\"..\"]\" /x\\/[.]/\n%ignore \" \"\n";
        let expected = "(?:(?: ))*[aA]\\.(?:(?: ))*[\\[-\\]](?:(?: ))*(?:x/[.])(?:(?: ))*";
        assert_eq!(pattern(grammar).as_deref(), Ok(expected));
        for (grammar, why) in [
            (
                "start: /a$/",
                "the rule start: anchors of an expression cannot be had",
            ),
            ("start: other", "the rule start: there is no rule other"),
            ("start: \"a", "no quote ends \"a"),
        ] {
            assert_eq!(pattern(grammar), Err(why.to_owned()), "{grammar}");
        }
    }
}
