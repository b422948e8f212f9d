//! The level of reasoning effort and the switch of thinking, as one ladder.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::context::{EFFORT, OTHER_SWITCH, THINKS};
use crate::Template;
use chatparse_message::{Compat, Effort, Request};

/// The levels that clients send, from the lowest: no thinking.
pub const LADDER: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// How a template treats a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// It raises.
    Refused,
    /// As it treats a word that is no level.
    Unknown,
    /// It renders it in its own way.
    Known,
}

/// The request with a level of effort that the template takes, and a note if that is another one.
pub fn laddered<'r>(
    template: &Template,
    request: &'r Request,
) -> (Cow<'r, Request>, Option<String>) {
    let as_sent = (Cow::Borrowed(request), None);
    if request.effort == Effort::AsSent
        || request.output.compat == Compat::LlamaCpp
        || request.plain.is_some()
    {
        return as_sent;
    }
    let kwargs = &request.template_kwargs;
    let level = kwargs.get(EFFORT[0]).and_then(Value::as_str);
    let Some(asked) = level.and_then(|level| LADDER.iter().position(|known| *known == level))
    else {
        return as_sent;
    };
    let is_switched = [THINKS, OTHER_SWITCH]
        .iter()
        .any(|name| kwargs.contains_key(*name));
    if asked == 0
        && !is_switched
        && (template.knows_thinking_switch() || template.has_other_switch())
    {
        let mut changed = request.clone();
        changed.template_kwargs.remove(EFFORT[0]);
        let kwargs = &mut changed.template_kwargs;
        match template.has_other_switch() {
            true => drop(kwargs.insert(OTHER_SWITCH.to_owned(), false.into())),
            false => changed.output.enable_thinking = false,
        }
        return (Cow::Owned(changed), None);
    }
    if !template.caps().reasoning_effort {
        return as_sent;
    }
    let level = LADDER[asked];
    let levels = template.levels();
    match levels[asked] {
        Level::Known => as_sent,
        Level::Unknown => (
            as_sent.0,
            Some(format!(
                "reasoning_effort: the template knows no level {level:?}"
            )),
        ),
        Level::Refused => {
            // A level that thinks stays one.
            let taken = (usize::from(asked > 0)..LADDER.len())
                .filter(|at| levels[*at] != Level::Refused)
                .min_by_key(|at| (levels[*at] != Level::Known, at.abs_diff(asked)));
            let Some(nearest) = taken else {
                return as_sent;
            };
            let taken = LADDER[nearest];
            let mut changed = request.clone();
            let kwargs = &mut changed.template_kwargs;
            kwargs.insert(EFFORT[0].to_owned(), taken.into());
            let why = format!(
                "reasoning_effort: the template refuses {level:?}; {taken:?} is the nearest level that it takes"
            );
            (Cow::Owned(changed), Some(why))
        }
    }
}
