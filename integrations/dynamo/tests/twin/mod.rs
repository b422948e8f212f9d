//! Stands for `dynamo_parsers_v2` in its own tests: what a parser of a family whose template is
//! here reads, ours reads too.
#[path = "../../../log.rs"]
mod log;

use anyhow::Result;
use chatparse_dynamo::Model;
use serde_json::{Value, json};
pub use theirs::*;

/// Families, their templates, and the end of a prompt that leaves nothing open, where the template
/// has another.
const FAMILIES: [(&str, &str, &str); 9] = [
    ("deepseek_v4", "templates/deepseek-ai-DeepSeek-V4.jinja", "<｜Assistant｜>"),
    ("deepseek_v41", "templates-wild/ik_llama.cpp-deepseek-ai-DeepSeek-V4.1.jinja", "<｜Assistant｜>"),
    ("gemma4", "templates/google-gemma-4-31B-it.jinja", ""),
    ("glm47", "templates/GLM-4.7-Flash.jinja", "<|assistant|>"),
    ("kimi_k2", "templates/Kimi-K2-Thinking.jinja", ""),
    ("kimi_k3", "templates/Kimi-K3.jinja", "<|open|>message role=\"assistant\"<|sep|>"),
    ("minimax_m3", "templates/MiniMax-M3.jinja", ""),
    ("nemotron_v3", "templates/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.jinja", ""),
    ("qwen3", "templates/Qwen3.5-4B.jinja", "<|im_start|>assistant\n"),
];

pub mod unified {
    pub use theirs::unified::*;

    pub use super::create_unified_parser_for_family;
}

pub fn create_unified_parser_for_family(family: &str, tools: &[Tool]) -> Result<Box<dyn UnifiedParser>> {
    let theirs = theirs::create_unified_parser_for_family(family, tools)?;
    let family = canonical_unified_family(family).unwrap_or(family);
    let Some(family) = FAMILIES.iter().find(|row| row.0 == family) else { return Ok(theirs) };
    Ok(Box::new(Twin { family, theirs, tools: tools.to_vec(), told: Told::default() }))
}

struct Twin {
    family: &'static (&'static str, &'static str, &'static str),
    theirs: Box<dyn UnifiedParser>,
    tools: Vec<Tool>,
    told: Told,
}

/// What theirs was told, and what it has said.
#[derive(Clone, Default)]
struct Told {
    init: UnifiedParserInit,
    policy: ToolCallPolicy,
    pieces: Vec<String>,
    said: UnifiedParserOutput,
    failed: Option<String>,
    ended: bool,
}

impl Twin {
    fn end(&mut self, eos: bool) -> Result<UnifiedParserOutput> {
        let result = if eos { self.theirs.finish_at_eos() } else { self.theirs.finish() };
        if std::mem::replace(&mut self.told.ended, true) {
            return result;
        }
        match &result {
            Ok(end) => self.told.said.append(&mut end.clone()),
            Err(error) => self.told.failed = self.told.failed.take().or(Some(error.to_string())),
        }
        let theirs = match &self.told.failed {
            Some(error) => json!({"error": error}),
            None => events(&self.told.said),
        };
        let UnifiedParserInit { starting_state, tool_output_mode, invalid_guided_payload, .. } = &self.told.init;
        let given = json!({
            "tools": self.tools, "state": format!("{starting_state:?}"), "mode": format!("{tool_output_mode:?}"),
            "invalid": format!("{invalid_guided_payload:?}"), "policy": format!("{:?}", self.told.policy), "eos": eos,
        });
        log::note(self.family.0, &given, &self.told.pieces, &theirs, || {
            self.ours(&theirs, eos).unwrap_or_else(|error| json!({"error": error.to_string()}))
        });
        result
    }

