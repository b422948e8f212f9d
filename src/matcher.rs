//! The next bytes: what an output is held to, as a machine that is fed what the parser is fed.
//!
//! For an engine that has no grammars of its own, and for one that drafts what must come: most of a
//! call is markup, names and the punctuation of JSON, which nobody chooses.
//!
//! ```
//! use chatparse::{ChatTemplate, Request};
//! let template = ChatTemplate::builtin("json-call").unwrap();
//! let body = r#"{"messages": [{"role": "user", "content": "Rain?"}], "tool_choice": "required", "tools": [{"type": "function",
//!    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]}"#;
//! let params = template.params(&Request::from_text(body)?)?;
//! let mut matcher = params.matcher()?;
//! let call = b"<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
//! let (mut output, mut chosen) = (Vec::new(), 0);
//! while output.len() < call.len() {
//!     let mut next = matcher.forced();
//!     if next.is_empty() {
//!         // Here a model chooses, of what may come next.
//!         assert!(matcher.allowed().has(call[output.len()]));
//!         next.push(call[output.len()]);
//!         chosen += 1;
//!     }
//!     assert_eq!(matcher.feed(&next)?, next.len());
//!     output.extend(next);
//! }
//! assert_eq!(output, call);
//! assert!(matcher.may_end() && chosen < 10);
//! # Ok::<(), chatparse::Error>(())
//! ```

#[doc(inline)]
pub use chatparse_grammar::{ByteSet, Matcher};
