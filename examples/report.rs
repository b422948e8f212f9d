//! What chatparse knows of a template before it serves a model: how well it reads back, in which
//! format the model writes, and whether the grammar of a call holds. Ends with status 1 if a
//! message is not read back, so that a deployment can ask it.
//!
//!     cargo run --example report -- model.jinja [EOS]      # without a file: a built-in template
use std::error::Error;
use std::process::ExitCode;

use chatparse::{ChatTemplate, ReportKind, Request};

const REQUEST: &str = r#"{"messages": [{"role": "user", "content": "Hi"}], "tool_choice": "required", "tools": [{"type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]}"#;

/// The report, as lines, and whether all messages are read back.
fn report(template: &ChatTemplate) -> chatparse::Result<(Vec<String>, bool)> {
    let proof = template.proof();
    let mut lines = vec![
        format!(
            "read back: {} of {} messages, by {}",
            proof.read_back, proof.cases, proof.reader
        ),
        // For programs: `ReportKind::Turn` has the same as lines for people, `Layout` by
        // llama.cpp's names.
        format!("accepts: {}", template.report(ReportKind::Caps)),
    ];
    lines.extend(proof.failures.iter().map(|failure| {
        format!(
            "lost: {}: {} instead of {}",
            failure.probe, failure.got, failure.expected
        )
    }));

    let params = template.params(&Request::from_text(REQUEST)?)?;
    let grammar = params.grammar();
    lines.push(format!("grammar of a call: {} bytes", grammar.text.len()));
    lines.extend(
        grammar
            .report
            .iter()
            .map(|entry| format!("{}: {} {}", entry.kind.name(), entry.pointer, entry.message)),
    );
    lines.push(format!("end of a turn: {:?}", params.end_of_turn()));
    Ok((lines, proof.is_whole()))
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let template = match arguments.next() {
        Some(file) => ChatTemplate::new(
            &std::fs::read_to_string(file)?,
            "",
            &arguments.next().unwrap_or_default(),
        )?,
        None => ChatTemplate::builtin("qwen3-coder").expect("it is built in"),
    };
    let (lines, whole) = report(&template)?;
    lines.iter().for_each(|line| println!("{line}"));
    Ok(if whole {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

#[test]
fn a_template_of_ours_reads_back() {
    let (lines, whole) = report(&ChatTemplate::builtin("qwen3-coder").unwrap()).unwrap();
    assert!(
        whole
            && lines[0].starts_with("read back: ")
            && lines.iter().any(|line| line.contains("<|im_end|>")),
        "{lines:?}"
    );
}
