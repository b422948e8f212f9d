//! The streams of Dynamo's own tests.
#[path = "../../beside.rs"]
mod beside;

use beside::Cause;
use serde_json::Value;

/// The texts of a kind, without white space at their ends.
fn texts(events: &Value, kind: &str) -> String {
    let events = events
        .as_array()
        .into_iter()
        .flatten()
        .filter(|event| event["kind"] == kind);
    events
        .filter_map(|event| event["text"].as_str())
        .map(str::trim)
        .collect()
}

/// The same of all texts; events in their order.
fn trimmed(events: &Value) -> Vec<(String, String)> {
    let mut trimmed: Vec<(String, String)> = Vec::new();
    for event in events.as_array().into_iter().flatten() {
        let kind = event["kind"].as_str().unwrap().to_owned();
        match event["text"].as_str().map(str::trim) {
            Some("") => {}
            Some(text) => match trimmed.last_mut() {
                Some(last) if last.0 == kind => last.1 += text,
                _ => trimmed.push((kind, text.to_owned())),
            },
            None => trimmed.push((kind, event.to_string())),
        }
    }
    trimmed
}

#[test]
fn streams_of_their_tests() {
    let package = env!("CARGO_MANIFEST_DIR");
    let theirs = beside::Theirs {
        package,
        target: env!("CARGO_TARGET_TMPDIR"),
        name: "dynamo_parsers_v2",
        files: &[(
            "dynamo-parsers-v2",
            &[
                "blank_tool_turn",
                "dsml_separator",
                "gemma4_guided",
                "gemma4_native_recovery",
                "kimi_native_progress",
                "minimax_m3_unified",
                "native_prose_quotes",
                "nemotron_unified",
                "response_prefill_progress",
            ],
        )],
        dependencies: &format!(
            "anyhow = \"1\"\nchatparse = {{ path = {:?} }}\nchatparse-dynamo = {{ path = {package:?} }}\nserde_json = \"1\"\nserde_yaml = \"0.9\"\n\
             theirs = {{ package = \"dynamo-parsers-v2\", version = \"=0.9.6\" }}",
            format!("{package}/../..")
        ),
    };
    let Some(streams) = beside::streams(&theirs) else {
        return;
    };
    beside::judge(
        &streams,
        1130,
        &[
            Cause(
                "Guided decoding: text or markup stands around the JSON, or it is no JSON.",
                455,
                |stream| stream["given"]["mode"] != "Native",
            ),
            Cause("White space at a marker is no text.", 40, |stream| {
                trimmed(&stream["ours"]) == trimmed(&stream["theirs"])
            }),
            Cause("Theirs is an error.", 4, |stream| {
                stream["theirs"]["error"].is_string()
            }),
            Cause(
                "Reasoning ends where the template says: no call or answer is in the middle of it.",
                50,
                |stream| {
                    texts(&stream["ours"], "reasoning") != texts(&stream["theirs"], "reasoning")
                },
            ),
            Cause(
                "A call that breaks the format is text, or has what could be read.",
                135,
                |_| true,
            ),
        ],
    );
}
