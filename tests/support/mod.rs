//! Parsing an output in every way that must not make a difference.

mod shown;

use chatparse::stream::Ended;
use chatparse::{EndedBy, Message, Parser, Status, Stream};
use serde_json::{Value, json};

use shown::feed;

/// Sizes of the pieces in which outputs are fed.
const PIECES: [usize; 6] = [1, 2, 3, 5, 7, 11];

/// How many random ways to cut an output.
const RANDOM_CUTS: u64 = 8;

/// Parses an output in one piece.
#[allow(dead_code, reason = "not every test program uses all of this")]
pub fn parse(parser: &Parser, output: &[u8], cut_off: bool) -> (Value, Status) {
    let mut stream = Stream::new(parser);
    let _ = stream.feed(output);
    let Ended {
        message, status, ..
    } = stream.finish(EndedBy::limit_if(cut_off));
    (shown(&message), status)
}

/// A message with its arguments as JSON values, or as texts where they are none.
pub fn shown(message: &Message) -> Value {
    let calls = message.tool_calls.iter().map(|call| {
        let arguments =
            serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!(call.arguments));
        json!({"name": call.name, "arguments": arguments, "id": call.id})
    });
    let calls: Vec<Value> = calls.collect();
    json!({"reasoning": message.reasoning_content, "content": message.content, "calls": calls})
}

/// Cuts `output` at random places, the same in every run.
fn random_pieces(output: &[u8], seed: u64) -> Vec<&[u8]> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let mut pieces = Vec::new();
    let mut rest = output;
    while !rest.is_empty() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let (piece, more) = rest.split_at((state % 24 + 1).min(rest.len() as u64) as usize);
        pieces.push(piece);
        rest = more;
    }
    pieces
}

/// Checks that the way an output is cut makes no difference, that deltas only ever append, and that
/// what shows after a part of the output follows from that part alone. `fits`: no part of the
/// output may count as one that leaves the format.
pub fn check_streaming(parser: &Parser, output: &[u8], fits: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let (whole, bytewise) = match (
        feed(Stream::new(parser), [output].into_iter(), false),
        feed(Stream::new(parser), output.chunks(1), false),
    ) {
        (Ok((_, whole)), Ok((bytewise, _))) => (whole, bytewise),
        (Err(error), _) => return vec![format!("in one piece: {error}")],
        (_, Err(error)) => return vec![format!("byte by byte: {error}")],
    };
    let mut compare = |way: String, pieces: Vec<&[u8]>| match feed(
        Stream::new(parser),
        pieces.into_iter(),
        false,
    ) {
        Ok((_, ended)) if ended == whole => {}
        Ok((_, ended)) => wrong.push(format!("in one piece {whole:?}\n  {way} {ended:?}")),
        Err(error) => wrong.push(format!("{way}: {error}")),
    };
    for size in PIECES {
        compare(
            format!("in pieces of {size}"),
            output.chunks(size).collect(),
        );
    }
    for seed in 0..RANDOM_CUTS {
        compare(
            format!("cut at random ({seed})"),
            random_pieces(output, seed),
        );
    }
    for size in 1..output.len() {
        let part = &output[..size];
        match feed(Stream::new(parser), [part].into_iter(), true) {
            Ok((states, ended)) => {
                let last = states.last().cloned().unwrap_or_default();
                if last != bytewise[size - 1] {
                    let text = String::from_utf8_lossy(part);
                    wrong.push(format!(
                        "after {text:?}\n  at once {last:?}\n  bytewise {:?}",
                        bytewise[size - 1]
                    ));
                }
                if fits && ended.status == Status::Recovered {
                    wrong.push(format!(
                        "cut off after {:?} it is {ended:?}",
                        String::from_utf8_lossy(part)
                    ));
                }
            }
            Err(error) => wrong.push(format!("of the first {size} bytes: {error}")),
        }
    }
    // One defect often shows at many places.
    let more = wrong.len().saturating_sub(2);
    wrong.truncate(2);
    if more > 0 {
        wrong.push(format!("and {more} more of this kind"));
    }
    wrong
}
