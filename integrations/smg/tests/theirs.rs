//! The streams of SMG's own tests.
#[path = "../../beside.rs"]
mod beside;

#[test]
fn streams_of_their_tests() {
    let package = env!("CARGO_MANIFEST_DIR");
    let theirs = beside::Theirs {
        package,
        target: env!("CARGO_TARGET_TMPDIR"),
        name: "tool_parser",
        edition: 2024,
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
    let Some(streams) = beside::streams(&theirs) else { return };
    println!("{}", streams.len());
}
