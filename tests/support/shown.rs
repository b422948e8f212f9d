//! A stream as a caller sees it: what the deltas have shown so far.

use std::collections::BTreeSet;

use chatparse::message::{Diagnostic, DiagnosticKind};
use chatparse::stream::Ended;
use chatparse::{Delta, DeltaKind, EndedBy, Message, Status, Stream};

/// What deltas have shown, put together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    pub reasoning: String,
    pub content: String,
    /// Name, id and arguments.
    pub calls: Vec<[String; 3]>,
    /// The calls that are whole.
    pub ended: BTreeSet<usize>,
}

impl Shown {
    /// Appends deltas. The error says which of them breaks the rules.
    pub fn add<'a>(&mut self, deltas: impl Iterator<Item = Delta<'a>>) -> Result<(), String> {
        for delta in deltas {
            let Delta {
                kind, call, text, ..
            } = delta;
            let broken = |rule: &str| Err(format!("{rule}: {kind:?} of call {call}, {text:?}"));
            if text.is_empty() != (kind == DeltaKind::ToolEnd) {
                return broken("an empty delta");
            }
            match kind {
                DeltaKind::Reasoning => self.reasoning.push_str(text),
                DeltaKind::Content => self.content.push_str(text),
                DeltaKind::ToolName if call == self.calls.len() => {
                    self.calls
                        .push([text.to_owned(), String::new(), String::new()]);
                }
                DeltaKind::ToolName => return broken("a name that is not a new call's"),
                // The object around a call may end in its id.
                _ if kind != DeltaKind::ToolId && self.ended.contains(&call) => {
                    return broken("a delta after its call's end");
                }
                DeltaKind::ToolEnd => drop(self.ended.insert(call)),
                DeltaKind::ToolId | DeltaKind::ToolArguments => match self.calls.get_mut(call) {
                    None => return broken("a delta before its call's name"),
                    Some([_, id, _]) if kind == DeltaKind::ToolId && !id.is_empty() => {
                        return broken("a second id");
                    }
                    Some([_, id, _]) if kind == DeltaKind::ToolId => id.push_str(text),
                    Some([_, _, arguments]) => arguments.push_str(text),
                },
                _ => return broken("withdrawn without a rollback"),
            }
        }
        Ok(())
    }

    /// Takes back what a rollback withdraws. The error says which delta breaks the rules.
    #[allow(dead_code, reason = "not every test program uses all of this")]
    pub fn withdraw<'a>(&mut self, deltas: impl Iterator<Item = Delta<'a>>) -> Result<(), String> {
        for delta in deltas {
            let Delta {
                kind, call, text, ..
            } = delta;
            let broken = |rule: &str| Err(format!("{rule}: {kind:?} of call {call}, {text:?}"));
            let is_last = call + 1 == self.calls.len();
            let from = match (kind, self.calls.get_mut(call)) {
                (DeltaKind::ReasoningWithdrawn, _) => &mut self.reasoning,
                (DeltaKind::ContentWithdrawn, _) => &mut self.content,
                (DeltaKind::ToolIdWithdrawn, Some([_, id, _])) => id,
                (DeltaKind::ToolArgumentsWithdrawn, Some([_, _, arguments])) => arguments,
                (DeltaKind::ToolEndWithdrawn, _) if self.ended.remove(&call) => continue,
                (DeltaKind::CallWithdrawn, Some([name, ..])) if is_last && name == text => {
                    self.calls.pop();
                    self.ended.remove(&call);
                    continue;
                }
                _ => return broken("nothing that a rollback could withdraw"),
            };
            match from.strip_suffix(text) {
                Some(rest) if !text.is_empty() => from.truncate(rest.len()),
                _ => return broken("the text does not end so"),
            }
        }
        Ok(())
    }

    /// Whether it is this message.
    pub fn is(&self, message: &Message) -> bool {
        let calls = message.tool_calls.iter();
        let calls = calls.map(|call| [call.name.clone(), call.id.clone(), call.arguments.clone()]);
        self.reasoning == message.reasoning_content
            && self.content == message.content
            && calls.eq(self.calls.iter().cloned())
    }
}

