//! The streams of Dynamo's own tests.
#[path = "../../beside.rs"]
mod beside;

#[test]
fn streams_of_their_tests() {
    let package = env!("CARGO_MANIFEST_DIR");
    let theirs = beside::Theirs {
        package,
        target: env!("CARGO_TARGET_TMPDIR"),
        name: "dynamo_parsers_v2",
        edition: 2024,
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
    let Some(streams) = beside::streams(&theirs) else { return };
    println!("{}", streams.len());
}
