//! A grammar as an engine takes it: printed in a notation, or as a matcher.
//!
//! All notations are printed from the tree of the grammar's rules, including rules that a caller
//! wrote as GBNF, and the result allows the same texts. llama.cpp keeps triggers and the end of the
//! prompt beside the grammar; for other engines both are worked into the tree first.

mod free_text;

use crate::Trigger;
use crate::matcher::{Matcher, Source};
use crate::rules::{Fidelity, Grammar};
use crate::text::{Node, Tree};
use chatparse_base::chars::Chars;
use chatparse_base::{Error, Result, limits, stack};
use free_text::{free_text, words};

/// A notation for grammars. Who prints one chooses the notation.
pub trait Notation: Copy + Send + Sync {
    /// The name, for errors.
    fn name(self) -> &'static str;

    /// Whether it is GBNF for an engine that knows the prompt and the triggers: the text that the
    /// grammar has.
    fn is_gbnf(self) -> bool;

    /// Whether the notation itself can exclude words from free text.
    fn excludes_words(self) -> bool;

    /// Prints a tree. With `words`, the output begins with free text that has none of them, and the
    /// tree is optional: only for a notation that excludes words.
    ///
    /// # Errors
    /// What the notation cannot express.
    fn print(self, tree: Tree, words: Option<&[String]>) -> Result<String>;
}

/// A grammar in a notation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The text; empty if nothing is constrained.
    pub text: String,
    /// What the dialect cannot express. For departures of the grammar from its schemas see
    /// [`Grammar::report`].
    pub report: Vec<Fidelity>,
}