    /// What ours makes of it. Theirs reads calls of tools that are not offered, so these are
    /// offered, too.
    fn ours(&self, theirs: &Value, eos: bool) -> Result<Value> {
        let mut tools = self.tools.clone();
        for call in theirs.as_array().into_iter().flatten().filter(|event| event["kind"] == "tool_call") {
            let name = call["name"].as_str().unwrap();
            if tools.iter().all(|tool| tool.name != name) {
                let values = call["arguments"].as_object().into_iter().flatten();
                let types = values.map(|(key, value)| {
                    (key.clone(), if value.is_string() { json!({"type": "string"}) } else { json!({}) })
                });
                let parameters = json!({"type": "object", "properties": types.collect::<serde_json::Map<_, _>>()});
                tools.push(Tool { name: name.to_owned(), description: None, parameters, strict: None });
            }
        }
        let (_, template, prompt) = self.family;
        let mut ours = Model::new(log::template(template)).parser(&tools);
        ours.initialize_request(UnifiedParserInit { prompt_token_ids: Vec::new(), ..self.told.init.clone() })?;
        if self.told.init.starting_state == UnifiedParserStartingState::None && !prompt.is_empty() {
            ours.initialize_prompt(prompt)?;
        }
        ours.set_tool_call_policy(self.told.policy)?;
        let mut said = UnifiedParserOutput::default();
        for piece in &self.told.pieces {
            ours.parse_into(piece, &mut said)?;
        }
        said.append(&mut if eos { ours.finish_at_eos() } else { ours.finish() }?);
        Ok(events(&said))
    }
}

/// The events of an output; ours does not tell phases.
fn events(said: &UnifiedParserOutput) -> Value {
    let phase = |event: &UnifiedEvent| matches!(event, UnifiedEvent::MessageStart { .. } | UnifiedEvent::MessageEnd);
    json!(said.assembled().into_iter().filter(|event| !phase(event)).collect::<Vec<_>>())
}

impl UnifiedParser for Twin {
    fn continuation(&mut self) -> Result<Option<Box<dyn UnifiedParserContinuation>>> {
        self.theirs.continuation()
    }

    fn preserve_message_phases(&mut self, enabled: bool) {
        self.theirs.preserve_message_phases(enabled);
    }

    fn input_capabilities(&self) -> UnifiedParserInputCapabilities {
        self.theirs.input_capabilities()
    }

    fn initialize_request(&mut self, init: UnifiedParserInit) -> Result<()> {
        self.told.init = init.clone();
        self.theirs.initialize_request(init)
    }

    fn set_tool_call_policy(&mut self, policy: ToolCallPolicy) -> Result<()> {
        self.told.policy = policy;
        self.theirs.set_tool_call_policy(policy)
    }

    fn parse_into(&mut self, delta: &str, output: &mut UnifiedParserOutput) -> Result<()> {
        self.told.pieces.push(delta.to_owned());
        let before = output.clone();
        let done = self.theirs.parse_into(delta, output);
        // What was added, for the events of a piece may have gone into the last of those before.
        let mut added = UnifiedParserOutput::default();
        let fresh = UnifiedParserOutput { events: output.events[before.len().min(output.len())..].to_vec() };
        match before.events.last().zip(output.events.get(before.len().wrapping_sub(1))) {
            Some((UnifiedParserEvent::Text(old), UnifiedParserEvent::Text(new))) => added.push_text(&new[old.len()..]),
            Some((UnifiedParserEvent::Reasoning(old), UnifiedParserEvent::Reasoning(new))) => {
                added.push_reasoning(&new[old.len()..])
            }
            _ => {}
        }
        added.append(&mut fresh.clone());
        self.told.said.append(&mut added);
        self.told.failed = self.told.failed.take().or(done.as_ref().err().map(ToString::to_string));
        done
    }

    fn parse_token_ids_into(&mut self, ids: &[u32], output: &mut UnifiedParserOutput) -> Result<()> {
        self.theirs.parse_token_ids_into(ids, output)
    }

    fn finish(&mut self) -> Result<UnifiedParserOutput> {
        self.end(false)
    }

    fn finish_at_eos(&mut self) -> Result<UnifiedParserOutput> {
        self.end(true)
    }

    fn reset(&mut self) -> String {
        let Told { init, policy, .. } = std::mem::take(&mut self.told);
        self.told = Told { init, policy, ..Told::default() };
        self.theirs.reset()
    }

    fn preserve_special_tokens(&self) -> bool {
        self.theirs.preserve_special_tokens()
    }

    fn tool_call_id(&self, tool_index: usize) -> Option<&str> {
        self.theirs.tool_call_id(tool_index)
    }
}
