//! The law that the assistant's turn ends before the next role begins.

use serde_json::Value;

use crate::bench::{
    ANSWERED, ASKED, Bench, FURTHER, LAST, NAME, TOLD, answer, answered, called, calls, last,
    result, user, with_tools,
};
use crate::law::Law;
use chatparse_base::brackets;
use chatparse_base::find::shared;

/// Compares how an answer ends after other messages, and asks whether turns with calls end.
pub fn ends(bench: &mut Bench) {
    let answer_of = |before: Vec<Value>| [before, answered()[1..].to_vec()].concat();
    let first = bench.request(answered());
    let Some(expected) = glue(bench, &first, ANSWERED, FURTHER) else {
        return;
    };
    bench.ask(Law::Ends);
    let further = answer_of(vec![user("Rowan?"), answer("Sorb."), user(ASKED)]);
    let mut contexts = vec![("a further turn", further)];
    if bench.takes_tools {
        let two = calls("", &["Azarole", "Kumquat"]);
        let results = vec![user(ASKED), two, result(0, "Rambutan"), result(1, TOLD)];
        contexts.push(("the result of a call", answer_of(called())));
        contexts.push(("the results of two calls", answer_of(results)));
    }
    let stops = stops(bench, &expected);
    let end = stops.first().cloned().unwrap_or_default();
    for (context, messages) in contexts {
        let request = bench.request(messages);
        let got = glue(bench, &request, ANSWERED, FURTHER).unwrap_or_default();
        if got.is_empty() || uncounted(&got) == uncounted(&expected) {
            continue;
        }
        // White space alone is a note.
        let is_fault = got.matches(&*end).count() != expected.matches(&*end).count();
        let message = format!("The answer after {context} ends otherwise than the first one.");
        bench.differ((Law::Ends, is_fault, &message), &request, [&expected, &got]);
    }
    if bench.takes_tools && !end.is_empty() {
        let next = with_tools([called(), vec![user(FURTHER)]].concat());
        calls_end(bench, [&with_tools(answer_of(called())), &next], &stops);
    }
}

/// A text without numbers: some templates count their turns.
fn uncounted(glue: &str) -> String {
    glue.replace(|c: char| c.is_ascii_digit(), "")
}

/// Asks whether a turn with a call ends: before the result if the answer after it is a turn of its
/// own, and otherwise before the next message of the user. `requests`: with such an answer, and
/// with the user's message after the result.
fn calls_end(bench: &mut Bench, requests: [&Value; 2], stops: &[String]) {
    let opening = opening(bench);
    let Some(reopened) = glue(bench, requests[0], TOLD, ANSWERED) else {
        return;
    };
    let is_reopened = opening.is_some_and(|opening| reopened.contains(&opening));
    let (request, after, ends, message) = match is_reopened {
        true => (
            requests[0],
            TOLD,
            stops,
            "The assistant's turn with a call does not end before the result, and the answer after it is a turn of its own.",
        ),
        false => (
            requests[1],
            FURTHER,
            &stops[..1],
            "The assistant's turn with a call does not end before the user's message after the result.",
        ),
    };
    let Some(glue) = glue(bench, request, LAST, after) else {
        return;
    };
    if !ends.iter().any(|end| glue.contains(end)) {
        bench.differ((Law::Ends, true, message), request, [&stops[0], &glue]);
    }
}

/// The markers that end the assistant's turns: the last one after an answer, and those that are
/// learnt. `glue`: the text between an answer and the user's message.
fn stops(bench: &Bench, glue: &str) -> Vec<String> {
    let [asked, answered, called] = [
        vec![user(FURTHER)],
        vec![user(FURTHER), answer(ANSWERED)],
        vec![user(FURTHER), calls("", &["Azarole"])],
    ]
    .map(|messages| bench.history(messages).unwrap_or_default());
    let (before, after) = answered.split_once(ANSWERED).unwrap_or_default();
    let (_, user_end) = asked.rsplit_once(FURTHER).unwrap_or_default();
    let (after, user_end) = (after.trim(), user_end.trim());
    let markers = after.chars().filter(|c| brackets::closes(*c)).count();
    // The only marker after content in a wrapper is the wrapper's.
    let is_wrapped = !before[shared(before, &called)..].trim().is_empty();
    let end = match after.rfind(brackets::opens) {
        // A turn that ends as the user's ends with no wrapper's marker.
        _ if after == user_end => after,
        Some(at)
            if after.ends_with(brackets::closes)
                && (!is_wrapped || markers > 1)
                && !closes_inner(&after[..at], &after[at..]) =>
        {
            &after[at..]
        }
        _ => "",
    };
    if end.is_empty() || !glue.contains(end) {
        return Vec::new();
    }
    let mut stops = vec![end.to_owned()];
    for learnt in bench.template.turn_ends() {
        let learnt = learnt.trim().to_owned();
        stops.extend((!closes_inner(&called, &learnt)).then_some(learnt));
    }
    stops.push(user_end.to_owned());
    // So may a call, with a marker where none opens it.
    let opening = &called[shared(before, &called)..];
    let (opening, _) = opening.split_once(NAME).unwrap_or_default();
    let marker = called.trim_end().rfind(brackets::opens);
    let marker = marker.map_or("", |at| called[at..].trim_end());
    if !opening.contains(brackets::closes)
        && marker.ends_with(brackets::closes)
        && marker.matches(brackets::closes).count() == 1
    {
        stops.push(marker.to_owned());
    }
    stops.retain(|stop| !stop.is_empty());
    stops
}

/// Whether a marker closes another one before it.
fn closes_inner(before: &str, marker: &str) -> bool {
    let mut opens = before.match_indices(brackets::opens);
    opens.any(|(open, _)| {
        let inner = &before[open..];
        let end = inner
            .find(brackets::closes)
            .map_or(inner.len(), |at| at + 1);
        brackets::mirrored(inner.get(..end).unwrap_or_default()).as_deref() == Some(marker)
    })
}

/// The text that opens a turn of the assistant, in the prompt and in the history, before a thought.
fn opening(bench: &Bench) -> Option<String> {
    let prompt = bench.render(&bench.request(vec![user(ASKED)])).ok()?;
    let history = bench.history(vec![user(ASKED)]).ok()?;
    let opening = prompt.strip_prefix(&*history)?;
    let answered = bench.history(vec![user(ASKED), answer(ANSWERED)]).ok()?;
    let mut opening = &opening[..shared(opening, answered.strip_prefix(&*history)?)];
    if let Some(thinking) = bench.params()?.thinking {
        let thought = opening
            .find(thinking.start.trim())
            .filter(|_| !thinking.start.is_empty());
        opening = &opening[..thought.unwrap_or(opening.len())];
    }
    let opening = opening.trim();
    (!opening.is_empty()).then(|| opening.to_owned())
}

/// The text of a prompt between the last occurrence of one text before another, and that one.
fn glue(bench: &Bench, request: &Value, before: &str, after: &str) -> Option<String> {
    let prompt = bench.render(request).ok()?;
    let end = last(&prompt, after)?.start;
    let begin = last(&prompt[..end], before)?.end;
    Some(prompt[begin..end].to_owned())
}
