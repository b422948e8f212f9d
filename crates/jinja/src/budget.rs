//! What a render may use: work, memory and nesting. Templates are untrusted, and one operation can
//! touch any amount of data, so each counts here what it touches, before it does.
//!
//! The counts belong to the thread, because a value that is compared or printed knows no render.
//! Where nothing can fail, the excess is noted ([`note`]), the value gives nothing any more, and
//! the render fails at its next step ([`check`]). Without a render, nothing is bounded.
//!
//! A unit of work takes about a nanosecond: [`COMPARED`] bytes that are compared, [`SEARCHED`] that
//! are searched or built, one byte whose character is looked at.

use std::cell::Cell;

use crate::fault::{Fault, Kind, Made};
use chatparse_base::limits::{PROMPT_BYTES, RENDER_BYTES};

/// Bytes that are searched or built in one unit.
pub const SEARCHED: usize = 8;

/// Bytes that are compared or copied in one unit.
pub const COMPARED: usize = 32;

/// The units for reading, copying or adding one item.
pub const ITEM: usize = 16;

/// The bytes of a value.
pub const VALUE_BYTES: usize = 32;

/// The bytes of a container besides its items.
const CONTAINER_BYTES: usize = 192;

/// The amount that was used up.
#[derive(Clone, Copy, Debug)]
enum Excess {
    Work,
    Bytes,
    Text,
    Depth,
}

/// The counts of a render.
#[derive(Clone, Copy)]
struct Counts {
    work: u64,
    max_work: u64,
    bytes: usize,
    depth: usize,
    max_depth: usize,
    excess: Option<Excess>,
    /// A list or map that the template was given has changed.
    given_changed: bool,
}

const NO_RENDER: Counts = Counts {
    work: 0,
    max_work: u64::MAX,
    bytes: 0,
    depth: 0,
    max_depth: usize::MAX,
    excess: None,
    given_changed: false,
};

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(NO_RENDER) };
}

fn change<R>(change: impl FnOnce(&mut Counts) -> R) -> R {
    let mut counts = COUNTS.get();
    let result = change(&mut counts);
    COUNTS.set(counts);
    result
}

/// Notes the first amount that was used up.
#[cold]
fn exceed(excess: Excess) {
    change(|counts| _ = counts.excess.get_or_insert(excess));
}

/// Fails if something is used up.
pub fn check() -> Made<()> {
    match COUNTS.get().excess {
        None => Ok(()),
        Some(excess) => Err(fault(excess)),
    }
}

#[cold]
fn fault(excess: Excess) -> Fault {
    let (kind, what) = match excess {
        Excess::Work => (Kind::Limit, "the render takes too much work".to_owned()),
        Excess::Depth => (Kind::Depth, "the render nests too deeply".to_owned()),
        Excess::Text => (
            Kind::Limit,
            format!("a text is longer than {PROMPT_BYTES} bytes"),
        ),
        Excess::Bytes => (
            Kind::Limit,
            format!("the render builds more than {RENDER_BYTES} bytes"),
        ),
    };
    Fault::new(kind, what)
}

/// Counts for one render, from its creation to its end.
pub struct Meter {
    /// The counts of the render around this one.
    around: Counts,
}

impl Meter {
    pub fn start(max_work: u64, max_depth: usize) -> Meter {
        Meter {
            around: COUNTS.replace(Counts {
                max_work,
                max_depth,
                ..NO_RENDER
            }),
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        COUNTS.set(self.around);
    }
}

/// Counts units of work where nothing can fail. Returns whether the render may go on.
pub fn note(units: usize) -> bool {
    change(|counts| {
        counts.work = counts.work.saturating_add(units as u64);
        if counts.work > counts.max_work {
            counts.excess.get_or_insert(Excess::Work);
        }
        counts.excess.is_none()
    })
}

/// Counts units of work.
pub fn work(units: usize) -> Made<()> {
    match note(units) {
        true => Ok(()),
        false => check(),
    }
}

/// The units of work of the render so far.
pub fn spent() -> u64 {
    COUNTS.get().work
}

/// Enters a level of nesting. Returns whether the render may go on.
pub fn deeper() -> bool {
    change(|counts| {
        counts.depth += 1;
        if counts.depth > counts.max_depth {
            counts.excess.get_or_insert(Excess::Depth);
        }
        counts.excess.is_none()
    })
}

/// Leaves it.
pub fn shallower() {
    change(|counts| counts.depth = counts.depth.saturating_sub(1));
}

/// Notes that the template changes a list or map that it was given.
pub fn note_given_changed() {
    change(|counts| counts.given_changed = true);
}

/// Whether it did.
pub fn given_changed() -> bool {
    COUNTS.get().given_changed
}

/// Counts bytes that are built. Returns whether there is room.
pub fn take(bytes: usize) -> bool {
    let has_room = change(|counts| {
        counts.bytes = counts.bytes.saturating_add(bytes);
        counts.bytes <= RENDER_BYTES
    });
    if !has_room {
        exceed(Excess::Bytes);
    }
    note(bytes / SEARCHED)
}

/// Stops counting bytes that are no longer held.
pub fn release(bytes: usize) {
    change(|counts| counts.bytes = counts.bytes.saturating_sub(bytes));
}

/// As [`take`], for a text of `length` that grows by `more`.
pub fn grow(length: usize, more: usize) -> bool {
    if length.saturating_add(more) > PROMPT_BYTES {
        exceed(Excess::Text);
    }
    take(more)
}

/// Counts a container for `count` values.
pub fn container(count: usize) -> bool {
    let items = count.saturating_mul(VALUE_BYTES);
    take(CONTAINER_BYTES.saturating_add(items)) && note(count.saturating_mul(ITEM))
}

/// Whether a text of `bytes` may be built. Called before it is.
pub fn check_text(bytes: usize) -> Made<()> {
    if bytes > PROMPT_BYTES {
        exceed(Excess::Text);
    } else if COUNTS.get().bytes.saturating_add(bytes) > RENDER_BYTES {
        exceed(Excess::Bytes);
    }
    check()
}
