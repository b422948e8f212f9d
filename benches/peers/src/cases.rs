//! The outputs that are parsed: one long text, written as each format writes it.

use serde_json::{Value, json};

/// Source code as models write it.
const CODE: &str = "fn main() {\n    let total: u32 = (1..=10).map(|n| n * n).sum();\n    println!(\"{total} <= {}\", 385);\n}\n";

/// Where the long text stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    Content,
    Reasoning,
    /// The argument `content` of a call of `write_file`.
    Argument,
}

/// One format.
pub struct Case {
    pub name: &'static str,
    /// A built-in template of chatparse. All that learn a format learn it from this.
    pub template: &'static str,
    pub place: Place,
    before: &'static str,
    after: &'static str,
    /// The text is written as the inside of a JSON string.
    json: bool,
    /// The name of the format with those who have a list of formats: Dynamo's, and which parser of
    /// the SMG crates.
    pub dynamo: Option<&'static str>,
    pub smg: Option<Smg>,
}

/// A parser of the crates `tool-parser` and `reasoning-parser`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Smg {
    QwenXml,
    QwenJson,
    KimiK2,
    MinimaxM3,
    Qwen3Reasoning,
}

pub const CASES: &[Case] = &[
    Case {
        name: "tagged call (Qwen3-Coder)",
        template: "qwen3-coder",
        place: Place::Argument,
        before: "<tool_call>\n<function=write_file>\n<parameter=path>\na.rs\n</parameter>\n<parameter=content>\n",
        after: "\n</parameter>\n</function>\n</tool_call>",
        json: false,
        dynamo: Some("qwen3"),
        smg: Some(Smg::QwenXml),
    },
    Case {
        name: "JSON call (Kimi K2)",
        template: "kimi-k2",
        place: Place::Argument,
        before: "<|tool_calls_section_begin|><|tool_call_begin|>functions.write_file:0<|tool_call_argument_begin|>{\"path\": \"a.rs\", \"content\": \"",
        after: "\"}<|tool_call_end|><|tool_calls_section_end|>",
        json: true,
        dynamo: Some("kimi_k2"),
        smg: Some(Smg::KimiK2),
    },
    Case {
        name: "JSON call in tags (Hermes)",
        template: "json-call",
        place: Place::Argument,
        before: "<tool_call>\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"a.rs\", \"content\": \"",
        after: "\"}}\n</tool_call>",
        json: true,
        dynamo: None,
        smg: Some(Smg::QwenJson),
    },
    Case {
        name: "nested tags (MiniMax-M3)",
        template: "minimax-m3",
        place: Place::Argument,
        before: "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"write_file\">]<]minimax[>[<path>a.rs]<]minimax[>[</path>]<]minimax[>[<content>",
        after: "]<]minimax[>[</content>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        json: false,
        dynamo: Some("minimax_m3"),
        smg: Some(Smg::MinimaxM3),
    },
    Case {
        name: "reasoning",
        template: "json-call",
        place: Place::Reasoning,
        before: "<think>\n",
        after: "</think>\n\nDone.",
        json: false,
        dynamo: Some("qwen3"),
        smg: Some(Smg::Qwen3Reasoning),
    },
    Case {
        name: "content",
        template: "json-call",
        place: Place::Content,
        before: "",
        after: "",
        json: false,
        dynamo: Some("qwen3"),
        smg: None,
    },
];

impl Case {
    /// An output of about `size` bytes.
    pub fn output(&self, size: usize) -> String {
        let quoted = Value::from(CODE).to_string();
        let line = if self.json {
            &quoted[1..quoted.len() - 1]
        } else {
            CODE
        };
        format!(
            "{}{}{}",
            self.before,
            line.repeat(size / line.len()),
            self.after
        )
    }

    /// Whether a message is what [`Case::output`] says. Peers trim what stands around a text in
    /// their own ways.
    pub fn check(&self, size: usize, parsed: &Parsed) -> Result<(), String> {
        let lines = size
            / if self.json {
                Value::from(CODE).to_string().len() - 2
            } else {
                CODE.len()
            };
        let text = CODE.repeat(lines);
        let found = match self.place {
            Place::Content => parsed.content.clone(),
            Place::Reasoning => parsed.reasoning.clone(),
            Place::Argument => {
                let arguments: Value = serde_json::from_str(&parsed.arguments)
                    .map_err(|error| format!("arguments: {error}"))?;
                if parsed.name != "write_file" || arguments["path"] != "a.rs" {
                    return Err(format!(
                        "call of {:?} with path {}",
                        parsed.name, arguments["path"]
                    ));
                }
                arguments["content"].as_str().unwrap_or_default().to_owned()
            }
        };
        if found.trim() == text.trim() {
            Ok(())
        } else {
            Err(format!("{} bytes of text, not {}", found.len(), text.len()))
        }
    }

    pub fn request(&self) -> Value {
        json!({
            "messages": [{"role": "user", "content": "Write it."}],
            "reasoning_format": "auto",
            "enable_thinking": self.place == Place::Reasoning || self.template != "qwen3-coder",
            "tools": [{"type": "function", "function": {"name": "write_file", "description": "Writes a file", "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
                "required": ["path", "content"]}}}],
        })
    }
}

/// What a parser made of an output.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    pub content: String,
    pub reasoning: String,
    /// Of the first call.
    pub name: String,
    pub arguments: String,
    /// How many pieces it came in.
    pub deltas: usize,
}
