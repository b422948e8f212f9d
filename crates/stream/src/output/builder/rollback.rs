//! Rollback to an earlier byte of the output, which removes visible text from the message.

use std::collections::HashMap;
use std::ops::Range;

use super::{Entry, MessageBuilder, Progress};
use crate::delta::DeltaKind;
use crate::output::places::PlacesMark;
use crate::output::report::CallRecord;

/// The saved state of the message, without its texts.
#[derive(Clone, Debug)]
pub(super) struct Checkpoint {
    calls: usize,
    at: Progress,
    places: PlacesMark,
    /// Calls whose arguments have a checkpoint, with their saved states: the current call, and the
    /// calls that have changed since.
    changed: Vec<(usize, CallRecord, String)>,
}

/// The texts that were shown since a checkpoint, by part of the message.
pub struct Shown(Vec<((DeltaKind, usize), String)>);

impl MessageBuilder {
    /// Saves the state of the message for [`MessageBuilder::rollback`].
    pub fn set_checkpoint(&mut self) {
        let old = self.checkpoint.take().map(|old| old.changed);
        for (index, ..) in old.into_iter().flatten() {
            self.calls[index].arguments.clear_checkpoint();
        }
        self.reasoning.set_checkpoint();
        self.content.set_checkpoint();
        self.checkpoint = Some(Checkpoint {
            calls: self.calls.len(),
            at: self.at,
            places: self.places.mark(),
            changed: Vec::new(),
        });
        if let Some(index) = self.at.begun.checked_sub(1) {
            self.save(index);
        }
    }

    /// Saves the state of a call that is about to change.
    pub(super) fn save(&mut self, index: usize) {
        let Some(checkpoint) = &mut self.checkpoint else {
            return;
        };
        let call = &mut self.calls[index];
        if index < checkpoint.calls && !call.arguments.has_checkpoint() {
            call.arguments.set_checkpoint();
            checkpoint
                .changed
                .push((index, call.state.clone(), call.id.clone()));
        }
    }

    /// Goes back to the checkpoint, which stays set. Returns the texts that were shown since.
    pub fn rollback(&mut self, parsed: &[u8]) -> Shown {
        self.clear_deltas();
        let mut shown = Vec::new();
        let Some(checkpoint) = self.checkpoint.take() else {
            return Shown(shown);
        };
        let new = self.calls.split_off(checkpoint.calls);
        for (index, call) in new.into_iter().enumerate().rev() {
            let index = checkpoint.calls + index;
            shown.push(((DeltaKind::ToolName, index), call.name));
            shown.push(((DeltaKind::ToolId, index), call.id));
            shown.push((
                (DeltaKind::ToolArguments, index),
                call.arguments.text(parsed),
            ));
            shown.extend(
                call.state
                    .complete
                    .then_some(((DeltaKind::ToolEnd, index), String::new())),
            );
        }
        for (index, state, id) in checkpoint.changed {
            let call = &mut self.calls[index];
            let ended = call.state.complete && !state.complete;
            call.state = state;
            let new_id = std::mem::replace(&mut call.id, id);
            if call.id.is_empty() {
                shown.push(((DeltaKind::ToolId, index), new_id));
            }
            shown.push((
                (DeltaKind::ToolArguments, index),
                call.arguments.rollback(parsed),
            ));
            call.arguments.clear_checkpoint();
            shown.extend(ended.then_some(((DeltaKind::ToolEnd, index), String::new())));
        }
        // The first visible reasoning includes the white space that waited for it.
        let whole = (!checkpoint.at.reasoning_shows).then(|| self.reasoning.text(parsed));
        let since = self.reasoning.rollback(parsed);
        if self.at.reasoning_shows {
            shown.push(((DeltaKind::Reasoning, 0), whole.unwrap_or(since)));
        }
        shown.push(((DeltaKind::Content, 0), self.content.rollback(parsed)));
        self.at = checkpoint.at;
        self.places.restore(checkpoint.places);
        self.set_checkpoint();
        Shown(shown)
    }

    /// Replaces the deltas by removals: of the shown texts, without the parts that the deltas show
    /// again. `span`: the bytes of the output that were taken back.
    pub fn withdraw(&mut self, shown: Shown, span: &Range<usize>) {
        let mut again: HashMap<(DeltaKind, usize), usize> = HashMap::new();
        for entry in &self.deltas {
            *again.entry((entry.kind, entry.call)).or_default() += entry.text.len();
        }
        self.clear_deltas();
        let mut gone = None;
        for ((kind, call), text) in shown.0 {
            let kept = again.get(&(kind, call));
            if kind == DeltaKind::ToolName && kept.is_none() {
                gone = Some(call);
            } else if kind.is_of_call() && gone == Some(call) {
                // It is removed with its call.
                continue;
            }
            let text = text.get(kept.copied().unwrap_or(0)..).unwrap_or_default();
            if !text.is_empty() || kind == DeltaKind::ToolEnd && kept.is_none() {
                let from = self.delta_text.len();
                self.delta_text.push_str(text);
                let text = from..self.delta_text.len();
                self.deltas.push(Entry {
                    kind: kind.withdrawn(),
                    call,
                    text,
                    span: span.clone(),
                });
            }
        }
    }
}
