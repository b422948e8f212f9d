//! What templates write is read back, and where a template writes something else is reported.

use chatparse::lint::{Outcome, Rule, Thinking, lint};
use chatparse::next::{Kind, Preserved};
use chatparse::{ChatTemplate, Request, TemplateOptions, builtin};
use serde_json::json;

use crate::turns::source;

/// Built-in templates that cannot say everything, and why.
const EXCEPTIONS: &[(&str, &str)] =
    &[("tag-json", "reasoning begins with the turn: what was not thought before looks like a thought")];

#[test]
fn built_in_templates_are_read_back() {
    for name in builtin::names() {
        let report = lint(&ChatTemplate::builtin(name).unwrap());
        let excepted = EXCEPTIONS.iter().any(|(known, _)| *known == name);
        let faults: Vec<_> = report
            .faults()
            .filter(|case| !excepted || case.thinking == Thinking::On)
            .map(|case| (name, case))
            .collect();
        assert!(faults.is_empty(), "{faults:#?}");
        // Some take the user's parts only.
        let findings: Vec<_> = report.findings.iter().filter(|found| found.rule != Rule::PrintedParts).collect();
        assert!(findings.is_empty(), "{name}: {findings:#?}");
        assert_eq!(report.faults().count() > 0, excepted, "{name} in EXCEPTIONS");
        assert!(report.cases.iter().any(|case| case.outcome == Outcome::Survives), "{name}");
    }
}

fn template(said: &str, opening: &str) -> ChatTemplate {
    ChatTemplate::new(&source(said, opening), "", "").expect("the template compiles")
}

const CALLS: &str = "{{- m.content -}}{%- for c in m.tool_calls or [] -%}{{- '<call>{\"name\": \"' ~ c.function.name ~ \
                     '\", \"arguments\": ' ~ ARGUMENTS ~ '}</call>' -}}{%- endfor -%}";

fn outcome(template: &ChatTemplate, probe: &str) -> Outcome {
    let report = lint(template);
    let case = report.cases.iter().find(|case| case.probe == probe && case.thinking == Thinking::Off);
    case.unwrap_or_else(|| panic!("{report:?}")).outcome.clone()
}

const PROMPT: &str = "<|user|>Well, what is it?<|end|><|assistant|>";

#[test]
fn a_sound_template_is_read_back() {
    let template = template(&CALLS.replace("ARGUMENTS", "c.function.arguments | tojson"), "<|assistant|>");
    let report = lint(&template);
    assert_eq!(report.faults().count(), 0, "{:#}", report.to_json());
    let turn = |probe: &str| &report.cases.iter().find(|case| case.probe == probe).unwrap().turn;
    assert_eq!(turn("content"), "Quince");
    assert_eq!(turn("one call"), "<call>{\"name\": \"note\", \"arguments\": {\"text\": \"Quince\"}}</call>");
    let omitted = report.cases.iter().filter(|case| case.outcome == Outcome::Omitted("reasoning"));
    assert!(omitted.count() > 10);
}

#[test]
fn quotes_that_are_not_escaped_are_found() {
    let wrong = "c.function.arguments | tojson | replace('\\\\\"', '\"')";
    let template = template(&CALLS.replace("ARGUMENTS", wrong), "<|assistant|>");
    assert_eq!(outcome(&template, "a call with content"), Outcome::Survives);
    let Outcome::Lost { at, expected, got } = outcome(&template, "a text with special characters") else { panic!() };
    let before = format!("{PROMPT}<call>{{\"name\": \"note\", \"arguments\": {{\"text\": \"\"");
    assert_eq!(at, Some(before.len()), "{got}");
    // The arguments are a text that is no JSON.
    assert!(expected.contains("{\"text\":") && got.contains("\"{\\\"text\\\":"), "{expected} {got}");
}

#[test]
fn calls_with_another_name_are_not_left_out() {
    let calls = CALLS.replace("ARGUMENTS", "c.function.arguments | tojson");
    let upper = template(&calls.replace("c.function.name", "(c.function.name | upper)"), "<|assistant|>");
    assert!(matches!(outcome(&upper, "no arguments"), Outcome::Lost { .. }));
    let silent = template("{{- m.content -}}{%- for c in m.tool_calls or [] -%}{%- endfor -%}", "<|assistant|>");
    assert_eq!(outcome(&silent, "one call"), Outcome::Omitted("calls"));
}

