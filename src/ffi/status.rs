//! How a call went: its status and its error. Handles and outputs as C passes them. No panic leaves
//! the library, and no handle is used after one has left it half-changed.

use std::any::Any;
use std::ffi::{CString, c_char};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{LazyLock, OnceLock};

use chatparse_base::{Error, ErrorKind, Result};

/// The result of a call. Each hundred is one kind of error. Numbers never change their meaning;
/// later versions may add some. Treat an unknown number as its hundred: 203 as 200.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_status {
    /// The call succeeded and wrote its outputs.
    Ok = 0,
    /// The input has the wrong form; the error's message names what and where. (HTTP: 400.)
    InvalidArgument = 100,
    /// The template does not parse, raises an error, or fails while it renders. (HTTP: 400 for a
    /// client's template, 500 for the server's own.)
    Template = 200,
    /// A JSON schema cannot be used. (HTTP: 400.)
    Schema = 300,
    /// The input is too long, too deep or too costly. (HTTP: 400 or 413.)
    Limit = 400,
    /// The output does not match the format, and the caller set `CHAT_PARSE_STRICT`; or a tree that
    /// did not match has no message. (HTTP: 500.)
    Parse = 500,
    /// A defect of the library. A handle that the call took without `const` can only be freed now.
    /// (HTTP: 500.)
    Internal = 900,
}

same_names!(ErrorKind => chat_status: InvalidArgument, Template, Schema, Limit, Parse; other: Internal);

/// Names by their numbers, as C reads them.
pub(super) type Names = LazyLock<Vec<(u32, CString)>>;

/// The names of kinds with their numbers.
pub(super) fn named<'n>(names: impl IntoIterator<Item = (u32, &'n str)>) -> Vec<(u32, CString)> {
    let names = names.into_iter();
    names
        .map(|(number, name)| (number, CString::new(name).unwrap_or_default()))
        .collect()
}

pub(super) fn name_of(number: u32, names: &'static Names) -> *const c_char {
    let known = names.iter().find(|(known, _)| *known == number);
    known.map_or(c"unknown", |(_, name)| name).as_ptr()
}

/// Returns the lower-case name of a status, e.g. `invalid_argument`, or `unknown`; static, with NUL
/// at its end.
#[unsafe(no_mangle)]
pub extern "C" fn chat_status_name(status: u32) -> *const c_char {
    static NAMES: Names = Names::new(|| {
        let kinds = ErrorKind::ALL.map(|kind| (chat_status::from(kind) as u32, kind.name()));
        named([(chat_status::Ok as u32, "ok")].into_iter().chain(kinds))
    });
    name_of(status, &NAMES)
}

/// A status and a sentence about a call that failed. Immutable.
///
/// Functions that can fail take `chat_error **error` last. Pass NULL if the status is enough.
/// Otherwise a call that fails stores a new object there, whatever the old value is; free it with
/// `chat_error_free`. A call that succeeds leaves `*error` alone.
///
/// ```c
/// chat_error *error = NULL;
/// if (chat_template_new(text, len, "", 0, "", 0, &template, &error) != CHAT_STATUS_OK) {
///   chat_str message = chat_error_message(error);
///   fprintf(stderr, "%.*s\n", (int)message.len, message.data);
///   chat_error_free(error);
/// }
/// ```
pub struct chat_error(pub(super) Error, pub(super) Bodies);

/// The error in the shape of each API, once somebody has asked.
pub(super) type Bodies = [OnceLock<String>; 3];

/// Where a function puts a result. C's variable need not hold anything yet. (cbindgen does not see
/// through aliases: `.ci/header.sh` spells both out for it.)
pub type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// Where a function puts what went wrong.
pub type ErrorOut<'a> = Out<'a, *mut chat_error>;

/// The handle or output, where it is not NULL.
pub(super) fn required<T>(pointer: Option<T>, name: &str) -> Result<T> {
    pointer.ok_or_else(|| Error::invalid(format!("{name}: must not be NULL")))
}

/// What a number stands for that C gave, of values that C counts from 1; `what` is its name.
pub(super) fn numbered<T: Copy>(what: &str, number: u32, values: &[T]) -> Result<T> {
    let value = values.get((number as usize).wrapping_sub(1));
    value
        .copied()
        .ok_or_else(|| Error::invalid(format!("{what}: {number} is unknown")))
}

