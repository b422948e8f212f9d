//! Learning how a template writes, by asking it.
//!
//! A chat template is a program from conversations to text. What it writes around reasoning, content and tool calls is what its
//! model has been trained to write. Nobody says which text that is, but a template can be asked: it renders any conversation. All
//! that is learnt here, is learnt from renders of conversations that we make up. A template that refuses one teaches nothing by
//! it; an analysis cannot fail, it can only find little.
//!
//! # Two readings
//!
//! **A turn** ([`turn`]) takes any template. It puts a mark at both ends of each text that goes into a conversation, so that a
//! render falls apart into parts that we know and *glue* between them that is the template's own:
//!
//! ```text
//! given     thinks "why", says "answer", calls f with x = "1"
//! rendered  <think>‹why›</think>\n‹answer› <call>f(x='‹1›')</call><end>
//! parts     reasoning  content  call: name, key, value
//! glue      <think>  </think>\n  " <call>"  (  ='  '  )</call>  <end>
//! ```
//! Turns with and without each part, with one, two and three calls, with values of each kind show all the glue that there is. What
//! comes between two parts is known by the two parts; what differs from call to call (a name that comes again, a number) is found
//! by its text. A piece of glue that ends one thing and begins another is cut by comparing what else may follow: `}]` behind the last call
//! and `}, {` between two have `}` in common, which closes a call. Arrays and objects that are not written as JSON are taken apart the same way,
//! one level inside the other. Nothing is looked for, so nothing must look as expected.
//!
//! **A layout** ([`Layout`]) is what llama.cpp learns: three shapes of calls, found by comparing two renders that differ in one
//! fact, at the borders of markers. Its fields have names that hosts know, and formats made from it are llama.cpp's to the byte.
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
//! The probes are in `probe`, the differences in `diff`, the borders in `markup`. What was found comes with its [`Evidence`]: the two renders,
//! where they differ, and the question that they answer.
//!
//! Nothing that a probe says can be a marker. Where it ends up in one, the pass has not understood what it saw: what it has found
//! of that part of a turn is forgotten, and a template whose calls have no shape that the passes know has none.
//!
//! # Which of them is right
//!
//! Either is a claim. `crate::proof` puts it to the test: other messages than those learnt from are rendered and read back, and
//! who reads most of them reads the template. So a reading may be wrong, but not unnoticed.
//!
//! # Knowledge
//!
//! Nothing here knows what a marker looks like beyond its brackets, and nothing but `workarounds` knows a template: each row says
//! what the renders hide. Renders are bounded by the template stage, by [`crate::limits::PROBE_FUEL`] and
//! [`crate::limits::PROBE_BYTES`], and all work on them is near linear.

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
    ArgumentsLayout, CallIdLayout, CallIdPosition, ContentMode, FunctionLayout, Layout, ReasoningLayout, ReasoningMode,
    ToolFormat, ToolsLayout,
};

use evidence::Study;

use serde_json::Value;

use crate::template::Template;

/// What a template's renders show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Analysis {
    /// How the template writes.
    pub(crate) layout: Layout,
    /// See [`Analysis::evidence`].
    pub(crate) evidence: Vec<Evidence>,
}

impl Analysis {
    /// Every field of the layout by its dotted name, in a fixed order: modes are their names, markers are strings, switches are
    /// booleans.
    pub fn fields(&self) -> Vec<(&'static str, Value)> {
        self.layout.fields()
    }

    /// The same as one JSON object, a nested object for each group of fields.
    pub fn to_json(&self) -> Value {
        self.layout.to_json()
    }

    /// What each field was read from, in the order of finding. A field that was corrected later has several entries, the last of
    /// which is about its value now.
    pub fn evidence(&self) -> &[Evidence] {
        &self.evidence
    }
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
        study.settle();
    }
    study.finish()
}
