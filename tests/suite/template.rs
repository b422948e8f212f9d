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

#[test]
fn a_map_can_be_asked_for_itself() {
    for map in ["{'a': 1}", "{1: 1}", "{'a': [1]}"] {
        let source = "{% set d = MAP %}{% set l = [d] %}{{ d[d] is defined }} {{ d in d }} {{ l in l }} {{ d.get(l) }} {{ l|tojson }}";
        let shown = render(&source.replace("MAP", map));
        assert!(shown.starts_with("False False False None [{"), "{shown}");
    }
}

fn try_render(source: &str, messages: Value) -> Result<String, Error> {
    Template::new(source, "<s>", "</s>")?.render(&conversation(messages))
}

fn render(source: &str) -> String {
    try_render(source, json!([{"role": "user", "content": "Hi"}]))
        .unwrap_or_else(|error| panic!("{source}: {error}"))
}

fn failure(source: &str) -> Error {
    try_render(source, json!([{"role": "user", "content": "Hi"}])).expect_err(source)
}

#[test]
fn blocks_take_their_line_with_them() {
    assert_eq!(
        render("a\n  {% if true %}\nb\n  {% endif %}\nc\n"),
        "a\nb\nc"
    );
    assert_eq!(render("a\r\nb\r\n"), "a\nb");
    assert_eq!(render("a  {%- if true -%}  b  {%- endif %} c"), "ab c");
    assert_eq!(render("{{ 'x' }}\ny"), "x\ny");
}

#[test]
fn the_generation_tag_is_transparent() {
    assert_eq!(
        render("a {%- generation -%} b {% endgeneration %} c"),
        "ab  c"
    );
    assert_eq!(render("{# {% generation %} #}x"), "x");
    assert_eq!(
        render("{% raw %}{% generation %}{{ y }}{% endraw %}"),
        "{% generation %}{{ y }}"
    );
}

