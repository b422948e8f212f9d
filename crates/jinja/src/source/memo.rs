//! Finds loops over tools whose text for a tool depends on the tool alone: [`crate::python::memo`] keeps it for later renders.
//!
//! Such a body reads its tool, what it has set itself on each way there, functions that always give the same, and macros of which the
//! same holds. What it cannot see statically, a change of the tool itself, is seen when it happens.

use std::collections::{HashMap, HashSet};

use minijinja::value::Value;
use minijinja::{Error, State};

use crate::budget;
use crate::python::memo::{Part, ToolMemo, Written};
use crate::python::pyobject::Dict;
use crate::source::rewrite::token::{Token, find_tag, next};

/// The most loops whose text is kept.
const LOOPS: u32 = 16;

/// The most names that a body or a macro sets.
const NAMES: usize = 64;

/// The most macros that a body needs.
const MACROS: usize = 32;

/// How often the source may be looked through: nested loops have bodies in common.
const PASSES: usize = 4;

/// Functions that give the same for the same.
pub(crate) const FUNCTIONS: [&str; 4] = ["dict", "namespace", "raise_exception", "range"];

const WORDS: [&str; 12] = ["and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "True", "False"];

/// A loop whose text is kept: its number, its variable, and where its `endfor` begins.
#[derive(Clone, Copy)]
pub(crate) struct Loop<'s> {
    number: u32,
    pub(crate) tool: &'s str,
    pub(crate) end: usize,
    /// Whether its text depends on the place of the tool: the first, the last or another one.
    placed: bool,
}

impl Loop<'_> {
    /// What names its text, as arguments.
    pub(crate) fn arguments(&self) -> String {
        let place = if self.placed { "loop.first, loop.last" } else { "0, 0" };
        format!("{}, {place}", self.number)
    }
}

/// What a source defines.
pub(crate) struct Finder<'s> {
    source: &'s str,
    /// The inside of the tags that open macros, by name.
    macros: HashMap<&'s str, usize>,
    /// Names that stand for something else somewhere.
    set: HashSet<&'s str>,
    /// Tokens that may still be read.
    left: usize,
    found: u32,
}

impl<'s> Finder<'s> {
    pub(crate) fn new(source: &'s str) -> Finder<'s> {
        let left = PASSES * source.len();
        let mut finder = Finder { source, macros: HashMap::new(), set: HashSet::new(), left, found: 0 };
        // What is behind a tag without an end may set any name.
        if finder.define().is_none() {
            finder.left = 0;
        }
        finder
    }

    /// Notes all macros, and all other names that are set.
    fn define(&mut self) -> Option<()> {
        let mut pos = 0;
        while let Some(tag) = self.tag(&mut pos)? {
            let (statement, rest) = tag.statement();
            let named = match statement {
                "macro" => {
                    let [Token::Name(name), rest @ ..] = rest else { continue };
                    if self.macros.insert(*name, tag.inside).is_some() {
                        self.set.insert(*name);
                    }
                    rest
                }
                "for" => rest.split(|token| *token == Token::Name("in")).next()?,
                "set" => rest.split(|token| *token == Token::Sign("=")).next()?,
                "with" | "call" => rest,
                _ => continue,
            };
            self.set.extend(names(named));
        }
        Some(())
    }

    /// The loop with this tag, whose body begins at `body`, if it is one over tools whose text can be kept.
    pub(crate) fn find(&mut self, inside: usize, body: usize) -> Option<Loop<'s>> {
        let tag = self.tokens(inside, "%}")?.0;
        let [Token::Name("for"), Token::Name(tool), Token::Name("in"), Token::Name("tools")] = tag[..] else {
            return None;
        };
        let mut needed = Vec::new();
        let end = self.body(body, "endfor", vec![tool], &mut needed)?;
        let placed = needed.contains(&"loop");
        needed.retain(|name| *name != "loop");
        let mut at = 0;
        while let Some(name) = needed.get(at).copied() {
            let inside = *self.macros.get(name)?;
            let (tag, body) = self.tokens(inside, "%}")?;
            let parameters: Vec<&str> = names(&tag[2..]).collect();
            self.reads(&tag[2..], &parameters, &mut needed)?;
            self.body(body, "endmacro", parameters, &mut needed)?;
            at += 1;
        }
        let number = self.found;
        self.found += 1;
        Some(Loop { number, tool, end, placed }).filter(|_| number < LOOPS)
    }

