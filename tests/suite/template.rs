//! Rendering: Jinja as chat templates use it, with Python's semantics, within limits.

use std::sync::Arc;

use chatparse::builtin;
use chatparse::internals::template::{Conversation, Host, Template};
use chatparse::{Error, ErrorKind};
use serde_json::{Map, Value, json};

fn conversation(messages: Value) -> Conversation {
    Conversation {
        host: Host::Own,
        messages: messages.into(),
        tools: Arc::new(Value::Null).into(),
        enable_thinking: true,
        add_generation_prompt: true,
        extra: Map::new(),
        now: Some(1_787_356_800),
    }
}

fn try_render(source: &str, messages: Value) -> Result<String, Error> {
    Template::new(source, "<s>", "</s>")?.render(&conversation(messages))
}

fn failure(source: &str) -> Error {
    try_render(source, json!([{"role": "user", "content": "Hi"}])).expect_err(source)
}

#[test]
fn a_template_that_asks_for_the_date_has_its_caps() {
    let source = "{{ strftime_now('%Y') }}{% for m in messages %}{{ m.content }}{% endfor %}";
    assert!(Template::new(source, "", "").unwrap().caps().string_content);
}

#[test]
fn without_a_clock_only_templates_that_ask_for_the_date_fail() {
    let conversation = Conversation {
        now: None,
        ..conversation(json!([]))
    };
    let render = |source: &str| Template::new(source, "", "").unwrap().render(&conversation);
    assert_eq!(
        render("{% if false %}{{ strftime_now('%Y') }}{{ datetime }}{% endif %}Hi").unwrap(),
        "Hi"
    );
    for source in [
        "{{ strftime_now('%Y') }}",
        "{{ date_string }}",
        "{% set day = datetime %}",
    ] {
        let error = render(source).expect_err(source);
        assert_eq!(error.kind(), ErrorKind::Template);
        assert!(
            error.message().contains("has no clock"),
            "{source}: {error}"
        );
    }
}

#[test]
fn variables_and_their_order() {
    let template = Template::new(
        "{{ bos_token }}{{ x }}{{ add_generation_prompt }}",
        "<s>",
        "",
    )
    .unwrap();
    let mut with = conversation(json!([]));
    with.extra = json!({"bos_token": "B", "x": 1, "add_generation_prompt": false})
        .as_object()
        .unwrap()
        .clone();
    assert_eq!(template.render(&with).unwrap(), "B1True");
    let source =
        "{{ preserve_thinking }}{{ clear_thinking }}{{ drop_thinking }}{{ reasoning_strength }}";
    let template = Template::new(source, "", "").unwrap();
    with.extra = json!({"preserve_reasoning": true, "reasoning_effort": "low", "drop_thinking": 1})
        .as_object()
        .unwrap()
        .clone();
    assert_eq!(template.render(&with).unwrap(), "TrueFalse1low");
}

#[test]
fn the_generation_prompt_is_what_it_adds() {
    let source = "{% for m in messages %}[{{ m.role }}]{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";
    let template = Template::new(source, "", "").unwrap();
    for add_generation_prompt in [true, false] {
        let conversation = Conversation {
            add_generation_prompt,
            ..conversation(json!([{"role": "user"}]))
        };
        let (prompt, opening) = template
            .render_with_generation_prompt(&conversation)
            .unwrap();
        assert_eq!(
            prompt,
            if add_generation_prompt {
                "[user][assistant]"
            } else {
                "[user]"
            }
        );
        assert_eq!(opening, "[assistant]");
    }
}

#[test]
fn recursion_is_bounded() {
    let error = failure("{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}");
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    let nested = format!("{{{{ {}1{} }}}}", "(".repeat(5000), ")".repeat(5000));
    assert_eq!(failure(&nested).kind(), ErrorKind::Limit);
    let lists = format!("{{{{ {}{} }}}}", "[".repeat(90), "]".repeat(90));
    assert!(failure(&lists).message().contains("nested too deeply"));
    let growing = "{% set ns = namespace(l=[]) %}{% for i in range(1000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l }}";
    assert_eq!(failure(growing).kind(), ErrorKind::Template);
}

