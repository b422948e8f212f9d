//! What templates write is read back, and each law finds what breaks it.

use chatparse::lint::{Change, ChangeKind, Law, Outcome, Report, Thinking, Verdict, diff, lint};
use chatparse::{ChatTemplate, TemplateOptions, builtin};
use serde_json::{Value, json};

use crate::turns::source;

/// Laws that built-in templates break on purpose, and why.
const EXCEPTIONS: &[(&str, &[Law], &str)] = &[
    ("gigachat-3", &[Law::Shown], "a turn has one call"),
    ("json-bare", &[Law::Shown], "a turn has a call or content"),
    (
        "tag-json",
        &[Law::Read],
        "reasoning begins with the turn: what was not thought before looks like a thought",
    ),
];

#[test]
fn built_in_templates_are_read_back() {
    for name in builtin::names() {
        let report = lint(&ChatTemplate::builtin(name).unwrap());
        let excepted = EXCEPTIONS.iter().find(|(known, ..)| *known == name);
        let excepted = excepted.map_or(&[][..], |(_, laws, _)| laws);
        let broken: Vec<_> = report
            .faulty()
            .filter(|found| !excepted.contains(&found.law))
            .collect();
        assert!(broken.is_empty(), "{name}: {broken:#?}");
        for law in excepted {
            assert_eq!(report.verdict(*law), Verdict::Fault, "{name} in EXCEPTIONS");
        }
        let mut outcomes = report.cases.iter().map(|case| case.outcome);
        assert!(
            outcomes.any(|outcome| outcome == Outcome::Survives),
            "{name}"
        );
    }
}

fn template(said: &str, opening: &str) -> ChatTemplate {
    ChatTemplate::new(&source(said, opening), "", "").expect("the template compiles")
}

const CALLS: &str = "{{- m.content -}}{%- for c in m.tool_calls or [] -%}{{- '<call>{\"name\": \"' ~ c.function.name ~ \
                     '\", \"arguments\": ' ~ ARGUMENTS ~ '}</call>' -}}{%- endfor -%}";

/// The case of a message with thinking off.
fn case(template: &ChatTemplate, probe: &str) -> chatparse::lint::Case {
    let report = lint(template);
    let mut cases = report.cases.iter();
    let case = cases.find(|case| case.probe == probe && case.thinking == Thinking::Off);
    case.unwrap_or_else(|| panic!("{report:?}")).clone()
}

const PROMPT: &str = "<|user|>Well, what is it?<|end|><|assistant|>";

#[test]
fn a_sound_template_is_read_back() {
    let template = template(
        &CALLS.replace("ARGUMENTS", "c.function.arguments | tojson"),
        "<|assistant|>",
    );
    assert_eq!(lint(&template).faults().count(), 0);
    assert_eq!(case(&template, "content").turn, "Quince");
    assert_eq!(
        case(&template, "one call").turn,
        "<call>{\"name\": \"note\", \"arguments\": {\"text\": \"Quince\"}}</call>"
    );
    let report = lint(&template);
    let omitted = report
        .cases
        .iter()
        .filter(|case| case.outcome == Outcome::Omitted);
    assert!(omitted.clone().count() > 10);
    assert!(omitted.into_iter().all(|case| case.expected == "reasoning"));
}

#[test]
fn quotes_that_are_not_escaped_are_found() {
    let wrong = "c.function.arguments | tojson | replace('\\\\\"', '\"')";
    let template = template(&CALLS.replace("ARGUMENTS", wrong), "<|assistant|>");
    assert_eq!(
        case(&template, "a call with content").outcome,
        Outcome::Survives
    );
    let lost = case(&template, "a text with special characters");
    assert_eq!(lost.outcome, Outcome::Lost);
    let before = format!("{PROMPT}<call>{{\"name\": \"note\", \"arguments\": {{\"text\": \"\"");
    assert_eq!(lost.at, Some(before.len()), "{}", lost.got);
    // The arguments are a text that is no JSON.
    assert!(lost.expected.contains("{\"text\":") && lost.got.contains("\"{\\\"text\\\":"));
}