    /// Where the body ends that begins at `pos` and in which these names are set; `None` if it may depend on others. `needed`: the macros
    /// that it calls.
    fn body(&mut self, mut pos: usize, end: &str, mut set: Vec<&'s str>, needed: &mut Vec<&'s str>) -> Option<usize> {
        // The open blocks, how many names were set in front of each, and the name that it sets.
        let mut open: Vec<(&str, usize, Option<&'s str>)> = Vec::new();
        while let Some(tag) = self.tag(&mut pos)? {
            let (statement, rest) = tag.statement();
            match statement {
                "" => self.reads(rest, &set, needed)?,
                "if" => {
                    self.reads(rest, &set, needed)?;
                    open.push(("endif", set.len(), None));
                }
                "elif" | "else" => {
                    set.truncate(open.last()?.1);
                    self.reads(rest, &set, needed)?;
                }
                "for" => {
                    let behind = rest.iter().position(|token| *token == Token::Name("in"))?;
                    let (targets, over) = rest.split_at(behind);
                    open.push(("endfor", set.len(), None));
                    // Its variables are those of its body, and of its condition.
                    let condition = over.iter().position(|token| *token == Token::Name("if")).unwrap_or(over.len());
                    self.reads(&over[..condition], &set, needed)?;
                    set.extend(names(targets).chain(["loop"]));
                    self.reads(&over[condition..], &set, needed)?;
                }
                "filter" => {
                    self.reads(rest.get(1..)?, &set, needed)?;
                    open.push(("endfilter", set.len(), None));
                }
                "set" => match rest.iter().position(|token| *token == Token::Sign("=")) {
                    Some(behind) if !rest[..behind].contains(&Token::Sign("|")) => {
                        self.reads(&rest[behind + 1..], &set, needed)?;
                        match rest[..behind] {
                            // Of an object that the body has made, or a change of the tool.
                            [Token::Name(object), Token::Sign("."), _] if set.contains(&object) => {}
                            _ if rest[..behind].contains(&Token::Sign(".")) => return None,
                            _ => set.extend(names(&rest[..behind])),
                        }
                    }
                    _ => {
                        let [Token::Name(name), filters @ ..] = rest else { return None };
                        self.reads(filters, &set, needed)?;
                        open.push(("endset", set.len(), Some(*name)));
                    }
                },
                _ if open.is_empty() => return (statement == end).then_some(tag.start),
                _ => {
                    let (closed, before, name) = open.pop()?;
                    set.truncate(before);
                    set.extend(name);
                    if statement != closed {
                        return None;
                    }
                }
            }
        }
        None
    }

    /// Whether an expression reads no other variables than these. Adds the macros that it calls.
    fn reads(&self, tokens: &[Token<'s>], set: &[&str], needed: &mut Vec<&'s str>) -> Option<()> {
        // Each name is looked for among them.
        if set.len() > NAMES {
            return None;
        }
        for (at, token) in tokens.iter().enumerate() {
            let Token::Name(name) = *token else { continue };
            let before = |back: usize| at.checked_sub(back).map(|at| tokens[at]);
            let behind = tokens.get(at + 1);
            let is_test = before(1) == Some(Token::Name("is"))
                || before(1) == Some(Token::Name("not")) && before(2) == Some(Token::Name("is"));
            let is_argument = behind == Some(&Token::Sign("=")) && matches!(before(1), Some(Token::Sign("(" | ",")));
            let is_part = matches!(before(1), Some(Token::Sign("." | "|")));
            if is_part || is_argument || is_test && name != "not" || set.contains(&name) || WORDS.contains(&name) {
                continue;
            }
            if name == "loop" && matches!(tokens[at..], [_, Token::Sign("."), Token::Name("first" | "last"), ..]) {
                needed.push(name);
                continue;
            }
            // Those that are nothing else, and called.
            if self.set.contains(name) || behind != Some(&Token::Sign("(")) {
                return None;
            }
            if FUNCTIONS.contains(&name) || needed.contains(&name) {
                continue;
            }
            if !self.macros.contains_key(name) || needed.len() == MACROS {
                return None;
            }
            needed.push(name);
        }
        Some(())
    }

    /// The next tag that is no comment; `Some(None)` if there is no more, and `None` if it has no end or there was too much to read.
    fn tag(&mut self, pos: &mut usize) -> Option<Option<Tag<'s>>> {
        while let Some(start) = find_tag(self.source, *pos) {
            let rest = &self.source[start..];
            if rest.starts_with("{#") {
                *pos = start + rest.find("#}")? + 2;
                continue;
            }
            let inside = start + 2 + usize::from(rest[2..].starts_with(['-', '+']));
            let is_statement = rest.starts_with("{%");
            let (tokens, behind) = self.tokens(inside, if is_statement { "%}" } else { "}}" })?;
            *pos = behind;
            return Some(Some(Tag { start, inside, is_statement, tokens }));
        }
        Some(None)
    }

    /// The tokens of the tag with this inside, and where it ends.
    fn tokens(&mut self, inside: usize, end: &str) -> Option<(Vec<Token<'s>>, usize)> {
        let (mut tokens, mut pos, mut depth) = (Vec::new(), inside, 0_usize);
        loop {
            let (token, _, behind) = next(self.source, pos, end, depth > 0);
            pos = behind;
            self.left = self.left.checked_sub(1)?;
            match token {
                Token::End(_) => return Some((tokens, pos)),
                Token::None => return None,
                Token::Sign("(" | "[" | "{") => depth += 1,
                Token::Sign(")" | "]" | "}") => depth = depth.checked_sub(1)?,
                _ => {}
            }
            tokens.push(token);
        }
    }
}

/// A tag that is no comment.
struct Tag<'s> {
    start: usize,
    inside: usize,
    is_statement: bool,
    tokens: Vec<Token<'s>>,
}

