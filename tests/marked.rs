//! Marked output, with the built-in templates; with others see `tests/each_template/`.

#[path = "each_template/marked.rs"]
mod marked;
#[path = "each_template/written.rs"]
#[allow(dead_code, reason = "the templates next to the repository need the rest")]
mod written;

use chatparse::{ChatTemplate, builtin};

/// Outputs that quote tokens, for all built-in templates together.
const OUTPUTS: usize = 600;

#[test]
fn what_is_marked_as_text_is_text() {
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for name in builtin::names() {
        let template = ChatTemplate::builtin(name).expect("it is built in");
        let Some(written) = written::written(&template) else { println!("{name} -"); continue };
        let (found, count) = marked::check(&written, usize::MAX);
        println!("{name} {count} {}", found.len());
        wrong.extend(found.into_iter().map(|found| format!("{name}: {found}")));
        looked += count;
    }
    println!("{looked} outputs");
    assert!(wrong.is_empty(), "{} of {looked} outputs:\n{}", wrong.len(), wrong.join("\n"));
    assert!(looked >= OUTPUTS, "only {looked} outputs");
}
