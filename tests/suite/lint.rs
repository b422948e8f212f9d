//! What templates write is read back, and where a template writes something else is reported.

use chatparse::lint::{Difference, Outcome, Report, Rule, Thinking, lint};
use chatparse::next::{Kind, Preserved};
use chatparse::{ChatTemplate, TemplateOptions, builtin};
use serde_json::json;

use crate::turns::source;

/// Built-in templates that cannot say everything, and why.
const EXCEPTIONS: &[(&str, &str)] = &[(
    "tag-json",
    "reasoning begins with the turn: what was not thought before looks like a thought",
)];

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
        let findings: Vec<_> = report
            .findings
            .iter()
            .filter(|found| found.rule != Rule::PrintedParts)
            .collect();
        assert!(findings.is_empty(), "{name}: {findings:#?}");
        assert_eq!(
            report.faults().count() > 0,
            excepted,
            "{name} in EXCEPTIONS"
        );
        assert!(
            report
                .cases
                .iter()
                .any(|case| case.outcome == Outcome::Survives),
            "{name}"
        );
    }
}

fn template(said: &str, opening: &str) -> ChatTemplate {
    ChatTemplate::new(&source(said, opening), "", "").expect("the template compiles")
}

const CALLS: &str = "{{- m.content -}}{%- for c in m.tool_calls or [] -%}{{- '<call>{\"name\": \"' ~ c.function.name ~ \
                     '\", \"arguments\": ' ~ ARGUMENTS ~ '}</call>' -}}{%- endfor -%}";

fn outcome(template: &ChatTemplate, probe: &str) -> Outcome {
    let report = lint(template);
    let case = report
        .cases
        .iter()
        .find(|case| case.probe == probe && case.thinking == Thinking::Off);
    case.unwrap_or_else(|| panic!("{report:?}")).outcome.clone()
}

const PROMPT: &str = "<|user|>Well, what is it?<|end|><|assistant|>";

#[test]
fn a_sound_template_is_read_back() {
    let template = template(
        &CALLS.replace("ARGUMENTS", "c.function.arguments | tojson"),
        "<|assistant|>",
    );
    let report = lint(&template);
    assert_eq!(report.faults().count(), 0, "{:#}", report.to_json());
    let turn = |probe: &str| {
        &report
            .cases
            .iter()
            .find(|case| case.probe == probe)
            .unwrap()
            .turn
    };
    assert_eq!(turn("content"), "Quince");
    assert_eq!(
        turn("one call"),
        "<call>{\"name\": \"note\", \"arguments\": {\"text\": \"Quince\"}}</call>"
    );
    let omitted = report
        .cases
        .iter()
        .filter(|case| case.outcome == Outcome::Omitted("reasoning"));
    assert!(omitted.count() > 10);
}

#[test]
fn quotes_that_are_not_escaped_are_found() {
    let wrong = "c.function.arguments | tojson | replace('\\\\\"', '\"')";
    let template = template(&CALLS.replace("ARGUMENTS", wrong), "<|assistant|>");
    assert_eq!(outcome(&template, "a call with content"), Outcome::Survives);
    let Outcome::Lost(Difference {
        at, expected, got, ..
    }) = outcome(&template, "a text with special characters")
    else {
        panic!()
    };
    let before = format!("{PROMPT}<call>{{\"name\": \"note\", \"arguments\": {{\"text\": \"\"");
    assert_eq!(at, Some(before.len()), "{got}");
    // The arguments are a text that is no JSON.
    assert!(
        expected.contains("{\"text\":") && got.contains("\"{\\\"text\\\":"),
        "{expected} {got}"
    );
}

#[test]
fn calls_with_another_name_are_not_left_out() {
    let calls = CALLS.replace("ARGUMENTS", "c.function.arguments | tojson");
    let upper = template(
        &calls.replace("c.function.name", "(c.function.name | upper)"),
        "<|assistant|>",
    );
    assert!(matches!(outcome(&upper, "no arguments"), Outcome::Lost(_)));
    let silent = template(
        "{{- m.content -}}{%- for c in m.tool_calls or [] -%}{%- endfor -%}",
        "<|assistant|>",
    );
    assert_eq!(outcome(&silent, "one call"), Outcome::Omitted("calls"));
}

