//! Works what other engines do not know into a grammar's tree, the end of the prompt and the triggers, and prints it.

use super::{Dialect, Printed, Start, behind_prefix, behind_words, heads, lark, portable, tag, widened};
use crate::formats::automaton::Automaton;
use crate::rules::builder::Fidelity;
use crate::text::gbnf;
use crate::text::tree::Tree;
use crate::{Trigger, TriggerKind};
use chatparse_base::{Error, ErrorKind, Result, limits, stack};
use chatparse_peg::Arena;

/// The grammar in a dialect other than GBNF. Its tree nests as deep as its groups do.
pub(super) fn print(text: &str, dialect: Dialect, begins: Start) -> Result<Printed> {
    stack::deep(|| print_tree(text, dialect, begins))
}

fn print_tree(text: &str, dialect: Dialect, begins: Start) -> Result<Printed> {
    let mut printed = Printed::default();
    let tree = gbnf::tree(text)?;
    printed.text = match begins {
        Start::AfterPrefix(prefix) => print_rest(&behind_prefix(tree, prefix)?, dialect)?,
        Start::AtTrigger(triggers) => {
            let words = words(&tree, triggers, &mut printed.report);
            match dialect {
                Dialect::StructuralTag => bounded(tag::of(tag::behind_words(tree, &words)), dialect)?,
                _ => print_rest(&behind_words(tree, &words)?, dialect)?,
            }
        }
    };
    Ok(printed)
}

/// The grammar of an output from its first byte on.
pub(super) fn print_rest(tree: &Tree, dialect: Dialect) -> Result<String> {
    let text = match dialect {
        Dialect::Lark => lark::print(tree)?,
        Dialect::StructuralTag => tag::of(tag::grammar(tree)),
        Dialect::StructuralTagOld => return Err(tag::not_old("it has schemas between texts, and no grammars")),
        Dialect::Gbnf | Dialect::PortableGbnf => portable::print(tree),
    };
    bounded(text, dialect)
}

/// A text that is not too large for an engine.
fn bounded(text: String, dialect: Dialect) -> Result<String> {
    if text.len() > limits::GRAMMAR_BYTES {
        let message = format!("grammar: as {} it takes more than {} bytes", dialect.name(), limits::GRAMMAR_BYTES);
        return Err(Error::new(ErrorKind::Limit, message));
    }
    Ok(text)
}

/// The words that begin a lazy grammar.
pub(super) fn words_of(text: &str, triggers: &[Trigger]) -> Result<Vec<String>> {
    Ok(words(&gbnf::tree(text)?, triggers, &mut Vec::new()))
}

/// Prints [`Dialect::StructuralTagOld`] for a lazy format: the texts around its calls, and the schemas of their arguments.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] with the reason if that form cannot express the format.
pub fn print_old_tag(format: &Arena, triggers: &[Trigger]) -> Result<Printed> {
    let printed = tag::old(format, triggers)?;
    Ok(Printed { text: bounded(printed.text, Dialect::StructuralTagOld)?, ..printed })
}

/// The words that must not occur in the text in front of the grammar.
fn words(tree: &Tree, triggers: &[Trigger], report: &mut Vec<Fidelity>) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (patterns, plain): (Vec<&Trigger>, _) = triggers.iter().partition(|it| it.kind == TriggerKind::Pattern);
    words.extend(plain.into_iter().map(|word| word.value.clone()));
    if let Some(first) = patterns.first() {
        let message = match heads::heads(tree) {
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
    let mut words = heads::shortest(words);
    // Text without a word has none that contains it.
    let automaton = Automaton::new(&words, &[]);
    words.retain(|word| !automaton.finds(word.chars().skip(1)));
    words
}

/// The literal text at the beginning of a pattern.
fn text_of(pattern: &str) -> &str {
    let plain = |c: char| c.is_alphanumeric() || " <>=_-/:'\"".contains(c);
    let end = pattern.find(|c| !plain(c)).unwrap_or(pattern.len());
    // A quantifier would apply to the last character.
    if pattern[end..].starts_with(['*', '+', '?', '{']) { "" } else { &pattern[..end] }
}
