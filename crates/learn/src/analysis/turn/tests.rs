//! Small templates, and what is learnt of them.

use super::*;
use crate::{Writing, family_of};

/// A template that writes an assistant's message like `turn`, in which `m` is the message, and ends
/// prompts with `opening`.
fn source(turn: &str, opening: &str) -> String {
    format!(
        "{{%- for m in messages -%}}{{%- if m.role == 'assistant' -%}}{turn}\
         {{%- else -%}}<user>{{{{ m.content }}}}</user>{{%- endif -%}}{{%- endfor -%}}\
         {{%- if add_generation_prompt -%}}{opening}{{%- endif -%}}"
    )
}

/// A turn with content, and calls that are written like `call`, in which `f` is the function.
fn calls(call: &str) -> String {
    let calls = format!(
        "{{%- for c in m.tool_calls or [] -%}}{{%- set f = c.function -%}}{call}{{%- endfor -%}}"
    );
    source(
        &format!("<bot>{{{{ m.content or '' }}}}{calls}</bot>"),
        "<bot>",
    )
}

fn learnt(source: &str) -> TurnFormat {
    learn(
        &Template::new(source, "<s>", "</s>").unwrap().probing(),
        true,
    )
}

/// The texts of the rows with this name.
fn rows(turn: &TurnFormat, name: &str) -> Vec<String> {
    let own = turn.rows().into_iter().filter(|(row, _)| row == name);
    own.map(|(_, text)| text).collect()
}

#[test]
fn each_part_has_its_glue() {
    let turn = learnt(&source(
        "<bot>{%- if m.reasoning_content -%}{{ '<think>' ~ m.reasoning_content ~ '</think>\n' }}{%- endif -%}\
         {{- m.content or '' -}}\
         {%- for c in m.tool_calls or [] -%}\
         <call>{{ c.function.name }}{{ c.function.arguments | tojson }}</call>{%- endfor -%}</bot>",
        "<bot>",
    ));
    let expected = [
        ("user", "<user>"),
        ("assistant", "<bot>"),
        ("opening", "<bot>"),
        ("reasoning", "<think>…</think>\n"),
        ("content → call", "<call>"),
        ("call → call", "<call>"),
        ("reasoning → call", "<call>"),
        ("prompt → call", "<call>"),
        ("reasoning → content", ""),
        ("call → end", ""),
        ("content → end", ""),
        ("prompt → content", ""),
        ("call", "‹name›‹arguments›</call>"),
        ("end", "</bot>"),
    ];
    assert_eq!(
        turn.rows(),
        expected.map(|(name, text)| (name.to_owned(), text.to_owned()))
    );
}

#[test]
fn a_separator_is_no_part_of_a_call() {
    let turn = learnt(&source(
        "<bot>{{ m.content or '' }}{%- if m.tool_calls -%}[\
         {%- for c in m.tool_calls -%}{{- '{\"name\": \"' ~ c.function.name ~ '\", \"arguments\": ' -}}\
         {{- c.function.arguments | tojson ~ '}' -}}{%- if not loop.last -%}, {% endif -%}{%- endfor -%}\
         ]{%- endif -%}</bot>",
        "<bot>",
    ));
    assert_eq!(rows(&turn, "call → call"), [", {\"name\": \""]);
    assert_eq!(rows(&turn, "call → end"), ["]"]);
    assert_eq!(
        rows(&turn, "call"),
        ["‹name›\", \"arguments\": ‹arguments›}"]
    );
    assert_eq!(
        turn.call_keys(),
        Some(["name", "arguments"].map(str::to_owned))
    );
}

#[test]
fn names_and_numbers_of_calls_are_placeholders() {
    let turn = learnt(&calls(
        "<{{ f.name }} n={{ loop.index0 }}>{{ f.arguments | tojson }}</{{ f.name }}>",
    ));
    assert_eq!(
        rows(&turn, "call"),
        ["‹name› n=‹number›>‹arguments›</‹name›>"]
    );
    assert_eq!(rows(&turn, "call → call"), ["<"]);
}

#[test]
fn arguments_one_by_one_have_slots_by_kind() {
    let turn = learnt(&calls(
        "<call>{{ f.name }}({%- for k, v in f.arguments.items() -%}{{ k }}={{ v | tojson }}\
         {%- if not loop.last -%}, {% endif -%}{%- endfor -%})</call>",
    ));
    let members = turn.members().next().unwrap();
    assert!(members.is_python());
    assert_eq!(members.next, ", ".into());
    assert_eq!(members.shown_slot().unwrap().encoding, Encoding::Quoted);
    assert_eq!(rows(&turn, "argument: text"), ["‹key›=\"…\""]);
    assert_eq!(
        rows(&turn, "call"),
        [
            "‹name›(‹key›=\"‹value›\"(, ‹key›=\"‹value›\")*)</call>",
            "‹name›()</call>"
        ]
    );
}

#[test]
fn texts_between_tags_are_raw() {
    let turn = learnt(&calls(
        "<call={{ f.name }}>{%- for k, v in f.arguments.items() -%}<arg={{ k }}>{{ v if v is string else v | tojson }}</arg>\
         {%- endfor -%}</call>",
    ));
    assert_eq!(rows(&turn, "argument: text"), ["‹key›>…</arg>"]);
    assert_eq!(
        turn.members()
            .next()
            .unwrap()
            .shown_slot()
            .unwrap()
            .encoding,
        Encoding::Raw
    );
    assert_eq!(
        rows(&turn, "call"),
        [
            "‹name›>(<arg=‹key›>‹value›</arg>)*</call>",
            "‹name›></call>"
        ]
    );
}

