//! The work that a render may take, and the bytes that its values may have. Templates are
//! untrusted, and one step of the engine can touch any amount of data. So code that reads or builds
//! values counts here the data that it touches, before it does.
//!
//! The counts belong to the thread, because a value that is looped over, compared or printed knows
//! no render. Where nothing can fail, the excess is noted ([`note`]), the value gives nothing any
//! more, and the render fails at its end ([`Meter::check`]). Without a render, nothing is bounded.
//!
//! A unit of work takes about a nanosecond: [`COMPARED`] bytes that are compared, [`SEARCHED`] that
//! are searched or built, one byte whose character is looked at. An item of a container takes
//! [`ITEM`] units. The engine counts its steps itself.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Weak};

use crate::fault::Result;
use minijinja::value::Value;
use minijinja::{Error, ErrorKind};

use chatparse_base::limits::{PROMPT_BYTES, RENDER_BYTES};

/// Bytes that are searched or built in one unit.
pub const SEARCHED: usize = 8;

/// Bytes that are compared or copied in one unit.
pub const COMPARED: usize = 32;

/// The units for reading, copying or adding one item.
pub const ITEM: usize = 16;

/// The units for printing a value that is no text.
pub const PRINTED: usize = 32;

/// The bytes of a container besides its items.
const CONTAINER_BYTES: usize = 192;

/// The memory of a text while it is built, in lengths: a buffer, the larger one it grows into, and
/// the value made of it.
const TEXT_COPIES: usize = 3;

/// The amount that was used up.
#[derive(Clone, Copy, Debug)]
enum Excess {
    Work,
    Bytes,
    Text,
}

impl From<Excess> for Error {
    fn from(excess: Excess) -> Error {
        let what = match excess {
            Excess::Work => "the render takes too much work".to_owned(),
            Excess::Bytes => format!("the render builds more than {RENDER_BYTES} bytes"),
            Excess::Text => format!("a text is longer than {PROMPT_BYTES} bytes"),
        };
        Error::new(ErrorKind::OutOfFuel, what)
    }
}

/// The counts of a render.
#[derive(Clone, Copy)]
struct Counts {
    work: u64,
    max_work: u64,
    bytes: usize,
    excess: Option<Excess>,
    /// A list or map that the template was given has changed.
    given_changed: bool,
}

impl Counts {
    const fn new(max_work: u64) -> Counts {
        Counts {
            work: 0,
            max_work,
            bytes: 0,
            excess: None,
            given_changed: false,
        }
    }

    /// Changes the counts of the render.
    fn change<R>(change: impl FnOnce(&mut Counts) -> R) -> R {
        let mut counts = COUNTS.get();
        let result = change(&mut counts);
        COUNTS.set(counts);
        result
    }

    /// Notes the first amount that was used up.
    #[cold]
    fn exceed(&mut self, excess: Excess) -> Excess {
        *self.excess.get_or_insert(excess)
    }
}

/// The length from which a text counts only as long as it is held.
pub const LARGE: usize = 4 << 10;

/// The work of looking whether a text is still held.
const LOOK: usize = 64;

/// Large texts and their lengths. Some may be gone: a template that appends to one text again and
/// again holds only the last.
#[derive(Default)]
struct Texts {
    all: Vec<(Weak<str>, usize)>,
    /// The number of texts at which lost ones are dropped: twice the number that was left the last
    /// time, so that each text is looked at a few times only.
    full: usize,
}

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts::new(u64::MAX)) };
    static TEXTS: RefCell<Texts> = const { RefCell::new(Texts { all: Vec::new(), full: 0 }) };
}

fn fail(excess: Excess) -> Result<()> {
    Err(Counts::change(|counts| counts.exceed(excess)).into())
}

/// Counts for one render, from its creation to its end.
pub struct Meter {
    /// The counts of the render around this one.
    around: Counts,
    texts: Texts,
}

impl Meter {
    /// `max_work`: the units of work that the render may take.
    pub fn start(max_work: u64) -> Meter {
        Meter {
            around: COUNTS.replace(Counts::new(max_work)),
            texts: TEXTS.take(),
        }
    }

    /// An error if the render noted that something is used up.
    pub fn check(&self) -> Result<()> {
        COUNTS
            .get()
            .excess
            .map_or(Ok(()), |excess| Err(excess.into()))
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        COUNTS.set(self.around);
        TEXTS.set(std::mem::take(&mut self.texts));
    }
}

