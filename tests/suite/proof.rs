//! What a template writes is read back, and who reads it best does.

use chatparse::internals::format::family_of;
use chatparse::proof::Thinking;
use chatparse::{ChatTemplate, Request, TemplateOptions, builtin};

use crate::turns::source;

fn template(said: &str) -> ChatTemplate {
    ChatTemplate::new(&source(said, "<|assistant|>"), "", "").expect("the template compiles")
}

/// JSON calls behind the content, with the arguments as written.
fn calls(arguments: &str) -> String {
    "{{- m.content -}}{%- for c in m.tool_calls or [] -%}{{- '<call>{\"name\": \"' ~ c.function.name ~ \
     '\", \"arguments\": ' ~ ARGUMENTS ~ '}</call>' -}}{%- endfor -%}"
        .replace("ARGUMENTS", arguments)
}

const JSON: &str = "c.function.arguments | tojson";

/// What makes templates a family's, for those that look at the source only.
const QWEN: &str = "{# <tool_call> <function= <parameter= #}";
const GPT_OSS: &str = "{# <|channel|> #}";

#[test]
fn built_in_templates_are_whole() {
    for name in builtin::names() {
        let template = ChatTemplate::builtin(name).unwrap();
        let proof = template.proof();
        // Reasoning begins with the turn: what was not thought before looks like a thought.
        let excepted = name == "tag-json";
        let failures: Vec<_> = proof
            .failures
            .iter()
            .filter(|failure| !excepted || failure.thinking == Thinking::On)
            .collect();
        assert!(failures.is_empty(), "{name}: {failures:#?}");
        assert_eq!(proof.is_whole(), !excepted, "{name}");
        assert_eq!(proof.read_back + proof.failures.len(), proof.cases);
        // Engines stop behind a call of GPT-OSS, so its grammar has no further ones.
        let is_right = proof.grammar_right == proof.grammar_cases || template.reader() == "gpt-oss";
        assert!(
            is_right && (proof.grammar_cases > 10) == (proof.with_calls > 10),
            "{name}: {proof:?}"
        );
        assert_eq!(proof.reader, template.reader());
        // Its source looks like GPT-OSS's, which cannot read its calls.
        let known = template.reader() != "turn" || name == "harmony-xml";
        assert_eq!(
            known,
            family_of(template.source()).is_some(),
            "{name}: {}",
            proof.reader
        );
    }
}

#[test]
fn who_reads_all_has_nobody_else_asked() {
    let template = template(&calls(JSON));
    let tried: Vec<_> = template
        .choice()
        .tried
        .iter()
        .map(|tried| (tried.reader, tried.cases > 0))
        .collect();
    assert_eq!(tried, []);
    assert_eq!(template.reader(), "turn");
    let proof = template.proof();
    assert!(
        proof.is_whole() && proof.cases > 60 && proof.with_calls > 50,
        "{proof:?}"
    );
    assert_eq!(
        (proof.recovered, proof.alike, proof.no_turn, proof.refused),
        (0, 0, 0, 0)
    );
}

#[test]
fn a_family_that_cannot_read_loses() {
    let taken = |marks: &str, change: fn(&mut TemplateOptions)| {
        let source = source(&calls(JSON), "<|assistant|>") + marks;
        let mut options = TemplateOptions::default();
        change(&mut options);
        let template = ChatTemplate::with_options(&source, &options).unwrap();
        let tried = template
            .choice()
            .tried
            .iter()
            .map(|tried| tried.reader)
            .collect::<Vec<_>>();
        (template.reader(), tried.len())
    };
    assert_eq!(
        taken(QWEN, |_| ()),
        ("turn", 0),
        "it does not write what the row is about"
    );
    assert_eq!(taken(GPT_OSS, |_| ()), ("turn", 2));
    assert_eq!(
        taken(GPT_OSS, |options| options.prove = false),
        ("gpt-oss", 0)
    );
    assert_eq!(
        taken(GPT_OSS, |options| options.learn_only = true),
        ("turn", 0)
    );
    // A family that reads has nobody else read, and one that only adds to what was learnt need not
    // read.
    let tried = |name: &str| {
        let template = ChatTemplate::builtin(name).unwrap();
        assert_eq!(template.reader(), name);
        template
            .choice()
            .tried
            .iter()
            .map(|tried| (tried.cases, tried.read_back))
            .collect::<Vec<_>>()
    };
    let all = tried("gemma-4");
    assert!(
        all[0].0 > 0 && all[0].0 == all[0].1 && all[1] == (0, 0),
        "{all:?}"
    );
    assert_eq!(tried("qwen3-coder"), []);
}

