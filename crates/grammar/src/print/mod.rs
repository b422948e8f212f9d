//! Prints grammars in the dialects that engines read.
//!
//! All dialects are printed from the tree of the grammar's rules, including those that a caller
//! wrote as GBNF, and the result allows the same texts. llama.cpp keeps triggers and the end of the
//! prompt beside the grammar; for other engines these are worked into the tree first (`engines`).

#[cfg(feature = "dialects")]
mod engines;
#[cfg(feature = "dialects")]
mod lark;
#[cfg(feature = "dialects")]
mod lexer;
#[cfg(feature = "dialects")]
mod portable;
#[cfg(feature = "dialects")]
mod recursion;
#[cfg(feature = "dialects")]
mod tag;
#[cfg(feature = "dialects")]
mod terminals;

use crate::Trigger;
use crate::matcher::{Matcher, Source};
use crate::rules::{Fidelity, Grammar};
use crate::text::{Node, Tree};
use chatparse_base::chars::Chars;
use chatparse_base::{Error, Result, stack};

chatparse_base::names! {
    /// A notation for grammars.
    #[repr(u32)]
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Dialect {
        /// GBNF as llama.cpp writes it.
        Gbnf(1) = "gbnf",
        /// GBNF for all versions of llama.cpp and for XGrammar.
        PortableGbnf(2) = "portable-gbnf",
        /// Lark for llguidance, XGrammar and vLLM.
        Lark(3) = "lark",
        /// XGrammar's structural tag, as JSON: `{"type": "structural_tag", "format": ...}`.
        StructuralTag(4) = "structural-tag",
    }
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Dialect; 4] = [
        Dialect::Gbnf,
        Dialect::PortableGbnf,
        Dialect::Lark,
        Dialect::StructuralTag,
    ];

    /// The dialect of this name.
    pub fn find(name: &str) -> Option<Dialect> {
        Dialect::ALL
            .into_iter()
            .find(|dialect| dialect.name() == name)
    }
}

/// A grammar in a dialect.
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
    /// Behind this text, which all texts of the grammar begin with.
    AfterPrefix(&'a str),
    /// At one of these triggers; the text in front of it is free.
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
    pub fn print(&self, dialect: Dialect) -> Result<Printed> {
        self.print_output(dialect, Start::AfterPrefix(""))
    }

    /// Prints a grammar of what a model writes, for an engine that knows neither the prompt nor the
    /// triggers. For [`Dialect::Gbnf`] the text is unchanged, because llama.cpp knows both.
    ///
    /// # Errors
    /// As [`Grammar::print`], and [`crate::ErrorKind::InvalidArgument`] where the grammar allows
    /// nothing behind the text.
    pub fn print_output(&self, dialect: Dialect, begins: Start) -> Result<Printed> {
        if dialect == Dialect::Gbnf || self.text.is_empty() {
            return Ok(Printed {
                text: self.text.clone(),
                ..Printed::default()
            });
        }
        engines::print(self, dialect, begins)
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
                Start::AtTrigger(triggers) => Some(engines::free(triggers)?),
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

fn go_behind(matcher: &mut Matcher, text: &str) -> Result<()> {
    match matcher.feed(text.as_bytes())? < text.len() {
        true => Err(Error::invalid(format!(
            "grammar: it does not allow the text {text:?}"
        ))),
        false => Ok(()),
    }
}

/// The grammar of all texts that it allows behind a prefix.
fn behind_prefix(tree: Tree, prefix: &str) -> Result<Tree> {
    if prefix.is_empty() {
        return Ok(tree);
    }
    let mut matcher = Matcher::of(&tree, Source::default())?;
    go_behind(&mut matcher, prefix)?;
    matcher.rest(&tree)
}

/// The tree of a source, with the free text in front of it.
fn tree_of(source: &Source) -> Result<Tree> {
    let any = Grammar::written("root ::= .*");
    let is_any = source.grammar.text.is_empty() && source.grammar.sections.is_empty();
    let tree = if is_any { &any } else { &source.grammar }.tree()?;
    match &source.free {
        Some(free) => behind(tree, free),
        None => Ok(tree),
    }
}

/// The text that a grammar says, and then the other grammar or nothing. Without a rule, that begins
/// nowhere.
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
    /// comes late, behind a text that was cut, or when a call is tried again. It ends where the
    /// matcher's ends. [`Dialect::Gbnf`] is that of [`Dialect::PortableGbnf`] here: it covers the
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
    pub fn grammar(&self, dialect: Dialect) -> Result<Printed> {
        stack::deep(|| {
            let rest = self.rest(&tree_of(self.source())?)?;
            Ok(Printed {
                text: engines::print_rest(&rest, dialect)?,
                report: Vec::new(),
            })
        })
    }
}

/// Stands in for what this build leaves out.
#[cfg(not(feature = "dialects"))]
mod engines {
    use crate::Trigger;
    use crate::text::Tree;
    use crate::{Dialect, Grammar, Printed, Start};
    use chatparse_base::{Error, Result};

    pub(super) fn free(_: &[Trigger]) -> Result<Grammar> {
        Err(Error::invalid(
            "a lazy grammar has no matcher: the library was built without its part `dialects`",
        ))
    }

    pub(super) fn print_rest(_: &Tree, dialect: Dialect) -> Result<String> {
        print(&Grammar::default(), dialect, Start::AfterPrefix("")).map(|printed| printed.text)
    }

    pub(super) fn print(_: &Grammar, dialect: Dialect, _: Start) -> Result<Printed> {
        Err(Error::invalid(format!(
            "{}: the library was built without its part `dialects`",
            dialect.name()
        )))
    }
}