#[test]
fn calls_with_another_name_are_not_left_out() {
    let calls = CALLS.replace("ARGUMENTS", "c.function.arguments | tojson");
    let upper = template(
        &calls.replace("c.function.name", "(c.function.name | upper)"),
        "<|assistant|>",
    );
    assert_eq!(case(&upper, "no arguments").outcome, Outcome::Lost);
    let silent = template(
        "{{- m.content -}}{%- for c in m.tool_calls or [] -%}{%- endfor -%}",
        "<|assistant|>",
    );
    let omitted = case(&silent, "one call");
    assert_eq!(
        (omitted.outcome, &*omitted.expected),
        (Outcome::Omitted, "calls")
    );
}

/// A sound template, which loses something once a part is replaced.
const WHOLE: &str = "{%- macro name(f) -%}{{- f.name -}}{%- endmacro -%}\
    {%- if tools -%}{{- '<|open|>system\\nCall one of\\n' ~ (tools | tojson) ~ '\\nso:\\n<call>\\n{\"tool\": <name>, \"input\": <object>}\\n</call><|close|>' -}}{%- endif -%}\n\
    {%- for m in messages -%}{{- '<|open|>' ~ m.role ~ '\\n' -}}{%- if m.role == 'assistant' -%}{{- m.content or '' -}}\n\
    {%- for c in m.tool_calls or [] -%}{{- '<call>\\n{\"tool\": \"' ~ name(c.function) ~ '\", \"input\": ' ~ (c.function.arguments | tojson) ~ '}' -}}\n\
    {{- '\\n</call>' -}}{%- endfor -%}{{- '<|close|>' -}}\n\
    {%- else -%}{{- m.content ~ '<|close|>' -}}{%- endif -%}{%- endfor -%}\n\
    {%- if add_generation_prompt -%}{{- '<|open|>assistant\\n' -}}{%- endif -%}";

fn of(source: &str) -> ChatTemplate {
    ChatTemplate::new(source, "", "").expect("the template compiles")
}

/// The sound template with a part replaced.
fn faulty(right: &str, wrong: &str) -> Report {
    let faulty = WHOLE.replace(right, wrong);
    assert_ne!(faulty, WHOLE, "{right}");
    lint(&of(&faulty))
}