#[test]
fn the_reader_makes_params_and_prompts() {
    let source = source(&calls(JSON), "<|assistant|>") + GPT_OSS;
    let request = Request::from_text(
        r#"{"messages": [{"role": "user", "content": "Hi"}], "tools": [{"type": "function", "function": {"name": "note"}}]}"#,
    )
    .unwrap();
    let triggers = |prove: bool| {
        let mut options = TemplateOptions::default();
        options.prove = prove;
        let params = ChatTemplate::with_options(&source, &options)
            .unwrap()
            .params(&request)
            .unwrap();
        params
            .constraint
            .triggers()
            .iter()
            .map(|trigger| trigger.value.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(triggers(true), ["<call>"]);
    assert_ne!(triggers(false), ["<call>"]);
}

#[test]
fn what_does_not_come_back_is_told() {
    let template = template(&calls(
        "c.function.arguments | tojson | replace('\\\\\"', '\"')",
    ));
    let proof = template.proof();
    assert!(!proof.is_whole() && proof.read_back > 40, "{proof:?}");
    let failure = proof
        .failures
        .iter()
        .find(|failure| failure.probe == "a text with special characters")
        .unwrap();
    assert!(
        failure.turn.starts_with("<call>") && failure.expected.contains("{curly}"),
        "{failure:?}"
    );
    assert!(
        failure.why.contains("call") && failure.got != failure.expected,
        "{failure:?}"
    );
    let json = proof.to_json();
    assert_eq!(
        json["failures"].as_array().unwrap().len(),
        proof.failures.len()
    );
    assert_eq!(json["read_back"], proof.read_back);
}

/// Calls between these texts, with this in front of each argument, and with the name in front of
/// all or behind them.
fn one_by_one(section: [&str; 2], call: [&str; 2], argument: &str, name_first: bool) -> String {
    let name = "{{- c.function.name -}}";
    let value = "(v if v is string else v | tojson)";
    let argument = argument
        .replace('K', "' ~ k ~ '")
        .replace('V', &format!("' ~ {value} ~ '"));
    let arguments = format!(
        "{{%- for k, v in c.function.arguments | items -%}}{{{{- '{argument}' -}}}}{{%- endfor -%}}"
    );
    let inside = if name_first {
        [name, &arguments]
    } else {
        [&*arguments, name]
    };
    let [open, close, first, last] =
        [section[0], section[1], call[0], call[1]].map(|text| format!("{{{{- '{text}' -}}}}"));
    let [inner, outer] = inside;
    format!(
        "{{{{- m.content -}}}}{{%- if m.tool_calls -%}}{open}{{%- for c in m.tool_calls -%}}{first}{inner}\
         {{{{- '{between}' -}}}}{outer}{last}{{%- endfor -%}}{close}{{%- endif -%}}",
        between = if name_first { "\\n" } else { " => " },
    )
}

/// Whether a grammar of required calls takes each text, which has `weather` with a city.
fn takes(template: &ChatTemplate, texts: &[&str]) -> Vec<bool> {
    let request = Request::from_text(
        r#"{"messages": [{"role": "user", "content": "Hi"}], "tool_choice": "required", "tools": [{"type": "function", "function":
           {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
           "required": ["city"]}}}]}"#,
    )
    .unwrap();
    let params = template.params(&request).unwrap();
    let of = |text: &&str| {
        let mut matcher = params.matcher().unwrap();
        matcher
            .feed(text.as_bytes())
            .is_ok_and(|taken| taken == text.len())
            && matcher.may_end()
    };
    texts.iter().map(of).collect()
}

#[test]
fn a_grammar_takes_what_is_read_and_no_part_of_it() {
    let tags = "<K>V</K>";
    let none = [""; 2];
    let rows = [
        // A token closes the section; engines do not stop there.
        (
            one_by_one(["<|calls|>", "<|/calls|>"], ["<", "</use>"], tags, true),
            "<|calls|><weather\n<city>Oslo</city></use><|/calls|>",
            "",
        ),
        // Text in lines, where the name closes the call.
        (
            one_by_one(none, ["<c>", "</c>"], "K: V\\n", false),
            "<c>city: a < b\n => weather</c>",
            "<c> => weather</c>",
        ),
        // The name is the last of the output.
        (
            one_by_one(none, none, tags, false),
            "<city>Oslo</city> => weather",
            " => weather",
        ),
        (
            one_by_one(["«", "»"], none, tags, false),
            "«<city>Oslo</city> => weather»",
            "« => weather»",
        ),
    ];
    for (said, whole, lacking) in rows {
        let template = template(&said);
        let proof = template.proof();
        assert!(
            proof.is_whole() && proof.grammar_cases > 30,
            "{said}: {proof:#?}"
        );
        assert_eq!(
            (proof.grammar_right, &*proof.grammar_fault),
            (proof.grammar_cases, ""),
            "{said}"
        );
        assert_eq!(takes(&template, &[whole, lacking]), [true, false], "{said}");
        let parts: Vec<&str> = whole.char_indices().map(|(at, _)| &whole[..at]).collect();
        let closed = parts.iter().filter(|part| !part.ends_with("</city>"));
        assert!(
            !takes(&template, &closed.copied().collect::<Vec<_>>()).contains(&true),
            "{said}"
        );
    }
}

