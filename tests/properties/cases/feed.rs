//! Any output, in any pieces, to any format, also with a small budget: nothing panics, deltas only
//! append and make up the message, the message depends neither on the pieces nor on what was taken
//! back, and no text is lost.

use chatparse::stream::{Budget, Ended};
use chatparse::{EndedBy, Status, Stream};

use super::choices::Choices;
use super::known::{self, Known, known};
use super::shown::{Shown, feed};

/// Words that no format knows. Each is in at most one place of an output.
const CANARIES: [&str; 3] = ["q7x31", "w8z42", "k5v19"];

pub fn case(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let known = known(
        choices.below(known::templates()),
        choices.below(known::REQUESTS),
    );
    any_output(&known, &mut choices, true);
}

/// The same for the templates beside the repository. What their formats leave out on purpose is not
/// known, so no canaries are looked for.
#[allow(dead_code, reason = "fuzzing needs none of these templates")]
pub fn case_beside(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    if known::beside() > 0
        && let Some(known) = known::known_beside(
            choices.below(known::beside()),
            choices.below(known::REQUESTS),
        )
    {
        any_output(&known, &mut choices, false);
    }
}

fn any_output(known: &Known, choices: &mut Choices, canaries: bool) {
    let cut_off = choices.once_in(4);
    let (output, placed) = output(known, choices);
    let mut name = format!("{}, cut off: {cut_off}", known.name);
    let mut stream = Stream::new(&known.params.parser);
    if choices.once_in(4) {
        let budget = Budget::new(choices.below(1000) as u64, choices.below(24) as u64);
        stream.set_budget(budget);
        name = format!("{name}, {budget:?}");
    }
    let ended = check(&stream, &name, &output, cut_off, choices);
    for (canary, at) in placed.into_iter().filter(|_| canaries) {
        // The beginning of a call at the end of an output that was cut off.
        let unfinished =
            (cut_off || ended.1.status == Status::Partial) && at + canary.len() > ended.0;
        assert!(
            unfinished
                || holds(&ended.1, canary)
                || left_out(known, &output[..at])
                || in_token(&output, at),
            "{name}: {canary} of {:?} is lost in {:?}",
            String::from_utf8_lossy(&output),
            ended.1
        );
    }
}

fn holds(ended: &Ended, canary: &str) -> bool {
    let message = &ended.message;
    let calls = message
        .tool_calls
        .iter()
        .flat_map(|call| [&call.name, &call.id, &call.arguments]);
    // What follows a call that broke off is reported in a diagnostic.
    let reported = ended
        .diagnostics()
        .iter()
        .map(|diagnostic| &diagnostic.message);
    let texts = [&message.reasoning_content, &message.content]
        .into_iter()
        .chain(calls)
        .chain(reported);
    texts.into_iter().any(|text| text.contains(canary))
}

/// What formats leave out on purpose: from the first text to the second.
const LEFT_OUT: &[(&str, &str, &str)] = &[
    // Calls of what the model was not given.
    ("gpt-oss, request 3", " to=", "<|end|>"),
    ("gpt-oss, request 8", " to=", "<|end|>"),
    // The type of what follows, in a header.
    ("llm-jp-harmony", "<|channel|>", "<|message|>"),
    ("gpt-oss", "<|channel|>", "<|message|>"),
    // Recipients other than the tool that is called.
    ("muse-glimmer", " to=", "<"),
    // Names of closing tags.
    ("minimax-m3", "[</", ">"),
    // Other attributes; also where the format is left for a call of this kind.
    ("", "parameter name=\"", ">"),
    ("", "<|open|>call tool=\"", "<"),
    ("", "<|open|>argument key=\"", "<"),
    ("", "<|open|>json", "<"),
];

/// Whether what comes behind `before` is left out.
fn left_out(known: &Known, before: &[u8]) -> bool {
    let before = String::from_utf8_lossy(before);
    LEFT_OUT.iter().any(|(format, from, to)| {
        let opened = before.rfind(from).map(|at| &before[at + from.len()..]);
        known.name.starts_with(format) && opened.is_some_and(|since| !since.contains(to))
    })
}

/// Whether what stands here is a part of a special token's name: behind a call, that is markup.
fn in_token(output: &[u8], at: usize) -> bool {
    let before = String::from_utf8_lossy(&output[..at]);
    let name = before
        .rsplit(|c: char| !c.is_alphanumeric() && !['_', '▁'].contains(&c))
        .next()
        .unwrap_or_default();
    let open = &before[..before.len() - name.len()];
    open.ends_with("<|") || open.ends_with("<｜")
}

/// An output that fits or nearly fits, with canaries, and where they stand.
fn output(known: &Known, choices: &mut Choices) -> (Vec<u8>, Vec<(&'static str, usize)>) {
    let mut output = match choices.below(8) {
        0 => {
            let count = choices.below(80);
            choices.bytes(count).to_vec()
        }
        1 => (0..choices.below(24))
            .flat_map(|_| choices.pick(&known.pieces).bytes())
            .collect(),
        2 => {
            let first = choices.pick(&known.outputs).clone();
            [&first, choices.pick(&known.outputs).as_slice()].concat()
        }
        // The end of what another format has.
        3 => {
            let other = super::known::known(choices.below(known::templates()), 0);
            let (first, second) = (choices.pick(&known.outputs), choices.pick(&other.outputs));
            let (to, from) = (
                choices.below(first.len() + 1),
                choices.below(second.len() + 1),
            );
            [&first[..to], &second[from..]].concat()
        }
        _ => choices.pick(&known.outputs).clone(),
    };
    for _ in 0..choices.below(5) {
        choices.mutate(&mut output, &known.pieces);
    }
    for canary in &CANARIES[..choices.below(CANARIES.len() + 1)] {
        let at = choices.below(output.len() + 1);
        output.splice(at..at, canary.bytes());
    }
    let place = |canary: &&'static str| {
        let at = output
            .windows(canary.len())
            .position(|window| window == canary.as_bytes())?;
        Some((*canary, at))
    };
    let placed = CANARIES.iter().filter_map(place).collect();
    (output, placed)
}

