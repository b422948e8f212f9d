//! The families of templates of whose models renders do not show enough, and their table. All but one are rows, which
//! add to the learnt turn.

mod gpt_oss;
mod hosts;
mod prompts;
mod row;
mod rows;

use super::late::Want;
use super::prompt::{Prompt, PromptInput};
use super::{Format, FormatSpec};
use chatparse_base::Result;
use hosts::*;
pub use row::Row;
use rows::*;

/// A family of templates.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Family {
    /// A stable name in lower case.
    pub name: &'static str,
    /// Whether a template's source is of this family.
    pub detect: fn(&str) -> bool,
    /// The prompt of a request; `None`: as the template renders it, and messages are continued as learnt.
    pub prompt: Option<fn(&PromptInput) -> Result<Prompt>>,
    /// The format of the output.
    pub way: Way,
    /// Its templates render histories otherwise than the model writes, so that their renders prove nothing.
    pub history_misleads: bool,
}

/// Where a family's format comes from.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant, reason = "the table is constant, and all of its rows but one are large")]
pub enum Way {
    /// The learnt turn and what a row adds to it.
    Row(Row),
    /// A parser of its own.
    Parser(fn(&FormatSpec, Want) -> Format),
}

const GPT_OSS: Family = Family {
    name: "gpt-oss",
    detect: gpt_oss::detect,
    prompt: Some(prompts::harmony),
    way: Way::Parser(gpt_oss::build),
    history_misleads: false,
};

/// Every family, in the order in which they are tried: the first that detects a template gets it, if it reads what the template
/// writes.
pub const FAMILIES: &[Family] = &[
    MINISTRAL_3,
    GPT_OSS,
    MUSE_GLIMMER,
    FUNCTIONARY_3_2,
    KIMI_K2,
    KIMI_K3,
    LING_3,
    COHERE_2_MOE,
    LFM2,
    LFM2_5,
    GIGACHAT_3,
    MINIMAX_M3,
    DEEPSEEK_V3_2,
    DEEPSEEK_V4,
    GEMMA_4,
    MINICPM_5,
    QWEN_3_5,
    QWEN_3_CODER,
    TRANSLATE_GEMMA,
    LAGUNA,
    NEMOTRON_NANO_2,
    SOLAR_OPEN,
    K2_HORIZON,
    DEEPSEEK_R1_DISTILL,
];

/// The family of a template, if it has one.
pub fn family_of(source: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| (family.detect)(source))
}

/// Whether `source` contains all of `marks`.
fn has_all(source: &str, marks: &[&str]) -> bool {
    marks.iter().all(|mark| source.contains(mark))
}
