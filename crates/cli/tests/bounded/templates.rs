//! Templates that work on large operands, through the program: it ends with a prompt or an error,
//! and never otherwise.

use std::{env, fs};

use super::{choices, failure, seeds};
use crate::cases::operands;

#[test]
fn templates_with_large_operands_end_with_a_prompt_or_an_error() {
    let request = env::temp_dir().join(format!(
        "chatparse-hostile-request-{}.json",
        std::process::id()
    ));
    fs::write(
        &request,
        r#"{"messages": [{"role": "user", "content": "Hi"}]}"#,
    )
    .unwrap();
    let arguments = ["render", "-", request.to_str().unwrap()];
    // The values and the prompt of a render take 320 MiB at most, 16 more go beside them, and the
    // rest is the program itself.
    let run = |seed| failure(seed, 512, &operands::template(&choices(seed)), &arguments);
    let wrong: Vec<String> = seeds(30).filter_map(run).collect();
    fs::remove_file(&request).unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
