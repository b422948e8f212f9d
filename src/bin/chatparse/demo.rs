//! The output of the program without a command: a template, what is learnt of it, and outputs, parsed piece by piece.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use chatparse::{ChatTemplate, Error, Params, Request, Stream};

use crate::failure::{Failure, Outcome};
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

const OUTPUT: &str = "<think>The tool knows.</think>Let me see.<call get_weather><arg city>Oslo</arg></call>";

/// A call in another model's format, and without its end.
const SLIP: &str = "Let me see.<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}";

/// Bytes of the output in one piece, and the delay between pieces: similar to those of models.
const PIECE: usize = 4;
const PAUSE: Duration = Duration::from_millis(30);

/// The duration of the speed measurement.
const MEASURED: Duration = Duration::from_millis(20);

/// Lines of the learnt format and of the grammar: everything fits on one screen.
const LEARNT: usize = 4;
const RULES: usize = 4;

pub fn run(screen: &mut Screen) -> Outcome {
    let broken = |error: Error| Failure::Failed(format!("the tour does not work: {error}"));
    let template = ChatTemplate::new(TEMPLATE, "", "<|end|>").map_err(broken)?;
    let request = Request::from_text(REQUEST).map_err(broken)?;
    let params = template.params(&request).map_err(broken)?;

    title("1. A chat template, as models come with; this is where it writes calls", screen)?;
    let calls = TEMPLATE.lines().skip_while(|line| !line.contains("for call")).take_while(|line| *line != "<|end|>");
    for line in calls {
        quoted(line, screen)?;
    }
    writeln!(screen)?;
    title("2. What chatparse learns from what the template renders", screen)?;
    learnt(&template, screen)?;
    writeln!(screen)?;
    title("3. With that it reads what the model writes, piece by piece", screen)?;
    reading(&params, OUTPUT, screen)?;
    writeln!(screen)?;
    title("4. Here the model calls in another way, and is cut off: nothing is lost", screen)?;
    reading(&params, SLIP, screen)?;
    writeln!(screen)?;
    title("5. The grammar for the sampler, so that the model cannot slip", screen)?;
    let shown = |line: &&str| ["root", "tool-"].iter().any(|name| line.starts_with(name));
    for line in params.grammar().text.lines().filter(shown).take(RULES) {
        quoted(line, screen)?;
    }
    writeln!(screen)?;
    let (pieces, time) = speed(&params);
    let each = time.as_nanos() / pieces.max(1);
    let build = if cfg!(debug_assertions) { ", by a debug build" } else { "" };
    title(&format!("6. Measured just now{build}: {each} ns for each piece of {PIECE} bytes, of {pieces}"), screen)?;
    writeln!(screen, "\nRun chatparse --help for more.")?;
    Ok(())
}

fn title(text: &str, screen: &mut Screen) -> io::Result<()> {
    for line in wrapped(text, screen.width()) {
        screen.paint(Paint::Strong, &line)?;
        writeln!(screen)?;
    }
    Ok(())
}

/// A line that must not be wrapped, indented by two spaces.
fn quoted(line: &str, screen: &mut Screen) -> io::Result<()> {
    let line = cut(line, screen.width() - 2);
    screen.paint(Paint::Faint, &format!("  {line}"))?;
    writeln!(screen)
}

/// A line, cut to `width`.
fn cut(line: &str, width: usize) -> String {
    match line.chars().count() > width {
        true => format!("{}…", folded(line, width - 1)[0].trim_end()),
        false => line.trim_end().to_owned(),
    }
}

/// The first rows of what was learnt.
fn learnt(template: &ChatTemplate, screen: &mut Screen) -> io::Result<()> {
    let mut rows = template.turn(true).rows();
    // The glue between two parts is the longest, and the least informative.
    rows.retain(|(name, _)| !name.contains('→') && name != "opening");
    let widest = rows.iter().take(LEARNT).map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, text) in rows.iter().take(LEARNT) {
        screen.paint(Paint::Faint, &format!("  {name:widest$}  "))?;
        writeln!(screen, "{}", cut(&escaped(text), screen.width().saturating_sub(widest + 4).max(9)))?;
    }
    Ok(())
}

/// Parses an output piece by piece, and prints the message.
fn reading(params: &Params, output: &str, screen: &mut Screen) -> io::Result<()> {
    for line in folded(output, screen.width() - 2) {
        screen.paint(Paint::Faint, &format!("  {line}"))?;
        writeln!(screen)?;
    }
    let mut stream = Stream::new(&params.parser);
    let mut live = Live::default();
    for piece in output.as_bytes().chunks(PIECE) {
        for delta in stream.feed(piece) {
            live.delta(&delta, screen)?;
        }
        if screen.is_terminal() {
            screen.flush()?;
            std::thread::sleep(PAUSE);
        }
    }
    let ended = stream.finish(false);
    for delta in stream.deltas() {
        live.delta(&delta, screen)?;
    }
    live.end(screen)?;
    screen.paint(Paint::Faint, &format!("{:11}{}", "status", ended.status.name()))?;
    writeln!(screen)
}

/// How often the text of the answer is repeated in the output that is measured.
const LONGER: usize = 1000;

/// The number of pieces that were parsed, and the time that took on this machine.
fn speed(params: &Params) -> (u128, Duration) {
    let output = OUTPUT.replace("Let me see.", &"Let me see. ".repeat(LONGER));
    let (start, mut pieces) = (Instant::now(), 0);
    while start.elapsed() < MEASURED {
        let mut stream = Stream::new(&params.parser);
        for piece in output.as_bytes().chunks(PIECE) {
            stream.feed(piece).for_each(drop);
            pieces += 1;
        }
        stream.finish(false);
    }
    (pieces, start.elapsed())
}
