//! `lint`, which is also `verify`: what is wrong with templates, each finding with its proof.

use std::ffi::OsString;

use chatparse::lint::{Finding, Verdict};
use serde_json::Value;

use crate::failure::{Failure, Outcome};
use crate::input::{self, Reading};
use crate::linted::{Linted, compiled};
use crate::revised::revised;
use crate::sarif;
use crate::screen::{Paint, Screen};
#[cfg(feature = "tokenizers")]
use crate::vocabulary;

/// Check templates: what they lose, change or do not read back
///
/// PLACE is a Jinja file, a tokenizer_config.json or chat_template.json, a model's
/// GGUF file, the folder of a checkpoint, a folder of any of these, or the name of
/// a built-in template. With a GGUF file or a checkpoint, the special tokens and
/// the end tokens are checked, too.
///
/// Each law is a statement about renders and reads. A finding shows the smallest
/// request that breaks a law, what is expected, what is there instead, and the
/// cost to users. A fault is wrong whatever the author meant; a note costs
/// something and may be meant. docs/lint.md lists the laws.
///
/// Requests are rendered as transformers does, without chatparse's repairs, and
/// messages are read back with thinking off (off), with thinking on but no
/// reasoning (silent), and with reasoning (on).
///
/// Each template gets a verdict: passed or failed. A revision that its vendor is
/// known to have replaced is named.
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    visible_alias = "verify",
    after_help = "Exit status: 0 no faults, 1 faults, 2 wrong usage, or a template that cannot be read