#[test]
fn tojson_writes_what_python_writes() {
    let source = |args: &str| {
        format!("{{{{ {{'b': ['ü<', none, true], 'a': {{}}, 'n': 1.5}}|tojson({args}) }}}}")
    };
    assert_eq!(
        render(&source("")),
        r#"{"b": ["ü<", null, true], "a": {}, "n": 1.5}"#
    );
    assert_eq!(
        render(&source("ensure_ascii=true")),
        r#"{"b": ["\u00fc<", null, true], "a": {}, "n": 1.5}"#
    );
    assert_eq!(
        render(&source("separators=(',', ':')")),
        r#"{"b":["ü<",null,true],"a":{},"n":1.5}"#
    );
    assert_eq!(
        render(&source("sort_keys=true")),
        r#"{"a": {}, "b": ["ü<", null, true], "n": 1.5}"#
    );
    assert_eq!(
        render("{{ [1, [], {'a': 2}]|tojson(indent=2) }}"),
        "[\n  1,\n  [],\n  {\n    \"a\": 2\n  }\n]"
    );
    assert_eq!(render("{{ 'a\"\\n\\\\'|tojson }}"), r#""a\"\n\\""#);
    assert_eq!(failure("{{ nothing|tojson }}").kind(), ErrorKind::Template);
}

#[test]
fn values_print_as_in_python() {
    assert_eq!(
        render("{{ [1, 'a', none, true, 1.0, \"it's\"] }}"),
        r#"[1, 'a', None, True, 1.0, "it's"]"#
    );
    assert_eq!(render("{{ {'a': (1,), 'b': ()} }}"), "{'a': (1,), 'b': ()}");
    assert_eq!(
        render("{{ 'x' ~ [1] ~ none ~ nothing ~ 1e-7 }}"),
        "x[1]None1e-07"
    );
    assert_eq!(render("{{ nothing }}{{ nothing.at.all }}"), "");
}

#[test]
fn strings_have_pythons_methods() {
    for (expression, expected) in [
        ("' a b '.strip() ~ '|'", "a b|"),
        ("'xxaxx'.lstrip('x').rstrip('x')", "a"),
        ("'a,b,c'.split(',', 1)", "['a', 'b,c']"),
        ("' a  b '.split()", "['a', 'b']"),
        ("'a,b,c'.rsplit(',', 1)", "['a,b', 'c']"),
        ("'a</think>b'.split('</think>')[-1]", "b"),
        (
            "'abc'.startswith('ab') and 'abc'.endswith(('x', 'c'))",
            "True",
        ),
        (
            "'äbc'.upper() ~ 'ÄB'.lower() ~ 'äb cd'.title() ~ 'äB'.capitalize()",
            "ÄBCäbÄb CdÄb",
        ),
        ("'aab'.replace('a', 'x', 1)", "xab"),
        ("'{} and {name}'.format(1, name='b')", "1 and b"),
        ("'äbc'.find('c') ~ 'abc'.find('z')", "2-1"),
        ("', '.join(['a', 'b'])", "a, b"),
        ("'a\\nb\\n'.splitlines()", "['a', 'b']"),
        ("'12'.isdigit() ~ 'a'.isdigit()", "TrueFalse"),
        (
            "'ab'.removeprefix('a').removesuffix('b') ~ '7'.zfill(3)",
            "007",
        ),
        ("'äbc'[1:] ~ 'abc'[::-1] ~ 'abc'[-1]", "bccbac"),
        ("'äb'|length", "2"),
        ("'a\\nb\\n'|indent(2) ~ '|'", "a\n  b\n|"),
    ] {
        assert_eq!(
            render(&format!("{{{{ {expression} }}}}")),
            expected,
            "{expression}"
        );
    }
}

#[test]
fn maps_have_pythons_methods() {
    let map = "{% set m = {'a': 1, 'b': 2} %}";
    assert_eq!(
        render(&format!(
            "{map}{{% for k, v in m.items() %}}{{{{ k }}}}{{{{ v }}}}{{% endfor %}}"
        )),
        "a1b2"
    );
    assert_eq!(
        render(&format!(
            "{map}{{{{ m.get('a') }}}}{{{{ m.get('z') }}}}{{{{ m.get('z', 3) }}}}"
        )),
        "1None3"
    );
    assert_eq!(
        render(&format!("{map}{{{{ m.keys() }}}}{{{{ m.values()|list }}}}")),
        "['a', 'b'][1, 2]"
    );
    assert_eq!(
        render(&format!(
            "{map}{{% set _ = m.update({{'a': 3}}) %}}{{{{ m }}}}"
        )),
        "{'a': 3, 'b': 2}"
    );
    assert_eq!(
        render(&format!(
            "{map}{{% set _ = m.pop('a') %}}{{{{ m|tojson }}}}"
        )),
        r#"{"b": 2}"#
    );
    assert_eq!(
        render("{{ {'b': 1, 'A': 2}|dictsort }}"),
        "[('A', 2), ('b', 1)]"
    );
}

#[test]
fn lists_change_in_place() {
    let source =
        "{% set l = [] %}{% for m in messages %}{% set _ = l.append(m.role) %}{% endfor %}{{ l }}";
    assert_eq!(render(source), "['user']");
    let template = Template::new(source, "", "").unwrap();
    for _ in 0..2 {
        // A literal is a new list in each render.
        assert_eq!(
            template
                .render(&conversation(json!([{"role": "user"}])))
                .unwrap(),
            "['user']"
        );
    }
    assert_eq!(
        render("{% set l = [1, 2, 3] %}{{ l.pop() }}{{ l.pop(0) }}{{ l }}"),
        "31[2]"
    );
    assert_eq!(
        render("{% set l = [1] %}{% for x in l %}{% set _ = l.append(x) %}{% endfor %}{{ l }}"),
        "[1, 1]"
    );
    assert_eq!(
        failure("{% set l = [] %}{% set _ = l.append(l) %}{{ l }}").kind(),
        ErrorKind::Template
    );
    let group = "{% set g = [{'of': []}] %}{% set _ = g[0]['of'].append(messages[0]) %}{{ g[0].of[0].content }}";
    assert_eq!(render(group), "Hi");
}

#[test]
fn plus_joins_what_templates_join() {
    assert_eq!(render("{{ 'a' + nothing + 'b' }}"), "ab");
    assert_eq!(render("{{ 'a' + none + 1 }}"), "a1");
    assert_eq!(
        render("{{ 1 + 2 * 3 - 4 }}{{ [1] + [2] }}{{ 'ab' * 2 }}"),
        "3[1, 2]abab"
    );
    assert_eq!(render("{{ '1' ~ 2 + 3|string }}"), "123");
    assert_eq!(
        render("{% set x = 'a' if 1 in [1, 2] and 'b' not in 'abc' else 'c' %}{{ x }}"),
        "c"
    );
    assert_eq!(
        render("{{ -[3, 1][0] + 5 }}{{ not 1 in [2] }}{{ (1, 2)[1] }}{{ {'a': {'b': 1}}.a.b }}"),
        "2True21"
    );
}

#[test]
fn tests_and_filters_follow_jinja() {
    for (expression, expected) in [
        (
            "nothing is iterable ~ none is iterable ~ [] is sequence ~ {} is mapping",
            "TrueFalseTrueTrue",
        ),
        (
            "true is number ~ 1 is number ~ 1.5 is float ~ 'a' is string",
            "TrueTrueTrueTrue",
        ),
        (
            "nothing|default('d') ~ ''|default('d', boolean=true) ~ ''|default('d', true) ~ 0|default(1)",
            "ddd0",
        ),
        ("nothing|length", "0"),
        (
            "'3.7'|int ~ 'x'|int ~ 'x'|int(5) ~ '0x1f'|int(base=16)",
            "30531",
        ),
        (
            "[{'a': 1}, {'a': 2}]|selectattr('a', 'equalto', 2)|map(attribute='a')|list",
            "[2]",
        ),
        ("['a', 'B', 'c']|map('upper')|join('-')", "A-B-C"),
        (
            "['b', 'A']|sort|first ~ [1, 2]|last ~ [3, 1]|max ~ [1, 1]|unique|list|length",
            "A231",
        ),
        (
            "[1, 2, 3, 4][1:3] ~ [1, 2, 3][::-1] ~ range(3)|list",
            "[2, 3][3, 2, 1][0, 1, 2]",
        ),
        ("4 is divisibleby 2 and 3 is odd", "True"),
    ] {
        assert_eq!(
            render(&format!("{{{{ {expression} }}}}")),
            expected,
            "{expression}"
        );
    }
}

#[test]
fn the_clock_is_the_requests() {
    assert_eq!(
        render("{{ strftime_now('%Y-%m-%d %H:%M') }}|{{ date_string }}|{{ datetime }}"),
        { "2026-08-22 00:00|22 Aug 2026|Aug 22 2026" }
    );
    assert_eq!(render("{{ strftime_now('%!%') }}"), "%!%");
    assert_eq!(
        failure("{{ strftime_now('%Y' * 50) }}").kind(),
        ErrorKind::Template
    );
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
    assert_eq!(
        render("{{ bos_token }}{{ eos_token }}{{ enable_thinking }}{{ tools is defined }}"),
        "<s></s>TrueTrue"
    );
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
fn errors_say_what_and_where() {
    let error = failure("a\n{{ raise_exception('no system message: ' ~ 1) }}");
    assert_eq!(error.kind(), ErrorKind::Template);
    assert_eq!(
        error.message(),
        "template line 2, column 1: no system message: 1"
    );
    for (source, line) in [
        ("\n{% if %}", 2),
        ("{{ 'a' }}\n\n{% nope %}", 3),
        ("{{ x|nofilter }}", 1),
        ("{% for %}", 1),
    ] {
        let error = failure(source);
        assert_eq!(error.kind(), ErrorKind::Template, "{source}: {error}");
        assert!(
            error.message().contains(&format!("line {line}")),
            "{source}: {error}"
        );
    }
    for source in [
        "{{ 'a",
        "{{ [1 }}",
        "{% set",
        "{#",
        "{{ }}",
        "{{ a b }}",
        "{% endfor %}",
        "{{ {1: } }}",
    ] {
        let error = failure(source);
        assert!(
            error.kind() == ErrorKind::Template && error.message().contains("line 1"),
            "{source}: {error}"
        );
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

#[test]
fn unusual_characters_are_escaped_as_in_python() {
    let shown = render("{{ ['a\\u200d\\u00ad\\u2028\\u0378\\ue000é👩'] }}{{ '\\u200d' }}");
    assert_eq!(shown, "['a\\u200d\\xad\\u2028\\u0378\\ue000é👩']\u{200d}");
}

#[test]
fn numbers_are_pythons() {
    for (expression, expected) in [
        (
            "(9223372036854775807 + 1) ~ '|' ~ 2 ** 100",
            "9223372036854775808|1267650600228229401496703205376",
        ),
        (
            "1e22|int ~ '|' ~ '12345678901234567890123'|int",
            "10000000000000000000000|12345678901234567890123",
        ),
        (
            "true >= 1, true < 0, -true, +5, true|float, true|abs",
            "(True, False, -1, 5, 1.0, 1)",
        ),
        ("{1: 'a', true: 'b', 1.0: 'c'}", "{1: 'c'}"),
        ("{(1, 2): 'x'}[(1, 2)]", "x"),
        (
            "(1, 2) == [1, 2], (1, 2) * 2, range(3), range(0, 6, 2)",
            "(False, (1, 2, 1, 2), range(0, 3), range(0, 6, 2))",
        ),
        (
            "2.5|round, 2.675|round(2), 1234|round(-2), 2.1|round(0, 'ceil')",
            "(2.0, 2.67, 1200, 3.0)",
        ),
        (
            "none[1:] is defined, 5[:2] is defined, 'a'[] is defined",
            "(False, False, False)",
        ),
    ] {
        let source = if expression.contains(", ") && !expression.starts_with('{') {
            format!("{{{{ ({expression}) }}}}")
        } else {
            format!("{{{{ {expression} }}}}")
        };
        assert_eq!(render(&source), expected, "{expression}");
    }
}

#[test]
fn texts_are_formatted_as_in_python() {
    for (expression, expected) in [
        ("'%s is %d, %05.1f' % ('x', 3, 2.25)", "x is 3, 002.2"),
        ("'%(a)r %(b)c%%' % {'a': 'x', 'b': 65}", "'x' A%"),
        (
            "'%-5d|%x|%e' % (42, 255, 12345.678)",
            "42   |ff|1.234568e+04",
        ),
        ("'%s'|format([1])", "[1]"),
        ("'{:>6}|{!r}|{0[k]}'.format(1, 2)", ""),
        (
            "'{:,} {:.1%} {:*^5}'.format(1234567, 0.25, 'a')",
            "1,234,567 25.0% **a**",
        ),
        ("'hello big world'|truncate(9)", "hello..."),
        ("'ab'.center(5) ~ '|' ~ '<b>'|e", "  ab |&lt;b&gt;"),
        (
            "'hello'.find('l', 3) ~ 'hello'.startswith('l', 2) ~ 'hello'.count('l', 3)",
            "3True1",
        ),
        (
            "'a\tb'.expandtabs(4) ~ 'aB'.swapcase() ~ 'ß'.casefold() ~ 'abc'.translate({97: 'x', 98: none})",
            "a   bAbssxc",
        ),
    ] {
        match (
            try_render(&format!("{{{{ {expression} }}}}"), json!([])),
            expected,
        ) {
            (Err(_), "") => {}
            (shown, _) => assert_eq!(shown.as_deref(), Ok(expected), "{expression}"),
        }
    }
}

#[test]
fn macros_take_further_arguments() {
    let call = |head: &str, body: &str, calls: &str| {
        render(&format!(
            "{{% macro m({head}) %}}{body}{{% endmacro %}}{calls}"
        ))
    };
    assert_eq!(
        call("x, y=x + 1", "{{ x }}{{ y }}", "{{ m(3) }}{{ m(3, 1) }}"),
        "3431"
    );
    let body = "{{ x }}{{ varargs }}{{ kwargs }}";
    assert_eq!(call("x", body, "{{ m(1, 2, k=3) }}"), "1(2,){'k': 3}");
    assert_eq!(
        call(
            "x",
            "{{ varargs }}{{ caller() }}",
            "{% call m(1, 2) %}c{% endcall %}"
        ),
        "(2,)c"
    );
    let template = "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(1, 2) }}";
    assert!(failure(template).message().contains("too many arguments"));
}

#[test]
fn macros_see_their_callers_variables_last() {
    let macros = "{% macro name() %}{{ tool.content }}{{ kind }}{% endmacro %}\
        {% macro outer(x, kind='!', y=false) %}[{{ x }} {{ name() }}]{% endmacro %}";
    let called = "{% for tool in messages %}{{ name() }}{{ outer(1) }}{% endfor %}{{ name() }}";
    assert_eq!(render(&format!("{macros}{called}")), "Hi[1 Hi!]");
    // Those of the place of its definition come first.
    assert_eq!(
        render(&format!("{macros}{{% set kind = '?' %}}{called}")),
        "Hi?[1 Hi?]?"
    );
    // Transformers' templates see these alone.
    let template = Template::new(&format!("{macros}{called}"), "", "").unwrap();
    let plain = Conversation {
        host: Host::Transformers,
        ..conversation(json!([{"role": "user", "content": "Hi"}]))
    };
    assert_eq!(template.render(&plain).unwrap(), "[1 ]");
}

#[test]
fn maps_and_namespaces_are_assigned_to() {
    assert_eq!(
        render("{% set m = {'a': 1} %}{% set m.b = 2 %}{% set m.a = 3, 4 %}{{ m }}"),
        "{'a': (3, 4), 'b': 2}"
    );
    assert_eq!(
        render("{% set n = namespace(a={}) %}{% set n.a.b = 1 %}{% set n.c %}x{% endset %}{{ n }}"),
        "<Namespace {'a': {'b': 1}, 'c': 'x'}>"
    );
    assert!(
        failure("{% set s = 'x' %}{% set s.a = 1 %}")
            .message()
            .contains("only a namespace or a map")
    );
    // What is kept is data: nothing can hold itself.
    let looped = "{% set n = namespace(a=1) %}{% set n.l = [n] %}{% set m = namespace(a=1) %}{% set m.l = [m] %}";
    assert_eq!(
        render(&format!(
            "{looped}{{{{ n == m }}}}{{{{ n.l }}}}{{{{ n|tojson }}}}"
        )),
        "True[{'a': 1}]{\"a\": 1, \"l\": [{\"a\": 1}]}"
    );
    assert!(
        try_render(
            "{% set l = [] %}{% set _ = l.append([l]) %}{{ l }}",
            json!([])
        )
        .is_err()
    );
    // A message takes what a template makes of namespaces, and itself as it was.
    let filled = "{% set m = messages[0] %}{% set f = namespace(name='x') %}{% set f = namespace(function=f) %}\
        {% set m.tool_calls = [f, f] %}{% set m.whole = [m] %}{% set m.content = 'Bye' %}";
    let shown = "{{ messages[0].tool_calls[1].function.name }} {{ m.whole[0].content }} {{ m.whole[0].whole is defined }}";
    assert_eq!(render(&format!("{filled}{shown}")), "x Hi False");
    let twice =
        "{% set m = messages[0] %}{% for i in range(1000) %}{% set m.a = [m] %}{% endfor %}";
    assert_eq!(failure(twice).kind(), ErrorKind::Template);
}

#[test]
fn groups_and_sorts_know_attributes() {
    let users = "{% set u = [{'n': 'b', 'a': 2}, {'n': 'a', 'a': 2}, {'n': 'c', 'a': 1}] %}";
    let shown = render(&format!(
        "{users}{{% for g in u|groupby('a') %}}{{{{ g.grouper }}}}:{{{{ g.list|map(attribute='n')|join }}}};{{% endfor %}}"
    ));
    assert_eq!(shown, "1:c;2:ba;");
    assert_eq!(
        render(&format!(
            "{users}{{{{ u|sort(attribute='a,n')|map(attribute='n')|join }}}}"
        )),
        "cab"
    );
    assert_eq!(
        render(
            "{{ {'items': 5}['items'] }}{{ {'items': 5}.items is callable }}{{ 'x'.strip is callable }}"
        ),
        "5TrueTrue"
    );
    assert_eq!(
        render("{% set x = 1 %}{% generation %}{% set x = 2 %}{{ x }}{% endgeneration %}{{ x }}"),
        "21"
    );
    assert_eq!(
        render("{{ {'a': 1}|tojson(indent='\t') }}{{ strftime_now('%Z%z%f') }}"),
        "{\n\t\"a\": 1\n}000000"
    );
}

#[test]
fn errors_show_their_place() {
    let error = failure("a\n{% if true %}{{ 1 + none }}{% endif %}\nb");
    let expected = "template line 2, column 14: invalid operation: number + none is not possible (at `{{ 1 + none }}{% endif %}`)";
    assert_eq!(error.message(), expected);
    for (source, place) in [
        ("\n{{ 1|nothing }}", "line 2, column 1: "),
        (
            "é{% set x = 'b' ~ 1 %} {{ [1] in 2 }}",
            "line 1, column 24: ",
        ),
        (
            "{% macro m(a=1, b=a) %}{{ a + none }}{% endmacro %}\n {{ m(2) }}",
            "line 1, column 24: ",
        ),
        // Behind a tag that looks at the opening, which is compiled twice.
        (
            "{{ 'a' ~ 'b' }}\n{% if add_generation_prompt %}{% endif %}{{ none + 1 }}",
            "line 2, column 42: ",
        ),
        ("a {{ 'a'", "line 1, column 3: syntax error"),
        (
            "{% if a %}\n{% for m in b %}{% endfor %}",
            "line 2, column 17: syntax error: unexpected end of input, expected end of block; the innermost open block is if, in line 1",
        ),
        (
            "{% for m in a %}{% if m %}\n{% endfor %}",
            "line 2, column 1: syntax error: unknown statement endfor; the innermost open block is if, in line 1",
        ),
        // The tag begins on another line.
        ("{{ 1 +\nnone|nothing }}", "line 2: "),
    ] {
        let error = failure(source);
        assert!(
            error.message().starts_with(&format!("template {place}")),
            "{error}"
        );
    }
}

#[test]
fn sizes_in_formats_are_bounded() {
    for expression in [
        "'%99999999999d' % 1",
        "'%*d' % (9999999999, 1)",
        "'%.99999999f' % 1.5",
        "'{:99999999999}'.format(1)",
        "'{:{w}}'.format(1, w=99999999999)",
        "'x'.center(99999999999)",
        "'a\tb'.expandtabs(99999999999)",
        "('{0!r:.0}' * 100000).format('x' * 1000000)",
        "('%.0r' * 100) % ((['x' * 1000000],) * 100)",
        "(['x' * 1000000] * 100000)|string|length",
        "'%.0s' % [['x' * 1000000] * 100000]",
        "('{:{0}}' * 1000).format('x' * 1000000)",
        "[1]|sort(attribute=',' * 1000)",
        "10 ** 30 * 10 ** 30",
        "10 ** 9999999999",
    ] {
        assert!(
            try_render(&format!("{{{{ {expression} }}}}"), json!([])).is_err(),
            "{expression}"
        );
    }
}

#[test]
fn long_integers_in_arguments_are_kept() {
    let source = "{% for m in messages %}{% for c in m.tool_calls or [] %}{% for k, v in c.function.arguments|items %}{{ k }}={{ v|tojson }};{{ v + 1 }};{{ v is number }}{% endfor %}{% endfor %}{{ m.content }}{% endfor %}";
    let arguments = r#"{"a": 12345678901234567890123}"#;
    let call = json!({"type": "function", "function": {"name": "f", "arguments": arguments}});
    let messages = json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "", "tool_calls": [call]}]);
    let request = chatparse::Request::from_json(
        &json!({"messages": messages, "add_generation_prompt": false}),
    )
    .unwrap();
    let prompt = chatparse::ChatTemplate::new(source, "", "")
        .unwrap()
        .prompt(&request)
        .unwrap();
    assert!(
        prompt.contains("a=12345678901234567890123;12345678901234567890124;True"),
        "{prompt}"
    );
}

/// Neither in pipes nor in blocks, nor as an argument, however it is made.
#[test]
fn names_with_a_dot_are_unknown_filters_and_tests() {
    for (name, source) in [
        ("filter op.memo", "{{ 'a' | op.memo(7, 0, 0) }}"),
        ("filter op.cat", "{{ 'a' | upper | op . cat('b') }}"),
        ("filter unknown.a", "{{ 'a' | unknown.a }}"),
        (
            "filter op.cat",
            "{% filter upper | op.cat('b') %}a{% endfilter %}",
        ),
        ("filter op.cat", "{% set x | op.cat('b') %}a{% endset %}"),
        ("filter op.catch", "{{ ('a' | op.catch(1, 1, 'x')) ~ 'b' }}"),
        (
            "filter op.cat",
            "{{ ['a'] | map('op' ~ '.cat', 'b') | list }}",
        ),
        (
            "filter op.cat",
            "{% set x = 'op.cat' %}{{ ['a'] | map(x, 'b') | list }}",
        ),
        ("test", "{{ ['a'] | select('op.cat', 'b') | list }}"),
        ("test", "{{ ['a'] | reject('op.cat', 'b') | list }}"),
        (
            "test",
            "{{ [{'a': 1}] | selectattr('a', 'op.cat', 'b') | list }}",
        ),
        (
            "test",
            "{{ [{'a': 1}] | rejectattr('a', 'op.cat', 'b') | list }}",
        ),
        ("test op.cat", "{{ 'a' is not op.cat('b') }}"),
    ] {
        let error = failure(source);
        assert_eq!(error.kind(), ErrorKind::Template, "{source}");
        let what = [format!("{name} is unknown"), format!("unknown {name}")];
        assert!(
            what.iter().any(|what| error.message().contains(what)),
            "{source}: {error}"
        );
    }
    assert_eq!(
        render("{{ 'op.cat' is filter }}{{ ['a.b'] | sort | map('upper') | first }}"),
        "FalseA.B"
    );
    let functions = "{% macro f() %}{{ varargs }}{% endmacro %}{{ f }}{{ range }}{{ ''.upper }}{{ [''.upper] }}";
    assert!(
        !render(functions).contains("0x") && !render(functions).contains('{'),
        "{}",
        render(functions)
    );
}

#[test]
fn a_prompt_without_a_generation_prompt_needs_no_render_with_one() {
    let source =
        "{%- if add_generation_prompt -%}{{ raise_exception('no') }}{%- else -%}B{%- endif -%}";
    let template = chatparse::ChatTemplate::new(source, "", "").unwrap();
    let body = json!({"messages": [{"role": "user", "content": "Hi"}]});
    let mut request = chatparse::Request::from_json(&body).unwrap();
    assert!(template.params(&request).is_err());
    request.add_generation_prompt = false;
    assert_eq!(template.params(&request).unwrap().prompt, "B");
}
