//! The part of `inspect` about the reader of a template, and its proof.

use chatparse::ChatTemplate;
use chatparse::proof::Proof;

use crate::screen::{Paint, Screen};
use crate::text::escaped;

/// Prints the reader, and how many messages are read back.
pub fn show(template: &ChatTemplate, screen: &mut Screen) {
    let (proof, used) = (template.proof(), template.reader());
    match used {
        "turn" => screen.row("reader", "the learnt turn", Paint::Plain),
        family => {
            let text = format!("{family}, a known family of templates");
            screen.row("reader", &text, Paint::Plain)
        }
    }
    let text = format!("{} of {}", proof.read_back, proof.cases);
    screen.row("read back", &text, warned(!proof.is_whole()));
    notes(proof, screen);
    if proof.grammar_cases > 0 {
        let (right, cases) = (proof.grammar_right, proof.grammar_cases);
        let fault = escaped(&proof.grammar_fault);
        let text = format!("{right} of {cases}: {fault}");
        let text = text.trim_end_matches(": ");
        screen.row("grammar", text, warned(!fault.is_empty()));
    }
    let mut tried = Vec::new();
    for candidate in &template.choice().tried {
        let (name, back, cases) = (candidate.reader, candidate.read_back, candidate.cases);
        // Candidates without results are not listed.
        if cases > 0 {
            let unused = if name == used { "" } else { " (not used)" };
            tried.push(format!("{name} {back} of {cases}{unused}"));
        }
    }
    if tried.len() > 1 {
        screen.row("tried", &tried.join(", "), Paint::Plain);
    }
    if !proof.failures.is_empty() {
        screen.row("not", "chatparse lint shows which, and why", Paint::Faint);
    }
}

fn warned(is_wrong: bool) -> Paint {
    if is_wrong { Paint::Red } else { Paint::Plain }
}

/// Details of the two numbers.
fn notes(proof: &Proof, screen: &mut Screen) {
    for (count, note) in [
        (
            proof.recovered,
            "of them outside the reader's format: streaming and grammars do not know these",
        ),
        (
            proof.alike,
            "not counted: another message comes back, which the template writes alike",
        ),
        (
            proof.no_turn,
            "not counted: they do not begin where the prompt ends",
        ),
        (
            proof.omitted,
            "not counted: the template leaves out their text",
        ),
        (proof.refused, "not counted: the template refuses them"),
    ] {
        if count > 0 {
            screen.row("", &format!("{count} {note}"), Paint::Faint);
        }
    }
    if !proof.refusal.is_empty() {
        let text = format!("the first of these: {}", proof.refusal);
        screen.row("", &text, Paint::Faint);
    }
}
