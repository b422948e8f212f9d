//! Templates that nobody has seen before: each writes turns in a way of its own, and what it writes
//! must be read back, whole and byte by byte, and be allowed by its grammar.

mod check;
mod messages;

use chatparse::grammar::Recogniser;
use chatparse::{ChatTemplate, EndedBy, Request, Status};
use check::Shape;
use messages::Kind;
use serde_json::json;

/// One test for each shape: everything that it can express comes back.
macro_rules! whole {
    ($($name:ident: $kind:ident($end:literal $(, $field:ident: $value:expr)*);)*) => {$(
        #[test]
        fn $name() {
            const SOURCE: &str = include_str!(concat!("templates/", stringify!($name), ".jinja"));
            let shape = Shape { $($field: $value,)* ..Shape::$kind(SOURCE, $end) };
            for learn_only in [true, false] {
                assert_none(shape.misread(learn_only));
                assert_none(shape.refused(learn_only));
                assert_none(shape.made_up(learn_only));
            }
        }
    )*};
}

/// One test for each template that writes what cannot be read, with the reason: its calls stay the
/// text that they are.
macro_rules! text {
    ($($name:ident: $end:literal, $reason:literal;)*) => {$(
        #[doc = $reason]
        #[test]
        fn $name() {
            let shape = Shape::new(include_str!(concat!("templates/", stringify!($name), ".jinja")), $end);
            for learn_only in [true, false] {
                assert_none(shape.invented(learn_only));
                assert_none(shape.made_up(learn_only));
            }
        }
    )*};
}

/// Shows the first few.
#[track_caller]
fn assert_none(wrong: Vec<String>) {
    let few: Vec<&str> = wrong.iter().take(3).map(String::as_str).collect();
    assert!(
        wrong.is_empty(),
        "{} in all\n{}",
        wrong.len(),
        few.join("\n")
    );
}

/// All arrays and objects.
const ARRAYS: [Kind; 6] = [
    Kind::Array,
    Kind::Object,
    Kind::Nested,
    Kind::NestedQuotes,
    Kind::EmptyArray,
    Kind::EmptyObject,
];

/// What a template cannot write that replaces signs of markup, in texts and in JSON.
const ESCAPED: [Kind; 9] = [
    Kind::Quotes,
    Kind::Markup,
    Kind::Signs,
    ARRAYS[0],
    ARRAYS[1],
    ARRAYS[2],
    ARRAYS[3],
    ARRAYS[4],
    ARRAYS[5],
];

whole! {
    blocks_by_index: new("<~over~>\n");
    yaml_lines: new("<eot>\n");
    arguments_first_json: that_thinks("[stop]\n");
    arguments_first_tagged: that_thinks("</turn>\n");
    name_in_closing: that_thinks("<|done|>");
    name_in_both_ends: new("[[eot]]\n");
    types_behind_names: that_thinks("</assistant>\n");
    types_before_names: new("</turn>\n");
    nested_xml: that_thinks("<fin>\n");
    python_fence: that_thinks("::end::\n", python: true);
    tool_lines: new("<end of turn>\n");
    table: new("<|stop|>\n");
    bullets: that_thinks("\n== end ==\n");
    typed_blocks: that_thinks("<|over|>");
    headers: that_thinks("## end\n");
    content_behind: new("</turn>\n");
    wrapped_beside_reasoning: that_thinks("</turn>\n");
    ids_in_front: new("</turn>\n", ids: true);
    ids_behind: new("<|end|>", ids: true);
    ids_in_attributes: new("</turn>\n", ids: true);
    arguments_as_string: new("</turn>\n");
    s_expressions: that_thinks("(end)\n");
    channels: that_thinks("@@over\n");
    ini: new("[[end]]\n");
    semicolons: that_thinks("</turn>\n");
    query_strings: new("</turn>\n", lost: &[Kind::Signs], barred: &[Kind::Markup]);
    opened_thought: that_thinks("{end}\n");
    switched_thought: that_thinks("</turn>\n");
    nulls_left_out: that_thinks("</turn>\n", drops_nulls: true);
    pairs: that_thinks("<|end|>");
    raw_lines: that_thinks("</turn>\n");
    counted_calls: new("</turn>\n");
    // Texts with signs of markup are written with escapes that nothing tells.
    escaped_texts: new("</turn>\n", lost: &ESCAPED);
    thought_behind: that_thinks("</turn>\n");
    bracketed_thought: that_thinks("«over»");
    worded_thought: that_thinks("</turn>\n");
    key_lines: new("</turn>\n");
    endless_calls: new("</turn>\n");
    tight_json: new("</turn>\n");
    headed_parts: that_thinks("</turn>\n");
    always_wrapped: that_thinks("<|end|>");
    // Nothing but the indentation tells where an array or object ends.
    block_yaml: new("</turn>\n", lost: &ARRAYS);
    python_objects: that_thinks("</turn>\n", python: true);
    one_call: that_thinks("</turn>\n");
    named_ids: new("</turn>\n", ids: true, named_ids: true);
    whole_calls: new("</turn>\n", ids: true);
    ids_in_lists: new("<|over|>", ids: true);
    escapes_in_lines: new("</turn>\n", python: true);
    bare_none: new("</turn>\n", barred: &[Kind::Null]);
    ends_unasked: new("<|eot|></s>", eos: "</s>");
}

