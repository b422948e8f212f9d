//! The next bytes: what an output is held to, as a machine that is fed what the parser is fed.
//!
//! For an engine that has no grammars of its own, and for one that drafts what must come: most of a call is markup, names and the
//! punctuation of JSON, which nobody chooses.
//!
//! ```
//! use chatparse::{ChatTemplate, Request};
//! let template = ChatTemplate::builtin("json-call").unwrap();
//! let body = r#"{"messages": [{"role": "user", "content": "Rain?"}], "tool_choice": "required", "tools": [{"type": "function",
//!    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]}"#;
//! let params = template.params(&Request::from_text(body)?)?;
//! let mut matcher = params.matcher()?;
//! let mut output = Vec::new();
//! # let mut written = b"{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>".iter();
//! # let mut model = |_: &chatparse::matcher::ByteSet| b'O';
//! for _ in 0..4 {
//!     let forced = matcher.forced(); // no model is asked for these
//!     matcher.feed(&forced)?;
//!     output.extend(forced);
//!     let byte = model(&matcher.allowed());
//!     assert_eq!(matcher.feed(&[byte])?, 1);
//!     output.push(byte);
//! }
//! assert!(matcher.can(b"slo\"}") && !matcher.can(b"slo\nBergen"));
//! # Ok::<(), chatparse::Error>(())
//! ```

#[doc(inline)]
pub use chatparse_grammar::{ByteSet, Matcher};