#[test]
fn each_law_finds_what_breaks_it() {
    let sound = lint(&of(WHOLE));
    assert_eq!(sound.faulty().count(), 0, "{:#}", sound.to_json());
    for law in [
        Law::Shown,
        Law::Ends,
        Law::Opens,
        Law::Read,
        Law::Text,
        Law::Traced,
        Law::Grows,
        Law::Absent,
    ] {
        assert_eq!(sound.verdict(law), Verdict::Holds, "{law}");
    }
    let content = "{{- m.content ~ '<|close|>' -}}";
    for (right, wrong, law, verdict) in [
        (
            "{{- f.name -}}",
            "{{- f.name | upper -}}",
            Law::Shown,
            Verdict::Fault,
        ),
        (
            "in m.tool_calls or []",
            "in m.calls",
            Law::Shown,
            Verdict::Fault,
        ),
        (
            "{%- for m in messages -%}",
            "{%- for m in messages if m.role != 'system' -%}",
            Law::Shown,
            Verdict::Fault,
        ),
        (
            content,
            "{{- m.content[:20] ~ '<|close|>' -}}",
            Law::Shown,
            Verdict::Fault,
        ),
        (
            "(c.function.arguments | tojson) ~ '}'",
            "'…}'",
            Law::Read,
            Verdict::Fault,
        ),
        (
            "{{- '<|close|>' -}}\n{%- else -%}",
            "{{- '<|close|>' if not m.tool_calls -}}\n{%- else -%}",
            Law::Ends,
            Verdict::Fault,
        ),
        (
            "{{- '<|close|>' -}}\n{%- else -%}",
            "{{- '<|close|>' if messages | length < 5 or not loop.first -}}\n{%- else -%}",
            Law::Ends,
            Verdict::Holds,
        ),
        (
            "'<|open|>assistant\\n' -}}{%- endif -%}",
            "'<|open|>asistant\\n' -}}{%- endif -%}",
            Law::Opens,
            Verdict::Fault,
        ),
        (
            content,
            "{{- m.content.split('<|close|>')[0] ~ '<|close|>' -}}",
            Law::Text,
            Verdict::Fault,
        ),
        (
            content,
            "{{- m.content[::-1] ~ '<|close|>' -}}",
            Law::Traced,
            Verdict::Note,
        ),
        (
            "{%- for m in messages -%}",
            "{{- messages | length -}}{%- for m in messages -%}",
            Law::Grows,
            Verdict::Note,
        ),
        ("m.content or ''", "m.content", Law::Absent, Verdict::Fault),
        (
            "in m.tool_calls or []",
            "in m.tool_calls",
            Law::Absent,
            Verdict::Fault,
        ),
        (
            "{%- if tools -%}",
            "{%- if tools is not none and tools is defined -%}",
            Law::Absent,
            Verdict::Fault,
        ),
        (
            "(c.function.arguments | tojson)",
            "(c.function.arguments | string)",
            Law::Arguments,
            Verdict::Fault,
        ),
        (
            "{%- if add_generation_prompt -%}",
            "{%- if reasoning_effort in ['low', 'medium'] -%}{{- 'Be quick.' -}}{%- endif -%}{%- if add_generation_prompt -%}",
            Law::Effort,
            Verdict::Note,
        ),
    ] {
        let report = faulty(right, wrong);
        assert_eq!(
            report.verdict(law),
            verdict,
            "{wrong}: {:#?}",
            report.findings
        );
        for found in report.findings.iter().filter(|found| found.law == law) {
            assert!(
                !found.shown.is_empty() && found.message.ends_with('.'),
                "{found:#?}"
            );
        }
    }
}

#[test]
fn turns_may_end_in_words() {
    let open = WHOLE.replace(
        "{{- '<|close|>' -}}\n{%- else -%}",
        "{{- '<|close|>' if not m.tool_calls -}}\n{%- else -%}",
    );
    for (source, verdict) in [(WHOLE, Verdict::Holds), (&*open, Verdict::Fault)] {
        let report = lint(&of(&source.replace("<|close|>", " OVER")));
        assert_eq!(report.verdict(Law::Ends), verdict, "{:#?}", report.findings);
    }
}

#[test]
fn findings_show_the_smallest_request() {
    let report = faulty("m.content or ''", "m.content");
    let found = report.faulty().next().expect("a fault");
    assert_eq!(
        found.message,
        "messages[1].content: null beside a call does not render like an empty text."
    );
    let messages = found.request["messages"].as_array().expect("messages");
    assert_eq!((messages.len(), &messages[1]["content"]), (3, &Value::Null));
    assert!(found.shown[1].text.contains("None<call>"), "{found:#?}");
    let json = report.to_json();
    assert_eq!(
        (
            &json["faults"],
            &json["laws"]["absent"],
            &json["findings"][0]["rule"]
        ),
        (&json!(1), &json!("fault"), &json!(found.law))
    );
}

