//! Prints grammars in the dialects that engines read.
//!
//! The grammar's text is read as a tree, so all grammars, including rules that a caller wrote as GBNF, can be printed in every
//! dialect, and the result allows the same texts. llama.cpp keeps triggers and the end of the prompt beside the grammar; for
//! other engines these are worked into the tree first ([`Tree::behind_words`], [`derivative`]).

mod derivative;
mod lark;
mod lexer;
mod portable;
mod recursion;
mod tag;
mod terminals;

use super::builder::{Fidelity, FidelityKind, Grammar};
use super::gbnf;
use super::tree::{Node, Tree};
use super::{Trigger, TriggerKind};
use chatparse_base::Result;
use chatparse_base::chars::Chars;
use chatparse_peg::Arena;

/// A notation for grammars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// GBNF as llama.cpp writes it: the text of [`Grammar`].
    Gbnf,
    /// GBNF that every version of llama.cpp and XGrammar read.
    PortableGbnf,
    /// Lark as llguidance, XGrammar and vLLM read it.
    Lark,
    /// XGrammar's structural tag, as JSON: `{"type": "structural_tag", "format": ...}`.
    StructuralTag,
    /// Its older form, which llguidance also reads: `{"structures": [...], "triggers": [...]}`.
    StructuralTagOld,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Dialect; 5] =
        [Dialect::Gbnf, Dialect::PortableGbnf, Dialect::Lark, Dialect::StructuralTag, Dialect::StructuralTagOld];

    /// `gbnf`, `portable-gbnf`, `lark`, `structural-tag` or `structural-tag-old`.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Gbnf => "gbnf",
            Dialect::PortableGbnf => "portable-gbnf",
            Dialect::Lark => "lark",
            Dialect::StructuralTag => "structural-tag",
            Dialect::StructuralTagOld => "structural-tag-old",
        }
    }

    /// The dialect of this name.
    pub fn find(name: &str) -> Option<Dialect> {
        Dialect::ALL.into_iter().find(|dialect| dialect.name() == name)
    }
}

/// A grammar in a dialect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The text; empty if nothing is constrained.
    pub text: String,
    /// What the dialect cannot express. For departures of the grammar from its schemas see [`Grammar::report`].
    pub report: Vec<Fidelity>,
}

/// Where the constrained part of an output begins.
#[derive(Clone, Copy, Debug)]
pub enum Begins<'a> {
    /// Behind this text, which all texts of the grammar begin with.
    Behind(&'a str),
    /// At one of these triggers; the text in front of it is free.
    At(&'a [Trigger]),
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
    /// [`crate::ErrorKind::InvalidArgument`] if llama.cpp would reject the text, and for [`Dialect::StructuralTagOld`],
    /// which cannot hold grammars; [`crate::ErrorKind::Limit`].
    pub fn print(&self, dialect: Dialect) -> Result<Printed> {
        self.print_output(dialect, Begins::Behind(""))
    }

    /// Prints a grammar of what a model writes, for an engine that knows neither the prompt nor the triggers. For
    /// [`Dialect::Gbnf`] the text is unchanged, because llama.cpp knows both.
    ///
    /// # Errors
    /// As [`Grammar::print`], and [`crate::ErrorKind::InvalidArgument`] where the grammar allows nothing behind the text.
    pub fn print_output(&self, dialect: Dialect, begins: Begins) -> Result<Printed> {
        let mut printed = Printed::default();
        if dialect == Dialect::Gbnf || self.text.is_empty() {
            printed.text.clone_from(&self.text);
            return Ok(printed);
        }
        if dialect == Dialect::StructuralTagOld {
            return Err(tag::not_old("it has schemas between texts, and no grammars"));
        }
        let mut tree = gbnf::tree(&self.text)?;
        match begins {
            Begins::Behind(prefix) => {
                tree = derivative::derivative(&tree, prefix)?;
                printed.text = match dialect {
                    Dialect::Lark => lark::print(&tree)?,
                    Dialect::StructuralTag => tag::of(tag::grammar(&tree)),
                    _ => portable::print(&tree),
                };
            }
            Begins::At(triggers) => {
                let words = words(&tree, triggers, &mut printed.report);
                if words.is_empty() {
                    let any = Node::Class(Chars::all()).repeat(0, None);
                    tree.root = tree.add("root", any);
                } else if dialect != Dialect::StructuralTag {
                    tree.behind_words(&words);
                }
                printed.text = match dialect {
                    Dialect::Lark => lark::print(&tree)?,
                    Dialect::StructuralTag if words.is_empty() => tag::of(json!({"type": "any_text"})),
                    Dialect::StructuralTag => tag::of(tag::triggered(&tree, &words, &mut printed.report)?),
                    _ => portable::print(&tree),
                };
            }
        }
        Ok(printed)
    }
}

/// Prints [`Dialect::StructuralTagOld`] for a lazy format: the texts around its calls, and the schemas of their arguments.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] with the reason if that form cannot express the format.
pub fn print_old_tag(format: &Arena, triggers: &[Trigger]) -> Result<Printed> {
    tag::old(format, triggers)
}

/// The words that must not occur in the text in front of the grammar.
fn words(tree: &Tree, triggers: &[Trigger], report: &mut Vec<Fidelity>) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (patterns, plain): (Vec<&Trigger>, _) = triggers.iter().partition(|it| it.kind == TriggerKind::Pattern);
    words.extend(plain.into_iter().map(|word| word.value.clone()));
    if let Some(first) = patterns.first() {
        let message = match derivative::heads(tree) {
            Some(mut heads) => {
                // If a pattern begins with a literal text, the grammar begins with that text.
                let texts: Vec<&str> = patterns.iter().map(|pattern| text_of(&pattern.value)).collect();
                if texts.iter().any(|text| !text.is_empty() && heads.iter().any(|head| head.starts_with(text))) {
                    heads.retain(|head| texts.iter().any(|text| head.starts_with(text)));
                }
                words.extend(heads);
                "is a pattern; the beginning of the grammar replaces it"
            }
            None => {
                "is a pattern, and the grammar does not begin with words that could replace it; calls begin nowhere"
            }
        };
        report.push(widened(format!("the trigger {:?} {message}", first.value)));
    }
    words.retain(|word| !word.is_empty());
    derivative::shortest(words)
}

/// The literal text at the beginning of a pattern.
fn text_of(pattern: &str) -> &str {
    let plain = |c: char| c.is_alphanumeric() || " <>=_-/:'\"".contains(c);
    let end = pattern.find(|c| !plain(c)).unwrap_or(pattern.len());
    // A quantifier would apply to the last character.
    if pattern[end..].starts_with(['*', '+', '?', '{']) { "" } else { &pattern[..end] }
}

fn widened(message: String) -> Fidelity {
    Fidelity { schema: String::new(), pointer: "#".to_owned(), kind: FidelityKind::Widened, message }
}