/// A sound template, which loses something once a part is replaced.
const WHOLE: &str = "{%- macro name(f) -%}{{- f.name -}}{%- endmacro -%}\
    {%- if tools -%}{{- '<|open|>system\\nCall one of\\n' ~ (tools | tojson) ~ '\\nso:\\n<call>\\n{\"tool\": <name>, \"input\": <object>}\\n</call><|close|>' -}}{%- endif -%}\n\
    {%- for m in messages -%}{{- '<|open|>' ~ m.role ~ '\\n' -}}{%- if m.role == 'assistant' -%}{{- m.content or '' -}}\n\
    {%- for c in m.tool_calls or [] -%}{{- '<call>\\n{\"tool\": \"' ~ name(c.function) ~ '\", \"input\": ' ~ (c.function.arguments | tojson) ~ '}' -}}\n\
    {{- '\\n</call>' -}}{%- endfor -%}{{- '<|close|>' -}}\n\
    {%- else -%}{{- m.content ~ '<|close|>' -}}{%- endif -%}{%- endfor -%}\n\
    {%- if add_generation_prompt -%}{{- '<|open|>assistant\\n' -}}{%- endif -%}";

#[test]
fn calls_that_are_not_shown_as_they_are_are_found() {
    let of = |source: &str| ChatTemplate::new(source, "", "").expect("the template compiles");
    let sound = lint(&of(WHOLE));
    assert_eq!(
        (
            sound.findings,
            sound
                .cases
                .iter()
                .filter(|case| case.outcome == Outcome::Survives)
                .count()
                > 20
        ),
        (vec![], true)
    );
    for (right, wrong, rule) in [
        (
            "{{- f.name -}}",
            "{{- f.name | upper -}}",
            Rule::ChangedName,
        ),
        ("in m.tool_calls or []", "in m.calls", Rule::HiddenCalls),
        (
            "(c.function.arguments | tojson) ~ '}'",
            "'…}'",
            Rule::UnreadCalls,
        ),
    ] {
        let faulty = WHOLE.replace(right, wrong);
        assert_ne!(faulty, WHOLE, "{right}");
        let report = lint(&of(&faulty));
        let found = report.findings.iter().find(|found| found.rule == rule);
        let found = found.unwrap_or_else(|| panic!("{wrong}: {:#?}", report.findings));
        assert!(
            found.shown.len() == 2 && found.shown.iter().all(|shown| !shown.text.is_empty()),
            "{found:#?}"
        );
    }
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
    assert_eq!(
        (found[0].rule, &*found[0].subject),
        (Rule::UnknownToken, "<|close|>")
    );
    assert_eq!(found[0].shown[1].text, "2 special tokens, and not this one");
    let config =
        json!({"chat_template": WHOLE, "added_tokens_decoder": {"1": {"content": "<|open|>"}}})
            .to_string();
    let found = lint(&ChatTemplate::new(&config, "", "").unwrap()).findings;
    assert_eq!(
        found
            .iter()
            .map(|found| &*found.subject)
            .collect::<Vec<_>>(),
        ["<|close|>"]
    );
}

/// Parts of the user are texts, and those of others are data.
const PARTS: &str = "{%- if m.role == 'user' and m.content is not string -%}{%- for p in m.content -%}{{- p.text -}}{%- endfor -%}\
                     {%- else -%}{{- m.content -}}{%- endif -%}{{- '<|close|>' -}}";

#[test]
fn parts_that_are_written_as_data_are_found() {
    let source = WHOLE.replace("{{- m.content ~ '<|close|>' -}}", PARTS);
    assert_ne!(source, WHOLE);
    let found = lint(&ChatTemplate::new(&source, "", "").unwrap()).findings;
    let found: Vec<_> = found
        .iter()
        .map(|found| (found.rule, found.is_fault, found.shown[0].from))
        .collect();
    assert_eq!(found, [(Rule::PrintedParts, false, "system")]);
    assert_eq!(
        lint(&ChatTemplate::new(WHOLE, "", "").unwrap()).findings,
        []
    );
}

#[test]
fn what_is_written_alike_is_told() {
    let calls = CALLS.replace("ARGUMENTS", "c.function.arguments | tojson");
    let template = template(
        &calls.replace("m.content", "m.content | replace('🎉', '')"),
        "<|assistant|>",
    );
    let Outcome::Alike(Difference { expected, got, .. }) = outcome(&template, "content in unicode")
    else {
        panic!()
    };
    assert_ne!(expected, got);
    assert_eq!(expected.replace("🎉", ""), got);
    assert_eq!(
        lint(&template).faults().count(),
        0,
        "nothing that a reader could do"
    );
}