#[test]
fn the_vocabulary_has_the_templates_tokens() {
    let with = |tokens: &[&str], eos: &str| {
        let mut options = TemplateOptions::default();
        options.special_tokens = tokens.iter().map(|token| (*token).to_owned()).collect();
        options.eos = eos.to_owned();
        let report = lint(&ChatTemplate::with_options(WHOLE, &options).unwrap());
        let of_law = report
            .findings
            .into_iter()
            .filter(|found| found.law == Law::Vocabulary);
        Vec::from_iter(of_law.map(|found| (found.is_fault, found.message)))
    };
    assert_eq!(with(&["<|open|>", "<|close|>"], "<|close|>"), []);
    let unknown = "The template writes <|close|>, and the vocabulary does not have it.";
    assert_eq!(
        with(&["<|open|>"], "<|close|>"),
        [(true, unknown.to_owned())]
    );
    let stop = "Turns end with <|close|>, and the model's end tokens are </s>: the engine needs it as a stop.";
    assert_eq!(
        with(&["<|open|>", "<|close|>"], "</s>"),
        [(false, stop.to_owned())]
    );
    let config =
        json!({"chat_template": WHOLE, "added_tokens_decoder": {"1": {"content": "<|open|>"}}});
    let report = lint(&of(&config.to_string()));
    assert_eq!(report.faulty().next().unwrap().message, unknown);
}

#[test]
fn parts_that_are_written_as_data_are_found() {
    const PARTS: &str = "{%- if m.role == 'user' and m.content is not string -%}{%- for p in m.content -%}{{- p.text -}}{%- endfor -%}\
                         {%- else -%}{{- m.content -}}{%- endif -%}{{- '<|close|>' -}}";
    let report = faulty("{{- m.content ~ '<|close|>' -}}", PARTS);
    let roles = report
        .findings
        .iter()
        .filter(|found| found.law == Law::Parts);
    let roles: Vec<_> = roles
        .map(|found| found.message.split('"').nth(1).unwrap())
        .collect();
    assert_eq!(roles, ["system", "assistant", "tool"]);
    assert_eq!(report.verdict(Law::Parts), Verdict::Note);
}

#[test]
fn what_is_written_alike_is_told() {
    let calls = CALLS.replace("ARGUMENTS", "c.function.arguments | tojson");
    let template = template(
        &calls.replace("m.content", "m.content | replace('🎉', '')"),
        "<|assistant|>",
    );
    let alike = case(&template, "content in unicode");
    assert_eq!(
        (alike.outcome, alike.is_fault),
        (Outcome::Alike, false),
        "nothing that a reader could do"
    );
    assert_ne!(alike.expected, alike.got);
    assert_eq!(alike.expected.replace("🎉", ""), alike.got);
}

#[test]
fn a_turn_that_begins_elsewhere_is_found() {
    let template = template(
        &CALLS.replace("ARGUMENTS", "c.function.arguments | tojson"),
        "<|assistant|>\\n",
    );
    let elsewhere = case(&template, "content");
    assert_eq!(
        (elsewhere.outcome, elsewhere.at),
        (Outcome::NoTurn, Some(PROMPT.len()))
    );
    assert!(
        elsewhere.expected.ends_with("<|assistant|>\n")
            && elsewhere.got.ends_with("<|assistant|>Quince<|end|>")
    );
    let report = lint(&template);
    assert_eq!(report.faults().count(), report.cases.len());
    // A thought that the prompt opens, and that no history shows, may be meant.
    let meant = faulty(
        "'<|open|>assistant\\n' -}}{%- endif -%}",
        "'<|open|>assistant\\n<think>\\n' -}}{%- endif -%}",
    );
    assert_eq!(
        meant.verdict(Law::Opens),
        Verdict::Note,
        "{:#?}",
        meant.findings
    );
}

#[test]
fn a_template_that_raises_is_told() {
    let said = "{%- if 'Cake' in (m.tool_calls | string) -%}{{- raise_exception('no cake') -}}{%- endif -%}".to_owned();
    let template = template(
        &(said + &CALLS.replace("ARGUMENTS", "c.function.arguments | tojson")),
        "<|assistant|>",
    );
    let refused = case(&template, "parallel calls");
    assert_eq!(refused.outcome, Outcome::Refused);
    assert!(refused.got.contains("no cake"), "{}", refused.got);
    assert_eq!(refused.place.map(|place| place.line), Some(1));
}

