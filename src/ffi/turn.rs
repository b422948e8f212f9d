//! How the params of a next turn go on.

use super::text::chat_str;
use crate::next::Reason;

/// Why a template renders a part of the earlier prompt and output differently. Later versions may
/// add reasons: treat unknown ones as `CHAT_REASON_CHANGED`.
#[repr(u32)]
pub enum chat_reason {
    /// It does not: nothing is different.
    None = 0,
    /// The template leaves out the reasoning of an earlier turn.
    Reasoning = 1,
    /// The turn opens differently than in the prompt, e.g. without empty reasoning.
    Opening = 2,
    /// The text is further on, after something else.
    Moved = 3,
    /// There is other text.
    Changed = 4,
    /// The template does not render the turn as the model wrote it: it leaves a part out, or the
    /// library cannot tell that the two are equivalent.
    Output = 5,
    /// The request does not go on from the earlier prompt and output: see `chat_params_follow`.
    Request = 6,
}

same_names!(Reason => chat_reason: Reasoning, Opening, Moved, Changed, Output, Request; other: Changed);

/// How params of a next turn go on behind the earlier prompt and output. Views are valid as long as
/// the params, `words` for ever.
#[repr(C)]
pub struct chat_turn_fields {
    /// How many bytes of the earlier prompt and output the new prompt begins with: all of them if
    /// there is no rewrite, or if the request says `append: always`. 0 for params that do not
    /// continue others.
    pub kept: usize,
    /// The prompt from byte `kept` on.
    pub append: chat_str,
    /// The prompt as the template renders the whole conversation. It differs from `prompt` of the
    /// params where an output was not written as the template writes it, or where `append: always`
    /// kept what the template would change.
    pub rendered: chat_str,
    /// Why the template changes the earlier prompt and output; `kept` is the position of the first
    /// different byte, unless the request says `append: always`. `CHAT_REASON_NONE` if it does not,
    /// and for params that do not continue others.
    pub reason: chat_reason,
    /// The reason as a sentence.
    pub words: chat_str,
    /// Index of the message that holds the first different byte; `SIZE_MAX` for text of the
    /// template, and if nothing differs.
    pub message: usize,
}
