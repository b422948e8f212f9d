//! The families of templates whose formats cannot be learnt: one file and one row of the table each. Each file gives the
//! reason, and `tests/families_stay.rs` has an output for each that a learnt format reads differently.

use super::prompt::{Prompt, PromptInput};
use super::{Format, FormatSpec};
use crate::error::Result;

/// A family of templates.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Family {
    /// A stable name in lower case.
    pub name: &'static str,
    /// Whether a template's source is of this family.
    pub(crate) detect: fn(&str) -> bool,
    /// The prompt of a request.
    pub(crate) prompt: fn(&PromptInput) -> Result<Prompt>,
    /// The format of the output.
    pub(crate) build: fn(&FormatSpec) -> Format,
}

macro_rules! families {
    ($($module:ident: $name:literal,)*) => {
        $(pub mod $module;)*

        /// Every family, in the order in which they are tried.
        pub const FAMILIES: &[Family] = &[$(Family {
            name: $name,
            detect: $module::detect,
            prompt: $module::prompt,
            build: $module::build,
        }),*];
    };
}

families! {
    ministral3: "ministral-3",
    gpt_oss: "gpt-oss",
    muse_glimmer: "muse-glimmer",
    functionary_v3_2: "functionary-v3.2",
    kimi_k2: "kimi-k2",
    kimi_k3: "kimi-k3",
    ling3: "ling-3",
    cohere2_moe: "cohere2-moe",
    lfm2: "lfm2",
    gigachat3: "gigachat-3",
    minimax_m3: "minimax-m3",
    deepseek_v3_2: "deepseek-v3.2",
    gemma4: "gemma-4",
    minicpm5: "minicpm5",
    qwen3_coder: "qwen3-coder",
    translate_gemma: "translate-gemma",
}

/// The family of a template, if it has one.
pub fn family_of(source: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| (family.detect)(source))
}

/// Whether `source` contains all of `marks`.
fn has_all(source: &str, marks: &[&str]) -> bool {
    marks.iter().all(|mark| source.contains(mark))
}
