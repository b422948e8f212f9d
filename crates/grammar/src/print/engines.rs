//! Works what other engines do not know into a grammar's tree, the end of the prompt and the triggers, and prints it.

use super::{Dialect, Printed, Start, derivative, lark, portable, tag, widened};
use crate::rules::builder::Fidelity;
use crate::text::gbnf;
use crate::text::tree::{Node, Tree};
use crate::{Trigger, TriggerKind};
use chatparse_base::chars::Chars;
use chatparse_base::{Result, stack};
use chatparse_peg::Arena;

/// The grammar in a dialect other than GBNF. Its tree nests as deep as its groups do.
pub(super) fn print(text: &str, dialect: Dialect, begins: Start) -> Result<Printed> {
    stack::deep(|| print_tree(text, dialect, begins))
}

fn print_tree(text: &str, dialect: Dialect, begins: Start) -> Result<Printed> {
    let mut printed = Printed::default();
    if dialect == Dialect::StructuralTagOld {
        return Err(tag::not_old("it has schemas between texts, and no grammars"));
    }
    let mut tree = gbnf::tree(text)?;
    match begins {
        Start::AfterPrefix(prefix) => {
            tree = derivative::derivative(&tree, prefix)?;
            printed.text = print_rest(&tree, dialect)?;
        }
        Start::AtTrigger(triggers) => {
            let words = words(&tree, triggers, &mut printed.report);
            if words.is_empty() || dialect != Dialect::StructuralTag {
                behind(&mut tree, &words);
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

/// The grammar of an output from its first byte on.
pub(super) fn print_rest(tree: &Tree, dialect: Dialect) -> Result<String> {
    Ok(match dialect {
        Dialect::Lark => lark::print(tree)?,
        Dialect::StructuralTag => tag::of(tag::grammar(tree)),
        Dialect::StructuralTagOld => return Err(tag::not_old("it has schemas between texts, and no grammars")),
        Dialect::Gbnf | Dialect::PortableGbnf => portable::print(tree),
    })
}

/// The words that begin a lazy grammar.
pub(super) fn words_of(text: &str, triggers: &[Trigger]) -> Result<Vec<String>> {
    Ok(words(&gbnf::tree(text)?, triggers, &mut Vec::new()))
}

fn behind(tree: &mut Tree, words: &[String]) {
    if words.is_empty() {
        let any = Node::Class(Chars::all()).repeat(0, None);
        tree.root = tree.add("root", any);
    } else {
        tree.behind_words(words);
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
