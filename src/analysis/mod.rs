//! Learns how a template writes a turn, by rendering conversations with it.
//!
//! A chat template is a program from conversations to text. Its model was trained to write what the template writes around
//! reasoning, content and tool calls. No description of that text exists, but the template renders any conversation. The
//! analysis learns only from renders of conversations that it makes up. A template may reject one of them; then less is
//! learnt. The analysis cannot fail.
//!
//! # Two readings
//!
//! **A turn** ([`turn`]) is learnt from any template. The sampler puts a mark at both ends of each text in a conversation,
//! so that a render splits into known parts and the template's text between them, the *glue*:
//!
//! ```text
//! given     thinks "why", says "answer", calls f with x = "1"
//! rendered  <think>‹why›</think>\n‹answer› <call>f(x='‹1›')</call><end>
//! parts     reasoning  content  call: name, key, value
//! glue      <think>  </think>\n  " <call>"  (  ='  '  )</call>  <end>
//! ```
//! Turns with and without each part, with one, two and three calls, and with values of each kind contain all the glue there
//! is. The two parts around a piece of glue identify it; text that differs from call to call (a repeated name, a number) is
//! found by its value. A piece of glue that ends one part and begins another is split by comparing its continuations: `}]`
//! behind the last call and `}, {` between two share `}`, which closes a call. Arrays and objects that are not written as
//! JSON are analysed the same way, level by level. The analysis searches for no pattern, so it does not depend on how
//! markers look.
//!
//! **A layout** ([`Layout`]) is what llama.cpp learns: three shapes of calls, found by comparing two renders that differ in
//! one fact, at the borders of markers. Hosts know the names of its fields, and formats made from it are equal to
//! llama.cpp's to the byte.
//!
//! | pass | question | fills |
//! | --- | --- | --- |
//! | `reasoning` | where is a thought, and when | [`Layout::reasoning`] |
//! | `content` | is a reply between markers | [`Layout::content`] |
//! | `tools` | how much of a call is JSON | [`ToolsLayout::format`], then runs one of the two below |
//! | `json_native` | which field is which, what is around the JSON | [`Layout::tools`] |
//! | `tagged` | what is around all calls and around each | [`Layout::tools`] |
//! | `function`, `arguments`, `call_id` | what is around a name, a value, an id | the group of that name |
//! | `turns` | what opens a message | [`Layout::user_start`], [`Layout::assistant_start`] |
//! | `tokens` | none: lists the markers found | [`Layout::preserved_tokens`] |
//! | `workarounds` | none: recognises some templates by their source | what their renders do not show |
//! | `ending` | what follows the calls, and what is between two | [`ToolsLayout::turn_end`], [`ToolsLayout::side_by_side`] |
//!
//! `probe` makes the conversations, `diff` compares two renders, `markup` finds markers. Each result comes with its
//! [`Evidence`]: the two renders, where they differ, and the question that they answer.
//!
//! A marker cannot contain a word of a probe. If one does, the pass has misread the render: the findings on that part of the
//! turn are dropped, and a template whose calls have no shape that the passes know has no calls in its layout.
//!
//! # Choosing between them
//!
//! Either reading may be wrong. `crate::proof` checks them: it renders other messages than those learnt from, parses them,
//! and takes the reading that reads most of them. So a wrong reading is noticed.
//!
//! # Assumptions
//!
//! The code here assumes nothing about a marker beyond its brackets, and only `workarounds` knows single templates; each of
//! its rows names what the renders hide. The template stage, [`crate::limits::PROBE_FUEL`] and
//! [`crate::limits::PROBE_BYTES`] bound the renders, and all work on them is close to linear.

mod arguments;
mod call_id;
mod content;
mod context;
mod diff;
mod ending;
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

pub use context::{Evidence, Source};
pub use layout::{
    ArgumentsLayout, CallIdLayout, CallIdPosition, ContentMode, FunctionLayout, Layout, ReasoningLayout, ReasoningMode,
    ToolFormat, ToolsLayout,
};

use context::AnalysisContext;

use serde_json::Value;

use crate::template::Template;

/// The result of analysing a template.
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

type Pass = fn(&mut AnalysisContext);

/// The only pass that knows single templates.
const WORKAROUNDS: &str = "workarounds";

/// The passes; each may use the fields of those before it.
const PASSES: &[(&str, Pass)] = &[
    ("reasoning", reasoning::run),
    ("content", content::run),
    ("tools", tools::run),
    ("turns", turns::run),
    ("tokens", tokens::run),
    (WORKAROUNDS, workarounds::run),
    ("ending", ending::run),
];

/// Analyses a template: about twenty renders of short conversations, in addition to those of its caps. `learn_only`: skips
/// the work-arounds for single templates.
pub fn analyze(template: &Template, learn_only: bool) -> Analysis {
    let mut context = AnalysisContext::new(template);
    for (name, pass) in PASSES {
        if learn_only && *name == WORKAROUNDS {
            continue;
        }
        context.enter(name);
        pass(&mut context);
        context.settle();
    }
    context.finish()
}
