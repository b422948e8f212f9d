//! What holds of any request: of its grammar, of its parser, and of both.

use chatparse::chat::Constraint;
use chatparse::grammar::{Recogniser, TriggerKind};
use chatparse::message::{
    Compat, GrammarStyle, IncompleteCalls, JsonSpacing, ReasoningFormat, ToolChoice,
};
use chatparse::stream::SpecialTokens;
use serde_json::json;

use chatparse::{ChatTemplate, EndedBy, ErrorKind, Params, Request, Status, Stream};

use super::outputs::{Outputs, calls};
use super::shown::feed;
use super::table::{ANSWER, BEGUN_ANSWER, Body};
use super::written::{Call, turn_of};

/// What is wrong with a request. `cut`: where outputs are cut.
pub fn broken(
    template: &ChatTemplate,
    outputs: &Outputs,
    body: &Body,
    request: &Request,
    cut: usize,
) -> Vec<String> {
    let params = match template.params(request) {
        Ok(params) => params,
        // In the template's own words.
        Err(error) if error.kind() == ErrorKind::Template => return Vec::new(),
        Err(error) => return vec![format!("refused: {error}")],
    };
    let mut wrong = Vec::new();
    let kept = request.output.leniency.incomplete_calls == IncompleteCalls::Keep;
    wrong.extend(
        outputs
            .all
            .iter()
            .filter_map(|output| pieces(&params, output, cut, kept).err()),
    );
    let asked = Asked::of(request);
    if request.output.compat == Compat::LlamaCpp {
        return wrong;
    }
    if !asked.calls {
        let called = |output: &&String| {
            let ended = params.parser.read(output.as_bytes(), EndedBy::Model);
            !ended.message.tool_calls.is_empty()
        };
        wrong.extend(
            outputs
                .all
                .iter()
                .find(called)
                .map(|output| format!("a call is read that is not allowed: {output:?}")),
        );
    } else if outputs.calls {
        wrong.extend(call(template, body, &asked).err());
    }
    if asked.schema {
        wrong.extend(answer(&params, outputs, request).err());
    }
    wrong
}

/// What a request asks of the model.
struct Asked {
    calls: bool,
    required: bool,
    /// An answer that has to be JSON.
    schema: bool,
    parallel: bool,
}

impl Asked {
    fn of(request: &Request) -> Asked {
        let schema = request.output.json_schema.is_object() && !request.force_pure_content;
        let tools = request.allowed_tools.as_ref().unwrap_or(&request.tools);
        let calls = !tools.is_empty()
            && request.output.tool_choice != ToolChoice::None
            && !request.force_pure_content;
        let required = calls && request.output.tool_choice == ToolChoice::Required;
        Asked {
            calls,
            required,
            schema: schema && !required,
            parallel: request.output.parallel_tool_calls,
        }
    }
}

/// An output makes the same of itself however it is fed, and whoever says what came as a special
/// token.
fn pieces(params: &Params, output: &str, cut: usize, kept: bool) -> Result<(), String> {
    let bytes = output.as_bytes();
    // What was shown of a call that is not whole may be no call of the message.
    let feed = |pieces: Vec<&[u8]>| match kept {
        true => {
            feed(Stream::new(&params.parser), pieces.into_iter(), false).map(|(_, ended)| ended)
        }
        false => {
            let mut stream = Stream::new(&params.parser);
            pieces
                .into_iter()
                .for_each(|piece| stream.feed(piece).for_each(drop));
            Ok(stream.finish(EndedBy::Model))
        }
    };
    let whole = feed(vec![bytes])?;
    let (first, rest) = bytes.split_at(cut % (bytes.len() + 1));
    let ways: [Vec<&[u8]>; 2] = [bytes.chunks(1).collect(), vec![first, rest]];
    for way in ways {
        let ended = feed(way)?;
        if ended != whole {
            return Err(format!(
                "{output:?}: in one piece {whole:?}\n  in pieces {ended:?}"
            ));
        }
    }
    // Each marker of the output as a token of its own.
    let tokens = super::tokens_of(output);
    let special = SpecialTokens::new(&tokens).expect("they are few");
    let spans = super::occurrences(output, &tokens);
    let marked = |size: usize| {
        let mut stream = Stream::new(&params.parser);
        stream
            .set_special_tokens(&special)
            .map_err(|error| error.to_string())?;
        for from in (0..bytes.len()).step_by(size) {
            let to = bytes.len().min(from + size);
            let within = spans
                .iter()
                .map(|span| span.start.clamp(from, to) - from..span.end.clamp(from, to) - from);
            let within: Vec<_> = within.collect();
            stream
                .feed_marked(&bytes[from..to], &within)
                .map(drop)
                .map_err(|error| error.to_string())?;
        }
        Ok::<_, String>(stream.finish(EndedBy::Model))
    };
    let (whole, one) = (marked(bytes.len().max(1))?, marked(1)?);
    if whole != one {
        return Err(format!(
            "{output:?}: marked, in one piece {whole:?}\n  in pieces {one:?}"
        ));
    }
    Ok(())
}