Examples:
  chatparse verify model.gguf
  chatparse verify json-call
  chatparse lint models/*.jinja --json | jq '.laws'
  chatparse lint models/ --sarif > chatparse.sarif"
)]
pub struct Lint {
    /// A template, or a folder of templates
    #[arg(value_name = "PLACE", required = true, value_hint = clap::ValueHint::AnyPath)]
    places: Vec<OsString>,
    /// Print one JSON object for each template, with every turn
    #[arg(long, conflicts_with = "sarif")]
    json: bool,
    /// Print the findings as SARIF 2.1.0, for code hosts and editors
    #[arg(long)]
    sarif: bool,
    /// Check whether this tokenizer.json goes with the template
    #[cfg(feature = "tokenizers")]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with = "sarif")]
    tokenizer: Option<std::path::PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

impl Lint {
    pub fn run(self, screen: &mut Screen) -> Outcome {
        input::check_stdin(self.places.iter().map(OsString::as_os_str))?;
        #[cfg(feature = "tokenizers")]
        let tokenizer = self
            .tokenizer
            .as_deref()
            .map(vocabulary::read)
            .transpose()?;
        let mut all = Vec::new();
        for word in input::places(&self.places)? {
            let template = compiled(&word, &self.reading)?;
            let linted = Linted {
                name: input::name(&word),
                #[cfg(feature = "tokenizers")]
                tokenizer: match (&tokenizer, &template) {
                    (Some(tokenizer), Ok(template)) => {
                        Some(vocabulary::check(template, tokenizer)?)
                    }
                    _ => None,
                },
                #[cfg(not(feature = "tokenizers"))]
                tokenizer: None,
                revised: template
                    .as_ref()
                    .ok()
                    .and_then(|template| revised(template.jinja().written())),
                found: template.map(|template| chatparse::lint::lint(&template)),
            };
            if self.json {
                writeln!(screen, "{:#}", linted.to_json());
            } else if !self.sarif {
                if !all.is_empty() {
                    writeln!(screen);
                }
                show(&linted, screen);
            }
            screen.flush()?;
            all.push(linted);
        }
        if self.sarif {
            writeln!(screen, "{:#}", sarif::log(&all));
        }
        let (mut unusable, mut faults) = (Vec::new(), Vec::new());
        for linted in &all {
            unusable.extend(linted.found.as_ref().err());
            faults.extend(linted.fault());
        }
        let count = all.len();
        if count > 1 && !self.json && !self.sarif {
            let passed = count - unusable.len() - faults.len();
            let failed = faults.len();
            write!(
                screen,
                "\n{count} templates: {passed} passed, {failed} failed"
            );
            if !unusable.is_empty() {
                write!(screen, ", {} cannot be read", unusable.len());
            }
            writeln!(screen);
        }
        // A template that cannot be read is wrong usage, and no fault of the template.
        Err(match (&unusable[..], &faults[..]) {
            ([], []) => return Ok(()),
            ([one], _) if count == 1 => Failure::Usage(one.message.clone()),
            ([], [one]) if count == 1 => Failure::Failed(format!("{} breaks: {one}", all[0].name)),
            ([], _) => Failure::Failed(format!("{} of {count} templates fail", faults.len())),
            _ => Failure::Usage(format!(
                "{} of {count} templates cannot be read",
                unusable.len()
            )),
        })
    }
}

/// Prints the findings, the laws that hold, and the verdict for one template.
fn show(linted: &Linted, screen: &mut Screen) {
    screen.margin = 14;
    screen.paint(Paint::Strong, &linted.name);
    writeln!(screen);
    let report = match &linted.found {
        Ok(report) => report,
        Err(unusable) => {
            let text = format!("cannot be read: {}", unusable.message);
            return verdict(&text, false, screen);
        }
    };
    for found in &report.findings {
        finding(found, screen);
    }
    for (verdict, paint) in [
        (Verdict::Holds, Paint::Plain),
        (Verdict::NotAsked, Paint::Faint),
    ] {
        let names = report.laws(verdict);
        if !names.is_empty() {
            screen.row(verdict.name(), &names, paint);
        }
    }
    if let Some(known) = &linted.revised {
        let (models, date, mends) = (known.models, known.date, known.mends);
        let text = format!("{models}: replaced on {date} by one that mends {mends}.");
        screen.row("revised", &text, Paint::Red);
    }
    if let Some(found) = &linted.tokenizer {
        tokenizer(found, screen);
    }
    match linted.fault() {
        Some(fault) => verdict(&format!("failed: {fault}"), false, screen),
        None => verdict("passed", true, screen),
    }
}

fn finding(found: &Finding, screen: &mut Screen) {
    let (kind, paint) = if found.is_fault {
        ("fault", Paint::Red)
    } else {
        ("note", Paint::Faint)
    };
    screen.row(kind, &format!("{}: {}", found.law, found.message), paint);
    screen.row("  so", found.law.effect(), Paint::Plain);
    let lines: Vec<String> = found
        .places
        .iter()
        .map(|place| place.line.to_string())
        .collect();
    if !lines.is_empty() {
        screen.row("  in line", &lines.join(", "), Paint::Plain);
    }
    if found.is_fault && !found.request.is_null() {
        screen.row("  request", &brief(&found.request), Paint::Faint);
    }
    for shown in &found.shown {
        let paint = match shown.from {
            "expected" => Paint::Green,
            "got" => Paint::Red,
            _ => Paint::Plain,
        };
        screen.exact(&format!("  {}", shown.from), &shown.text, paint);
    }
}

/// The roles of a request's messages in order, with what is special about each.
pub fn brief(request: &Value) -> String {
    let mut said = Vec::new();
    for message in request["messages"].as_array().into_iter().flatten() {
        let mut text = message["role"].as_str().unwrap_or_default().to_owned();
        match message["tool_calls"].as_array().map_or(0, Vec::len) {
            0 => {}
            1 => text += " (a call)",
            calls => text += &format!(" ({calls} calls)"),
        }
        for field in ["content", "reasoning_content", "tool_calls"] {
            match &message[field] {
                Value::Null if message.get(field).is_some() => text += &format!(" ({field}: null)"),
                Value::Array(list) if list.is_empty() => text += &format!(" ({field}: [])"),
                Value::Array(_) if field == "content" => text += " (parts)",
                Value::String(_) if field == "reasoning_content" => text += " (reasoning)",
                _ => {}
            }
        }
        said.push(text);
    }
    said.join(", ")
}

fn tokenizer(found: &[Value], screen: &mut Screen) {
    if found.is_empty() {
        let text = "ids turn by turn are those of each new render";
        screen.row("tokenizer", text, Paint::Plain);
    }
    for found in found {
        let [kind, words] = ["kind", "words"].map(|name| found[name].as_str().unwrap_or_default());
        let text = format!("{kind}: {words}");
        screen.row("tokenizer", &text, Paint::Faint);
        if found["messages"][0] != Value::Null {
            let messages = found["messages"].to_string();
            screen.row("  shown by", &messages, Paint::Faint);
        }
    }
}

fn verdict(text: &str, passed: bool, screen: &mut Screen) {
    screen.paint(if passed { Paint::Green } else { Paint::Red }, text);
    writeln!(screen)
}
