//! The families of templates of whose models renders do not show enough: a table of rows, which add to the learnt turn.

mod hosts;
mod prompts;
mod rows;

use super::host::Host;
use super::prompt::{Prompt, PromptInput};
use super::writing::{Dialect, Tolerances, Writing};
use crate::analysis::Layout;
use crate::analysis::turn::TurnFormat;
use chatparse_base::Result;
use hosts::*;
use rows::*;

/// A family of templates.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Family {
    /// A stable name in lower case.
    pub name: &'static str,
    /// The sources of its templates contain all of these texts.
    pub has: &'static [&'static str],
    /// The sources of its templates contain none of these texts.
    pub lacks: &'static [&'static str],
    /// The prompt of a request; `None`: as the template renders it, and messages are continued as learnt.
    pub prompt: Option<fn(&PromptInput) -> Result<Prompt>>,
    /// How the model deviates from what the template writes.
    pub tolerances: Tolerances,
    /// Adds what no render shows to the learnt turn.
    pub patch: fn(&mut TurnFormat),
    /// What hosts are told otherwise than learnt.
    pub host: Host,
    /// The turn is a list of messages on channels.
    pub harmony: Option<Dialect>,
    /// Its templates render histories otherwise than the model writes, so that their renders prove nothing.
    pub history_misleads: bool,
}

impl Family {
    /// How the family's models write, of whose turns the template shows these.
    pub fn writing(&self, mut turn: TurnFormat) -> Writing {
        let Family { patch, tolerances, host, harmony, .. } = *self;
        patch(&mut turn);
        Writing { layout: Layout::of(&turn).into(), turn, tolerances, host, harmony }
    }
}

/// A family whose models write what the templates of these texts show.
const fn family(name: &'static str, has: &'static [&'static str]) -> Family {
    Family {
        name,
        has,
        lacks: &[],
        prompt: None,
        tolerances: Tolerances::NONE,
        patch: |_| {},
        host: Host::LEARNT,
        harmony: None,
        history_misleads: false,
    }
}

/// Every family, in the order in which they are tried: the first that detects a template gets it, if it reads what the template
/// writes.
pub const FAMILIES: &[Family] = &[
    MINISTRAL_3,
    LLM_JP,
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
    let contains = |text: &&str| source.contains(text);
    FAMILIES.iter().find(|family| family.has.iter().all(contains) && !family.lacks.iter().any(contains))
}