/// Counts units of work where nothing can fail. Returns whether the render may go on.
pub fn note(units: u64) -> bool {
    Counts::change(|counts| {
        counts.work = counts.work.saturating_add(units);
        if counts.work > counts.max_work {
            counts.exceed(Excess::Work);
        }
        counts.excess.is_none()
    })
}

/// Notes that the template changes a list or map that it was given.
pub fn note_given_changed() {
    Counts::change(|counts| counts.given_changed = true);
}

/// Whether it did.
pub fn given_changed() -> bool {
    COUNTS.get().given_changed
}

/// The units of work of the render so far.
pub fn spent() -> u64 {
    COUNTS.get().work
}

/// Counts units of work.
pub fn work(units: usize) -> Result<()> {
    if note(units as u64) {
        Ok(())
    } else {
        fail(Excess::Work)
    }
}

/// Counts a text that is compared or copied.
pub fn scan(bytes: usize) -> Result<()> {
    work(bytes / COMPARED)
}

/// Counts a text that is searched or built.
pub fn search(bytes: usize) -> Result<()> {
    work(bytes / SEARCHED)
}

/// Counts bytes that are built.
pub fn charge(bytes: usize) -> Result<()> {
    let has_room = make_room(bytes);
    Counts::change(|counts| counts.bytes = counts.bytes.saturating_add(bytes));
    if has_room {
        search(bytes)
    } else {
        fail(Excess::Bytes)
    }
}

/// Counts text that is appended to a captured or printed one.
pub fn charge_output(bytes: usize) -> Result<()> {
    charge(bytes.saturating_mul(TEXT_COPIES))
}

/// Counts a text that was just built.
pub fn charge_text(bytes: usize) -> Result<()> {
    if bytes > PROMPT_BYTES {
        fail(Excess::Text)
    } else {
        charge(bytes)
    }
}

/// Counts `count` items that are copied.
pub fn charge_items(count: usize) -> Result<()> {
    charge(count.saturating_mul(size_of::<Value>()))?;
    work(count.saturating_mul(ITEM))
}

/// Counts a container for `count` items.
pub fn charge_container(count: usize) -> Result<()> {
    charge(CONTAINER_BYTES.saturating_add(count.saturating_mul(size_of::<Value>())))
}

/// Counts a piece of a text that becomes an item.
pub fn charge_piece(bytes: usize) -> Result<()> {
    charge_items(2)?;
    charge(bytes)
}

/// Stops to count large texts that are no longer held, if there is no room for `bytes` otherwise.
/// Returns whether there is room now.
fn make_room(bytes: usize) -> bool {
    has_room(bytes) || {
        TEXTS.with_borrow_mut(Texts::drop_gone);
        has_room(bytes)
    }
}

fn has_room(bytes: usize) -> bool {
    COUNTS.get().bytes.saturating_add(bytes) <= RENDER_BYTES
}

impl Texts {
    fn drop_gone(&mut self) {
        note((self.all.len() * LOOK) as u64);
        let mut gone = 0;
        self.all.retain(|(text, length)| {
            let held = text.strong_count() > 0;
            gone += if held { 0 } else { *length };
            held
        });
        Counts::change(|counts| counts.bytes = counts.bytes.saturating_sub(gone));
        self.full = 2 * self.all.len() + 4;
    }

    fn add(&mut self, text: &Arc<str>) {
        if self.all.len() >= self.full {
            self.drop_gone();
        }
        self.all.push((Arc::downgrade(text), text.len()));
    }
}

/// A text as a value, which counts as long as it is held, if it is large.
pub fn text(text: String) -> Result<Value> {
    charge_text(text.len())?;
    if text.len() < LARGE {
        return Ok(Value::from(text));
    }
    // Fresh memory takes as long again.
    search(text.len())?;
    let shared: Arc<str> = text.into();
    TEXTS.with_borrow_mut(|texts| texts.add(&shared));
    Ok(Value::from(shared))
}

/// Whether a text of `bytes` may be built although no other text is dropped.
pub fn has_room_for(bytes: usize) -> bool {
    bytes <= PROMPT_BYTES && has_room(bytes.saturating_mul(TEXT_COPIES))
}

/// Whether a text of `bytes` may be built. Called before it is.
pub fn check_text(bytes: usize) -> Result<()> {
    if bytes > PROMPT_BYTES {
        fail(Excess::Text)
    } else if make_room(bytes.saturating_mul(TEXT_COPIES)) {
        Ok(())
    } else {
        fail(Excess::Bytes)
    }
}