#[test]
fn calls_without_arguments_have_no_grammar() {
    let said = "{{- m.content -}}{%- for c in m.tool_calls or [] -%}{{- '<call>' ~ c.function.name ~ '</call>' -}}{%- endfor -%}";
    let template = template(said);
    let body = r#"{"messages": [{"role": "user", "content": "Hi"}], "tool_choice": "required",
                   "tools": [{"type": "function", "function": {"name": "note"}}]}"#;
    let params = template.params(&Request::from_text(body).unwrap()).unwrap();
    let report: Vec<&str> = params
        .grammar()
        .report
        .iter()
        .map(|difference| &*difference.message)
        .collect();
    assert!(
        params.grammar().text.is_empty() && report[0].contains("none with arguments"),
        "{report:?}"
    );
    assert!(template.proof().grammar_cases == 0);
}

#[test]
fn what_the_grammar_refuses_is_told() {
    // Quotes within texts are not escaped: they are read, but no grammar has them.
    let said = "{{- m.content -}}{%- for c in m.tool_calls or [] -%}{{- '[' ~ c.function.name ~ '(' -}}\
                {%- for k, v in c.function.arguments | items -%}{{- k ~ '=' ~ ('\"' ~ v ~ '\"' if v is string else v) -}}\
                {%- if not loop.last -%}{{- ', ' -}}{%- endif -%}{%- endfor -%}{{- ')]' -}}{%- endfor -%}";
    let template = template(said);
    let proof = template.proof();
    assert!(
        proof.grammar_right < proof.grammar_cases && proof.grammar_right > 0,
        "{proof:#?}"
    );
    assert!(
        proof
            .grammar_fault
            .starts_with("refuses [note(text=\"\"double\""),
        "{}",
        proof.grammar_fault
    );
    assert_eq!(proof.to_json()["grammar_right"], proof.grammar_right);
}

#[test]
fn what_is_written_alike_is_no_failure() {
    let written = "{%- set written = namespace(all={}) -%}{%- for k, v in c.function.arguments | items -%}\
                   {%- if v is not none -%}{%- set written.all = dict(written.all, **{k: v}) -%}{%- endif -%}{%- endfor -%}";
    let said = calls("written.all | tojson").replace("or [] -%}", &format!("or [] -%}}{written}"));
    let proof = template(&said).proof().clone();
    assert!(
        proof.is_whole() && proof.alike > 0 && proof.read_back + proof.alike > proof.cases,
        "{proof:#?}"
    );
    // What was a call is no call any more: nobody means that.
    let unread =
        "{{- m.content -}}{%- for c in m.tool_calls or [] -%}{{- ' ~called~' -}}{%- endfor -%}";
    let mut options = TemplateOptions::default();
    options.prove = false;
    let layout = ChatTemplate::with_options(&source(unread, "<|assistant|>"), &options).unwrap();
    let proof = layout.proof();
    let lost = proof
        .failures
        .iter()
        .filter(|failure| failure.expected.contains("{\"name\":"));
    assert_eq!(
        (lost.count(), proof.alike),
        (proof.with_calls, 0),
        "{proof:?}"
    );
}

#[test]
fn where_a_turn_begins_elsewhere_it_is_read_behind_what_is_common() {
    let source = source(&calls(JSON), "<|assistant|><think>\\n");
    let template = ChatTemplate::new(&source, "", "").unwrap();
    let proof = template.proof();
    assert!(
        proof.cases > 20 && proof.cases + proof.no_turn > 60,
        "{proof:?}"
    );
    assert_eq!(proof.no_turn, 2 * proof.cases);
}

#[test]
fn what_cannot_be_rendered_counts_neither_way() {
    let refusing = "{%- if 'Cake' in (m.tool_calls | string) -%}{{- raise_exception('no cake') -}}{%- endif -%}";
    let template = template(&(refusing.to_owned() + &calls(JSON)));
    let proof = template.proof();
    assert!(
        proof.is_whole() && proof.refused > 0 && proof.refusal.contains("no cake"),
        "{proof:?}"
    );
    assert!(!proof.refuses_all());
    let proof = ChatTemplate::new("{{ raise_exception('never') }}", "", "")
        .unwrap()
        .proof()
        .clone();
    assert!(
        proof.refuses_all() && !proof.is_whole() && proof.refusal.contains("never"),
        "{proof:?}"
    );
}

#[test]
fn calls_that_are_left_out_are_not_asked_for() {
    // The name is in the source, but the loop shows nothing.
    let template = template("{{- m.content -}}{%- for c in m.tool_calls or [] -%}{%- endfor -%}");
    let proof = template.proof();
    assert!(
        proof.is_whole() && proof.omitted > 40 && proof.with_calls == 0,
        "{proof:?}"
    );
}