/// A sound template whose parts contradict themselves once one is replaced.
const WHOLE: &str = "{%- macro name(f) -%}{{- f.name -}}{%- endmacro -%}\
    {%- if tools -%}{{- '<|open|>system\\nCall one of\\n' ~ (tools | tojson) ~ '\\nso:\\n<call>\\n{\"tool\": <name>, \"input\": <object>}\\n</call><|close|>' -}}{%- endif -%}\n\
    {%- for m in messages -%}{{- '<|open|>' ~ m.role ~ '\\n' -}}{%- if m.role == 'assistant' -%}{{- m.content or '' -}}\n\
    {%- for c in m.tool_calls or [] -%}{{- '<call>\\n{\"tool\": \"' ~ name(c.function) ~ '\", \"input\": ' ~ (c.function.arguments | tojson) ~ '}' -}}\n\
    {{- '\\n</call>' -}}{%- endfor -%}{{- '<|close|>' -}}\n\
    {%- else -%}{{- m.content ~ '<|close|>' -}}{%- endif -%}{%- endfor -%}\n\
    {%- if add_generation_prompt -%}{{- '<|open|>assistant\\n' -}}{%- endif -%}";

/// The prompt of a tool loop, without white space.
fn prompt_of(source: &str) -> String {
    let call =
        |id: &str| json!({"id": id, "type": "function", "function": {"name": "note", "arguments": {"text": "Fig"}}});
    let body = json!({"tools": [{"type": "function", "function": {"name": "note", "parameters": {"type": "object"}}}], "messages": [
        {"role": "user", "content": "Well?"},
        {"role": "assistant", "content": "", "tool_calls": [call("call00001"), call("call00002")]},
        {"role": "tool", "tool_call_id": "call00001", "content": "Done"},
        {"role": "tool", "tool_call_id": "call00002", "content": "Done"},
        {"role": "assistant", "content": "There."},
        {"role": "user", "content": "Good"},
    ]});
    let template = ChatTemplate::new(source, "", "").expect("the template compiles");
    let prompt = template.prompt(&Request::from_json(&body).unwrap()).unwrap();
    prompt.split_whitespace().collect()
}

#[test]
fn contradictions_are_found_and_mended() {
    let of = |source: &str| ChatTemplate::new(source, "", "").expect("the template compiles");
    let sound = lint(&of(WHOLE));
    assert_eq!(
        (sound.findings, sound.cases.iter().filter(|case| case.outcome == Outcome::Survives).count() > 20),
        (vec![], true)
    );
    for (right, wrong, rule, subject, mends) in [
        ("{{- '\\n</call>' -}}{%- endfor", "{{- '\\n<call>' -}}{%- endfor", Rule::UnclosedMarker, "<call>", true),
        ("{{- '\\n</call>' -}}{%- endfor", "{%- endfor", Rule::UnclosedMarker, "<call>", true),
        ("-}}{%- endfor -%}{{- '<|close|>' -}}", "-}}{%- endfor -%}", Rule::UnclosedMarker, "<|open|>", true),
        ("~ '}' -}}", "-}}", Rule::UnbalancedBracket, "}", true),
        ("<object>}\\n</call>", "<object>}\\n<call>", Rule::OtherInstruction, "<call>", true),
        ("so:\\n<call>", "so:\\n<calls>", Rule::OtherInstruction, "<calls>", true),
        ("\"input\": <object>", "\"arguments\": <object>", Rule::OtherInstruction, "\"arguments\"", true),
        ("{{- f.name -}}", "{{- f.name | upper -}}", Rule::ChangedName, "", true),
        ("in m.tool_calls or []", "in m.calls", Rule::HiddenCalls, "", true),
        ("'<|open|>assistant", "'<|open|>asistant", Rule::OtherOpening, "<|open|>asistant", true),
        ("'<|open|>assistant\\n'", "''", Rule::OtherOpening, "<|open|>", true),
        ("</call><|close|>", "</call>", Rule::MissingEnd, "<|close|>", true),
        ("'\\n</call>'", "'\\n</cal>'", Rule::UnclosedMarker, "<call>", true),
    ] {
        let faulty = WHOLE.replace(right, wrong);
        assert_ne!(faulty, WHOLE, "{right}");
        let report = lint(&of(&faulty));
        let found = report.findings.iter().find(|found| (found.rule, &*found.subject) == (rule, subject));
        let found = found.unwrap_or_else(|| panic!("{wrong}: {:#?}", report.findings));
        assert!(found.shown.len() == 2 && found.shown.iter().all(|shown| !shown.text.is_empty()), "{found:#?}");
        assert_eq!(found.patch.is_some(), mends, "{wrong}: {found:#?}");
        if let Some(patch) = &found.patch {
            let mended = lint(&of(&patch.source));
            assert!(mended.findings.len() < report.findings.len(), "{wrong}: {patch:#?}");
            assert_eq!(prompt_of(&patch.source), prompt_of(WHOLE), "{wrong}: {}", patch.diff);
            assert!(patch.diff.starts_with("@@ -") && patch.diff.contains("\n+"), "{}", patch.diff);
        }
    }
}