#[test]
fn an_argument_that_is_null_may_be_left_out() {
    let all = "<call>{{ f.name }}{%- for k, v in f.arguments.items() -%}<{{ k }}>{{ v }}</{{ k }}>{%- endfor -%}</call>";
    let some = all.replace("items() -%}", "items() if v is not none -%}");
    assert!(!learnt(&calls(all)).leaves_out_null);
    assert!(learnt(&calls(&some)).leaves_out_null);
}

#[test]
fn objects_in_a_notation_of_the_template_are_learnt() {
    let turn = learnt(&calls(
        "{%- macro value(v) -%}{%- if v is mapping -%}<o>{%- for k, w in v.items() -%}<k>{{ k }}</k>{{ value(w) }}{%- endfor -%}</o>\
         {%- elif v is sequence and v is not string -%}<l>{%- for w in v -%}{{ value(w) }}{%- endfor -%}</l>\
         {%- elif v is string -%}<s>{{ v }}</s>{%- else -%}<v>{{ v }}</v>{%- endif -%}{%- endmacro -%}\
         <call={{ f.name }}>{%- for k, v in f.arguments.items() -%}<k>{{ k }}</k>{{ value(v) }}{%- endfor -%}</call>",
    ));
    let nested = &turn.members().next().unwrap().nested;
    let [array, object] = [&nested.array, &nested.object].map(|all| all.as_ref().unwrap());
    assert_eq!([&array.open, &array.close], [&"<l>".into(), &"</l>".into()]);
    assert_eq!(
        [&object.open, &object.close],
        [&"<o>".into(), &"</o>".into()]
    );
}

#[test]
fn a_template_may_refuse_a_second_call() {
    let turn = learnt(&calls(
        "{%- if not loop.first -%}{{ raise_exception('one call') }}{%- endif -%}\
         <call>{{ f.name }}{{ f.arguments | tojson }}</call>",
    ));
    assert_eq!(rows(&turn, "call"), ["‹name›‹arguments›</call>"]);
    assert!(rows(&turn, "call → call").is_empty());
}

#[test]
fn a_template_may_change_texts_in_calls() {
    let turn = learnt(&calls(
        "<call>{{ f.name | upper }}{{ f.arguments | tojson }}</call>",
    ));
    assert_eq!(turn.calls, []);
    assert_eq!(rows(&turn, "end"), ["</bot>"]);
}

#[test]
fn the_prompt_may_open_reasoning() {
    let turn = learnt(&source("<bot>{{ m.content }}</bot>", "<bot><think>\n"));
    let reasoning = turn.reasoning.unwrap();
    assert_eq!(
        (&*reasoning.start, &*reasoning.close.shown()),
        ("<think>", "</think>")
    );
    assert!(reasoning.open.is_empty() && !reasoning.shown);
}

#[test]
fn the_history_may_drop_reasoning() {
    let turn = learnt(&source(
        "<bot>{{ m.content.split('</why>')[-1] }}</bot>",
        "<bot>",
    ));
    let reasoning = turn.reasoning.unwrap();
    assert_eq!(
        (&*reasoning.start, &*reasoning.close.shown()),
        ("<why>", "</why>")
    );
    assert!(!reasoning.shown);
}

#[test]
fn the_switch_of_thinking_shows_reasoning() {
    let prompt = "<bot>{%- if not enable_thinking -%}<think></think>{%- endif -%}";
    let reasoning = learnt(&source("<bot>{{ m.content }}</bot>", prompt)).reasoning;
    let Reasoning { start, close, .. } = reasoning.unwrap();
    assert_eq!((&*start, &*close.shown()), ("<think>", "</think>"));
}

#[test]
fn calls_may_be_shown_before_a_further_message_alone() {
    let call = "{%- if not loop.last -%}{%- for c in m.tool_calls or [] -%}\
                <call>{{ c.function.name }}{{ c.function.arguments | tojson }}</call>{%- endfor -%}{%- endif -%}";
    let turn = format!("<bot>{{{{ m.content or '' }}}}{call}</bot>");
    let turn = learnt(&source(&turn, "<bot>"));
    assert!(turn.hides_last_calls);
    assert_eq!(rows(&turn, "call"), ["‹name›‹arguments›</call>"]);
}

#[test]
fn a_tag_that_ends_turns_is_a_stop() {
    assert_eq!(learnt(&calls("")).stops, ["</bot>"]);
    let token = source("<|bot|>{{ m.content }}<|end|>", "<|bot|>");
    let turn = learnt(&token);
    assert!(turn.stops.is_empty() && turn.is_stop(&turn.end));
}

#[test]
fn a_family_adds_what_renders_hide() {
    let source = source("<bot>{{ m.content }}</bot>", "<bot>")
        + "{# <|tool_list_start|><|tool_list_end|> #}";
    let turn = learnt(&source);
    assert!(turn.calls.is_empty());
    let family = family_of(&source);
    assert!(family.is_some(), "the template has the family's words");
    let writing = family.unwrap().writing(turn.clone());
    assert!(writing.turn.calls_are_python());
    assert_eq!(Writing::learnt(turn.clone()).turn, turn);
}
