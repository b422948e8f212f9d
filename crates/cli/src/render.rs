//! `render`: prints the prompt of a request.

use std::ffi::OsString;

use chatparse::{Origin, Segments};
use clap::ValueHint;
use serde_json::json;

use crate::failure::Outcome;
use crate::input::{self, Reading, Template, Tokens};
use crate::screen::{Paint, Screen};

/// Print the prompt of a request
///
/// Prints the exact bytes of the prompt, and nothing else.
#[derive(clap::Args)]
#[command(after_help = "Exit status: 0 success, 1 failure, 2 wrong usage

Examples:
  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}' | chatparse render chatml
  chatparse render model.jinja request.json --bos '<s>' > prompt.txt
  chatparse render model.jinja request.json --params | jq .additional_stops")]
pub struct Render {
    #[command(flatten)]
    template: Template,
    /// The JSON body of a chat-completions request
    #[arg(value_hint = ValueHint::FilePath, default_value = "-")]
    request: OsString,
    /// Pass the messages, tools, documents and chat_template_kwargs of the request to the template
    /// unchanged, and nothing else: as transformers does
    #[arg(long)]
    plain: bool,
    /// Print the origin of each part of the prompt: in colours on a terminal, otherwise as one JSON
    /// object per line
    #[arg(long)]
    segments: bool,
    /// Print how much of the prompt each tool takes: bytes, per cent, and the name of the tool
    #[arg(long)]
    tools: bool,
    /// Print all parameters of the request as JSON: the prompt, the generation prompt, triggers,
    /// stops, preserved tokens
    #[arg(long)]
    params: bool,
    #[command(flatten)]
    tokens: Tokens,
}

impl Render {
    pub fn run(self, screen: &mut Screen) -> Outcome {
        let (word, template) = (&self.request, &self.template.template);
        input::check_stdin([template.as_os_str(), word])?;
        let reading = Reading {
            learn_only: false,
            tokens: self.tokens,
        };
        let compiled = self.template.compiled(&reading, None)?;
        let request = input::request(word, &json!({"plain": self.plain}))?;
        let refused = input::refused(template, word);
        if self.params {
            writeln!(
                screen,
                "{:#}",
                compiled.params(&request).map_err(&refused)?.to_json()
            );
        } else if self.tools {
            let found = compiled.segments(&request).map_err(&refused)?;
            list(&found, request.tools.iter().map(|tool| &*tool.name), screen);
        } else if self.segments {
            show(&compiled.segments(&request).map_err(&refused)?, screen);
        } else {
            screen.print(compiled.prompt(&request).map_err(&refused)?);
        }
        Ok(())
    }
}

/// What each tool takes of the prompt, with the template's text inside of it.
fn list<'n>(found: &Segments, names: impl Iterator<Item = &'n str>, screen: &mut Screen) {
    let mut taken: Vec<(&str, usize)> = names.map(|name| (name, 0)).collect();
    let mut last = None;
    for segment in &found.segments {
        let Origin::Tool(tool) = segment.origin else {
            continue;
        };
        let Some((_, bytes)) = taken.get_mut(tool) else {
            continue;
        };
        let from = last
            .filter(|(known, _)| *known == tool)
            .map_or(segment.bytes.start, |(_, end)| end);
        *bytes += segment.bytes.end - from;
        last = Some((tool, segment.bytes.end));
    }
    let all = taken.iter().map(|(_, bytes)| bytes).sum();
    for (name, bytes) in taken
        .into_iter()
        .chain([("all tools", all), ("the prompt", found.prompt.len())])
    {
        let share = 100.0 * bytes as f64 / found.prompt.len().max(1) as f64;
        writeln!(screen, "{bytes:>8} {share:>5.1} {name}");
    }
}

fn show(found: &Segments, screen: &mut Screen) {
    for segment in &found.segments {
        let text = &found.prompt[segment.bytes.clone()];
        if screen.coloured {
            screen.paint(paint(&segment.origin), text);
        } else {
            let mut json = segment.to_json();
            json["text"] = text.into();
            writeln!(screen, "{json}");
        }
    }
    if screen.coloured {
        screen.heading("whose text it is");
        for (paint, what) in LEGEND {
            screen.paint(*paint, what);
            writeln!(screen);
        }
    }
}

const LEGEND: &[(Paint, &str)] = &[
    (Paint::Faint, "the template"),
    (Paint::Green, "content of a message"),
    (Paint::Red, "reasoning"),
    (Paint::Call, "a call"),
    (
        Paint::Strong,
        "a tool, a variable or another field of a message",
    ),
    (Paint::Plain, "unknown"),
];

fn paint(origin: &Origin) -> Paint {
    match origin {
        Origin::Template => Paint::Faint,
        Origin::Message { path, .. } => match path.split('/').nth(1) {
            Some("content") => Paint::Green,
            Some("reasoning_content" | "reasoning" | "thinking") => Paint::Red,
            Some("tool_calls") => Paint::Call,
            _ => Paint::Strong,
        },
        Origin::Tool(_) | Origin::Kwarg(_) => Paint::Strong,
        _ => Paint::Plain,
    }
}