#[test]
fn a_turn_that_begins_elsewhere_is_found() {
    let template = template(
        &CALLS.replace("ARGUMENTS", "c.function.arguments | tojson"),
        "<|assistant|>\\n",
    );
    let Outcome::NoTurn(difference) = outcome(&template, "content") else {
        panic!()
    };
    assert_eq!(difference.at, Some(PROMPT.len()));
    assert!(
        difference.expected.ends_with("<|assistant|>\n")
            && difference.got.ends_with("<|assistant|>Quince<|end|>")
    );
    assert_eq!(
        lint(&template).faults().count(),
        lint(&template).cases.len()
    );
}

#[test]
fn a_template_that_raises_is_told() {
    let said = "{%- if 'Cake' in (m.tool_calls | string) -%}{{- raise_exception('no cake') -}}{%- endif -%}".to_owned();
    let template = template(
        &(said + &CALLS.replace("ARGUMENTS", "c.function.arguments | tojson")),
        "<|assistant|>",
    );
    let Outcome::Refused(error) = outcome(&template, "parallel calls") else {
        panic!()
    };
    assert!(error.message().contains("no cake"), "{error}");
    assert_eq!(error.place().map(|place| place.line), Some(1));
}

#[test]
fn what_cannot_be_traced_is_told() {
    let calls = CALLS.replace("ARGUMENTS", "c.function.arguments | tojson");
    assert_eq!(
        lint(&template(&calls, "<|assistant|>")).untraced,
        Some(vec![])
    );
    let reversed = template(
        &calls.replace("m.content", "m.content[::-1]"),
        "<|assistant|>",
    );
    assert_eq!(lint(&reversed).untraced, Some(vec![".sniar tI".to_owned()]));
    let raising = template(&(calls + "{{- raise_exception('no') -}}"), "<|assistant|>");
    assert_eq!(lint(&raising).untraced, None);
}

#[test]
fn an_id_in_earlier_turns_only_changes_the_prompt() {
    let calls = CALLS.replace("ARGUMENTS", "c.function.arguments | tojson");
    let with = |id: &str| {
        template(
            &calls.replace("'}</call>'", &format!("{id} ~ '}}</call>'")),
            "<|assistant|>",
        )
    };
    let always = with("', \"id\": \"' ~ c.id ~ '\"'");
    assert_eq!(
        always.preserves(Kind::ToolStep, Thinking::Off),
        Preserved::Yes
    );
    let earlier = with("('' if messages[-1] == m else ', \"id\": \"' ~ c.id ~ '\"')");
    assert!(matches!(
        earlier.preserves(Kind::ToolStep, Thinking::Off),
        Preserved::No(_)
    ));
}

#[test]
fn all_faults_are_counted() {
    let count = |report: &Report| (report.fault_count(), report.to_json()["faults"].as_u64());
    let of = |source: &str| lint(&ChatTemplate::new(source, "", "").unwrap());
    assert_eq!(count(&of(WHOLE)), (0, Some(0)));
    // A finding alone, a note alone, and what renders nothing.
    let of_tokens = |tokens: &[&str]| {
        let mut options = TemplateOptions::default();
        options.special_tokens = tokens.iter().map(|token| (*token).to_owned()).collect();
        lint(&ChatTemplate::with_options(WHOLE, &options).unwrap())
    };
    let unknown = of_tokens(&["<|open|>"]);
    assert_eq!(
        (unknown.faults().count(), count(&unknown)),
        (0, (1, Some(1))),
        "{:#?}",
        unknown.findings
    );
    let parts = of(&WHOLE.replace("{{- m.content ~ '<|close|>' -}}", PARTS));
    assert_eq!(
        (parts.findings.len(), count(&parts)),
        (1, (0, Some(0))),
        "{:#?}",
        parts.findings
    );
    let silent = of("{{- 'Hello' -}}");
    assert_eq!(
        (silent.renders_nothing(), count(&silent)),
        (true, (1, Some(1))),
        "{:#?}",
        silent.findings
    );
    // Messages, and a response template that reads fewer of them.
    let raising = of(&WHOLE.replace("{{- f.name -}}", "{{- raise_exception('no') -}}"));
    let messages = raising.faults().count();
    assert!(
        messages > 0 && count(&raising).0 >= messages,
        "{:#}",
        raising.to_json()
    );
    let reading = |response: serde_json::Value| {
        let config = json!({"chat_template": WHOLE, "response_template": response}).to_string();
        lint(&ChatTemplate::new(&config, "", "").unwrap())
    };
    assert_eq!(count(&reading(json!({"defaults": 1}))).0, 1);
}