impl<'s> Tag<'s> {
    /// The name of the statement, empty for an expression, and the tokens behind it.
    fn statement(&self) -> (&'s str, &[Token<'s>]) {
        match self.tokens[..] {
            [Token::Name(name), ref rest @ ..] if self.is_statement => (name, rest),
            _ if self.is_statement => ("?", &[]),
            _ => ("", &self.tokens),
        }
    }
}

/// The names among tokens.
fn names<'t, 's>(tokens: &'t [Token<'s>]) -> impl Iterator<Item = &'s str> + use<'t, 's> {
    tokens.iter().filter_map(|token| if let Token::Name(name) = token { Some(*name) } else { None })
}

/// The tool and the text that a filter's arguments name: the tool, the number of a loop, whether it is first, and last there.
fn asked(args: &[Value]) -> Option<(&ToolMemo, Written)> {
    let [tool, number, first, last] = args else { return None };
    let (known, _) = tool.downcast_object_ref::<Dict>()?.known().filter(|(_, part)| *part == Part::Tool)?;
    Some((known, Written::Loop(number.as_i64()?, first.is_true(), last.is_true())))
}

/// `op.memo`: what a loop wrote of a tool; undefined if that is not known.
pub(crate) fn memo(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let text = asked(args).and_then(|(tool, written)| tool.text(&written));
    Ok(text.map_or(Value::UNDEFINED, Value::from))
}

