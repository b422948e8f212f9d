//! What must come next is what the template writes, and what may come next has it.

use super::written::Written;

/// What is wrong, how many bytes of calls were looked at, and how many of them were forced.
pub fn check(written: &Written) -> (Vec<String>, usize, usize) {
    let mut wrong = Vec::new();
    let mut matcher = match written.params.matcher() {
        Ok(matcher) => matcher,
        Err(error) => return (vec![error.to_string()], 0, 0),
    };
    let start = matcher.clone();
    let output = written.output.as_bytes();
    // White space behind the last call is the template's.
    let called = written.output[..written.end()].trim_end().len();
    let (mut at, mut forced) = (0, 0);
    let begin = written.spans[0].start;
    while at < called {
        let rest = &output[at..];
        let draft = matcher.forced();
        if !rest.starts_with(&draft) && !draft.starts_with(rest) {
            wrong.push(format!("at {at}, {:?}: forced {:?}", written.output, draft.escape_ascii().to_string()));
            break;
        }
        let allowed = matcher.allowed();
        if let Some(byte) = (0..=u8::MAX).find(|byte| allowed.has(*byte) != matcher.can(&[*byte])) {
            wrong.push(format!("at {at}, {:?}: is {byte:#x} allowed?", written.output));
        }
        if draft.first().is_some_and(|byte| !allowed.iter().eq([*byte])) || (!draft.is_empty() && matcher.may_end()) {
            wrong.push(format!("at {at}, {:?}: a choice is forced", written.output));
        }
        if !matcher.can(&rest[..called - at]) || matcher.feed(&rest[..1]) != Ok(1) {
            wrong.push(format!("at {at}: not allowed: {:?} {:?}", &written.output[..at], &written.output[at..]));
            break;
        }
        if at >= begin {
            forced += usize::from(!draft.is_empty());
        }
        at += 1;
    }
    let mut whole = start.clone();
    if wrong.is_empty() && (whole.feed(&output[..called]) != Ok(called) || whole.allowed() != matcher.allowed()) {
        wrong.push("whole is not byte by byte".to_owned());
    }
    (wrong, called - begin.min(called), forced)
}
