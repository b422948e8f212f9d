//! Handles and outputs as C passes them. No panic leaves the library, and no handle is used after
//! one has left it half-changed.

use std::any::Any;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::error::{Bodies, chat_error};
use super::status::chat_status;
use chatparse_base::{Error, ErrorKind, Result};

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
