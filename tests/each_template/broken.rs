//! Whatever breaks a call that has shown, none of it is text.

use chatparse::Stream;
use chatparse::stream::Ended;

use super::choices::Choices;
use super::shown::feed;
use super::written::Written;

/// What is put into calls, with nothing in it that a format could take for an end.
const GARBAGE: [&str; 5] = ["~", " hm, let me think ", "<w9>", "\n\n", "0x"];

/// What begins another message of a turn, besides openers of calls.
const OPENERS: [&str; 1] = ["<|channel|>"];

/// An output, where it was changed, and what is new there.
struct Broken {
    output: String,
    at: usize,
    new: String,
}

/// What is wrong with an output that these choices break.
pub fn check(written: &Written, choices: &mut Choices) -> Result<(), String> {
    let broken = breaks(written, choices);
    leaks(written, &broken).map_err(|wrong| {
        format!(
            "{:?} at {}: {:?}\n  {wrong}",
            broken.new, broken.at, broken.output
        )
    })
}

/// The markup, in runs.
pub fn runs(written: &Written) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for at in written.spans[0].start..written.end() {
        if !written.is_markup(at) {
            continue;
        }
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// Breaks a call: cuts bytes out, replaces a byte of a marker, drops a closer or puts another one
/// in its place, or puts garbage in.
fn breaks(written: &Written, choices: &mut Choices) -> Broken {
    let begin = written.spans[0].start;
    let text = &written.output;
    let whole = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let any = |choices: &mut Choices| whole(begin + choices.below(written.end() - begin));
    let runs = runs(written);
    // What stands in front of the first name has shown nothing yet.
    let later = &runs[1.min(runs.len() - 1)..];
    let (span, new) = match choices.below(5) {
        0 => {
            let at = any(choices);
            (
                at..whole((at + 1 + choices.below(8)).min(written.end())),
                String::new(),
            )
        }
        1 => {
            let run = choices.pick(later).clone();
            let at = whole(run.start + choices.below(run.len()));
            let len = text[at..].chars().next().map_or(0, char::len_utf8);
            (
                at..at + len,
                (*choices.pick(&["~", "x", "0", " "])).to_owned(),
            )
        }
        2 => (choices.pick(later).clone(), String::new()),
        3 => {
            let other = choices.pick(&runs).clone();
            (choices.pick(later).clone(), text[other].to_owned())
        }
        _ => {
            let at = any(choices);
            (at..at, (*choices.pick(&GARBAGE)).to_owned())
        }
    };
    let mut output = text.clone();
    output.replace_range(span.clone(), &new);
    Broken {
        output,
        at: span.start,
        new,
    }
}

/// The error says what of a call that has shown is text, or where the pieces make a difference.
fn leaks(written: &Written, broken: &Broken) -> Result<(), String> {
    let parser = &written.params.parser;
    let output = broken.output.as_bytes();
    let read =
        |size: usize| feed(Stream::new(parser), output.chunks(size), false).map(|(_, ended)| ended);
    let (ended, three, whole) = (read(1)?, read(3)?, read(output.len().max(1))?);
    if ended != three || ended != whole {
        return Err(format!(
            "byte by byte {ended:?}\n  by three {three:?}\n  in one piece {whole:?}"
        ));
    }
    for (index, word) in inside_shown(written, broken, &ended) {
        if ended.message.content.contains(word) || ended.message.reasoning_content.contains(word) {
            return Err(format!("{word:?} of call {index} is text: {ended:?}"));
        }
    }
    let marker =
        inner_markers(written, broken).find(|marker| ended.message.content.contains(marker));
    let all = written.calls.iter().all(|(name, _)| {
        ended
            .message
            .tool_calls
            .iter()
            .any(|call| call.name == *name)
    });
    match marker.filter(|_| all && !closes(written, &broken.new)) {
        Some(marker) => Err(format!("{marker:?} is text: {ended:?}")),
        None => Ok(()),
    }
}

/// The markers between the names and values of a call that was broken there.
fn inner_markers<'a>(written: &'a Written, broken: &Broken) -> impl Iterator<Item = &'a str> {
    let inner = written.spans.iter().filter_map(|span| {
        let words = || {
            written
                .values
                .iter()
                .filter(|value| span.contains(&value.start))
        };
        Some(words().next()?.end..words().next_back()?.start)
            .filter(|inner| inner.contains(&broken.at))
    });
    let inner: Vec<std::ops::Range<usize>> = inner.collect();
    let runs = runs(written)
        .into_iter()
        .filter(move |run| inner.iter().any(|inner| inner.contains(&run.start)));
    let tags = runs.flat_map(|run| written.output[run].split_inclusive(['>', ']']));
    let whole = tags.filter_map(|run| run.rfind(['<', '[']).map(|at| &run[at..]));
    whole.filter(|marker| {
        marker.ends_with(['>', ']']) && marker.chars().filter(|c| c.is_alphanumeric()).count() > 2
    })
}

/// The words of calls that have shown, each with its call: those in front of what may have closed
/// it.
fn inside_shown<'a>(written: &'a Written, broken: &Broken, ended: &Ended) -> Vec<(usize, &'a str)> {
    let mut inside = Vec::new();
    for (index, (span, (name, _))) in written.spans.iter().zip(&written.calls).enumerate() {
        if !ended
            .message
            .tool_calls
            .iter()
            .any(|call| call.name == *name)
        {
            continue;
        }
        let words = written
            .values
            .iter()
            .filter(|value| span.contains(&value.start));
        let words = words.map(|word| &written.output[word.clone()]);
        // What was put in is no part of the call, and what is behind a closer is not inside.
        let closed = closes(written, &broken.new);
        let outside = |word: &str| {
            broken.new.contains(word) || closed && broken.output[broken.at..].contains(word)
        };
        // A name that the call has twice may show by the second one.
        let twice = written.output[span.clone()].matches(name.as_str()).count() > 1;
        let outside = |word: &str| outside(word) || twice && word == name;
        inside.extend(
            words
                .filter(|word| !outside(word))
                .map(|word| (index, word)),
        );
    }
    inside
}

/// Whether a text that is put in closes a call, or begins another.
fn closes(written: &Written, new: &str) -> bool {
    let last = |span: &std::ops::Range<usize>| {
        written
            .values
            .iter()
            .rev()
            .find(|value| span.contains(&value.start))
    };
    let closers = written
        .spans
        .iter()
        .filter_map(|span| Some(&written.output[last(span)?.end..span.end]));
    let parts = closers
        .flat_map(|close| close.split_inclusive(['>', ']', '}', ')']))
        .map(str::trim);
    let ends = OPENERS
        .into_iter()
        .chain([written.opener().trim()])
        .chain(parts);
    ends.filter(|end| !end.is_empty())
        .any(|end| new.contains(end))
}