#[test]
fn what_cannot_be_traced_is_told() {
    let calls = CALLS.replace("ARGUMENTS", "c.function.arguments | tojson");
    let reversed = template(
        &calls.replace("m.content", "m.content[::-1]"),
        "<|assistant|>",
    );
    let report = lint(&reversed);
    let found = report
        .findings
        .iter()
        .find(|found| found.law == Law::Traced)
        .unwrap();
    assert_eq!(found.shown[0].text, ".yas I ,raldeM");
    let raising = template(&(calls + "{{- raise_exception('no') -}}"), "<|assistant|>");
    assert_eq!(lint(&raising).verdict(Law::Traced), Verdict::NotAsked);
}

#[test]
fn a_response_template_reads_as_much() {
    let reading = |response: Value| {
        let config = json!({"chat_template": WHOLE, "response_template": response}).to_string();
        lint(&of(&config)).verdict(Law::Response)
    };
    assert_eq!(reading(json!({"defaults": 1})), Verdict::Fault);
    assert_eq!(lint(&of(WHOLE)).verdict(Law::Response), Verdict::NotAsked);
}

/// The changes from the sound template to one with a part replaced, and back.
fn changes(right: &str, wrong: &str) -> [Vec<Change>; 2] {
    let (old, new) = (of(WHOLE), of(&WHOLE.replace(right, wrong)));
    [diff(&old, &new), diff(&new, &old)]
}

#[test]
fn each_change_is_named_with_its_kind() {
    assert_eq!(diff(&of(WHOLE), &of(WHOLE)), []);
    for (right, wrong, kind) in [
        (
            "{%- for m in messages -%}",
            "{%- for m in messages if m.role != 'system' -%}",
            ChangeKind::Lost,
        ),
        (
            "{%- for m in messages -%}",
            "{%- for m in messages | reverse -%}",
            ChangeKind::Order,
        ),
        (
            "'<|open|>' ~ m.role",
            "'<|begin|>' ~ m.role",
            ChangeKind::Prompt,
        ),
        (
            "{%- for m in messages -%}",
            "{%- for m in messages -%}{%- if m.role == 'developer' -%}{{- raise_exception('who?') -}}{%- endif -%}",
            ChangeKind::Error,
        ),
        ("</call>' -}}", "</done>' -}}", ChangeKind::Output),
    ] {
        for (changes, is_back) in changes(right, wrong).iter().zip([false, true]) {
            let mut of_kind = changes.iter().filter(|change| change.kind == kind);
            let change = of_kind
                .next()
                .unwrap_or_else(|| panic!("{wrong}: {changes:#?}"));
            assert!(
                change.count > 0 && change.message.ends_with(['.', '…']),
                "{change:#?}"
            );
            if [ChangeKind::Lost, ChangeKind::Error].contains(&kind) {
                assert_eq!(change.is_better, Some(is_back), "{change:#?}");
            }
        }
    }
    let [worse, better] = changes("m.content or ''", "m.content");
    let law = |changes: &[Change]| {
        let of_law = changes.iter().find(|change| change.kind == ChangeKind::Law);
        of_law.map(|change| (change.is_better, change.message.clone()))
    };
    let words = Law::Absent.sentence();
    assert_eq!(
        law(&worse),
        Some((Some(false), format!("absent: holds → fault. {words}")))
    );
    assert_eq!(
        law(&better),
        Some((Some(true), format!("absent: fault → holds. {words}")))
    );
}

#[test]
fn an_id_in_earlier_turns_only_changes_the_prompt() {
    let calls = CALLS.replace("ARGUMENTS", "c.function.arguments | tojson");
    let grows = |id: &str| {
        let calls = calls.replace("'}</call>'", &format!("{id} ~ '}}</call>'"));
        lint(&template(&calls, "<|assistant|>")).verdict(Law::Grows)
    };
    assert_eq!(grows("', \"id\": \"' ~ c.id ~ '\"'"), Verdict::Holds);
    let earlier = "('' if messages[-1] == m else ', \"id\": \"' ~ c.id ~ '\"')";
    assert_eq!(grows(earlier), Verdict::Note);
}