/// Parses the output in several ways, each by a copy of a stream that is new. What came of it, and
/// up to where of the output deltas came from.
pub fn check(
    new: &Stream,
    name: &str,
    output: &[u8],
    cut_off: bool,
    choices: &mut Choices,
) -> (usize, Ended) {
    let text = String::from_utf8_lossy(output);
    let fail = |error: String| -> ! { panic!("{name}: {text:?}: {error}") };
    let (states, ended) =
        feed(new.clone(), output.chunks(1), cut_off).unwrap_or_else(|error| fail(error));
    let (_, whole) =
        feed(new.clone(), [output].into_iter(), cut_off).unwrap_or_else(|error| fail(error));
    if whole != ended {
        fail(format!("in one piece {whole:?}\n  byte by byte {ended:?}"));
    }
    // In pieces; a copy of the stream is ended on the way.
    let mut stream = new.clone();
    let mut shown = Shown::default();
    let (mut fed, mut reached) = (0, 0);
    while fed < output.len() {
        let most = if choices.once_in(8) { 300 } else { 24 };
        let end = output.len().min(fed + 1 + choices.below(most));
        let deltas = stream.feed(&output[fed..end]).inspect(|delta| {
            reached = reached.max(delta.span.end);
            if delta.span.start > delta.span.end || delta.span.end > end {
                fail(format!("{delta:?} after {end} bytes"));
            }
        });
        shown.add(deltas).unwrap_or_else(|error| fail(error));
        fed = end;
        if shown != states[fed - 1] {
            fail(format!(
                "after {fed} bytes at once {shown:?}\n  byte by byte {:?}",
                states[fed - 1]
            ));
        }
        if choices.once_in(8) {
            let mut copy = stream.clone();
            let ended = copy.finish(EndedBy::limit_if(choices.once_in(2)));
            let mut shown = shown.clone();
            shown.add(copy.deltas()).unwrap_or_else(|error| fail(error));
            if !shown.is(&ended.message) {
                fail(format!(
                    "ended after {fed} bytes: {shown:?}\n  the message is {:?}",
                    ended.message
                ));
            }
        }
    }
    let again = stream.finish(EndedBy::limit_if(cut_off));
    if again != ended {
        fail(format!("in pieces {again:?}\n  byte by byte {ended:?}"));
    }
    reached = stream
        .deltas()
        .map(|delta| delta.span.end)
        .fold(reached, usize::max);
    roll_back(new.clone(), output, &states, choices)
        .and_then(|(mut stream, mut shown)| {
            let again = stream.finish(EndedBy::limit_if(cut_off));
            shown.add(stream.deltas())?;
            if again == ended && shown.is(&ended.message) {
                return Ok(());
            }
            Err(format!(
                "after rollbacks {shown:?}, {again:?}\n  without {ended:?}"
            ))
        })
        .unwrap_or_else(|error| fail(error));
    if ended.status == Status::Recovered && ended.left_at.is_none_or(|at| at > output.len()) {
        fail(format!("it left the format nowhere: {ended:?}"));
    }
    (reached, ended)
}

/// Feeds the output, and drafts of it between checkpoints that are taken back, as a host that
/// guesses ahead does. `states`: what is shown after each byte without that.
fn roll_back(
    mut stream: Stream,
    output: &[u8],
    states: &[Shown],
    choices: &mut Choices,
) -> Result<(Stream, Shown), String> {
    let mut shown = Shown::default();
    let mut fed = 0;
    for _ in 0..choices.below(4) {
        let checkpoint = fed + choices.below(output.len() - fed + 1);
        let size = 1 + choices.below(40);
        for piece in output[fed..checkpoint].chunks(size) {
            shown.add(stream.feed(piece))?;
        }
        stream.checkpoint();
        fed = checkpoint;
        for _ in 0..=choices.below(3) {
            // What is accepted of the draft, and what is not.
            let accepted = fed + choices.below(output.len() - fed + 1);
            let rest = choices.range(output.len());
            for piece in [&output[fed..accepted], &output[rest]]
                .into_iter()
                .flat_map(|part| part.chunks(size))
            {
                shown.add(stream.feed(piece))?;
            }
            if choices.once_in(4) {
                stream.finish(EndedBy::limit_if(choices.once_in(2)));
                shown.add(stream.deltas())?;
            }
            shown.withdraw(
                stream
                    .rollback(accepted)
                    .map_err(|error| error.to_string())?,
            )?;
            fed = accepted;
            if accepted > 0 && shown != states[accepted - 1] {
                let expected = &states[accepted - 1];
                return Err(format!(
                    "back at {accepted} from {checkpoint}: {shown:?}\n  never there: {expected:?}"
                ));
            }
        }
    }
    shown.add(stream.feed(&output[fed..]))?;
    Ok((stream, shown))
}