/// Where the constrained part of an output begins.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a> {
    /// After this text, which all texts of the grammar begin with.
    AfterPrefix(&'a str),
    /// At one of these triggers; the text before it is free.
    AtTrigger(&'a [Trigger]),
}

impl Grammar {
    /// Prints the grammar in another dialect. The result allows exactly the same texts.
    ///
    /// ```
    /// use chatparse::grammar::{self, Dialect};
    /// let grammar = grammar::from_json_schema(&serde_json::json!({"type": "boolean"}))?;
    /// assert_eq!(grammar.print(Dialect::Lark)?.text, "start: ROOT\nROOT: /true|false/\n");
    /// # Ok::<(), chatparse::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if llama.cpp would reject the text;
    /// [`crate::ErrorKind::Limit`].
    pub fn print(&self, dialect: impl Notation) -> Result<Printed> {
        self.print_output(dialect, Start::AfterPrefix(""))
    }

    /// Prints a grammar of what a model writes, for an engine that knows neither the prompt nor the
    /// triggers. For `Dialect::Gbnf` the text is unchanged, because llama.cpp knows both.
    ///
    /// # Errors
    /// As [`Grammar::print`], and [`crate::ErrorKind::InvalidArgument`] where the grammar allows
    /// nothing after the text.
    pub fn print_output(&self, dialect: impl Notation, begins: Start) -> Result<Printed> {
        let mut printed = Printed::default();
        if dialect.is_gbnf() || self.text.is_empty() {
            printed.text = self.text.clone();
            return Ok(printed);
        }
        // The tree nests as deep as the grammar's groups do.
        stack::deep(|| {
            let tree = self.tree()?;
            printed.text = match begins {
                Start::AfterPrefix(prefix) => print(behind_prefix(tree, prefix)?, None, dialect)?,
                Start::AtTrigger(triggers) => match words(triggers) {
                    Some(words) if dialect.excludes_words() => print(tree, Some(&words), dialect)?,
                    _ => {
                        let free = free_text(triggers);
                        if free.sections.is_empty() {
                            let why = "a trigger is a pattern that grammars cannot follow; calls begin nowhere";
                            printed.report = Grammar::none(Some(why)).report;
                        }
                        print(behind(tree, &free)?, None, dialect)?
                    }
                },
            };
            Ok(printed)
        })
    }

    /// The grammar of what a model writes as a machine that is fed bytes, at the output's
    /// beginning. Without a text, it allows any.
    ///
    /// ```
    /// use chatparse::grammar::{self, Start};
    /// let schema = serde_json::json!({"enum": ["celsius", "fahrenheit"]});
    /// let mut matcher = grammar::from_json_schema(&schema)?.matcher(Start::AfterPrefix(""))?;
    /// assert_eq!(matcher.forced(), b"\"");
    /// assert_eq!(matcher.feed(b"\"f")?, 2);
    /// assert_eq!(matcher.forced(), b"ahrenheit\"");
    /// # Ok::<(), chatparse::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Grammar::print_output`].
    pub fn matcher(&self, begins: Start) -> Result<Matcher> {
        // The tree nests as deep as the grammar's groups do.
        stack::deep(|| {
            let free = match begins {
                Start::AtTrigger(triggers) => Some(free_text(triggers)),
                Start::AfterPrefix(_) => None,
            };
            let source = Source::new(self, free);
            let mut matcher = Matcher::of(&tree_of(&source)?, source)?;
            if let Start::AfterPrefix(text) = begins {
                go_behind(&mut matcher, text)?;
            }
            Ok(matcher)
        })
    }
}

/// Prints a tree, unless the text is too large for an engine.
fn print(tree: Tree, words: Option<&[String]>, dialect: impl Notation) -> Result<String> {
    let text = dialect.print(tree, words)?;
    if text.len() > limits::GRAMMAR_BYTES {
        let message = format!(
            "grammar: as {} it takes more than {} bytes",
            dialect.name(),
            limits::GRAMMAR_BYTES
        );
        return Err(Error::limit(message));
    }
    Ok(text)
}

fn go_behind(matcher: &mut Matcher, text: &str) -> Result<()> {
    match matcher.feed(text.as_bytes())? < text.len() {
        true => Err(Error::invalid(format!(
            "grammar: it does not allow the text {text:?}"
        ))),
        false => Ok(()),
    }
}

/// The grammar of all texts that the tree allows after a prefix.
fn behind_prefix(tree: Tree, prefix: &str) -> Result<Tree> {
    if prefix.is_empty() {
        return Ok(tree);
    }
    let mut matcher = Matcher::of(&tree, Source::default())?;
    go_behind(&mut matcher, prefix)?;
    matcher.rest(&tree)
}

/// The tree of a source, with the free text before it.
fn tree_of(source: &Source) -> Result<Tree> {
    let any = Grammar::written("root ::= .*");
    let is_any = source.grammar.text.is_empty() && source.grammar.sections.is_empty();
    let tree = if is_any { &any } else { &source.grammar }.tree()?;
    match &source.free {
        Some(free) => behind(tree, free),
        None => Ok(tree),
    }
}

/// The text of the grammar `free`, and then the tree or nothing. If `free` has no rules, the tree
/// begins nowhere.
fn behind(mut tree: Tree, free: &Grammar) -> Result<Tree> {
    if free.sections.is_empty() {
        tree.root = tree.add("root", Node::Class(Chars::all()).repeat(0, None));
        return Ok(tree);
    }
    let free = tree.append(free.tree()?);
    let whole = Node::sequence([Node::Rule(free), Node::Rule(tree.root).optional()]);
    tree.root = tree.add("root", whole);
    Ok(tree)
}

impl Matcher {
    /// The grammar of what may follow what was fed, for an engine that begins there: a grammar that
    /// comes late, after a text that was cut, or when a call is tried again. It ends where the
    /// matcher's ends. `Dialect::Gbnf` is that of `Dialect::PortableGbnf` here: it covers the
    /// whole rest, and has no trigger. Costs as much as making the matcher, however long the output
    /// is.
    ///
    /// ```
    /// use chatparse::grammar::{self, Start, Dialect};
    /// let schema = serde_json::json!({"enum": ["celsius", "fahrenheit"]});
    /// let mut matcher = grammar::from_json_schema(&schema)?.matcher(Start::AfterPrefix(""))?;
    /// matcher.feed(b"\"f")?;
    /// assert!(matcher.grammar(Dialect::Gbnf)?.text.starts_with(r#"root ::= "ahrenheit\"""#));
    /// # Ok::<(), chatparse::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] inside of a character; [`crate::ErrorKind::Limit`].
    pub fn grammar(&self, dialect: impl Notation) -> Result<Printed> {
        stack::deep(|| {
            let rest = self.rest(&tree_of(self.source())?)?;
            Ok(Printed {
                text: print(rest, None, dialect)?,
                report: Vec::new(),
            })
        })
    }
}