text! {
    values_by_length: "</turn>\n", "The length of each value stands in front of it: no expression counts.";
    names_behind_values: "</turn>\n", "The name of an argument stands behind its value, but an argument is a name and then a value.";
}

#[test]
fn members_of_calls_in_any_order() {
    let shape = Shape::new(include_str!("templates/whole_calls.jinja"), "</turn>\n");
    let members = [
        r#""type": "function""#,
        r#""function": {"name": "plan", "arguments": {"title": "Tea"}}"#,
        r#""id": "k1""#,
    ];
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let call = format!(
            "<use>{{{}}}</use>",
            order.map(|index| members[index]).join(", ")
        );
        for learn_only in [true, false] {
            assert_none(shape.refuses(&call, learn_only));
        }
    }
}

#[test]
fn unmarked_calls_with_their_ids_in_front() {
    let shape = Shape::new(include_str!("templates/ids_in_lists.jinja"), "<|over|>");
    for learn_only in [true, false] {
        let call = r#"[{"id": "k,1", "name": "plan", "arguments": {"title": "Tea"}}]"#;
        assert_none(shape.refuses(call, learn_only));
    }
}

#[test]
fn a_prompt_that_always_opens_a_turn() {
    let shape = Shape::new(include_str!("templates/opens_always.jinja"), "<|close|>\n");
    for learn_only in [true, false] {
        assert_none(shape.refuses("<use>\nplan\n{\"title\": \"Tea\"}\n</use>", learn_only));
    }
}

#[test]
fn switched_thought_when_it_is_off() {
    let source = include_str!("templates/switched_thought.jinja");
    let shape = Shape {
        enable_thinking: false,
        ..Shape::new(source, "</turn>\n")
    };
    for learn_only in [true, false] {
        assert_none(shape.misread(learn_only));
        assert_none(shape.refused(learn_only));
    }
}

#[test]
fn thoughts_that_the_prompt_closes_whatever_their_marks() {
    for (source, thought) in [
        (
            include_str!("templates/bracketed_thought.jinja"),
            "⟪mull⟫Hm.⟪/mull⟫",
        ),
        (
            include_str!("templates/worded_thought.jinja"),
            "NOW MULLING\nHm.\nDONE MULLING\n",
        ),
    ] {
        let template = ChatTemplate::new(source, "", "").unwrap();
        for (enable_thinking, output, reasoning) in [
            (false, "So.".to_owned(), ""),
            (true, format!("{thought}So."), "Hm."),
        ] {
            let body = json!({"messages": [{"role": "user", "content": "Hi"}], "enable_thinking": enable_thinking});
            let params = template
                .params(&Request::from_json(&body).unwrap())
                .unwrap();
            let (message, status) = params.parser.parse(output.as_bytes(), EndedBy::Model);
            assert_eq!(
                (&*message.reasoning_content, &*message.content, status),
                (reasoning, "So.", Status::Complete),
                "{source}"
            );
        }
    }
}

