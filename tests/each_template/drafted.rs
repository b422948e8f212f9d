//! What must come next is what the template writes, and what may come next has it.

use super::written::Written;

/// What is wrong, how many bytes of calls were looked at, and how many of them were forced.
pub fn check(written: &Written) -> (Vec<String>, usize, usize) {
    let mut wrong = Vec::new();
    let mut matcher = match written.params.matcher() {
        Ok(matcher) => matcher,
        Err(error) => return (vec![error.to_string()], 0, 0),
    };
    let begin = written.spans[0].start;
    // In front of a trigger, text is free.
    let from = if written.params.constraint.is_lazy() {
        begin
    } else {
        0
    };
    let start = matcher.clone();
    let output = written.output.as_bytes();
    // What a template writes behind all calls, some grammars have in another way.
    let last = written.spans.last().expect("there are calls");
    let called = written.output[..last.end].trim_end().len();
    let (mut at, mut forced) = (from, 0);
    while at < called {
        let rest = &output[at..];
        let draft = matcher.forced();
        if !rest.starts_with(&draft) && !draft.starts_with(rest) {
            let (before, behind, draft) = (
                output[..at].escape_ascii(),
                rest.escape_ascii(),
                draft.escape_ascii(),
            );
            wrong.push(format!(
                "forced {draft}: {before} | {behind}\n{:?}",
                written.params.constraint
            ));
            break;
        }
        let allowed = matcher.allowed();
        if let Some(byte) = (0..=u8::MAX).find(|byte| allowed.has(*byte) != matcher.can(&[*byte])) {
            wrong.push(format!(
                "at {at}, {:?}: is {byte:#x} allowed?",
                written.output
            ));
        }
        if draft
            .first()
            .is_some_and(|byte| !allowed.iter().eq([*byte]))
            || (!draft.is_empty() && matcher.may_end())
        {
            wrong.push(format!("at {at}, {:?}: a choice is forced", written.output));
        }
        if matcher.may_end()
            && !matcher.can(&rest[..1])
            && rest.starts_with(b"<")
            && at + 20 > called
        {
            // The token that ends the turn.
            break;
        }
        if matcher.feed(&rest[..1]) != Ok(1) {
            let (before, behind) = (output[..at].escape_ascii(), rest.escape_ascii());
            wrong.push(format!(
                "not allowed: {before} | {behind}\n{:?}",
                written.params.constraint
            ));
            break;
        }
        if at >= begin {
            forced += usize::from(!draft.is_empty());
        }
        at += 1;
    }
    let mut whole = start.clone();
    if wrong.is_empty()
        && (whole.feed(&output[from..at]) != Ok(at - from) || whole.allowed() != matcher.allowed())
    {
        wrong.push("whole is not byte by byte".to_owned());
    }
    (wrong, at - begin.min(at), forced)
}
