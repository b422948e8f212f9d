//! The texts that end a turn, where an output ends with one: no part of the message, in whatever
//! pieces they come.

use chatparse::chat::TemplateOptions;
use chatparse::stream::{Ended, SpecialTokens};
use chatparse::{ChatTemplate, EndedBy, Params, Request, Status, Stream};
use serde_json::{Value, json};

use super::marked::occurrences;
use super::shown;
use super::written::{Written, tool};

/// Ends that the host has told.
const TOLD: [&str; 2] = ["<EOS>", "<|told|>"];

/// Where the end of an answer is read otherwise, and how many were looked at.
pub fn check(template: &ChatTemplate) -> (Vec<String>, usize) {
    let mut options = TemplateOptions::default();
    (options.eos, options.ends) = (TOLD[0].to_owned(), vec![TOLD[1].to_owned()]);
    let Ok(template) = ChatTemplate::with_options(template.source(), &options) else {
        return (Vec::new(), 0);
    };
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let tools = json!([tool("get_weather", &json!({"town": {"type": "string"}}))]);
    let requests = [
        (json!({}), "Yes."),
        (json!({"enable_thinking": false}), "Yes."),
        (json!({"tools": tools}), "Yes."),
        (json!({"force_pure_content": true}), "Yes."),
        (json!({"json_schema": schema}), "{\"a\": 1}"),
    ];
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for (more, answer) in requests {
        let mut body = json!({"messages": [{"role": "user", "content": "Well?"}], "reasoning_format": "auto", "now": 0});
        body.as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        let Ok(params) =
            template.params(&Request::from_json(&body).expect("it has the right shape"))
        else {
            continue;
        };
        let thought = params
            .thinking
            .as_ref()
            .and_then(|thinking| Some((&thinking.start, thinking.ends.first()?)));
        let thought = thought.map(|(start, end)| {
            let is_open = params.generation_prompt.contains(start.trim());
            format!(
                "{}Hm.{end}\n\n{answer}",
                if is_open { "" } else { start.as_str() }
            )
        });
        for answer in [answer.to_owned()].into_iter().chain(thought) {
            for end in ends(&params, &TOLD) {
                wrong.extend(
                    look(&params, &answer, &end)
                        .err()
                        .map(|found| format!("{more}: {found}")),
                );
                looked += 1;
            }
        }
    }
    (wrong, looked)
}

/// The same for the end of calls.
pub fn check_calls(written: &Written) -> (Vec<String>, usize) {
    let ends = ends(&written.params, &TOLD[..1]);
    let found = ends
        .iter()
        .map(|end| look(&written.params, &written.output, end));
    (found.filter_map(Result::err).collect(), ends.len())
}

/// As the template has it, with its white space, and as it is told.
fn ends(params: &Params, told: &[&str]) -> Vec<String> {
    let learnt = params.end_of_turn();
    let ends = told
        .iter()
        .copied()
        .chain([learnt])
        .filter(|end| !end.is_empty());
    ends.map(str::to_owned).collect()
}

fn look(params: &Params, answer: &str, end: &str) -> Result<(), String> {
    let output = format!("{answer}{end}");
    let wrong = |found: &dyn std::fmt::Debug| format!("{output:?}: {found:?}");
    let alone = |cut_off| {
        params
            .parser
            .read(answer.as_bytes(), EndedBy::limit_if(cut_off))
    };
    let [whole, cut] = [false, true].map(alone);
    let is_same = |ended: &Ended, alone: &Ended| {
        let booked = ended
            .structure()
            .last()
            .is_some_and(|last| last.start <= answer.len() && last.end == output.len());
        // What the end closes is whole.
        let is_as_whole = ended.status == alone.status || ended.status == Status::Complete;
        ended.message == alone.message && is_as_whole && booked
    };
    for size in [1, 7, output.len()] {
        let pieces = || output.as_bytes().chunks(size);
        for cut_off in [false, true] {
            let (_, ended) = shown::feed(Stream::new(&params.parser), pieces(), cut_off)
                .map_err(|found| wrong(&found))?;
            if !is_same(&ended, if cut_off { &cut } else { &whole }) {
                return Err(wrong(&ended));
            }
        }
        // As a special token, and spelled out.
        let tokens: Vec<&str> = end.split_whitespace().collect();
        let marker = end.split_inclusive('>').next().unwrap_or_default();
        let special = SpecialTokens::new(&tokens).expect("they are short");
        for spans in [occurrences(&output, &tokens), occurrences(answer, &tokens)] {
            let is_token = spans.last().is_some_and(|last| last.end == output.len());
            let mut stream = Stream::new(&params.parser);
            stream.set_special_tokens(&special).expect("nothing is fed");
            for from in (0..output.len()).step_by(size) {
                let to = output.len().min(from + size);
                let within = spans
                    .iter()
                    .map(|span| span.start.clamp(from, to) - from..span.end.clamp(from, to) - from);
                let _ =
                    stream.feed_marked(&output.as_bytes()[from..to], &within.collect::<Vec<_>>());
            }
            let ended = stream.finish(EndedBy::Model);
            if if is_token {
                !is_same(&ended, &whole)
            } else {
                !said(&ended).contains(marker)
            } {
                return Err(format!("marked {spans:?}: {}", wrong(&ended)));
            }
        }
    }
    // An end before more text is what it was.
    let more = format!("{output} more");
    let (_, ended) = shown::feed(
        Stream::new(&params.parser),
        more.as_bytes().chunks(1),
        false,
    )?;
    let whole = params.parser.read(more.as_bytes(), EndedBy::Model);
    if ended != whole || !said(&ended).contains("more") {
        return Err(format!("{more:?}: {ended:?}"));
    }
    Ok(())
}

/// All texts of a message.
fn said(ended: &Ended) -> String {
    let arguments = ended
        .message
        .tool_calls
        .iter()
        .map(|call| Value::from(call.arguments.as_str()).to_string());
    let texts = [
        ended.message.reasoning_content.clone(),
        ended.message.content.clone(),
    ];
    texts.into_iter().chain(arguments).collect()
}
