//! `inspect`: prints what was learnt of a template, and from which renders.

use std::ffi::OsStr;

use chatparse::learnt::Evidence;
use chatparse::{ChatTemplate, ReportKind, Request, builtin};
use serde_json::{Value, json};

use crate::failure::Outcome;
use crate::input::{self, Described, Reading, Template, Tokens};
use crate::proof;
use crate::screen::{Paint, Screen};

/// Show what is learnt from a template, and from which renders
///
/// Prints which reader parses the output, how many of the messages that the template renders are
/// read back, the format of each part of a turn, and what the template accepts. In the line of a
/// part, ‹ and › enclose what differs from turn to turn, ( )* encloses what may repeat, … stands
/// for another call, and line breaks are printed as \n.
///
/// With --evidence it also prints each text that was learnt, with llama.cpp's names, and two
/// renders that show it. Both renders have the texts `before` and `after`; only the first has the
/// text at `-`, and only the second the text at `+`. Results that are not used, because another
/// reader is better, are marked.
#[derive(clap::Args)]
#[command(after_help = "\
Exit status: 0 success, 1 the template cannot be used: it does not compile, refuses all messages, or renders none; 2 wrong usage

Examples:
  chatparse inspect json-call
  chatparse inspect model.jinja --evidence
  chatparse inspect model.jinja --json | jq .layout.tools")]
pub struct Inspect {
    #[command(flatten)]
    template: Template,
    /// Also print each text that was learnt, and the renders that show it
    #[arg(long)]
    evidence: bool,
    /// Print the same as one JSON object: caps, reader, tried, proof, layout, turn, rules and
    /// evidence
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    described: Described,
    #[command(flatten)]
    reading: Reading,
}

/// Width of the margin for names of fields and sides of comparisons.
const INDENT: usize = 4;

impl Inspect {
    pub fn run(self, screen: &mut Screen) -> Outcome {
        let word = &self.template.template;
        let template = self
            .template
            .compiled(&self.reading, Some(&self.described))?;
        let proof = template.proof();
        if proof.refuses_all() {
            // The proof only has the text of the error; rendering a message again gives its place.
            let request =
                Request::from_json(&json!({"messages": [{"role": "user", "content": "Hi"}]}));
            let first = match request.and_then(|request| template.prompt(&request)) {
                Err(error) => format!("\n{}", input::placed(word, &error)),
                Ok(_) => format!(" {}", proof.refusal),
            };
            let refused = proof.refused;
            let why = format!("the template refuses all {refused} messages; the first:{first}");
            return Err(input::unusable(word, &why));
        }
        if proof.cases + proof.no_turn == 0 {
            let why = format!(
                "the template renders none of the {} messages; is it a chat template?",
                proof.omitted
            );
            return Err(input::unusable(word, &why));
        }
        if self.json {
            writeln!(screen, "{:#}", to_json(&template));
            return Ok(());
        }
        screen.margin = 13;
        proof::show(&template, screen);
        let turn = template.turn(true);
        let end = Some(("end", turn.end.shown())).filter(|(_, end)| !end.trim().is_empty());
        for (part, text) in turn.written().into_iter().chain(end) {
            named(part, &text, Paint::Plain, screen);
        }
        let accepted = template.caps().named().into_iter().filter(|(_, yes)| *yes);
        let accepted: Vec<String> = accepted.map(|(name, _)| plain_name(name)).collect();
        screen.row("accepts", &accepted.join(", "), Paint::Plain);
        tokens(&template, word, &self.reading.tokens, screen);
        if self.evidence {
            details(&template, screen);
        }
        Ok(())
    }
}