/// Makes `value` an object of the caller's. It comes back as `Option<Box<T>>`.
pub(super) fn give<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Runs the body of a function and turns what it says, or that it panicked, into a status and an
/// error object.
pub(super) fn guard(error: ErrorOut, body: impl FnOnce() -> Result<()>) -> chat_status {
    // Unwind safety: what the body changes is in a `Guarded`, which notices.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => chat_status::Ok,
        Ok(Err(failure)) => report(error, failure),
        Err(panic) => report(error, panicked(&*panic)),
    }
}

/// The same for a function that asks a handle, called `name` in errors, for what it writes to its
/// only output.
pub(super) fn filled<H, T>(
    handle: Option<H>,
    name: &str,
    out: Out<'_, T>,
    error: ErrorOut,
    body: impl FnOnce(H) -> Result<T>,
) -> chat_status {
    written(out, error, || body(required(handle, name)?))
}

/// The same without a handle.
pub(super) fn written<T>(
    out: Out<'_, T>,
    error: ErrorOut,
    body: impl FnOnce() -> Result<T>,
) -> chat_status {
    guard(error, || {
        let out = required(out, "out")?;
        out.write(body()?);
        Ok(())
    })
}

/// Apart, so that it is compiled once for all functions.
fn report(error: ErrorOut, failure: Error) -> chat_status {
    let status = failure.kind().into();
    if let Some(error) = error {
        error.write(give(chat_error(failure, Bodies::default())));
    }
    status
}

/// As [`guard`], for a function that asks a handle a question and has no way to report: an empty
/// answer where there is no handle, or where it panicked.
pub(super) fn answer<H, T: Default>(handle: Option<H>, body: impl FnOnce(H) -> T) -> T {
    let asked = AssertUnwindSafe(|| handle.map(body));
    catch_unwind(asked).ok().flatten().unwrap_or_default()
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let said = text
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("panic");
    let defect = format!("a defect of the library: {said}");
    log::error!("{defect}");
    Error::new(ErrorKind::Internal, defect)
}

/// What calls change. After a panic in such a call nobody knows its state, and it is not used
/// again.
#[derive(Clone)]
pub(super) struct Guarded<T> {
    value: T,
    broken: bool,
}

impl<T> Guarded<T> {
    pub fn new(value: T) -> Self {
        Guarded {
            value,
            broken: false,
        }
    }

    pub fn get(&self) -> Result<&T> {
        if self.broken {
            return Err(Error::new(
                ErrorKind::Internal,
                "the handle was left unusable by an earlier internal error",
            ));
        }
        Ok(&self.value)
    }

    pub fn change<R>(&mut self, body: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        self.get()?;
        // A panic in the body skips the line that takes this back.
        self.broken = true;
        let result = body(&mut self.value);
        self.broken = false;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::error::{chat_error_free, chat_error_message, chat_error_status};

    #[test]
    fn a_panic_becomes_a_status_and_breaks_what_it_changed() {
        let mut counter = Guarded::new(0);
        let ok = guard(None, || {
            counter.change(|n| {
                *n += 1;
                Ok(())
            })
        });
        assert_eq!(ok, chat_status::Ok);
        let status = guard(None, || {
            counter.change(|n| if *n == 1 { panic!("boom") } else { Ok(()) })
        });
        assert_eq!(status, chat_status::Internal);
        assert_eq!(
            guard(None, || counter.change(|_| Ok(()))),
            chat_status::Internal
        );
        assert!(counter.get().is_err() && counter.clone().get().is_err());
    }

    #[test]
    fn an_error_does_not_break_what_it_was_reported_for() {
        let mut counter = Guarded::new(0);
        let status = guard(None, || {
            counter.change(|_| Err::<(), _>(Error::invalid("no")))
        });
        assert_eq!(status, chat_status::InvalidArgument);
        assert_eq!(guard(None, || counter.change(|_| Ok(()))), chat_status::Ok);
    }

    #[test]
    fn an_answer_is_empty_where_there_is_none() {
        assert_eq!(
            (
                answer(Some(6), |n| n + 1),
                answer(Some(2), |n| if n == 2 { panic!("boom") } else { true })
            ),
            (7, false)
        );
    }

    #[test]
    fn a_panic_says_what_it_was() {
        let mut error = MaybeUninit::uninit();
        let status = guard(Some(&mut error), || panic!("number {}", 7));
        assert_eq!(status, chat_status::Internal);
        // SAFETY: `guard` has just written the object, and nobody else has it.
        let error = unsafe { Box::from_raw(error.assume_init()) };
        assert_eq!(chat_error_status(Some(&error)), chat_status::Internal);
        assert!(
            error.0.message().ends_with("number 7"),
            "{}",
            error.0.message()
        );
        assert!(chat_error_message(Some(&error)).len > 0);
        chat_error_free(Some(error));
    }
}