#[test]
fn a_pair_that_the_instruction_names_is_closed() {
    let named = |pair: &str| WHOLE.replace("so:\\n<call>", &format!("in {pair}, so:\\n<call>"));
    let of = |pair| lint(&ChatTemplate::new(&named(pair), "", "").unwrap()).findings;
    assert_eq!(of("<call>...</call>"), []);
    let found = of("<call>...<call>");
    assert_eq!((found[0].rule, &*found[0].subject), (Rule::OtherInstruction, "<call>"));
    assert_eq!(found[0].patch.as_ref().map(|patch| &*patch.source), Some(&*named("<call>...</call>")));
}

#[test]
fn a_thought_that_only_the_prompt_opens_is_found() {
    let said = "{%- if '</think>' in m.content -%}{{- m.content.split('</think>')[-1] -}}{%- else -%}{{- m.content -}}{%- endif -%}";
    let report = lint(&template(said, "<|assistant|><think>\\n"));
    let found: Vec<_> = report.findings.iter().map(|found| (found.rule, &*found.subject)).collect();
    assert_eq!(found, [(Rule::UnseenThought, "<think>")]);
}

#[test]
fn tokens_that_the_vocabulary_lacks_are_found() {
    let with = |tokens: &[&str]| {
        let mut options = TemplateOptions::default();
        options.special_tokens = tokens.iter().map(|token| (*token).to_owned()).collect();
        lint(&ChatTemplate::with_options(WHOLE, &options).unwrap()).findings
    };
    assert_eq!(with(&["<|open|>", "<|close|>"]), []);
    let found = with(&["<|open|>", "<|closed|>"]);
    assert_eq!((found[0].rule, &*found[0].subject), (Rule::UnknownToken, "<|close|>"));
    assert_eq!(found[0].shown[1].text, "<|closed|>");
    let config = json!({"chat_template": WHOLE, "added_tokens_decoder": {"1": {"content": "<|open|>"}}}).to_string();
    let found = lint(&ChatTemplate::new(&config, "", "").unwrap()).findings;
    assert_eq!(found.iter().map(|found| &*found.subject).collect::<Vec<_>>(), ["<|close|>"]);
}

#[test]
fn parts_that_are_written_as_data_are_found() {
    let of = |others: &str| {
        let user = "{%- if m.role == 'user' and m.content is not string -%}{%- for p in m.content -%}{{- p.text -}}{%- endfor -%}";
        let source = WHOLE.replace(
            "{%- else -%}{{- m.content ~ '<|close|>' -}}",
            &format!("{{%- else -%}}{user}{others}{{{{- '<|close|>' -}}}}"),
        );
        assert_ne!(source, WHOLE);
        let found = lint(&ChatTemplate::new(&source, "", "").unwrap()).findings;
        found.iter().map(|found| (found.rule, found.is_fault, found.shown[0].from)).collect::<Vec<_>>()
    };
    let data = "{%- else -%}{{- m.content -}}{%- endif -%}";
    assert_eq!(of(data), [(Rule::PrintedParts, false, "system")]);
    assert_eq!(lint(&ChatTemplate::new(WHOLE, "", "").unwrap()).findings, []);
}

#[test]
fn what_is_written_alike_is_told() {
    let calls = CALLS.replace("ARGUMENTS", "c.function.arguments | tojson");
    let template = template(&calls.replace("m.content", "m.content | replace('🎉', '')"), "<|assistant|>");
    let Outcome::Alike { expected, got } = outcome(&template, "content in unicode") else { panic!() };
    assert_ne!(expected, got);
    assert_eq!(expected.replace("🎉", ""), got);
    assert_eq!(lint(&template).faults().count(), 0, "nothing that a reader could do");
}

#[test]
fn a_turn_that_begins_elsewhere_is_found() {
    let template = template(&CALLS.replace("ARGUMENTS", "c.function.arguments | tojson"), "<|assistant|>\\n");
    let Outcome::NoTurn(difference) = outcome(&template, "content") else { panic!() };
    assert_eq!(difference.at, PROMPT.len());
    assert!(difference.expected.ends_with("<|assistant|>\n") && difference.got.ends_with("<|assistant|>Quince<|end|>"));
    assert_eq!(lint(&template).faults().count(), lint(&template).cases.len());
}

