//! What surrounds the names of calls and arguments in a turn.

use super::{CallForm, CallPiece, Glue, Members, TurnFormat};
use chatparse_base::brackets::{self, is_marker};

/// The rest of a form, after the name.
pub struct Tail<'a> {
    /// The glue directly after the name.
    pub first: Glue,
    pub pieces: &'a [CallPiece],
    pub form: &'a CallForm,
}

impl Members {
    /// All glue that the kind of a value may put before its name.
    pub fn befores(&self) -> Vec<&Glue> {
        let mut befores: Vec<&Glue> = Vec::new();
        for (_, slot) in &self.slots {
            if !befores.contains(&&slot.before) {
                befores.push(&slot.before);
            }
        }
        befores
    }

    /// Whether the same glue is before each argument, the first one too.
    pub fn in_front_of_each(&self) -> bool {
        // Without any there are separators only if each kind of value has an opening.
        let is_marked =
            !self.next.is_blank() || self.befores().iter().all(|before| !before.is_blank());
        is_marked && self.first.strip_suffix(&self.next).is_some()
    }

    /// What is before all arguments, without what is before each.
    pub fn in_front(&self) -> Glue {
        let all = self
            .first
            .strip_suffix(&self.next)
            .filter(|_| self.in_front_of_each());
        all.unwrap_or_else(|| self.first.clone())
    }

    /// The marker after the names of arguments, if there is one, and another in front: a name
    /// between them is certain without the first.
    pub fn name_close(&self) -> Option<&str> {
        let open = &self.slots.first()?.1.open;
        let close = &open.head()[..open.marker_spans().first()?.end];
        (is_marker(close.trim()) && is_marker(self.next.core())).then_some(close)
    }
}

impl Tail<'_> {
    /// The end of a JSON object whose only member besides the name is the arguments, which a model
    /// may leave out.
    pub fn may_lack_arguments(&self) -> bool {
        let last = matches!(self.pieces, [CallPiece::Arguments { .. }])
            && self.form.close.head().starts_with('}');
        let first = self.first.head().trim_start_matches(['"', ' ']);
        last && first.starts_with(',') && first.trim_end().ends_with(':')
    }
}

impl CallForm {
    /// The pieces up to the name, and the rest.
    pub fn at_name(&self) -> (&[CallPiece], Tail<'_>) {
        let name = self.pieces.iter().position(CallPiece::is_name);
        let (head, rest) = self.pieces.split_at(name.map_or(0, |at| at + 1));
        let (first, pieces) = match rest.split_first() {
            Some((CallPiece::Glue(first), rest)) => (first.clone(), rest),
            Some((CallPiece::Members(members), _)) => (members.in_front(), rest),
            Some(_) => (Glue::default(), rest),
            None => (self.close.clone(), rest),
        };
        (
            head,
            Tail {
                first,
                pieces,
                form: self,
            },
        )
    }

    /// The form without its id and the marker before it: models leave both out where another marker
    /// follows.
    pub fn without_id(&self) -> Option<CallForm> {
        let before = self
            .pieces
            .iter()
            .position(|piece| *piece == CallPiece::Id)?
            .checked_sub(1)?;
        for around in [&self.pieces[before], self.pieces.get(before + 2)?] {
            let CallPiece::Glue(glue) = around else {
                return None;
            };
            glue.head()
                .trim_start()
                .starts_with(brackets::opens)
                .then_some(())?;
        }
        let mut form = self.clone();
        form.pieces.drain(before..before + 2);
        Some(form)
    }
}

impl TurnFormat {
    /// The special token after the id of calls, where another one is all of their opening.
    pub fn marker_in_calls(&self, open: &Glue) -> Option<&str> {
        let [first, CallPiece::Glue(after), ..] = &*self.calls.first()?.pieces else {
            return None;
        };
        let marker = after.first_marker()?;
        let mut tokens = [marker, open.core()].into_iter();
        let between_tokens =
            tokens.all(|text| brackets::begins_token(text) && brackets::ends_token(text));
        let applies = between_tokens && !first.holds_arguments() && *first != CallPiece::Name;
        applies.then_some(marker)
    }
}
