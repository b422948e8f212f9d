//! Reasoning in a request: where it opens and closes, with the prompt's opening.

use super::layout::Layout;
use super::turn::{Glue, Reasoning, TurnFormat};
use chatparse_base::brackets;

impl Reasoning {
    /// The reasoning of a turn after this opening, which may begin or end it. Where it begins it,
    /// `open` is empty.
    pub fn in_request(turn: &TurnFormat, layout: &Layout, opening: &str) -> Option<Reasoning> {
        let mut thought = match (&turn.reasoning, &layout.reasoning) {
            (Some(known), _) => known.clone(),
            (None, Some(known)) if !known.end.trim().is_empty() => {
                let (start, open, close) = (
                    known.start.trim().to_owned(),
                    (&known.start).into(),
                    (&known.end).into(),
                );
                Reasoning {
                    start,
                    open,
                    close,
                    ..Reasoning::default()
                }
            }
            _ => return None,
        };
        let Reasoning {
            start, open, close, ..
        } = &thought;
        // A turn may begin in its thoughts without a marker, whatever the prompt has in front.
        let at_once =
            open.is_empty() && !turn.opening.contains(start) && !opening.contains(close.core());
        if turn.reasoning.is_none() || !at_once && opening != turn.opening {
            if !start.is_empty() && opening.rfind(start) > opening.rfind(close.core()) {
                thought.open = Glue::default();
            } else if open.is_blank() {
                thought.open = start.into();
            }
        }
        Some(thought)
    }

    /// Whether special tokens, which no text has, are around it.
    pub fn is_special(&self) -> bool {
        let close = self.close.core();
        brackets::begins_token(&self.start)
            && (brackets::begins_token(close) || brackets::ends_token(close))
    }

    /// The part of the prompt's opening that is no part of the message. Words after the marker
    /// that opens reasoning belong to the reasoning. If reasoning is not separated, the marker and
    /// what follows it belong to the content.
    pub fn before_message<'o>(&self, opening: &'o str, extract: bool) -> &'o str {
        let Some(at) = opening
            .rfind(&*self.start)
            .filter(|_| !self.start.is_empty())
        else {
            return opening;
        };
        let behind = &opening[at + self.start.len()..];
        match (extract, self.open.is_empty()) {
            (false, _) => &opening[..at],
            (true, true) => &opening[..opening.len() - behind.trim_start().len()],
            (true, false) => opening,
        }
    }
}
