//! The families of templates of whose models renders do not show enough: rows of data, which add to
//! the learnt turn.

mod patches;
mod prompts;

use std::sync::LazyLock;

use crate::analysis::turn::{Edge, Reasoning, TurnFormat, reason_like_prompt};
use crate::host::Host;
use crate::prompt::{Prompt, PromptInput};
use crate::writing::{Dialect, Tolerances, Writing};
use chatparse_base::Result;
use serde::Deserialize;

/// A family of templates.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Family {
    /// A stable name in lower case.
    pub name: String,
    /// What renders hide.
    pub why: String,
    /// The sources of its templates contain all of these texts.
    pub has: Vec<String>,
    /// The sources of its templates contain none of these texts.
    pub lacks: Vec<String>,
    /// The name of the way to make its prompts; empty: as the template renders them, and messages
    /// are continued as learnt.
    prompt: String,
    /// How the model deviates from what the template writes.
    pub tolerances: Tolerances,
    /// The marks around reasoning that a history does not show.
    reasoning: Option<[String; 2]>,
    /// Edges that no turn of a history shows.
    edges: Vec<Edge>,
    /// The name of what else changes in the learnt turn; empty: nothing.
    patch: String,
    /// What hosts are told otherwise than learnt.
    pub host: Host,
    /// The turn is a list of messages on channels.
    pub harmony: Option<Dialect>,
    /// Its templates render histories otherwise than the model writes, so that their renders prove
    /// nothing.
    pub history_misleads: bool,
}

impl Family {
    /// How the family's models write, of whose turns the template shows these.
    pub fn writing(&'static self, mut turn: TurnFormat) -> Writing {
        if let (Some([start, close]), None) = (&self.reasoning, &turn.reasoning) {
            turn.reasoning = Some(Reasoning {
                shown: true,
                ..Reasoning::behind(&turn.opening, start, close)
            });
            reason_like_prompt(&mut turn.edges, close);
        }
        turn.edges.extend(self.edges.iter().cloned());
        patches::apply(&self.patch, &mut turn);
        Writing {
            tolerances: self.tolerances.clone(),
            host: Some(&self.host),
            harmony: self.harmony,
            ..Writing::learnt(turn)
        }
    }

    /// How it makes prompts, where it does not leave that to the template.
    pub fn prompt(&self) -> Option<fn(&PromptInput) -> Result<Prompt>> {
        Some(match &*self.prompt {
            "deepseek_v4" => prompts::deepseek_v4,
            "gemma_4" => prompts::gemma_4,
            "harmony" => prompts::harmony,
            "muse" => prompts::muse,
            "translate_gemma" => prompts::translate_gemma,
            _ => return None,
        })
    }
}

/// Every family, in the order in which they are tried: the first that detects a template gets it,
/// if it reads what the template writes.
pub static FAMILIES: LazyLock<Vec<Family>> =
    LazyLock::new(|| serde_json::from_str(include_str!("families.json")).unwrap_or_default());

/// The family of a template, if it has one.
pub fn family_of(source: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| {
        let (mut has, mut lacks) = (family.has.iter(), family.lacks.iter());
        has.all(|text| source.contains(text)) && !lacks.any(|text| source.contains(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_and_say_why() {
        let families: Vec<Family> = serde_json::from_str(include_str!("families.json")).unwrap();
        for Family {
            name,
            why,
            prompt,
            patch,
            ..
        } in &families
        {
            assert!(!why.is_empty(), "{name}");
            assert_eq!(
                prompt.is_empty(),
                families
                    .iter()
                    .all(|row| row.prompt != *prompt || row.prompt().is_none()),
                "{name}"
            );
            assert!(
                patch.is_empty() || patches::apply(patch, &mut TurnFormat::default()),
                "{name}: {patch}"
            );
        }
    }
}
