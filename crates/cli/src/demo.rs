//! The output of the program without a command: a template, what is learnt of it, and outputs,
//! parsed piece by piece.

use std::time::Duration;

use chatparse::{ChatTemplate, EndedBy, Params, Request, Stream};

use crate::failure::Outcome;
use crate::live::Live;
use crate::screen::{Paint, Screen};
use crate::text::{escaped, folded, wrapped};

/// A template in the style of those that come with models.
const TEMPLATE: &str = include_str!("demo.jinja");

const REQUEST: &str = r#"{
    "messages": [{"role": "user", "content": "Do I need an umbrella in Oslo?"}],
    "tools": [{"type": "function", "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    }}],
    "dialects": "always"
}"#;

const OUTPUT: &str =
    "<think>The tool knows.</think>Let me see.<call get_weather><arg city>Oslo</arg></call>";

/// A call in another model's format, and without its end.
const SLIP: &str =
    "Let me see.<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}";

/// Bytes of the output in one piece, and the delay between pieces: slow enough to be seen.
const PIECE: usize = 4;
const PAUSE: Duration = Duration::from_millis(60);

/// Lines of the grammar: everything fits on one screen.
const RULES: usize = 4;

pub fn run(screen: &mut Screen) -> Outcome {
    let template = ChatTemplate::new(TEMPLATE, "", "<|end|>")?;
    let params = template.params(&Request::from_text(REQUEST)?)?;

    title(
        "1. A chat template, as models ship with; this part writes calls",
        screen,
    );
    let calls = TEMPLATE
        .lines()
        .skip_while(|line| !line.contains("for call"))
        .take_while(|line| *line != "<|end|>");
    for line in calls {
        quoted(line, screen);
    }
    writeln!(screen);
    title(
        "2. What chatparse learns from what the template renders",
        screen,
    );
    learnt(&template, screen);
    writeln!(screen);
    title(
        "3. With that it parses what the model writes, piece by piece",
        screen,
    );
    reading(&params, OUTPUT, screen)?;
    writeln!(screen);
    title(
        "4. Here the model uses another format, and is cut off: nothing is lost",
        screen,
    );
    reading(&params, SLIP, screen)?;
    writeln!(screen);
    title(
        "5. The grammar for the sampler, so that the model cannot slip",
        screen,
    );
    let shown = |line: &&str| ["root", "tool-"].iter().any(|name| line.starts_with(name));
    for line in params.grammar().text.lines().filter(shown).take(RULES) {
        quoted(line, screen);
    }
    writeln!(screen);
    for line in wrapped(
        "Now a model of yours: chatparse inspect tokenizer_config.json. More: chatparse --help",
        screen.width(),
    ) {
        writeln!(screen, "{line}");
    }
    Ok(())
}

fn title(text: &str, screen: &mut Screen) {
    for line in wrapped(text, screen.width()) {
        screen.paint(Paint::Strong, &line);
        writeln!(screen);
    }
}

/// A line that must not be wrapped, indented by two spaces.
fn quoted(line: &str, screen: &mut Screen) {
    let line = cut(line, screen.width() - 2);
    screen.paint(Paint::Faint, &format!("  {line}"));
    writeln!(screen)
}

/// A line, cut to `width`.
fn cut(line: &str, width: usize) -> String {
    if line.chars().count() > width {
        format!("{}…", folded(line, width - 1)[0].trim_end())
    } else {
        line.trim_end().to_owned()
    }
}

/// How each part of a turn is written.
fn learnt(template: &ChatTemplate, screen: &mut Screen) {
    for (part, text) in template.turn(true).written() {
        screen.paint(Paint::Faint, &format!("  {part:9}  "));
        writeln!(
            screen,
            "{}",
            cut(&escaped(&text), screen.width().saturating_sub(13))
        );
    }
}

/// Parses an output piece by piece, and prints the message.
fn reading(params: &Params, output: &str, screen: &mut Screen) -> Outcome {
    for line in folded(output, screen.width() - 2) {
        screen.paint(Paint::Faint, &format!("  {line}"));
        writeln!(screen);
    }
    let mut stream = Stream::new(&params.parser);
    let mut live = Live::default();
    for piece in output.as_bytes().chunks(PIECE) {
        for delta in stream.feed(piece) {
            live.delta(&delta, screen);
        }
        if screen.terminal {
            screen.flush()?;
            std::thread::sleep(PAUSE);
        }
    }
    let ended = stream.finish(EndedBy::Model);
    for delta in stream.deltas() {
        live.delta(&delta, screen);
    }
    live.end(screen);
    screen.paint(
        Paint::Faint,
        &format!("{:11}{}", "status", ended.status.name()),
    );
    writeln!(screen);
    Ok(())
}