#[test]
fn a_template_that_raises_is_told() {
    let said = "{%- if 'Cake' in (m.tool_calls | string) -%}{{- raise_exception('no cake') -}}{%- endif -%}".to_owned();
    let template = template(&(said + &CALLS.replace("ARGUMENTS", "c.function.arguments | tojson")), "<|assistant|>");
    let Outcome::Refused(error) = outcome(&template, "parallel calls") else { panic!() };
    assert!(error.message().contains("no cake"), "{error}");
    assert_eq!(error.place().map(|place| place.line), Some(1));
}

#[test]
fn what_cannot_be_traced_is_told() {
    let calls = CALLS.replace("ARGUMENTS", "c.function.arguments | tojson");
    assert_eq!(lint(&template(&calls, "<|assistant|>")).untraced, Some(vec![]));
    let reversed = template(&calls.replace("m.content", "m.content[::-1]"), "<|assistant|>");
    assert_eq!(lint(&reversed).untraced, Some(vec![".sniar tI".to_owned()]));
    let raising = template(&(calls + "{{- raise_exception('no') -}}"), "<|assistant|>");
    assert_eq!(lint(&raising).untraced, None);
}

#[test]
fn an_id_in_earlier_turns_only_changes_the_prompt() {
    let calls = CALLS.replace("ARGUMENTS", "c.function.arguments | tojson");
    let with = |id: &str| template(&calls.replace("'}</call>'", &format!("{id} ~ '}}</call>'")), "<|assistant|>");
    let always = with("', \"id\": \"' ~ c.id ~ '\"'");
    assert_eq!(always.preserves(Kind::ToolStep, Thinking::Off), Preserved::Yes);
    let earlier = with("('' if messages[-1] == m else ', \"id\": \"' ~ c.id ~ '\"')");
    assert!(matches!(earlier.preserves(Kind::ToolStep, Thinking::Off), Preserved::No(_)));
}

/// A conversation in each combination: a system message, tools, and how far it goes.
fn conversations() -> impl Iterator<Item = Request> {
    let call =
        |id: &str| json!({"id": id, "type": "function", "function": {"name": "note", "arguments": {"text": "Fig"}}});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "name": "note", "content": "Noted, as said"});
    let turns: [&[&str]; 5] = [&[], &["call00001"], &["call00001", "call00002"], &[], &["call00001"]];
    (0..40).filter_map(move |bits| {
        let (turn, system, tools, thinking) = (bits / 8, bits & 1 > 0, bits & 2 > 0, bits & 4 > 0);
        let mut messages = vec![json!({"role": "user", "content": "Well then?"})];
        if system {
            messages.insert(0, json!({"role": "system", "content": "Talk like a gardener."}));
        }
        if !turns[turn].is_empty() {
            let calls: Vec<_> = turns[turn].iter().map(|id| call(id)).collect();
            messages.push(json!({"role": "assistant", "content": "", "tool_calls": calls}));
            messages.extend(turns[turn].iter().map(|id| result(id)));
        }
        if turn > 2 {
            messages.push(json!({"role": "assistant", "content": "A fig it is."}));
            messages.push(json!({"role": "user", "content": "And now?"}));
        }
        let mut body = json!({"messages": messages, "enable_thinking": thinking, "now": 0});
        if tools {
            body["tools"] =
                json!([{"type": "function", "function": {"name": "note", "parameters": {"type": "object"}}}]);
        }
        Request::from_json(&body).ok()
    })
}

/// The markers of a prompt that stand twice with nothing but white space between, and the one it begins with.
fn doubled(template: &ChatTemplate, request: &Request) -> Option<Vec<String>> {
    let prompt: String = template.prompt(request).ok()?.split_whitespace().collect();
    let starts: Vec<usize> = prompt.match_indices('<').map(|(at, _)| at).collect();
    let markers = starts.iter().filter_map(|&at| Some(&prompt[at..=at + prompt[at..].find('>')?]));
    let again = |marker: &&str| prompt.contains(&marker.repeat(2));
    let first = prompt.split_inclusive('>').next().unwrap_or_default().to_owned();
    let mut all: Vec<String> = markers.filter(again).map(str::to_owned).collect();
    all.sort();
    all.dedup();
    all.push(format!("first {first}"));
    Some(all)
}

