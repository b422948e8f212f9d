//! The C surface: the façade in C's spelling. It decides nothing; each function turns its arguments
//! into Rust, calls the library and turns the answer into C. `include/chatparse.h` is generated
//! from these files and is what C programmers read, so the documentation of each item here
//! addresses them.
//!
//! # The contract
//! - **Ownership.** `_new`, `_clone`, and every function that fills a `**out` gives the caller an
//!   object; the `_free` of its noun takes it back, once, and accepts NULL. No object borrows from
//!   another: each may be freed in any order.
//! - **Views.** A [`text::chat_str`] is borrowed from the handle that it was asked of, and never
//!   the caller's to free. From an immutable handle it is valid until that handle is freed; from a
//!   stream, an answer or a grammar builder until the next call that takes it without `const`.
//! - **Fields.** What a handle holds is a struct that it owns ([`text`]), made when it is first
//!   asked for.
//! - **NULL.** A NULL handle or output is [`status::chat_status::InvalidArgument`], never a crash.
//!   Functions that return a plain value give its empty value, and fields that are all 0.
//!   `chat_error **` may be NULL everywhere: no details then.
//! - **Outputs** are written on `CHAT_STATUS_OK` only, and `*error` on any other status only.
//! - **Threads.** A `const` handle may be used by any number of threads at once; without `const` it
//!   has one user at a time.
//! - **Text** is pointer and length, may hold NUL, and needs no NUL at its end. Templates, tokens,
//!   names, rules, schemas, requests and parsers must be UTF-8. Model output may be any bytes; what
//!   comes out is UTF-8.
//! - **Panics** are defects of the library. They are caught, reported as `CHAT_STATUS_INTERNAL`,
//!   and a handle that was being changed answers so from then on. Handles passed as `const` are not
//!   changed by any call, so they stay usable: one bad request must not take a shared template away
//!   from all others. Functions that return a plain value have no status: they give its empty
//!   value. Where nothing unwinds (WebAssembly), a panic is a trap.
//!
//! # How it is written
//! C's pointers to handles are `Option<&T>`, `Option<&mut T>` and `Option<Box<T>>`, outputs are
//! `Option<&mut MaybeUninit<_>>`: they have C's layout, and the NULL check cannot be forgotten. So
//! the only pointers that are read through by hand are those of texts, in [`text`]. Work goes
//! through `status::guard` or `status::filled`, or through `status::answer` where a function returns a
//! plain value; functions with neither read what is there, or free it.
//!
//! [`status::chat_status`] goes out as an enum; a status that comes in is a `u32`, because C may
//! pass any number.
#![allow(
    unsafe_code,
    reason = "the one place where the caller's pointers are trusted"
)]
#![allow(non_camel_case_types, reason = "types have their C names")]
#![allow(
    clippy::missing_safety_doc,
    reason = "the contract above is the safety section of every function"
)]
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

/// What C calls the kinds of an enumeration of the library's, by the names that both have. `other`:
/// kinds may be added.
macro_rules! same_names {
    ($kind:ident => $c:ident: $($name:ident),+ $(; other: $other:ident)?) => {
        impl From<$kind> for $c {
            fn from(kind: $kind) -> Self {
                match kind {
                    $($kind::$name => $c::$name,)+
                    $(_ => $c::$other,)?
                }
            }
        }
    };
}

pub mod status;
pub mod text;
#[allow(dead_code, reason = "the numbers are for the header")]
pub mod version;

pub mod error;

pub mod log;

pub mod template;

pub mod grammar;

pub mod grammar_builder;

pub mod params;

pub mod matcher;

#[cfg(feature = "segments")]
pub mod segments;

#[cfg(feature = "next")]
pub mod next;

#[cfg(feature = "next")]
pub mod turn;

#[cfg(feature = "conversation")]
pub mod conversation;

pub mod parser;

pub mod message;

pub mod stream;

#[cfg(feature = "api")]
pub mod answer;

/// `const` means concurrent: every handle that a function takes so can be read by several threads.
/// All can be freed by another.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<status::chat_error>();
    shared::<template::chat_template>();
    shared::<grammar::chat_grammar>();
    shared::<grammar_builder::chat_grammar_builder>();
    shared::<params::chat_params>();
    shared::<matcher::chat_matcher>();
    #[cfg(feature = "segments")]
    shared::<segments::chat_segments>();
    shared::<parser::chat_parser>();
    shared::<message::chat_message>();
    shared::<stream::chat_stream>();
    #[cfg(feature = "conversation")]
    shared::<conversation::chat_conversation>();
    #[cfg(feature = "api")]
    shared::<answer::chat_answer>();
};