/// Each byte of an output is booked once: as text of one field, or as structure.
fn account(ended: &Ended, output: &[u8]) -> Result<(), String> {
    if ended.uncovered() > 0 {
        return Err(format!(
            "{} bytes of texts are in no field: {:?}",
            ended.uncovered(),
            ended.message
        ));
    }
    // An id may have the name in it.
    let of_calls = [DeltaKind::ToolName, DeltaKind::ToolArguments];
    let calls =
        (0..ended.message.tool_calls.len()).flat_map(|call| of_calls.map(|kind| (kind, call)));
    let fields = [(DeltaKind::Reasoning, 0), (DeltaKind::Content, 0)]
        .into_iter()
        .chain(calls);
    let spans = fields
        .flat_map(|(kind, call)| ended.spans(kind, call))
        .chain(ended.structure());
    let mut spans: Vec<_> = spans.cloned().collect();
    spans.sort_unstable_by_key(|span| (span.start, span.end));
    if let Some(pair) = spans.windows(2).find(|pair| pair[0].end > pair[1].start) {
        return Err(format!("{pair:?} are booked twice: {:?}", ended.message));
    }
    let ids =
        (0..ended.message.tool_calls.len()).flat_map(|call| ended.spans(DeltaKind::ToolId, call));
    let mut booked = vec![false; output.len()];
    spans
        .iter()
        .chain(ids)
        .for_each(|span| booked[span.clone()].fill(true));
    if let Some(at) = booked.iter().position(|booked| !booked) {
        return Err(format!("byte {at} is not booked: {:?}", ended.message));
    }
    // A prompt may have begun a text.
    let Message {
        reasoning_content,
        content,
        ..
    } = &ended.message;
    for (kind, text) in [
        (DeltaKind::Reasoning, reasoning_content),
        (DeltaKind::Content, content),
    ] {
        let written: Vec<&[u8]> = ended
            .spans(kind, 0)
            .iter()
            .map(|span| &output[span.clone()])
            .collect();
        let mut rest = Some(text.as_bytes());
        for (at, part) in written.iter().enumerate().rev() {
            rest = rest.and_then(|rest| rest.strip_suffix(*part));
            // Two thoughts are two lines.
            let apart = kind == DeltaKind::Reasoning && at > 0;
            rest = rest.map(|rest| {
                let joined = rest
                    .strip_suffix(b"\n")
                    .filter(|_| apart && !rest.ends_with(written[at - 1]));
                joined.unwrap_or(rest)
            });
        }
        if std::str::from_utf8(output).is_ok() && rest.is_none() {
            return Err(format!(
                "{text:?} is not {:?}",
                String::from_utf8_lossy(&written.concat())
            ));
        }
    }
    Ok(())
}

/// Feeds the pieces to a new stream; what was shown after each, and the end.
pub fn feed<'a>(
    mut stream: Stream,
    pieces: impl Iterator<Item = &'a [u8]>,
    cut_off: bool,
) -> Result<(Vec<Shown>, Ended), String> {
    let mut shown = Shown::default();
    let mut states = Vec::new();
    let mut output = Vec::new();
    for piece in pieces {
        output.extend_from_slice(piece);
        shown.add(stream.feed(piece))?;
        states.push(shown.clone());
    }
    let ended = stream.finish(EndedBy::limit_if(cut_off));
    shown.add(stream.deltas())?;
    account(&ended, &output)?;
    if !output.is_empty()
        && ended
            .spans(DeltaKind::Reasoning, 0)
            .last()
            .is_some_and(|span| span.end == output.len())
    {
        let found = |found: &Diagnostic| found.kind == DiagnosticKind::UnfinishedReasoning;
        if ended.status == Status::Complete
            || ended.status == Status::Partial && !ended.diagnostics().iter().any(found)
        {
            return Err(format!(
                "it ends in reasoning, and does not say so: {ended:?}"
            ));
        }
    }
    if ended.status == Status::Complete && shown.ended.len() < shown.calls.len() {
        return Err(format!("complete, but a call has no end: {shown:?}"));
    }
    if !shown.is(&ended.message) {
        return Err(format!(
            "the deltas make {shown:?}\n     the message is {:?}",
            ended.message
        ));
    }
    Ok((states, ended))
}
