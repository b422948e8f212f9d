//! What templates write is read back, and where a template writes something else is reported.

use chatparse::lint::{Outcome, Report, Rule, Thinking, lint};
use chatparse::next::{Kind, Preserved};
use chatparse::{ChatTemplate, TemplateOptions, builtin};
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

#[test]
fn contradictions_are_found() {
    let of = |source: &str| ChatTemplate::new(source, "", "").expect("the template compiles");
    let sound = lint(&of(WHOLE));
    assert_eq!(
        (sound.findings, sound.cases.iter().filter(|case| case.outcome == Outcome::Survives).count() > 20),
        (vec![], true)
    );
    for (right, wrong, rule, subject) in [
        ("{{- '\\n</call>' -}}{%- endfor", "{{- '\\n<call>' -}}{%- endfor", Rule::UnclosedMarker, "<call>"),
        ("{{- '\\n</call>' -}}{%- endfor", "{%- endfor", Rule::UnclosedMarker, "<call>"),
        ("-}}{%- endfor -%}{{- '<|close|>' -}}", "-}}{%- endfor -%}", Rule::UnclosedMarker, "<|open|>"),
        ("~ '}' -}}", "-}}", Rule::UnbalancedBracket, "}"),
        ("<object>}\\n</call>", "<object>}\\n<call>", Rule::OtherInstruction, "<call>"),
        ("so:\\n<call>", "so:\\n<calls>", Rule::OtherInstruction, "<calls>"),
        ("\"input\": <object>", "\"arguments\": <object>", Rule::OtherInstruction, "\"arguments\""),
        ("{{- f.name -}}", "{{- f.name | upper -}}", Rule::ChangedName, ""),
        ("in m.tool_calls or []", "in m.calls", Rule::HiddenCalls, ""),
        ("'<|open|>assistant", "'<|open|>asistant", Rule::OtherOpening, "<|open|>asistant"),
        ("'<|open|>assistant\\n'", "''", Rule::OtherOpening, "<|open|>"),
        ("</call><|close|>", "</call>", Rule::MissingEnd, "<|close|>"),
        ("'\\n</call>'", "'\\n</cal>'", Rule::UnclosedMarker, "<call>"),
    ] {
        let faulty = WHOLE.replace(right, wrong);
        assert_ne!(faulty, WHOLE, "{right}");
        let report = lint(&of(&faulty));
        let found = report.findings.iter().find(|found| (found.rule, &*found.subject) == (rule, subject));
        let found = found.unwrap_or_else(|| panic!("{wrong}: {:#?}", report.findings));
        assert!(found.shown.len() == 2 && found.shown.iter().all(|shown| !shown.text.is_empty()), "{found:#?}");
    }
}

