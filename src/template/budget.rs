//! The budget of bytes that one render may build, intermediate results included. It bounds the memory of a hostile template.

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use super::pyobject::as_text;
use crate::limits::{PROMPT_BYTES, RENDER_BYTES};

/// The size of a container's item, doubled because containers grow and are copied.
const ITEM_BYTES: usize = 2 * size_of::<Value>();

struct Spent(usize);

/// Counts `bytes`. Returns an error if the budget is used up.
pub(super) fn charge(state: &mut State, bytes: usize) -> Result<(), Error> {
    let spent = state.get_or_insert_extension(Spent(0));
    spent.0 = spent.0.saturating_add(bytes);
    if spent.0 > RENDER_BYTES {
        return Err(Error::new(ErrorKind::OutOfFuel, format!("the render builds more than {RENDER_BYTES} bytes")));
    }
    Ok(())
}

/// Counts `count` items of a container before it is built.
pub(super) fn charge_items(state: &mut State, count: usize) -> Result<(), Error> {
    charge(state, count.saturating_mul(ITEM_BYTES))
}

/// Counts a value that was just built.
pub(super) fn charge_value(state: &mut State, value: &Value) -> Result<(), Error> {
    match as_text(value) {
        Some(text) => {
            check_text(text.len())?;
            charge(state, text.len())
        }
        None if matches!(value.kind(), ValueKind::Seq | ValueKind::Map) => {
            charge_items(state, value.len().unwrap_or(0))
        }
        None => Ok(()),
    }
}

/// Returns an error if a text of `bytes` would be longer than any prompt. Called before the text is built.
pub(super) fn check_text(bytes: usize) -> Result<(), Error> {
    if bytes > PROMPT_BYTES {
        return Err(Error::new(ErrorKind::OutOfFuel, format!("a text is longer than {PROMPT_BYTES} bytes")));
    }
    Ok(())
}
