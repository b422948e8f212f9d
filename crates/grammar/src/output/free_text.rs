//! The free text before a lazy grammar, as a grammar.

use crate::formats::automaton::{Automaton, Texts};
use crate::regular::{Expr, Pattern, Spelling, StateBudget, automaton, of_automaton};
use crate::rules::{Builder, Grammar, Rule};
use crate::{Trigger, TriggerKind};
use chatparse_base::chars::Chars;
use chatparse_base::limits;

/// The triggers, if all are words. No word contains another one, so each is found first.
pub fn words(triggers: &[Trigger]) -> Option<Vec<String>> {
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
pub fn free_text(triggers: &[Trigger]) -> Grammar {
    let Some(words) = words(triggers) else {
        return behind_patterns(triggers).unwrap_or_default();
    };
    if words.is_empty() {
        return Grammar::default();
    }
    let mut builder = Builder::new();

    Texts::new(Automaton::new(&words, &[]), false).add(&mut builder, "u");
    builder.add_rule("root", Rule::reference("u"));
    builder.finish()
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
    if trigger.kind == TriggerKind::Word {
        let chars = trigger.value.chars();
        let word = chars.map(|c| Expr::One(Chars::one(c))).collect();
        return Some(Expr::Sequence(word));
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
            let mut next = Chars::default();
            for other in &excluded {
                if other.starts_with(&text[..at]) {
                    let Some(Expr::One(chars)) = other.get(at) else {
                        return None;
                    };
                    next = next.or(chars);
                }
            }
            let mut way = text[..at].to_vec();
            way.push(Expr::One(next.negated()));
            ways.push(Expr::Sequence(way));
        }
    }
    let ways = if ways.is_empty() {
        Expr::nothing()
    } else {
        Expr::Choice(ways)
    };
    Some(Expr::Sequence(vec![before.expr, ways]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_contains_another_one_is_found_by_it() {
        let triggers = ["a<tool>", "<tool_call>", "<tool>x", "<tool>"].map(Trigger::word);
        assert_eq!(words(&triggers).unwrap(), ["<tool>", "<tool_call>"]);
        assert!(words(&[Trigger::pattern("a+")]).is_none());
    }
}
