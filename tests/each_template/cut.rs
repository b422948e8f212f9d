//! Outputs that a limit ends: what a template writes for calls, cut at each byte.

use crate::run;
use chatparse::EndedBy;

#[test]
fn an_output_that_ends_inside_a_call_keeps_its_calls_whatever_the_host_says() {
    run(|_, written, cases| {
        let step = (written.output.len() / (2 * cases)).max(1);
        let (mut wrong, mut looked) = (Vec::new(), 0);
        for cut in (1..written.output.len())
            .step_by(step)
            .filter(|&at| written.output.is_char_boundary(at))
        {
            looked += 1;
            let output = &written.output[..cut];
            let [cut_off, ended] = [true, false].map(|cut_off| {
                written
                    .params
                    .parser
                    .read(output.as_bytes(), EndedBy::limit_if(cut_off))
                    .message
            });
            let is_bare = |text: &str| !text.contains(['<', '|', '>', '\n']);
            // An ended output also shows half a name, and may leave out closers; there is no markup
            // among arguments.
            let mut pairs = cut_off.tool_calls.iter().zip(&ended.tool_calls);
            let same = pairs.all(|(one, other)| {
                let more = other.arguments.strip_prefix(&*one.arguments);
                one.name == other.name && more.is_some_and(is_bare)
            });
            // Of its last call there may be no more than the name, and half of another.
            let more = ended
                .tool_calls
                .get(cut_off.tool_calls.len()..)
                .unwrap_or_default();
            let fits = ended.tool_calls.len() >= cut_off.tool_calls.len() && more.len() <= 1;
            if !same || !fits || !more.iter().all(|call| is_bare(&call.arguments)) {
                wrong.push(format!(
                    "{output:?}: {:?}, but {:?}",
                    cut_off.tool_calls, ended.tool_calls
                ));
            }
        }
        (wrong, looked)
    });
}
