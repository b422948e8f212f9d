//! `inspect`: prints what was learnt of a template, and from which renders.

use std::ffi::OsStr;

use chatparse::learnt::Evidence;
use chatparse::{ChatTemplate, ReportKind, Request, builtin};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::input::{self, Described, Reading, Template, Tokens};
use crate::proof;
use crate::screen::{Paint, Screen};
use crate::text::{escaped, shown};

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
            let (name, refused) = (input::name(word), proof.refused);
            let message =
                format!("{name}: the template refuses all {refused} messages; the first:{first}");
            return Err(Failure::Failed(message));
        }
        if proof.cases + proof.no_turn == 0 {
            let message = format!(
                "{}: the template renders none of the {} messages",
                input::name(word),
                proof.omitted
            );
            return Err(Failure::Failed(message + "; is it a chat template?"));
        }
        if self.json {
            writeln!(screen, "{:#}", to_json(&template));
            return Ok(());
        }
        proof::show(&template, screen);
        let turn = template.turn(true);
        let end = Some(("end", turn.end.shown())).filter(|(_, end)| !end.trim().is_empty());
        for (part, text) in turn.written().into_iter().chain(end) {
            named(
                screen,
                part,
                2,
                proof::MARGIN - 4,
                Paint::Plain,
                &escaped(&text),
            );
        }
        let accepted = template.caps().named().into_iter().filter(|(_, yes)| *yes);
        let accepted: Vec<String> = accepted.map(|(name, _)| plain_name(name)).collect();
        proof::line(screen, "accepts", Paint::Plain, &accepted.join(", "));
        tokens(&template, word, &self.reading.tokens, screen);
        if !self.evidence {
            return Ok(());
        }
        screen.heading("what it accepts");
        caps(&template, screen);
        let used = template.reader() == "turn";
        let rows = turn.rows();
        if !rows.is_empty() {
            screen.heading(if used {
                "how it writes"
            } else {
                "how it would be read by what was learnt (not used)"
            });
            let widest = rows
                .iter()
                .map(|(name, _)| name.chars().count())
                .max()
                .unwrap_or(0);
            for (name, text) in rows {
                named(screen, &name, 2, widest, Paint::Plain, &escaped(&text));
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
        found
            .chunk_by(|a, b| a.source == b.source)
            .for_each(|group| evidence(group, screen));
        Ok(())
    }
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

/// A name and its text, which is wrapped and indented if it is long.
fn named(screen: &mut Screen, name: &str, indent: usize, widest: usize, paint: Paint, text: &str) {
    let (paint, text) = if text.is_empty() {
        (Paint::Faint, "(nothing)")
    } else {
        (paint, text)
    };
    screen.exact(
        &format!("{:1$}{name}", "", indent - 2),
        indent + widest + 2,
        text,
        paint,
    )
}

/// The parts that two renders show, and where these differ.
fn evidence(group: &[Evidence], screen: &mut Screen) {
    let Some(Evidence { source, .. }) = group.first() else {
        return;
    };
    screen.paint(Paint::Strong, &format!("  {}\n", source.question));
    let widest = group
        .iter()
        .map(|item| item.field.chars().count())
        .max()
        .unwrap_or(0);
    for item in group {
        named(
            screen,
            &item.field,
            INDENT,
            widest,
            Paint::Strong,
            &shown(&item.value),
        );
    }
    let sides = [
        ("before", Paint::Faint, &source.before),
        ("-", Paint::Red, &source.left),
        ("+", Paint::Green, &source.right),
        ("after", Paint::Faint, &source.after),
    ];
    for (name, paint, text) in sides {
        named(screen, name, INDENT, "before".len(), paint, &escaped(text));
    }
    writeln!(screen)
}
