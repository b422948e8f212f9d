//! The families of templates whose format no analysis could learn: one file each, one row each.

use super::prompt::{Prompt, PromptInput};
use super::{Format, Wanted};
use crate::error::Result;

pub mod cohere2_moe;
pub mod deepseek_v3_2;
pub mod functionary_v3_2;
pub mod gemma4;
pub mod gigachat3;
pub mod gpt_oss;
pub mod kimi_k2;
pub mod kimi_k3;
pub mod lfm2;
pub mod ling3;
pub mod llm_jp_harmony;
pub mod minicpm5;
pub mod minimax_m3;
pub mod ministral3;
pub mod muse_glimmer;
pub mod qwen3_coder;

/// A family of templates.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// A stable name, lower case.
    pub name: &'static str,
    /// Whether a template's source is of this family.
    pub detect: fn(&str) -> bool,
    /// The prompt of a request.
    pub prompt: fn(&PromptInput) -> Result<Prompt>,
    /// The format of the output; `None` while the family is still read by what the analysis learns.
    pub build: Option<fn(&Wanted) -> Format>,
}

/// Every family. The first that matches is the right one.
pub const FAMILIES: &[Family] = &[
    Family { name: "ministral-3", detect: ministral3::detect, prompt: ministral3::prompt, build: None },
    Family { name: "llm-jp-harmony", detect: llm_jp_harmony::detect, prompt: llm_jp_harmony::prompt, build: None },
    Family { name: "gpt-oss", detect: gpt_oss::detect, prompt: gpt_oss::prompt, build: None },
    Family { name: "muse-glimmer", detect: muse_glimmer::detect, prompt: muse_glimmer::prompt, build: None },
    Family {
        name: "functionary-v3.2",
        detect: functionary_v3_2::detect,
        prompt: functionary_v3_2::prompt,
        build: None,
    },
    Family { name: "kimi-k2", detect: kimi_k2::detect, prompt: kimi_k2::prompt, build: None },
    Family { name: "kimi-k3", detect: kimi_k3::detect, prompt: kimi_k3::prompt, build: None },
    Family { name: "ling-3", detect: ling3::detect, prompt: ling3::prompt, build: None },
    Family { name: "cohere2-moe", detect: cohere2_moe::detect, prompt: cohere2_moe::prompt, build: None },
    Family { name: "lfm2", detect: lfm2::detect, prompt: lfm2::prompt, build: None },
    Family { name: "lfm2.5", detect: lfm2::detect_2_5, prompt: lfm2::prompt, build: None },
    Family { name: "gigachat-3", detect: gigachat3::detect, prompt: gigachat3::prompt, build: None },
    Family {
        name: "minimax-m3",
        detect: minimax_m3::detect,
        prompt: minimax_m3::prompt,
        build: Some(minimax_m3::build),
    },
    Family {
        name: "deepseek-v3.2",
        detect: deepseek_v3_2::detect,
        prompt: deepseek_v3_2::prompt,
        build: Some(deepseek_v3_2::build),
    },
    Family { name: "gemma-4", detect: gemma4::detect, prompt: gemma4::prompt, build: Some(gemma4::build) },
    Family { name: "minicpm5", detect: minicpm5::detect, prompt: minicpm5::prompt, build: Some(minicpm5::build) },
    Family {
        name: "qwen3-coder",
        detect: qwen3_coder::detect,
        prompt: qwen3_coder::prompt,
        build: Some(qwen3_coder::build),
    },
];

/// The family of a template, if it has one.
pub fn family_of(source: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| (family.detect)(source))
}

/// Whether `source` holds every one of `marks`.
fn has_all(source: &str, marks: &[&str]) -> bool {
    marks.iter().all(|mark| source.contains(mark))
}
