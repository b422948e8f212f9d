//! Learning how a template writes, by asking it.
//!
//! A chat template is a program from conversations to text. What it writes around reasoning, content and tool calls
//! is what its model has been trained to write. Nobody says which text that is; but two conversations that differ
//! in one fact give two renders that differ in what the template writes for that fact. So each question becomes a
//! pair of *probes* (`probe`): the same reply with and without reasoning, the same call with another name, another
//! argument, another id. The two renders are split into what they share and what is theirs alone (`diff`), at the
//! borders of *markers* (`markup`), and a pass reads from the split what it is after.
//!
//! | pass | asks | fills |
//! | --- | --- | --- |
//! | `reasoning` | where does a thought stand, and when | [`Layout::reasoning`] |
//! | `content` | does a reply stand bare | [`Layout::content`] |
//! | `tools` | how much of a call is JSON | [`ToolsLayout::format`], then asks one of the two below |
//! | `json_native` | which field is which, what is around the JSON | [`Layout::tools`] |
//! | `tagged` | what is around all calls and around each | [`Layout::tools`] |
//! | `function`, `arguments`, `call_id` | what is around a name, a value, an id | the group of that name |
//! | `turns` | what opens a message | [`Layout::user_start`], [`Layout::assistant_start`] |
//! | `tokens` | nothing: lists the markers found | [`Layout::preserved_tokens`] |
//! | `workarounds` | nothing: knows some templates by their source | what their renders do not show |
//! | `ending` | what follows the calls, and what stands between two | [`ToolsLayout::turn_end`], [`ToolsLayout::side_by_side`] |
//!
//! Nothing here knows what a marker looks like beyond its brackets, and nothing but `workarounds` knows a template.
//! A probe that the template refuses teaches nothing, and the pass that needed it leaves its fields as they are: an
//! analysis cannot fail, it can only find little. That is also all that a hostile template can do; its renders
//! are bounded by the template stage and by [`crate::limits::PROBE_BYTES`], and all work on them is near linear.
//!
//! What was found comes with its [`Evidence`]: the two renders, where they differ, and the question that they answer.

mod arguments;
mod call_id;
mod content;
mod diff;
mod ending;
mod evidence;
mod function;
mod json_native;
mod layout;
mod markup;
mod probe;
mod reasoning;
mod tagged;
mod tokens;
mod tools;
pub mod turn;
mod turns;
mod workarounds;

pub use evidence::{Evidence, Source};
pub use layout::{
    ArgumentsLayout, CallIdLayout, CallIdPosition, ContentLayout, ContentMode, FunctionLayout, Layout, ReasoningLayout,
    ReasoningMode, ToolFormat, ToolsLayout,
};

use evidence::Study;

use crate::template::Template;

/// What a template's renders show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Analysis {
    /// How the template writes.
    pub layout: Layout,
    /// What each field was read from, in the order of finding. A field that was corrected later has several entries,
    /// the last of which is about its value now.
    pub evidence: Vec<Evidence>,
}

type Pass = fn(&mut Study);

/// The one pass that knows templates.
const WORKAROUNDS: &str = "workarounds";

/// The passes in the order in which they build on each other.
const PASSES: &[(&str, Pass)] = &[
    ("reasoning", reasoning::run),
    ("content", content::run),
    ("tools", tools::run),
    ("turns", turns::run),
    ("tokens", tokens::run),
    (WORKAROUNDS, workarounds::run),
    ("ending", ending::run),
];

/// Learns how `template` writes: some twenty renders of short conversations, beside those of its caps. `learn_only`: no single
/// template is known, so no work-around applies.
pub fn analyze(template: &Template, learn_only: bool) -> Analysis {
    let mut study = Study::new(template);
    for (name, pass) in PASSES {
        if learn_only && *name == WORKAROUNDS {
            continue;
        }
        study.enter(name);
        pass(&mut study);
    }
    study.finish()
}