/// How far the grammar allows an output; `None` where nothing constrains it, or a pattern says from
/// where.
fn reach(params: &Params, output: &str) -> Option<usize> {
    let grammar = params.grammar();
    if grammar.text.is_empty() {
        return None;
    }
    let recogniser = Recogniser::new(&grammar.text).expect("it is a grammar");
    let prefill = params.parser.prefill();
    match &params.constraint {
        Constraint::Free => None,
        Constraint::Strict(_) => Some(
            recogniser
                .reach(&format!("{prefill}{output}"))
                .unwrap()
                .saturating_sub(prefill.len()),
        ),
        Constraint::Lazy(triggers) => {
            let words = triggers
                .iter()
                .filter(|trigger| trigger.kind != TriggerKind::Pattern);
            let at = words
                .filter_map(|trigger| output.find(&trigger.value))
                .min()?;
            Some(at + recogniser.reach(&output[at..]).unwrap())
        }
    }
}

/// The template's own call is allowed by the grammar, and read.
fn call(template: &ChatTemplate, body: &Body, asked: &Asked) -> Result<(), String> {
    let mut fields = body.clone();
    for name in [
        "messages",
        "continue_final_message",
        "add_generation_prompt",
        "for_training",
        "plain",
    ] {
        fields.as_object_mut().unwrap().remove(name);
    }
    if body["plain"] == true || body["for_training"] == true || body["hosted_tools"].is_string() {
        return Ok(());
    }
    let all = calls();
    let contents: &[&str] = if asked.schema || asked.required {
        &[""]
    } else {
        &["", "Let me see."]
    };
    let written = |calls: &[Call]| turn_of(template, &fields, contents, calls);
    let Some((params, output)) = written(&all[..1]) else {
        // The history may show no turn that begins as the prompt does.
        let alone = ["tools", "thinking", "enable_thinking"]
            .map(|name| (name.to_owned(), body[name].clone()));
        let alone = turn_of(template, &alone.into_iter().collect(), contents, &all[..1]);
        return alone.map_or(
            Ok(()),
            |_| Err("the template's own call is not read".into()),
        );
    };
    let end = |output: &str, value: &str| output.rfind(value).map_or(0, |at| at + value.len());
    let needed = end(&output, "70431").max(end(&output, "qz1a"));
    if asked.required && params.grammar().text.is_empty() && params.grammar().report.is_empty() {
        return Err("a call is required, and nothing asks the sampler for it".into());
    }
    // Of compact JSON, the grammar has no blanks; those of the template's text it has.
    let allows = |params: &Params, output: &str, needed: usize| {
        let (mut text, mut needed) = (output.to_owned(), needed);
        loop {
            match reach(params, &text) {
                Some(at) if at < needed => {
                    match text[at..].starts_with([' ', '\n']) && body["json_spacing"] == "compact" {
                        true => drop(text.remove(at)),
                        false => return false,
                    }
                }
                _ => return true,
            }
            needed -= 1;
        }
    };
    if !allows(&params, &output, needed) {
        let reach = reach(&params, &output).unwrap_or_default();
        return Err(format!(
            "the grammar allows {:?} of {output:?}",
            &output[..reach.min(output.len())]
        ));
    }
    if asked.required {
        for text in ["It rains.", ANSWER] {
            let allowed = Recogniser::new(&params.grammar().text).is_ok_and(|grammar| {
                grammar.accepts(&format!("{}{text}", params.parser.prefill()))
            });
            if allowed {
                return Err(format!(
                    "a call is required, and the grammar allows {text:?}"
                ));
            }
        }
    }
    let named = body["tool_choice"].is_object();
    if let Some((params, output)) = written(&all).filter(|_| !named) {
        let needed = end(&output, "qz3c");
        let allowed = allows(&params, &output, needed);
        let strict =
            matches!(params.constraint, Constraint::Strict(_)) && body["grammar_style"].is_null();
        if allowed && !asked.parallel && strict {
            return Err(format!(
                "one call is asked for, and the grammar allows {output:?}"
            ));
        }
        // A call may end the output.
        let alone = json!({"tools": body["tools"], "tool_choice": "required"});
        let alone = || {
            turn_of(template, &alone, &[""], &all)
                .and_then(|(params, output)| reach(&params, &output))
        };
        if !allowed && asked.parallel && alone().is_some_and(|reach| reach >= needed) {
            return Err(format!("two calls are allowed, and not {output:?}"));
        }
    }
    Ok(())
}

