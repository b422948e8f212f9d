//! The next bytes of an output: what may come, and what must.

use std::ffi::c_char;

use super::grammar::{self, chat_grammar};
use super::params::chat_params;
use super::status::{ErrorOut, Guarded, Out, answer, chat_status, filled, give, written};
use super::text::{self, utf8};
use chatparse_base::Result;
use chatparse_grammar::{Matcher, Recogniser};

/// Follows an output under its grammar: feed it what the model writes, and it says which bytes may
/// come next, and which text must come next. For engines that have no grammars, and for drafts:
/// text that must come need not be sampled.
///
/// The cost of a byte does not depend on its position. A clone is cheap, and serves as a
/// checkpoint. One thread at a time may feed a matcher; several threads may use clones of it.
pub struct chat_matcher(Guarded<Matcher>);

/// A set of bytes: byte `b` is in it if bit `b % 64` of word `b / 64` is set.
#[repr(C)]
pub struct chat_byte_set {
    /// The bits.
    pub words: [u64; 4],
}

fn made(matcher: Matcher) -> *mut chat_matcher {
    give(chat_matcher(Guarded::new(matcher)))
}

/// Makes the matcher of a request, at the output's first byte. With a lazy grammar it allows any
/// text up to a trigger; without a grammar it allows any text. Each call makes it anew, which takes
/// as long as making the grammar.
///
/// Errors: `CHAT_STATUS_LIMIT`; `CHAT_STATUS_INVALID_ARGUMENT` for a lazy grammar in a library
/// without other dialects than GBNF.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_matcher(
    params: Option<&chat_params>,
    out: Out<*mut chat_matcher>,
    error: ErrorOut,
) -> chat_status {
    filled(params, "params", out, error, |params| {
        Ok(made(params.params().matcher()?))
    })
}

/// Makes the matcher of a grammar in GBNF.
///
/// Errors: as `chat_grammar_check`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_matcher_new(
    grammar: *const c_char,
    grammar_len: usize,
    out: Out<*mut chat_matcher>,
    error: ErrorOut,
) -> chat_status {
    written(out, error, || {
        // SAFETY: the caller's text, by the contract.
        let grammar = unsafe { utf8(grammar, grammar_len, "grammar") }?;
        Ok(made(Recogniser::new(grammar)?.matcher()))
    })
}

/// Advances over these bytes of the output, which may be cut anywhere, and writes into `*taken` how
/// many of them are allowed. If not all are, the matcher stops before the first that is not.
///
/// Errors: `CHAT_STATUS_LIMIT` where the grammar can be read in too many ways, or too much is open;
/// the matcher is unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_matcher_feed(
    matcher: Option<&mut chat_matcher>,
    bytes: *const c_char,
    bytes_len: usize,
    taken: Out<usize>,
    error: ErrorOut,
) -> chat_status {
    filled(matcher, "matcher", taken, error, |matcher| {
        // SAFETY: the caller's bytes, by the contract.
        let bytes = unsafe { text::bytes(bytes, bytes_len, "bytes") }?;
        matcher.0.change(|matcher| matcher.feed(bytes))
    })
}

/// Returns whether all these bytes may come next. False where a feed would fail.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_matcher_can(
    matcher: Option<&chat_matcher>,
    bytes: *const c_char,
    bytes_len: usize,
) -> bool {
    asked(matcher, |matcher| {
        // SAFETY: the caller's bytes, by the contract.
        let bytes = unsafe { text::bytes(bytes, bytes_len, "bytes") }?;
        Ok(matcher.can(bytes))
    })
}

/// Fills `*out` with the bytes that may come next.
#[unsafe(no_mangle)]
pub extern "C" fn chat_matcher_allowed(
    matcher: Option<&chat_matcher>,
    out: Out<chat_byte_set>,
    error: ErrorOut,
) -> chat_status {
    filled(matcher, "matcher", out, error, |matcher| {
        Ok(chat_byte_set {
            words: matcher.0.get()?.allowed().words(),
        })
    })
}

/// Finds the longest text that must come next, up to 64 KiB; none if there is a choice, or if the
/// output may end. It may end inside a character. Fills the first `capacity` bytes of `out`, and
/// returns how many there are. `out` may be NULL if `capacity` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_matcher_forced(
    matcher: Option<&chat_matcher>,
    out: *mut c_char,
    capacity: usize,
) -> usize {
    asked(matcher, |matcher| {
        // SAFETY: the caller's array, by the contract.
        Ok(unsafe { text::fill(matcher.forced().iter().copied(), out.cast(), capacity) })
    })
}

/// Returns whether the output may end here.
#[unsafe(no_mangle)]
pub extern "C" fn chat_matcher_may_end(matcher: Option<&chat_matcher>) -> bool {
    asked(matcher, |matcher| Ok(matcher.may_end()))
}

/// Returns whether the output must end here.
#[unsafe(no_mangle)]
pub extern "C" fn chat_matcher_ended(matcher: Option<&chat_matcher>) -> bool {
    asked(matcher, |matcher| Ok(matcher.ended()))
}

/// Makes the grammar of what may follow the bytes that were fed, in a `chat_dialect`, for an engine
/// that continues from there. It ends where the matcher's grammar ends. Costs as much as making the
/// matcher.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` inside a character; `CHAT_STATUS_LIMIT`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_matcher_grammar(
    matcher: Option<&chat_matcher>,
    dialect: u32,
    out: Out<*mut chat_grammar>,
    error: ErrorOut,
) -> chat_status {
    filled(matcher, "matcher", out, error, |matcher| {
        Ok(grammar::printed(
            matcher.0.get()?.grammar(grammar::dialect(dialect)?)?,
        ))
    })
}

fn asked<T: Default>(
    matcher: Option<&chat_matcher>,
    body: impl FnOnce(&Matcher) -> Result<T>,
) -> T {
    answer(matcher, |matcher| {
        matcher.0.get().and_then(body).unwrap_or_default()
    })
}

/// Copies a matcher and its position, as a checkpoint or for another output of the same request.
/// Copies share a cache.
#[unsafe(no_mangle)]
pub extern "C" fn chat_matcher_clone(
    matcher: Option<&chat_matcher>,
    out: Out<*mut chat_matcher>,
    error: ErrorOut,
) -> chat_status {
    filled(matcher, "matcher", out, error, |matcher| {
        Ok(made(matcher.0.get()?.clone()))
    })
}

/// Frees the matcher.
#[unsafe(no_mangle)]
pub extern "C" fn chat_matcher_free(matcher: Option<Box<chat_matcher>>) {
    drop(matcher);
}
