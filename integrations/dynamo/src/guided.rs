//! An answer that guided decoding makes: the JSON of calls, in no markup.
use anyhow::Result;
use dynamo_parsers_v2::{
    InvalidGuidedPayload, InvalidGuidedPayloadKind, InvalidGuidedPayloadPolicy, ToolCallDelta,
    UnifiedParserOutput,
};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What has come of it.
#[derive(Clone)]
pub struct Guided {
    /// The tool, where one is forced: then the JSON is its arguments.
    pub tool: Option<String>,
    pub policy: InvalidGuidedPayloadPolicy,
    pub payload: String,
}

#[derive(Deserialize)]
struct GuidedCall {
    name: String,
    #[serde(alias = "parameters")]
    arguments: Option<Box<RawValue>>,
}

impl Guided {
    pub fn end(&mut self, output: &mut UnifiedParserOutput) -> Result<()> {
        let payload = std::mem::take(&mut self.payload);
        match self.calls(payload.trim()) {
            Ok(calls) => {
                for (tool_index, (name, arguments)) in calls.into_iter().enumerate() {
                    output.push_call(ToolCallDelta {
                        tool_index,
                        name: Some(name),
                        arguments,
                        complete: true,
                    });
                }
            }
            Err(kind) if self.policy == InvalidGuidedPayloadPolicy::Reject => {
                let choice = if self.tool.is_some() {
                    "named"
                } else {
                    "required"
                };
                self.payload = payload;
                return Err(InvalidGuidedPayload { kind, choice }.into());
            }
            Err(_) => output.push_text(payload),
        }
        Ok(())
    }

    /// The names and the arguments of the calls.
    fn calls(
        &self,
        payload: &str,
    ) -> std::result::Result<Vec<(String, String)>, InvalidGuidedPayloadKind> {
        use InvalidGuidedPayloadKind::{InvalidJson, Missing, WrongShape};
        if payload.is_empty() {
            return Err(Missing);
        }
        serde_json::from_str::<&RawValue>(payload).map_err(|_| InvalidJson)?;
        let object = |text: &str| text.starts_with('{');
        if let Some(tool) = &self.tool {
            return if object(payload) {
                Ok(vec![(tool.clone(), payload.to_owned())])
            } else {
                Err(WrongShape)
            };
        }
        let calls = match object(payload) {
            true => serde_json::from_str(payload).map(|call| vec![call]),
            false => serde_json::from_str::<Vec<GuidedCall>>(payload),
        };
        let calls = calls.map_err(|_| WrongShape)?.into_iter();
        let calls = calls.map(|call| {
            (
                call.name,
                call.arguments
                    .map_or_else(|| "{}".to_owned(), |it| it.get().to_owned()),
            )
        });
        let calls: Vec<_> = calls.collect();
        if calls.iter().all(|(_, arguments)| object(arguments)) {
            Ok(calls)
        } else {
            Err(WrongShape)
        }
    }
}
