//! Parsing an output in every way that must not make a difference.

use std::collections::BTreeSet;

use chatparse::message::Ended;
use chatparse::{Delta, DeltaKind, Message, Parser, Status, Stream};
use serde_json::{Value, json};

/// Sizes of the pieces in which outputs are fed.
const PIECES: [usize; 6] = [1, 2, 3, 5, 7, 11];

/// How many random ways to cut an output.
const RANDOM_CUTS: u64 = 8;

/// What deltas have shown, put together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    reasoning: String,
    content: String,
    /// Name, id and arguments.
    calls: Vec<[String; 3]>,
    /// The calls that are whole.
    ended: BTreeSet<usize>,
}

impl Shown {
    /// Appends deltas. The error says which of them breaks the rules.
    fn add<'a>(&mut self, deltas: impl Iterator<Item = Delta<'a>>) -> Result<(), String> {
        for delta in deltas {
            let Delta { kind, call, text, .. } = delta;
            let broken = |rule: &str| Err(format!("{rule}: {kind:?} of call {call}, {text:?}"));
            if text.is_empty() != (kind == DeltaKind::ToolEnd) {
                return broken("an empty delta");
            }
            match kind {
                DeltaKind::Reasoning => self.reasoning.push_str(text),
                DeltaKind::Content => self.content.push_str(text),
                DeltaKind::ToolName if call == self.calls.len() => {
                    self.calls.push([text.to_owned(), String::new(), String::new()]);
                }
                DeltaKind::ToolName => return broken("a name that is not a new call's"),
                _ if self.ended.contains(&call) => return broken("a delta after its call's end"),
                DeltaKind::ToolEnd => drop(self.ended.insert(call)),
                DeltaKind::ToolId | DeltaKind::ToolArguments => match self.calls.get_mut(call) {
                    None => return broken("a delta before its call's name"),
                    Some([_, id, _]) if kind == DeltaKind::ToolId && !id.is_empty() => return broken("a second id"),
                    Some([_, id, _]) if kind == DeltaKind::ToolId => id.push_str(text),
                    Some([_, _, arguments]) => arguments.push_str(text),
                },
            }
        }
        Ok(())
    }

    /// Whether it is this message.
    fn is(&self, message: &Message) -> bool {
        let calls = message.tool_calls.iter();
        let calls = calls.map(|call| [call.name.clone(), call.id.clone(), call.arguments.clone()]);
        self.reasoning == message.reasoning_content
            && self.content == message.content
            && calls.eq(self.calls.iter().cloned())
    }
}

/// Parses an output in one piece.
#[allow(dead_code, reason = "not every test program uses all of this")]
pub fn parse(parser: &Parser, output: &[u8], cut_off: bool) -> (Value, Status) {
    let mut stream = Stream::new(parser);
    let _ = stream.feed(output);
    let Ended { message, status, .. } = stream.finish(cut_off);
    (shown(&message), status)
}

/// A message with its arguments as JSON values, or as texts where they are none.
pub fn shown(message: &Message) -> Value {
    let calls = message.tool_calls.iter().map(|call| {
        let arguments = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!(call.arguments));
        json!({"name": call.name, "arguments": arguments, "id": call.id})
    });
    let calls: Vec<Value> = calls.collect();
    json!({"reasoning": message.reasoning_content, "content": message.content, "calls": calls})
}

/// Feeds the pieces; what was shown after each, and the end.
fn feed<'a>(
    parser: &Parser,
    pieces: impl Iterator<Item = &'a [u8]>,
    cut_off: bool,
) -> Result<(Vec<Shown>, Ended), String> {
    let mut stream = Stream::new(parser);
    let mut shown = Shown::default();
    let mut states = Vec::new();
    for piece in pieces {
        shown.add(stream.feed(piece))?;
        states.push(shown.clone());
    }
    let ended = stream.finish(cut_off);
    shown.add(stream.deltas())?;
    if ended.status == Status::Complete && shown.ended.len() < shown.calls.len() {
        return Err(format!("complete, but a call has no end: {shown:?}"));
    }
    if !shown.is(&ended.message) {
        return Err(format!("the deltas make {shown:?}\n     the message is {:?}", ended.message));
    }
    Ok((states, ended))
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

/// Checks that the way an output is cut makes no difference, that deltas only ever append, and that what shows after a
/// part of the output follows from that part alone. `fits`: no part of the output may count as one that leaves the format.
pub fn check_streaming(parser: &Parser, output: &[u8], fits: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let (whole, bytewise) = match (feed(parser, [output].into_iter(), false), feed(parser, output.chunks(1), false)) {
        (Ok((_, whole)), Ok((bytewise, _))) => (whole, bytewise),
        (Err(error), _) => return vec![format!("in one piece: {error}")],
        (_, Err(error)) => return vec![format!("byte by byte: {error}")],
    };
    let mut compare = |way: String, pieces: Vec<&[u8]>| match feed(parser, pieces.into_iter(), false) {
        Ok((_, ended)) if ended == whole => {}
        Ok((_, ended)) => wrong.push(format!("in one piece {whole:?}\n  {way} {ended:?}")),
        Err(error) => wrong.push(format!("{way}: {error}")),
    };
    for size in PIECES {
        compare(format!("in pieces of {size}"), output.chunks(size).collect());
    }
    for seed in 0..RANDOM_CUTS {
        compare(format!("cut at random ({seed})"), random_pieces(output, seed));
    }
    for size in 1..output.len() {
        let part = &output[..size];
        match feed(parser, [part].into_iter(), true) {
            Ok((states, ended)) => {
                let last = states.last().cloned().unwrap_or_default();
                if last != bytewise[size - 1] {
                    let text = String::from_utf8_lossy(part);
                    wrong.push(format!("after {text:?}\n  at once {last:?}\n  bytewise {:?}", bytewise[size - 1]));
                }
                if fits && ended.status == Status::Recovered {
                    wrong.push(format!("cut off after {:?} it is {ended:?}", String::from_utf8_lossy(part)));
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
