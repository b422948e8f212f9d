//! The part of `inspect` about the reader of a template, and its proof.

use chatparse::ChatTemplate;
use chatparse::proof::{Choice, Proof};

use crate::screen::{Paint, Screen};
use crate::text::escaped;

/// Width of the margin for names.
pub const MARGIN: usize = 13;
/// Maximum number of failing messages that are listed; `lint` lists all.
const MOST: usize = 6;

/// Prints the reader, and how many messages are read back.
pub fn show(template: &ChatTemplate, screen: &mut Screen) {
    let Choice { tried, .. } = template.choice();
    let proof = template.proof();
    let reader = match template.reader() {
        "turn" => "the learnt turn".to_owned(),
        family => format!("{family}, a known family of templates"),
    };
    line(screen, "reader", Paint::Plain, &reader);
    let paint = if proof.is_whole() {
        Paint::Plain
    } else {
        Paint::Red
    };
    line(
        screen,
        "read back",
        paint,
        &format!("{} of {}", proof.read_back, proof.cases),
    );
    notes(proof, screen);
    if proof.grammar_cases > 0 {
        let (right, cases, fault) = (
            proof.grammar_right,
            proof.grammar_cases,
            escaped(&proof.grammar_fault),
        );
        let paint = if fault.is_empty() {
            Paint::Plain
        } else {
            Paint::Red
        };
        line(
            screen,
            "grammar",
            paint,
            format!("{right} of {cases}: {fault}").trim_end_matches(": "),
        );
    }
    // Candidates without results are not listed.
    let asked = tried.iter().filter(|tried| tried.cases > 0);
    let used = template.reader();
    let asked = asked.map(|tried| {
        let name = tried.reader;
        let unused = if name == used { "" } else { " (not used)" };
        format!("{name} {} of {}{unused}", tried.read_back, tried.cases)
    });
    let asked: Vec<String> = asked.collect();
    if asked.len() > 1 {
        line(screen, "tried", Paint::Plain, &asked.join(", "));
    }
    failures(proof, screen)
}

/// Details of the two numbers.
fn notes(proof: &Proof, screen: &mut Screen) {
    let notes = [
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
    ];
    for (count, note) in notes.into_iter().filter(|(count, _)| *count > 0) {
        line(screen, "", Paint::Faint, &format!("{count} {note}"));
    }
    if !proof.refusal.is_empty() {
        line(
            screen,
            "",
            Paint::Faint,
            &format!("the first of these: {}", proof.refusal),
        );
    }
}

/// The messages that are not read back, one per line, with their thinking.
fn failures(proof: &Proof, screen: &mut Screen) {
    let messages: Vec<_> = proof.failures.chunk_by(|a, b| a.probe == b.probe).collect();
    for (index, message) in messages.iter().take(MOST).enumerate() {
        let ways: Vec<&str> = message
            .iter()
            .map(|failure| failure.thinking.name())
            .collect();
        let what = format!(
            "{} ({}): {}",
            message[0].probe,
            ways.join(", "),
            message[0].why
        );
        line(
            screen,
            if index == 0 { "not" } else { "" },
            Paint::Plain,
            &what,
        );
    }
    if messages.len() > MOST {
        line(
            screen,
            "",
            Paint::Faint,
            &format!("and {} more: see chatparse lint", messages.len() - MOST),
        );
    }
}

/// A name and a text, which is wrapped if it is long.
pub fn line(screen: &mut Screen, name: &str, paint: Paint, text: &str) {
    screen.row(name, MARGIN, text, paint)
}