#[test]
fn bombs_stop_early() {
    let nested = "{% for a in range(1000) %}{% for b in range(1000) %}{{ 'x' * 1000 }}{% endfor %}{% endfor %}";
    let doubling = "{% set ns = namespace(s='x') %}{% for i in range(40) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}";
    let lists = "{% set ns = namespace(l=[1]) %}{% for i in range(40) %}{% set ns.l = ns.l + ns.l %}{% endfor %}";
    let captured = format!(
        "{{% macro f() %}}{{% for a in range(100000) %}}{}{{% endfor %}}{{% endmacro %}}{{% set x = f() %}}",
        "x".repeat(50_000)
    );
    let replaced = "{{ ('x' * 1000000)|replace('x', 'y' * 1000000) }}";
    let endless =
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}";
    // Twenty million steps take too long in unoptimized code.
    let endless = (!cfg!(debug_assertions)).then_some(endless);
    for source in [nested, doubling, lists, &captured, replaced]
        .into_iter()
        .chain(endless)
    {
        let error = failure(source);
        assert_eq!(error.kind(), ErrorKind::Limit, "{}: {error}", &source[..60]);
    }
    assert_eq!(
        Template::new(&"x".repeat(2 << 20), "", "")
            .unwrap_err()
            .kind(),
        ErrorKind::Limit
    );
}

#[test]
fn a_small_stack_is_enough() {
    let work = || {
        let recursive = "{% macro f(x) %}{% if x is mapping %}{% for k, v in x.items() %}{{ f(v) }}{% endfor %}{% endif %}{{ f(x) }}\
                         {% endmacro %}{{ f(messages[0]) }}";
        assert_eq!(failure(recursive).kind(), ErrorKind::Limit);
        let mut deep = json!("x");
        for _ in 0..120 {
            deep = json!([deep]);
        }
        try_render(
            "{{ messages|tojson }}{{ messages }}{{ messages == messages|list }}",
            deep,
        )
        .unwrap();
        for depth in [60, 99, 120, 149, 5000] {
            let _ = try_render(
                &format!("{{{{ {}1{} }}}}", "[".repeat(depth), "]".repeat(depth)),
                json!([]),
            );
            let blocks = format!(
                "{}{}",
                "{% if true %}".repeat(depth),
                "{% endif %}".repeat(depth)
            );
            let _ = try_render(&blocks, json!([]));
        }
    };
    // Unoptimized code has frames many times the size.
    let size = if cfg!(debug_assertions) {
        8 << 20
    } else {
        1 << 20
    };
    std::thread::Builder::new()
        .stack_size(size)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn threads_share_one_template() {
    let source = "{% set l = [] %}{% for m in messages %}{% set _ = l.append(m.content) %}{% endfor %}{{ l|join(',') }}";
    let template = Template::new(source, "", "").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let template = &template;
            scope.spawn(move || {
                for round in 0..50 {
                    let text = format!("{thread}-{round}");
                    let messages = json!([{"content": text}, {"content": "end"}]);
                    assert_eq!(
                        template.render(&conversation(messages)).unwrap(),
                        format!("{text},end")
                    );
                    assert!(template.caps().string_content);
                }
            });
        }
    });
}

