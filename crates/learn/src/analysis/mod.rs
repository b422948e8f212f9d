//! Learns how a template writes a turn, by rendering conversations with it.
//!
//! A chat template is a program from conversations to text. Its model was trained to write what the
//! template writes around reasoning, content and tool calls. No description of that text exists,
//! but the template renders any conversation. The analysis learns only from renders of
//! conversations that it makes up. A template may reject one of them; then less is learnt. The
//! analysis cannot fail.
//!
//! # A turn
//!
//! **A turn** ([`turn`]) is learnt from any template. The sampler puts a mark at both ends of each
//! text in a conversation, so that a render splits into known parts and the template's text between
//! them, the *glue*:
//!
//! ```text
//! given     thinks "why", says "answer", calls f with x = "1"
//! rendered  <think>‹why›</think>\n‹answer› <call>f(x='‹1›')</call><end>
//! parts     reasoning  content  call: name, key, value
//! glue      <think>  </think>\n  " <call>"  (  ='  '  )</call>  <end>
//! ```
//! Turns with and without each part, with one, two and three calls, and with values of each kind
//! contain all the glue there is. The two parts around a piece of glue identify it; text that
//! differs from call to call (a repeated name, a number) is found by its value. A piece of glue
//! that ends one part and begins another is split by comparing its continuations: `}]` after the
//! last call and `}, {` between two share `}`, which closes a call. Arrays and objects that are not
//! written as JSON are analysed the same way, level by level. The analysis searches for no pattern,
//! so it does not depend on how markers look.
//!
//! Reasoning that the history does not show is found in the prompts and in how a content is cut
//! (`turn::dropped`), the openings of messages by adding a message (`turn::delimiters`).
//!
//! # Views
//!
//! **A layout** ([`Layout`]) has what llama.cpp tells hosts of the same: markers, and how much of a
//! call is JSON. It is computed from the turn. [`evidence`] has, for each part of a turn, two
//! renders that show it.
//!
//! # Assumptions
//!
//! The code here assumes nothing about a marker beyond its brackets, and knows no template. The
//! proof checks what was learnt: it renders other messages than those learnt from, and parses them.
//! [`chatparse_base::limits::LEARNING_WORK`] bounds the renders,
//! [`chatparse_base::limits::TURN_BYTES`] what is learnt from, and all work on them is close to
//! linear.

mod around;
mod diff;
mod evidence;
mod layout;
mod markup;
mod thought;
pub mod turn;

pub use around::Around;
pub use evidence::{Comparison, Evidence, evidence};
pub use layout::{Layout, ReasoningLayout, ToolFormat, ToolsLayout};