/// Prints all that was learnt, and the renders that show it.
fn details(template: &ChatTemplate, screen: &mut Screen) {
    screen.heading("what it accepts");
    caps(template, screen);
    let used = template.reader() == "turn";
    let rows = template.turn(true).rows();
    if !rows.is_empty() {
        screen.heading(if used {
            "how it writes"
        } else {
            "how it would be read by what was learnt (not used)"
        });
        screen.margin = 4 + widest(rows.iter().map(|(name, _)| &**name));
        for (name, text) in rows {
            named(&name, &text, Paint::Plain, screen);
        }
    }
    screen.heading("what is read besides");
    for rule in template.rules() {
        writeln!(screen, "  {}", rule.replace('_', " "));
    }
    let found = template.evidence();
    if !found.is_empty() {
        screen.heading(if used {
            "what showed it"
        } else {
            "what showed that (not used)"
        });
    }
    for group in found.chunk_by(|a, b| a.source == b.source) {
        evidence(group, screen);
    }
}

/// The number of characters of the longest name.
fn widest<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names.map(|name| name.chars().count()).max().unwrap_or(0)
}

fn to_json(template: &ChatTemplate) -> Value {
    let evidence: Vec<Value> = template.evidence().iter().map(Evidence::to_json).collect();
    json!({
        "caps": template.caps().to_json(),
        "reader": template.reader(),
        "tried": template.choice().tried,
        "proof": template.proof().to_json(),
        "layout": template.report(ReportKind::Layout),
        "turn": template.turn(true).to_json(),
        "rules": template.rules(),
        "evidence": evidence,
    })
}

fn plain_name(cap: &str) -> String {
    cap.strip_prefix("supports_")
        .unwrap_or(cap)
        .replace('_', " ")
}

fn caps(template: &ChatTemplate, screen: &mut Screen) {
    for (name, yes) in template.caps().named() {
        let name = plain_name(name);
        let (paint, answer) = if yes {
            (Paint::Plain, "yes")
        } else {
            (Paint::Faint, "no")
        };
        write!(screen, "  {name:26}");
        screen.paint(paint, answer);
        writeln!(screen);
    }
    if let Some(field) = &template.caps().demanded_reasoning {
        writeln!(
            screen,
            "  {:26}{field} in every answer, be it empty",
            "demands"
        );
    }
}

/// Prints the special tokens that the template uses and that were not given: without them, its
/// prompts are incomplete.
fn tokens(template: &ChatTemplate, word: &OsStr, given: &Tokens, screen: &mut Screen) {
    // Built-in templates and JSON files contain theirs.
    if word
        .to_str()
        .is_some_and(|word| word.ends_with(".json") || builtin::find(word).is_some())
    {
        return;
    }
    for (variable, option, text) in [
        ("bos_token", "--bos", &given.bos),
        ("eos_token", "--eos", &given.eos),
    ] {
        if template.source().contains(variable) && text.is_none() {
            writeln!(
                screen,
                "  {variable} is used, and empty: give it with {option}"
            );
        }
    }
}

/// A name and its text, which is printed exactly.
fn named(name: &str, text: &str, paint: Paint, screen: &mut Screen) {
    match text {
        "" => screen.exact(name, "(nothing)", Paint::Faint),
        _ => screen.exact(name, text, paint),
    }
}

/// The parts that two renders show, and where these differ.
fn evidence(group: &[Evidence], screen: &mut Screen) {
    let source = &group[0].source;
    screen.paint(Paint::Strong, &format!("  {}\n", source.question));
    screen.margin = INDENT + 2 + widest(group.iter().map(|item| &*item.field));
    for item in group {
        let name = format!("  {}", item.field);
        named(&name, &shown(&item.value), Paint::Strong, screen);
    }
    screen.margin = INDENT + 2 + "before".len();
    for (name, paint, text) in [
        ("  before", Paint::Faint, &source.before),
        ("  -", Paint::Red, &source.left),
        ("  +", Paint::Green, &source.right),
        ("  after", Paint::Faint, &source.after),
    ] {
        named(name, text, paint, screen);
    }
    writeln!(screen)
}

/// A text, or a list with commas.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
