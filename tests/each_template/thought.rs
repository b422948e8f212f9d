//! Calls in reasoning: where nobody closes it, they are calls; in front of its end, they are
//! quoted. Until then they are not shown.

use chatparse::{Status, Stream};

use super::shown::{self, Shown};
use super::written::{Written, calls};

/// What is wrong, and how many outputs were looked at.
pub fn check(written: &Written) -> (Vec<String>, usize) {
    let Some((open, end)) = markers(written) else {
        return (Vec::new(), 0);
    };
    // A thought may stand in front.
    let opener = &written.output[..written.values[0].start];
    let from = opener
        .rfind(end)
        .map_or(0, |at| at + end.len())
        .max(written.spans[0].start);
    let call = written.output[from..written.end()].trim();
    let open = if open.is_empty() {
        String::new()
    } else {
        format!("{open}\n")
    };
    let (_, plain) = written.read(&format!("{open}I know.{end}\n\nYes."));
    // The end of one call may be that of the reasoning.
    if call.contains(end) || plain.message.reasoning_content.trim() != "I know." {
        return (Vec::new(), 0);
    }
    let unclosed = format!("{open}I should look.\n{call}");
    // A template may write calls in reasoning.
    if written.read(&unclosed).1.status == Status::Complete {
        return (Vec::new(), 0);
    }
    let half = written.values[written.values.len() - 1].start;
    let half =
        &unclosed[..unclosed.len() - call.len() + half - written.output.find(call).unwrap_or(half)];
    let quoted = format!("{open}I could write {call} but I know it.{end}\n\nIt rains.");
    let twice = format!("{open}Either {call} or\n{call}{end}\n\nIt rains.");
    let all = [
        (unclosed.as_str(), true),
        (half, true),
        (&quoted, false),
        (&twice, false),
    ];
    let wrong = all.iter().filter_map(|(output, calls)| {
        look(written, output, *calls)
            .err()
            .map(|why| format!("{why}\n  {output:?}"))
    });
    (wrong.collect(), all.len())
}

/// What opens reasoning, where the prompt does not, and what ends it.
fn markers(written: &Written) -> Option<(&str, &str)> {
    let thinking = written.params.thinking.as_ref()?;
    let (start, end) = (
        thinking.start.trim(),
        thinking
            .ends
            .iter()
            .map(|end| end.trim())
            .find(|end| !end.is_empty())?,
    );
    let prompt = &*written.params.generation_prompt;
    let opened = prompt.rfind(start).filter(|_| !start.is_empty());
    match (opened, prompt.rfind(end)) {
        (Some(open), close) if close.is_none_or(|close| close < open) => Some(("", end)),
        (_, None) if !start.is_empty() => Some((start, end)),
        _ => None,
    }
}

fn look(written: &Written, output: &str, called: bool) -> Result<(), String> {
    let stream = || Stream::new(&written.params.parser);
    let (shown, ended) = shown::feed(stream(), output.as_bytes().chunks(1), false)?;
    let (_, whole) = shown::feed(stream(), [output.as_bytes()].into_iter(), false)?;
    if ended != whole {
        return Err(format!("in pieces {ended:?}\n  as a whole {whole:?}"));
    }
    let early = |shown: &Shown| !shown.calls.is_empty();
    if let Some(at) = shown.iter().position(early) {
        return Err(format!("a call shows behind {at} bytes"));
    }
    let message = &ended.message;
    let names: Vec<String> = calls(message).into_iter().map(|(name, _)| name).collect();
    let right = match called {
        true => {
            let wanted = written.calls.iter().map(|(name, _)| name);
            names.iter().eq(wanted)
                && message
                    .reasoning_content
                    .trim()
                    .starts_with("I should look.")
                && message.content.trim().is_empty()
        }
        false => {
            names.is_empty()
                && message.content.trim() == "It rains."
                && !message.reasoning_content.trim().is_empty()
        }
    };
    if right {
        Ok(())
    } else {
        Err(format!("read as {ended:?}"))
    }
}
