//! Works what other engines do not know into a grammar's tree, the end of the prompt and the
//! triggers, and prints it.

use smol_str::SmolStr;

use super::{Dialect, Printed, Start, behind, behind_prefix, lark, portable, tag};
use crate::formats::automaton::{Automaton, Texts};
use crate::regular::{Expr, Pattern, Spelling, StateBudget, automaton, of_automaton};
use crate::rules::{Builder, Fidelity, FidelityKind, Grammar, Rule};
use crate::text::Tree;
use crate::{Trigger, TriggerKind};
use chatparse_base::chars::Chars;
use chatparse_base::{Error, ErrorKind, Result, limits, stack};

/// The grammar in a dialect other than GBNF. Its tree nests as deep as its groups do.
pub fn print(grammar: &Grammar, dialect: Dialect, begins: Start) -> Result<Printed> {
    stack::deep(|| print_tree(grammar, dialect, begins))
}

fn print_tree(grammar: &Grammar, dialect: Dialect, begins: Start) -> Result<Printed> {
    let mut printed = Printed::default();
    let tree = grammar.tree()?;
    printed.text = match begins {
        Start::AfterPrefix(prefix) => print_rest(&behind_prefix(tree, prefix)?, dialect)?,
        Start::AtTrigger(triggers) => match words(triggers) {
            Some(words) if dialect == Dialect::StructuralTag => {
                bounded(tag::of(tag::behind_words(tree, &words)), dialect)?
            }
            _ => {
                let free = free(triggers)?;
                if free.sections.is_empty() {
                    let why =
                        "a trigger is a pattern that grammars cannot follow; calls begin nowhere";
                    printed
                        .report
                        .push(Fidelity::new("", "#", FidelityKind::Widened, why));
                }
                print_rest(&behind(tree, &free)?, dialect)?
            }
        },
    };
    Ok(printed)
}

/// The grammar of an output from its first byte on.
pub fn print_rest(tree: &Tree, dialect: Dialect) -> Result<String> {
    let text = match dialect {
        Dialect::Lark => lark::print(tree)?,
        Dialect::StructuralTag => tag::of(tag::grammar(tree)),
        Dialect::Gbnf | Dialect::PortableGbnf => portable::print(tree),
    };
    bounded(text, dialect)
}

/// A text that is not too large for an engine.
fn bounded(text: String, dialect: Dialect) -> Result<String> {
    if text.len() > limits::GRAMMAR_BYTES {
        let message = format!(
            "grammar: as {} it takes more than {} bytes",
            dialect.name(),
            limits::GRAMMAR_BYTES
        );
        return Err(Error::new(ErrorKind::Limit, message));
    }
    Ok(text)
}

/// The triggers, if all are words: none is in the text in front of another one.
fn words(triggers: &[Trigger]) -> Option<Vec<String>> {
    let word =
        |trigger: &Trigger| (trigger.kind == TriggerKind::Word).then(|| trigger.value.clone());
    let mut words = triggers.iter().map(word).collect::<Option<Vec<String>>>()?;
    words.retain(|word| !word.is_empty());
    chatparse_base::sort::sort(&mut words);
    words.dedup_by(|word, before| word.starts_with(&**before));
    // Text without a word has none that contains it.
    let automaton = Automaton::new(&words, &[]);
    words.retain(|word| !automaton.finds(word.chars().skip(1)));
    Some(words)
}

/// The text before a lazy grammar: any in which no trigger is found. Without rules where none is,
/// or where a pattern cannot be followed.
pub fn free(triggers: &[Trigger]) -> Result<Grammar> {
    let Some(words) = words(triggers) else {
        return Ok(behind_patterns(triggers).unwrap_or_default());
    };
    if words.is_empty() {
        return Ok(Grammar::default());
    }
    let mut builder = Builder::new();
    let start = SmolStr::new_static("u");
    Texts::new(Automaton::new(&words, &[]), false).add(&mut builder, &start);
    builder.add_rule("root", Rule::Reference(start));
    Ok(builder.finish())
}

fn behind_patterns(triggers: &[Trigger]) -> Option<Grammar> {
    let found = triggers.iter().map(found).collect::<Option<Vec<Expr>>>()?;
    // Namespaces may be many.
    let room = StateBudget::new(limits::AUTOMATON_STATES, limits::AUTOMATON_STEPS).wider(8);
    let pattern = Pattern {
        expr: Expr::Choice(found),
        ahead: Vec::new(),
        pinned: false,
    };
    let free = automaton(&pattern, &room)?.complement().minimal(&room);
    let mut builder = Builder::new();
    let body = of_automaton(&mut builder, "u", &free, Spelling::Plain);
    builder.add_rule("root", body);
    builder.build().ok()
}

/// The maximum number of characters that look aheads of a trigger exclude.
const EXCLUDED: usize = 200;

/// What is in a text once the trigger is certain. A look ahead that excludes texts ends it where
/// none of them goes on.
fn found(trigger: &Trigger) -> Option<Expr> {
    let one = |c: char| Expr::One(Chars::one(c));
    if trigger.kind == TriggerKind::Word {
        return Some(Expr::Sequence(trigger.value.chars().map(one).collect()));
    }
    // The output so far ends there.
    let pattern = trigger.value.trim_end_matches('$');
    let (before, mut ahead) = pattern.split_at(pattern.find("(?!").unwrap_or(pattern.len()));
    // It may be in groups.
    let before =
        (0..=2).find_map(|open| Pattern::parse(&[before, &")".repeat(open)].concat()).ok())?;
    let mut excluded: Vec<Vec<Expr>> = Vec::new();
    while let Some((text, behind)) = ahead
        .strip_prefix("(?!")
        .and_then(|rest| rest.split_once(')'))
    {
        match Pattern::parse(text).ok()?.expr {
            Expr::Sequence(text) => excluded.push(text),
            text => excluded.push(vec![text]),
        }
        ahead = behind;
    }
    if excluded.iter().map(Vec::len).sum::<usize>() > EXCLUDED {
        return None;
    }
    let mut ways = Vec::new();
    for text in &excluded {
        for at in 0..text.len() {
            let next = excluded
                .iter()
                .filter(|other| other.starts_with(&text[..at]));
            let next = next.map(|other| match other.get(at) {
                Some(Expr::One(chars)) => Some(chars.clone()),
                _ => None,
            });
            let next = next
                .collect::<Option<Vec<Chars>>>()?
                .iter()
                .fold(Chars::default(), |all, one| all.or(one));
            ways.push(Expr::Sequence(
                text[..at]
                    .iter()
                    .cloned()
                    .chain([Expr::One(next.negated())])
                    .collect(),
            ));
        }
    }
    let ways = if ways.is_empty() {
        Expr::nothing()
    } else {
        Expr::Choice(ways)
    };
    Some(Expr::Sequence(vec![before.expr, ways]))
}