#[test]
fn a_pair_that_the_instruction_names_is_closed() {
    let named = |pair: &str| WHOLE.replace("so:\\n<call>", &format!("in {pair}, so:\\n<call>"));
    let of = |pair| lint(&ChatTemplate::new(&named(pair), "", "").unwrap()).findings;
    assert_eq!(of("<call>...</call>"), []);
    let found = of("<call>...<call>");
    assert_eq!((found[0].rule, &*found[0].subject), (Rule::OtherInstruction, "<call>"));
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

#[test]
fn what_ends_a_call_is_no_end_of_a_turn() {
    let source = |begin: &str, end: &str, behind: &str, between: &str| {
        format!(
            "{{%- for m in messages -%}}{{{{- '<|' ~ m.role ~ '|>' ~ m.content -}}}}{{%- for c in m.tool_calls or [] -%}}\
             {{{{- '{begin}<use=' ~ c.function.name ~ '>\\n' -}}}}{{%- for k, v in c.function.arguments | items -%}}\
             {{{{- k ~ ' = ' ~ (v | tojson) ~ '\\n' -}}}}{{%- endfor -%}}{{{{- '</use>{end}' -}}}}\
             {{%- if not loop.last -%}}{{{{- '{between}' -}}}}{{%- endif -%}}{{%- endfor -%}}\
             {{{{- {behind} -}}}}{{%- endfor -%}}\
             {{%- if add_generation_prompt -%}}{{{{- '<|assistant|>' -}}}}{{%- endif -%}}"
        )
    };
    let found = |source: &str| {
        let found = lint(&ChatTemplate::new(source, "", "").unwrap()).findings.into_iter();
        found.map(|found| found.rule).collect::<Vec<_>>()
    };
    for (begin, end) in [("<|c>", "<c|>"), ("<|c|>", "<c|>"), ("<｜c>", "<c｜>"), ("[C]", "[/C]"), ("", "")] {
        for between in ["", "<|next|>"] {
            assert_eq!(found(&source(begin, end, "'<|e|>'", between)), [], "{begin} {end} {between}");
            let missing = source(begin, end, "'' if m.tool_calls else '<|e|>'", between);
            // A closer that is of no pair may end a message in its own way.
            let own = if (begin, end) == ("<|c|>", "<c|>") { vec![] } else { vec![Rule::MissingEnd] };
            assert_eq!(found(&missing), own, "{begin} {end} {between}");
        }
    }
}

#[test]
fn what_goes_on_under_another_role_does_not_end() {
    let thought =
        "{%- if m.reasoning_content -%}{{- '[THOUGHT] ' ~ m.reasoning_content ~ ' [/THOUGHT]' -}}{%- endif -%}";
    let source = format!(
        "{{%- for m in messages -%}}{{%- set role = 'USER' if m.role != 'assistant' else 'MODEL' -%}}{thought}\
         {{{{- '[' ~ role ~ '] ' ~ m.content -}}}}{{%- for c in m.tool_calls or [] -%}}\
         {{{{- '<call>' ~ (c.function | tojson) ~ '</call>' -}}}}{{%- endfor -%}}{{{{- ' [/' ~ role ~ ']' -}}}}{{%- endfor -%}}\
         {{%- if add_generation_prompt -%}}{{{{- '[MODEL] ' -}}}}{{%- endif -%}}"
    );
    let found = lint(&ChatTemplate::new(&source, "", "").unwrap()).findings;
    assert!(found.iter().all(|found| found.rule != Rule::MissingEnd), "{found:#?}");
}

#[test]
fn all_faults_are_counted() {
    let count = |report: &Report| (report.fault_count(), report.to_json()["faults"].as_u64());
    let of = |source: &str| lint(&ChatTemplate::new(source, "", "").unwrap());
    assert_eq!(count(&of(WHOLE)), (0, Some(0)));
    // A finding alone, a note alone, and what renders nothing.
    let slip = of(&WHOLE.replace("<object>}\\n</call>", "<object>}\\n</cal>"));
    assert_eq!((slip.faults().count(), count(&slip)), (0, (1, Some(1))), "{:#?}", slip.findings);
    let other =
        WHOLE.replace("so:\\n<call>", "so:\\n<request>").replace("<object>}\\n</call>", "<object>}\\n</request>");
    assert_eq!(count(&of(&other)), (0, Some(0)));
    let silent = of("{{- 'Hello' -}}");
    assert_eq!((silent.renders_nothing(), count(&silent)), (true, (1, Some(1))), "{:#?}", silent.findings);
    // Messages, and a response template that reads fewer of them.
    let raising = of(&WHOLE.replace("{{- f.name -}}", "{{- raise_exception('no') -}}"));
    let messages = raising.faults().count();
    assert!(messages > 0 && count(&raising).0 >= messages, "{:#}", raising.to_json());
    let reading = |response: serde_json::Value| {
        let config = json!({"chat_template": WHOLE, "response_template": response}).to_string();
        lint(&ChatTemplate::new(&config, "", "").unwrap())
    };
    assert_eq!(count(&reading(json!({"defaults": 1}))).0, 1);
}