#[test]
fn edits_keep_what_was_right() {
    let folders = ["../shared/templates", "../shared/templates-wild"];
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let mut sources: Vec<(String, String)> = files
        .filter_map(|file| Some(file.ok()?.path()).filter(|path| path.extension().is_some_and(|end| end == "jinja")))
        .filter_map(|path| Some((path.display().to_string(), std::fs::read_to_string(&path).ok()?)))
        .collect();
    if sources.is_empty() {
        println!("skipped: the templates of {}", folders.join(", "));
    }
    sources.push(("results end without a system message only".into(), OFF_BY_ONE.to_owned()));
    for (name, source) in sources {
        let Ok(template) = ChatTemplate::new(&source, "<s>", "</s>") else { continue };
        for patch in lint(&template).findings.into_iter().filter_map(|found| found.patch) {
            let edited = ChatTemplate::new(&patch.source, "<s>", "</s>").unwrap();
            for request in conversations() {
                let Some(before) = doubled(&template, &request) else { continue };
                let behind = doubled(&edited, &request).unwrap_or_else(|| panic!("{name}: {}", patch.diff));
                assert!(behind.iter().all(|marker| before.contains(marker)), "{name}: {behind:?}\n{}", patch.diff);
            }
        }
    }
    let found = lint(&ChatTemplate::new(OFF_BY_ONE, "", "").unwrap()).findings;
    assert!(found.iter().any(|found| (found.rule, &*found.subject) == (Rule::MissingEnd, "<|close|>")), "{found:#?}");
}

/// Whether a result is the last one is asked of the message at its place among all messages: with a system message, it is itself.
const OFF_BY_ONE: &str = "{%- set rest = messages -%}\n\
    {%- if messages[0].role == 'system' -%}{%- set rest = messages[1:] -%}\
        {{- '<|open|>system\\n' ~ messages[0].content ~ '<|close|>\\n' -}}{%- endif -%}\n\
    {%- for m in rest -%}\n\
        {%- if m.role == 'tool' -%}\n\
            {{- '<|open|>tool\\n' ~ m.content -}}\n\
            {%- if not messages[loop.index] or messages[loop.index].role != 'tool' -%}{{- '<|close|>\\n' -}}{%- endif -%}\n\
        {%- else -%}\n\
            {{- '<|open|>' ~ m.role ~ '\\n' ~ m.content -}}\n\
            {%- for c in m.tool_calls or [] -%}\n\
                {{- '<|call|>' ~ ({'name': c.function.name, 'input': c.function.arguments} | tojson) -}}\n\
            {%- endfor -%}\n\
            {{- '<|close|>\\n' -}}\n\
        {%- endif -%}\n\
    {%- endfor -%}\n\
    {%- if add_generation_prompt -%}{{- '<|open|>assistant\\n' -}}{%- endif -%}";

#[test]
fn a_marker_that_is_of_another_kind_is_a_note() {
    let other =
        WHOLE.replace("so:\\n<call>", "so:\\n<request>").replace("<object>}\\n</call>", "<object>}\\n</request>");
    let found = lint(&ChatTemplate::new(&other, "", "").unwrap()).findings;
    assert!(
        !found.is_empty() && found.iter().all(|found| found.rule == Rule::OtherInstruction && !found.is_fault),
        "{found:#?}"
    );
}

#[test]
fn a_message_may_end_with_a_marker_of_its_own() {
    let found = |source: &str| lint(&ChatTemplate::new(source, "", "").unwrap()).findings;
    let own = WHOLE.replace("</call><|close|>", "</call><|told|>");
    assert_ne!(own, WHOLE);
    let own = own
        .replace("{{- m.content ~ '<|close|>'", "{{- m.content ~ ('<|told|>' if m.role == 'system' else '<|close|>')");
    assert_eq!(found(&own), []);
    // What closes a part of the message is no end of it.
    let part = WHOLE.replace("</call><|close|>", "</call>");
    assert!(found(&part).iter().any(|found| (found.rule, &*found.subject) == (Rule::MissingEnd, "<|close|>")));
}

#[test]
fn a_marker_on_both_sides_of_a_value_is_a_quote() {
    let quoted = "{%- for c in m.tool_calls or [] -%}{{- '<call>' ~ c.function.name ~ '{' -}}{%- for k, v in c.function.arguments | items -%}\
        {{- k ~ ':<escape>' ~ v ~ '<escape>' -}}{%- endfor -%}{{- '}</call>' -}}{%- endfor -%}{{- m.content -}}";
    let found = lint(&template(quoted, "<|assistant|>")).findings;
    assert!(found.iter().all(|found| found.subject != "<escape>"), "{found:#?}");
}