/// What the schema asks for is allowed, and reasoning in front of it.
fn answer(params: &Params, outputs: &Outputs, request: &Request) -> Result<(), String> {
    let grammar = params.grammar();
    if grammar.text.is_empty() {
        let told = !grammar.report.is_empty();
        return if told {
            Ok(())
        } else {
            Err("the answer has a schema, and no grammar".into())
        };
    }
    if request.output.grammar_style != GrammarStyle::Faithful {
        return Ok(());
    }
    let recogniser = Recogniser::new(&grammar.text).expect("it is a grammar");
    let prefill = params.parser.prefill();
    let compact = ANSWER.replace(": ", ":").replace(", ", ",");
    let whole = if request.output.json_spacing == JsonSpacing::Compact {
        &compact
    } else {
        ANSWER
    };
    let begun = prefill.ends_with(BEGUN_ANSWER);
    let rest = if begun {
        &ANSWER[BEGUN_ANSWER.len()..]
    } else {
        whole
    };
    let read = if begun { ANSWER } else { whole };
    // What closes an answer may have to follow.
    let allows = |output: &str| recogniser.prefix(&format!("{prefill}{output}"));
    if !request.output.enable_thinking || !outputs.thinks(params) || begun {
        let reasons = prefill.trim_end().ends_with(super::table::THOUGHT);
        if !allows(rest) && !reasons {
            return Err(format!(
                "the grammar does not allow the answer {rest:?} behind {prefill:?}"
            ));
        }
        let ended = params.parser.read(rest.as_bytes(), EndedBy::Model);
        if !reasons
            && (!ended.message.content.ends_with(read)
                || !ended.message.tool_calls.is_empty()
                || ended.status != Status::Complete)
        {
            return Err(format!("the answer is read as {ended:?}"));
        }
        return Ok(());
    }
    let Some((open, end)) = outputs.markers(params) else {
        return Ok(());
    };
    let lines = ["\n", ""]
        .into_iter()
        .flat_map(|line| ["\n\n", "\n", ""].map(|space| (line, space)));
    let lines = lines.flat_map(|(line, space)| ["\n", ""].map(|open| (open, line, space)));
    // What opens reasoning may stand behind white space.
    let lines = lines.flat_map(|lines| ["", "\n", " "].map(|front| (front, lines)));
    let written = lines.map(|(front, (behind, line, space))| {
        let front = if open.is_empty() { "" } else { front };
        format!("{front}{open}{behind}I know.{line}{end}{space}{whole}")
    });
    let read = |output: &str| params.parser.read(output.as_bytes(), EndedBy::Model);
    // Where an answer has a header, this is none.
    let written: Vec<String> = written
        .filter(|output| read(output).status == Status::Complete)
        .collect();
    let Some(output) = written.iter().find(|output| allows(output)) else {
        return match written.first() {
            Some(first) => Err(format!(
                "the grammar does not allow {first:?} behind {prefill:?}"
            )),
            None => Ok(()),
        };
    };
    let ended = read(output);
    let (message, separate) = (
        &ended.message,
        request.output.reasoning_format != ReasoningFormat::None,
    );
    let thought = if separate {
        &message.reasoning_content
    } else {
        &message.content
    };
    let content = message.content.trim();
    let right = thought.contains("I know.")
        && if separate {
            content == whole
        } else {
            content.ends_with(whole)
        };
    if !right || !message.tool_calls.is_empty() {
        return Err(format!("{output:?} is read as {ended:?}"));
    }
    Ok(())
}