/// `op.keep`: keeps a text, its first argument, which it passes on.
pub(crate) fn keep(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let text = args.first().cloned().unwrap_or_default();
    if let (Some((tool, written)), Some(text)) = (asked(&args[1..]), text.as_str()) {
        budget::scan(text.len())?;
        tool.keep(written, text);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the text of the loop `over` in the template is kept.
    fn is_kept(source: &str) -> bool {
        let tag = source.find("{% for tool in tools %}").unwrap();
        let body = tag + "{% for tool in tools %}".len();
        let found = Finder::new(source).find(tag + 2, body);
        found.inspect(|found| assert!(source[found.end..].starts_with("{% endfor %}"))).is_some()
    }

    #[test]
    fn a_body_that_reads_its_tool_alone_is_kept() {
        for body in [
            "{{ tool | tojson(indent=4) }}",
            "{% set tool = tool.function %}{{ '{' ~ tool.name ~ '}}' }}",
            "{% for name, field in tool.parameters.properties.items() if field.type %}{{ name }}{{ loop.index }}{% endfor %}",
            "{% set ns = namespace(a=1) %}{% set ns.a = tool.name %}{{ ns.a if tool is not none else {'a': {}} }}",
            "{% set x %}{{ tool }}{% endset %}{{ x }}",
            "{% filter trim %}{{ type(tool.parameters) }}{% endfilter %}",
            "{# {{ messages }} #}{{ raise_exception('no') if tool.a }}",
            "{{ tool }}{% if not loop.last %}, {% endif %}",
        ] {
            let source = format!(
                "{{% macro type(x, required=[]) %}}{{{{ inner(x) }}}}{{% endmacro %}}{{% macro inner(y) %}}{{{{ type(y.items, required=y.required) }}}}{{% endmacro %}}{{% for tool in tools %}}{body}{{% endfor %}}"
            );
            assert!(is_kept(&source), "{body}");
        }
    }

    #[test]
    fn what_a_loop_wrote_of_a_tool_is_known() {
        let template = crate::Template::new(
            "{% for tool in tools %}<{{ tool.function.name }}>{% endfor %}{{ tools[0] | tojson }}",
            "",
            "",
        )
        .unwrap();
        let body = r#"{"messages": [], "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]}"#;
        let request = chatparse_message::Request::from_text(body).unwrap();
        let prompt = template.render(&crate::prepare(&template, &request).unwrap().conversation).unwrap();
        let known = template.engine(&crate::prepare(&template, &request).unwrap().conversation).memo.as_ref().unwrap();
        let known = known.of(&request.tools[0], |_| 0);
        assert_eq!(known.text(&Written::Loop(0, false, false)).as_deref(), Some("<f>"));
        assert!(prompt.starts_with("<f>{"));
    }

    #[test]
    fn a_body_that_may_depend_on_something_else_is_not() {
        for body in [
            "{{ loop.index }}",
            "{{ tool }}{{ messages[0].content }}",
            "{{ strftime_now('%d') }}",
            "{% if tool.a %}{% set x = 1 %}{% endif %}{{ x }}",
            "{% for x in tool %}{% endfor %}{{ x }}",
            "{% for x in x %}{% endfor %}",
            "{% set ns.a = 1 %}",
            "{{ f(tool) }}",
            "{{ twice(tool) }}",
            "{{ shadowed(tool) }}",
            "{% break %}",
            "{% else %}",
            "{{ caller() }}",
            "{% include 'x' %}",
        ] {
            let source = format!(
                "{{% macro f(x) %}}{{{{ x ~ y }}}}{{% endmacro %}}{{% macro twice(a) %}}{{% endmacro %}}{{% macro twice(a) %}}{{% endmacro %}}{{% macro shadowed(a) %}}{{% endmacro %}}{{% macro g(shadowed) %}}{{% endmacro %}}{{% for tool in tools %}}{body}{{% endfor %}}"
            );
            assert!(!is_kept(&source), "{body}");
        }
        let many: String = (0..=NAMES).map(|number| format!("a{number}, ")).collect();
        assert!(!is_kept(&format!(
            "{{% for tool in tools %}}{{% for {many} in tool if a9 %}}{{% endfor %}}{{% endfor %}}"
        )));
        assert!(!is_kept(&format!(
            "{{% macro f({many}) %}}{{% endmacro %}}{{% for tool in tools %}}{{{{ f(tool) }}}}{{% endfor %}}"
        )));
        assert!(!is_kept("{% for tool in tools %}{{ tool }}"));
        assert!(!is_kept("{% for tool in tools %}{{ tool }}{% endfor %}{{ ("));
    }
}
