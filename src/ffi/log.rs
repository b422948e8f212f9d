//! What the library does, for the host's log.

use std::ffi::c_void;
use std::sync::{OnceLock, PoisonError, RwLock};

use ::log::{LevelFilter, Log, Metadata, Record};

use super::status::{ErrorOut, chat_status, guard, numbered};
use super::text::{chat_str, view};
use chatparse_base::Error;

/// How much an event of the log matters.
#[repr(u32)]
#[allow(dead_code, reason = "the numbers are for the header")]
pub enum chat_log_level {
    /// A defect of the library; the call returns `CHAT_STATUS_INTERNAL`.
    Error = 1,
    /// Something that may surprise the host: messages of a template that are not read back, a
    /// grammar that differs from its schemas.
    Warn = 2,
    /// What the library decided, e.g. the reader of a template.
    Info = 3,
}

/// Takes an event of the log: its `chat_log_level`, its words, which are valid during the call, and
/// the `data` that was set.
pub type chat_log = Option<unsafe extern "C" fn(level: u32, text: chat_str, data: *mut c_void)>;

/// The host's function.
struct Host {
    log: unsafe extern "C" fn(u32, chat_str, *mut c_void),
    data: *mut c_void,
}

// SAFETY: a host that sets a function lets all threads call it with its data.
unsafe impl Send for Host {}
// SAFETY: as above.
unsafe impl Sync for Host {}

static HOST: RwLock<Option<Host>> = RwLock::new(None);

struct ToHost;

impl Log for ToHost {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.target().starts_with("chatparse")
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            let text = record.args().to_string();
            if let Some(host) = &*HOST.read().unwrap_or_else(PoisonError::into_inner) {
                // SAFETY: the host's function and its data, by the contract of `chat_log_set`.
                unsafe { (host.log)(record.level() as u32, view(&text), host.data) }
            }
        }
    }

    fn flush(&self) {}
}

/// Sets the function that takes the library's log, for the whole process; NULL for none, as at the
/// start. It gets events of `level`, a `chat_log_level`, and of lower numbers.
///
/// Any thread may call the function, during calls of the library, and several threads at once. The
/// function must not call `chat_log_set`. When `chat_log_set` returns, the earlier function is not
/// running any more, and will not be called again.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` in a Rust program that has set its own logger: that
/// logger gets the events.
#[unsafe(no_mangle)]
pub extern "C" fn chat_log_set(
    log: chat_log,
    data: *mut c_void,
    level: u32,
    error: ErrorOut,
) -> chat_status {
    static STARTED: OnceLock<bool> = OnceLock::new();
    guard(error, || {
        let level = numbered(
            "level",
            level,
            &[LevelFilter::Error, LevelFilter::Warn, LevelFilter::Info],
        )?;
        if !STARTED.get_or_init(|| ::log::set_logger(&ToHost).is_ok()) {
            return Err(Error::invalid("log: the program has a logger of its own"));
        }
        ::log::set_max_level(if log.is_some() {
            level
        } else {
            LevelFilter::Off
        });
        *HOST.write().unwrap_or_else(PoisonError::into_inner) = log.map(|log| Host { log, data });
        Ok(())
    })
}
