//! The streams of SMG's own tests.
#[path = "../../beside.rs"]
mod beside;

use beside::Cause;
use serde_json::Value;

fn count(said: &Value) -> usize {
    said["calls"].as_array().map_or(0, Vec::len)
}

fn calls_are(stream: &Value) -> bool {
    stream["ours"]["calls"] == stream["theirs"]["calls"]
}

/// Compares the texts without white space.
fn texts(stream: &Value, compare: fn(&str, &str) -> bool) -> bool {
    let text = |said: &Value| {
        said["text"]
            .as_str()
            .map(|text| text.split_whitespace().collect::<String>())
    };
    text(&stream["ours"])
        .zip(text(&stream["theirs"]))
        .is_some_and(|(ours, theirs)| compare(&ours, &theirs))
}

#[test]
fn streams_of_their_tests() {
    let package = env!("CARGO_MANIFEST_DIR");
    let theirs = beside::Theirs {
        package,
        target: env!("CARGO_TARGET_TMPDIR"),
        name: "tool_parser",
        files: &[(
            "tool-parser",
            &[
                "tool_parser_cohere",
                "tool_parser_deepseek",
                "tool_parser_deepseek31",
                "tool_parser_deepseek_dsml",
                "tool_parser_deepseek_v41",
                "tool_parser_edge_cases",
                "tool_parser_gemma4",
                "tool_parser_glm47_moe",
                "tool_parser_glm4_moe",
                "tool_parser_inkling",
                "tool_parser_kimik2",
                "tool_parser_llama",
                "tool_parser_minimax_m2",
                "tool_parser_minimax_m3",
                "tool_parser_mistral",
                "tool_parser_mixed_edge_cases",
                "tool_parser_nemotron",
                "tool_parser_pythonic",
                "tool_parser_qwen",
                "tool_parser_qwen_dotted",
                "tool_parser_qwen_xml",
                "tool_parser_streaming_flush",
            ],
        )],
        dependencies: &format!(
            "async-trait = \"0.1\"\nchatparse = {{ path = {:?}, default-features = false }}\nchatparse-smg = {{ path = {package:?} }}\nopenai-protocol = \"1.16\"\n\
             serde_json = \"1\"\ntokio = {{ version = \"1\", features = [\"full\"] }}\ntheirs = {{ package = \"tool-parser\", version = \"=1.10.0\" }}",
            format!("{package}/../..")
        ),
    };
    let Some(streams) = beside::streams(&theirs) else {
        return;
    };
    beside::judge(
        &streams,
        330,
        &[
            Cause("White space at a marker is no text.", 10, |stream| {
                calls_are(stream) && texts(stream, |ours, theirs| ours == theirs)
            }),
            Cause(
                "Reasoning that reaches the tool parser loses its markers.",
                4,
                |stream| {
                    calls_are(stream)
                        && stream["theirs"]["text"]
                            .as_str()
                            .unwrap()
                            .contains("think>")
                },
            ),
            Cause(
                "Text between and behind calls, and text that breaks a format, is kept.",
                30,
                |stream| {
                    calls_are(stream) && texts(stream, |ours, theirs| ours.len() > theirs.len())
                },
            ),
            Cause(
                "A call that breaks off, or breaks the format, has the arguments so far.",
                48,
                |stream| {
                    let calls = stream["ours"]["calls"].as_array();
                    calls
                        .into_iter()
                        .flatten()
                        .any(|call| call["arguments"].is_string())
                },
            ),
            Cause(
                "A call that theirs leaves in the text, or drops.",
                28,
                |stream| count(&stream["ours"]) > count(&stream["theirs"]),
            ),
            Cause(
                "A call in a notation that the template does not show is text.",
                6,
                |stream| count(&stream["ours"]) < count(&stream["theirs"]),
            ),
            Cause(
                "Values have the types of the schema, and texts their white space.",
                22,
                |stream| count(&stream["ours"]) == count(&stream["theirs"]) && !calls_are(stream),
            ),
            Cause(
                "A marker, or the beginning of a call, is no text.",
                4,
                |stream| {
                    calls_are(stream) && texts(stream, |ours, theirs| theirs.starts_with(ours))
                },
            ),
        ],
    );
}