/// What one render shows of a template that opens a turn last is what two renders show.
#[test]
fn the_opening_is_the_difference_of_two_renders() {
    let user = json!({"role": "user", "content": "Hi <b>"});
    let answer = json!({"role": "assistant", "content": "Well, "});
    let sources = builtin::BUILTINS.iter().map(|builtin| (builtin.name, builtin.source)).chain([
        ("else", "{{ messages[0].content }} {% if add_generation_prompt %}\nA{{ x }}{% else %}\nAB{% endif %}"),
        ("default", "{% set add_generation_prompt = add_generation_prompt or false %}a {%- if add_generation_prompt %}é{% else %}è{% endif %}"),
        ("state", "{% set ns = namespace(a=1) %}{% if add_generation_prompt %}{% set ns.a = 2 %}{% endif %}{{ ns.a }}"),
        ("loop", "{% for m in messages %}{{ m.content }}{% if loop.last and add_generation_prompt %}A{% endif %}{% endfor %}"),
        ("unused", "{{ messages[0].content }}"),
        ("content", "Hi{% if add_generation_prompt %}Well, A{% else %}{{ messages[0].content }}{% endif %}"),
        ("and", "{% if add_generation_prompt and messages | length < 2 %}A{% if x %}B{% else %}C{% endif %}{% endif %}"),
        ("or", "{% if add_generation_prompt and x or messages | length < 2 %}A{% endif %}"),
        ("before", "{{ 'a' if add_generation_prompt else 'b' }}{% if add_generation_prompt %}A{% endif %}"),
        ("again", "{% if add_generation_prompt %}A{{ add_generation_prompt }}{% endif %}"),
        (
            "set",
            "{% if add_generation_prompt %}{% set add_generation_prompt = x %}{% endif %}b{% if add_generation_prompt %}A{% endif %}",
        ),
        (
            "include",
            "{% if not y %}{% set y = 1 %}{% include 'template' %}{% endif %}b{% if add_generation_prompt %}A{% endif %}",
        ),
        ("raw", "{% raw %}{% if add_generation_prompt %}{% endraw %}b{% if add_generation_prompt %}A{% endif %}"),
        ("raises", "{% if not add_generation_prompt %}{{ raise_exception('No.') }}{% endif %}"),
    ]);
    for (name, source) in sources {
        let template = Template::new(source, "<s>", "</s>").unwrap();
        let other = json!({"role": "user", "content": "Well, A or B?\n/no_think"});
        let all = [
            json!([user]),
            json!([user, answer]),
            json!([user, answer, other]),
            json!([other]),
        ];
        for (messages, enable_thinking) in all
            .iter()
            .flat_map(|messages| [true, false].map(|on| (messages, on)))
        {
            for (asked, kwarg) in [
                (true, None),
                (true, Some(json!(false))),
                (false, None),
                (false, Some(json!("yes"))),
            ] {
                let asks = Conversation {
                    add_generation_prompt: asked,
                    ..conversation(messages.clone())
                };
                let mut one = Conversation {
                    enable_thinking,
                    ..asks
                };
                one.extra
                    .extend(kwarg.map(|value| ("add_generation_prompt".to_owned(), value)));
                let other = Conversation {
                    add_generation_prompt: !asked,
                    ..one.clone()
                };
                let (with, without) = if asked {
                    (&one, &other)
                } else {
                    (&other, &one)
                };
                match (
                    template.render_with_generation_prompt(&one),
                    template.render(with),
                    template.render(without),
                ) {
                    (Ok((prompt, opening)), Ok(with), Ok(without)) => {
                        let shared = with
                            .char_indices()
                            .zip(without.chars())
                            .find(|((_, a), b)| a != b);
                        let shared =
                            shared.map_or(with.len().min(without.len()), |((at, _), _)| at);
                        assert_eq!(prompt, if asked { with.clone() } else { without }, "{name}");
                        assert_eq!(opening, with[shared..], "{name}");
                    }
                    (Err(both), with, without) => {
                        let error = if asked {
                            with.and(without)
                        } else {
                            without.and(with)
                        }
                        .unwrap_err();
                        assert_eq!(both.message(), error.message(), "{name}");
                    }
                    (Ok(_), ..) => panic!("{name}: a render fails, but not both in one"),
                }
            }
        }
    }
}
