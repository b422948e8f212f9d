//! Calls that are not complete at the end of the output: the host chooses how to treat them.

use std::ops::Range;

use super::places::{Place, Places};
use super::report::CallRecord;
use crate::delta::DeltaKind;
use chatparse_message::{IncompleteCalls, Message};
use chatparse_peg::lossy;

/// Takes the calls that are not complete out of the message, as `choice` says, and returns the
/// bytes of each in the output. Their places become content or go. `parsed` is the parsed text, of
/// which the first `prefill` bytes are not output.
pub(crate) fn settle(
    choice: IncompleteCalls,
    message: &mut Message,
    records: &mut Vec<CallRecord>,
    places: &mut Places,
    parsed: &[u8],
    prefill: usize,
) -> Vec<Range<usize>> {
    if choice == IncompleteCalls::Keep || records.iter().all(|record| record.complete) {
        return Vec::new();
    }
    let as_content = choice == IncompleteCalls::Content;
    // The end of the parts so far.
    let mut end = prefill;
    let mut taken = vec![None; records.len()];
    let mut kept = Places::default();
    // The number of each call among the calls that stay.
    let mut stay = 0;
    let mut numbers = Vec::with_capacity(records.len());
    for record in records.iter() {
        numbers.push(stay);
        stay += usize::from(record.complete);
    }
    for Place { kind, call, span } in places.iter() {
        let record = &records
            .get(call)
            .filter(|record| kind.is_of_call() && !record.complete);
        let Some(record) = record else {
            end = end.max(span.end);
            kept.add(
                kind,
                if kind.is_of_call() { numbers[call] } else { 0 },
                span,
            );
            continue;
        };
        if taken[call].is_none() {
            let begin = end.max(record.begin + prefill);
            let whole = begin..begin.max(record.span.end + prefill);
            end = whole.end;
            if as_content {
                kept.add(DeltaKind::Content, 0, whole.clone());
            }
            taken[call] = Some(whole.start - prefill..whole.end - prefill);
        }
    }
    if as_content {
        let content = kept.iter().filter(|place| place.kind == DeltaKind::Content);
        message.content = content
            .map(|place| lossy(&parsed[place.span]).into_owned())
            .collect();
    }
    *places = kept;
    let mut complete = records.iter().map(|record| record.complete);
    message.tool_calls.retain(|_| complete.next() == Some(true));
    records.retain(|record| record.complete);
    taken.into_iter().flatten().collect()
}