#[test]
fn a_thought_that_only_prompts_open_is_closed_by_the_mirrored_mark() {
    let source = include_str!("templates/unshown_thought.jinja");
    for [left, right] in [["⟪", "⟫"], ["<", ">"], ["<|", "|>"], ["[", "]"]] {
        let here = |text: &str| text.replace('⟪', left).replace('⟫', right);
        let shape = Shape::new(here(source).leak(), "");
        let [thought, close] = ["Hm.\n⟪/mull⟫\n", "⟪/mull⟫"].map(here);
        for learn_only in [true, false] {
            assert_none(shape.unshown(
                &thought,
                &close,
                &here("⟪use⟫plan|{\"title\": \"Tea\"}⟪/use⟫"),
                learn_only,
            ));
        }
    }
}

#[test]
fn turns_that_a_last_message_does_not_show() {
    const LAST_TAKEN: &str = include_str!("templates/last_taken.jinja");
    const TEXT_AT_END: &str = include_str!("templates/text_at_end.jinja");
    const SWITCH: &str = include_str!("templates/switch_beside_question.jinja");
    for (source, front, call) in [
        (
            LAST_TAKEN,
            "Hm.</mull>",
            "<use>plan|{\"title\": \"Tea\"}</use>",
        ),
        (
            TEXT_AT_END,
            "Hm.</mull>",
            "<use>plan|{\"title\": \"Tea\"}</use>",
        ),
        (SWITCH, "", "[use]plan|{\"title\": \"Tea\"}[/use]"),
    ] {
        let shape = Shape::new(source, "");
        for learn_only in [true, false] {
            assert_none(shape.refuses(&format!("{front}{call}"), learn_only));
        }
        let template = ChatTemplate::new(source, "", "").unwrap();
        let proof = template.proof();
        assert!(
            proof.is_whole() && proof.with_calls > 10 && proof.recovered == 0,
            "{source}\n{:?}",
            proof.failures
        );
    }
}

#[test]
fn a_text_and_its_call_in_two_turns() {
    let source = include_str!("templates/text_apart.jinja");
    let template = ChatTemplate::new(source, "", "").unwrap();
    let tool = json!({"type": "function", "function": {"name": "plan", "parameters": {"type": "object", "properties": {"title": {"type": "string"}}}}});
    let format = json!({"type": "json_schema", "json_schema": {"name": "r", "schema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}});
    let body = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": [tool]});
    let params = template
        .params(&Request::from_json(&body).unwrap())
        .unwrap();
    let call = "⟪use⟫plan|{\"title\": \"Tea\"}⟪/use⟫";
    let output = format!("So.⟪over⟫⟪model⟫{call}⟪act⟫");
    let (message, status) = params.parser.parse(output.as_bytes(), EndedBy::Model);
    assert_eq!(
        (&*message.content, message.tool_calls.len(), status),
        ("So.", 1, Status::Complete)
    );
    // The grammar asks for what closes a part, and leaves the end of the turn, which differs by
    // part, to its token.
    let body = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": body["tools"], "response_format": format});
    let params = template
        .params(&Request::from_json(&body).unwrap())
        .unwrap();
    let grammar = Recogniser::new(&params.grammar().text).unwrap();
    for output in [&*format!("{call}⟪act⟫"), "{\"a\": 1}"] {
        assert!(
            grammar.accepts(&format!("{}{output}", params.generation_prompt)),
            "{output}\n{}",
            params.grammar().text
        );
    }
}
