//! Every way in, with what is nested or repeated beyond reason, on a stack as small as hosts'
//! threads may have: each ends with a value or an error.

use chatparse::grammar::{Recogniser, from_json_schema, valid};
use chatparse::internals::grammar::{Builder, Rule, Undeclared, Walk, schema};
use chatparse::internals::limits;
use chatparse::internals::peg::{self, TagId};
use chatparse::{ChatTemplate, EndedBy, Parser, Request, builtin, lint};
use serde_json::{Value, json};

/// Runs each case in a thread of its own.
fn each<T: Send + Sync>(stack: usize, cases: &[(&str, T)], run: impl Fn(&T) + Sync) {
    for (name, case) in cases {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new()
                .stack_size(stack)
                .name((*name).to_owned());
            thread
                .spawn_scoped(scope, || run(case))
                .unwrap()
                .join()
                .unwrap_or_else(|_| panic!("{name}"));
        });
    }
}

const SMALL: usize = 1 << 20;

/// For what recurses as deep as a template or a format is nested: unoptimized code has frames many
/// times the size.
const FOR_RECURSION: usize = if cfg!(debug_assertions) {
    8 << 20
} else {
    SMALL
};

fn around(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

fn request(more: Value) -> Request {
    let mut body =
        json!({"messages": [{"role": "user", "content": "Hi"}], "reasoning_format": "auto"});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    Request::from_json(&body).unwrap()
}

fn tool(parameters: &Value) -> Value {
    json!({"type": "function", "function": {"name": "f", "parameters": parameters}})
}

#[test]
fn templates() {
    let mut cases = Vec::new();
    for depth in [50, 90, 150, 245, 3_000, 60_000] {
        cases.extend([
            (
                "brackets",
                format!("{{{{ {} }}}}", around("[", "1", "]", depth)),
            ),
            ("open brackets", format!("{{{{ {}", "[".repeat(depth))),
            (
                "closing parentheses",
                format!("{{{{ 1{} }}}}", ")".repeat(depth)),
            ),
            (
                "maps",
                format!("{{{{ {} }}}}", around("{'a':", "1", "}", depth)),
            ),
            (
                "calls",
                format!("{{{{ {} }}}}", around("f(", "1", ")", depth)),
            ),
            ("not", format!("{{{{ {}1 }}}}", "not ".repeat(depth))),
            ("minus", format!("{{{{ {}1 }}}}", "-".repeat(depth))),
            ("sums", format!("{{{{ 1{} }}}}", "+1".repeat(depth))),
            ("attributes", format!("{{{{ a{} }}}}", ".a".repeat(depth))),
            ("indices", format!("{{{{ a{} }}}}", "[0]".repeat(depth))),
            ("filters", format!("{{{{ a{} }}}}", "|trim".repeat(depth))),
            (
                "ternaries",
                format!("{{{{ 1{} }}}}", " if 1 else 1".repeat(depth)),
            ),
            ("ifs", around("{% if 1 %}", "x", "{% endif %}", depth)),
            (
                "elifs",
                format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 1 %}".repeat(depth)),
            ),
            (
                "loops",
                around("{% for a in [1] %}", "x", "{% endfor %}", depth),
            ),
            ("sets", around("{% set a %}", "x", "{% endset %}", depth)),
            (
                "filter blocks",
                around("{% filter trim %}", "x", "{% endfilter %}", depth),
            ),
            (
                "macros",
                around("{% macro m() %}", "x", "{% endmacro %}", depth),
            ),
            ("open ifs", "{% if 1 %}".repeat(depth)),
        ]);
    }
    cases.extend([
        ("recursion", "{% macro x() %}{{ x() }}{% endmacro %}{{ x() }}".to_owned()),
        ("recursive loop", "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}".to_owned()),
        (
            "lists in lists",
            "{% set n = namespace(l=[]) %}{% for i in range(9999) %}{% set n.l = [n.l] %}{% endfor %}{{ n.l|tojson }}"
                .to_owned(),
        ),
        ("prompts of brackets", "{{ '[' * 500000 }}{% for m in messages %}{{ m.content }}{% endfor %}".to_owned()),
    ]);
    // Some fifty renders, each up to its bound, take too long in unoptimized code.
    if !cfg!(debug_assertions) {
        cases.push((
            "a gigabyte",
            "{% for a in range(100000) %}{% for b in range(100) %}{{ 'x' * 100 }}{% endfor %}{% endfor %}".to_owned(),
        ));
    }
    let request = request(json!({"tools": [tool(&json!({}))], "now": 0}));
    each(FOR_RECURSION, &cases, |source| {
        // Caps, analysis, prompt and parser are made on the way.
        let Ok(template) = ChatTemplate::new(source, "", "") else {
            return;
        };
        template.caps();
        template.layout();
        drop(template.params(&request));
    });
}

/// What threads of musl have. Unoptimised code has frames many times the size.
const SMALLEST: usize = if cfg!(debug_assertions) {
    1 << 20
} else {
    128 << 10
};

/// A template whose macros follow a value as deep as it is, as many templates print schemas and
/// arguments.
const FOLLOWS: &str = "{% macro show(v) %}{% if v is mapping %}{% for k in v %}{{ k }}:{{ show(v[k]) }}{% endfor %}\
    {% elif v is string %}{{ v }}{% else %}{% for i in v %}{{ show(i) }}{% endfor %}{% endif %}{% endmacro %}\
    {% for t in tools or [] %}{{ show(t.function.parameters) }}{% endfor %}{% for m in messages %}<{{ m.role }}>{{ m.content }}\
    {% for c in m.tool_calls or [] %}[{{ c.function.name }}]{{ show(c.function.arguments) }}{% endfor %}{% endfor %}";

#[test]
fn the_smallest_threads() {
    let plain = r#"{"messages": [{"role": "user", "content": "Hi"}]}"#.to_owned();
    let mut cases = vec![
        ("macro", "{% macro a(n) %}{{ a(n+1) }}{% endmacro %}{{ a(1) }}".to_owned(), plain.clone()),
        (
            "macro and filters",
            "{% macro a(n) %}{% for i in [1] %}{{ ('x' ~ a(n+1))|trim }}{% endfor %}{% endmacro %}{{ a(1) }}"
                .to_owned(),
            plain.clone(),
        ),
        (
            "callers",
            "{% macro a(n) %}{% call a(n+1) %}{% endcall %}{% endmacro %}{% call a(1) %}{% endcall %}".to_owned(),
            plain.clone(),
        ),
    ];
    for depth in [30, 60, 110, 140, 3_000] {
        let schema = around(
            r#"{"type":"array","items":"#,
            r#"{"type":"string"}"#,
            "}",
            depth,
        );
        let tools =
            format!(r#"[{{"type":"function","function":{{"name":"f","parameters":{schema}}}}}]"#);
        let arguments = Value::from(around("[", "1", "]", depth));
        let call = format!(
            r#"{{"id":"1","type":"function","function":{{"name":"f","arguments":{arguments}}}}}"#
        );
        let calls = format!(r#"[{{"role":"assistant","content":"","tool_calls":[{call}]}}]"#);
        cases.extend([
            ("schema", FOLLOWS.to_owned(), format!(r#"{{"messages":[],"tools":{tools}}}"#)),
            ("arguments", FOLLOWS.to_owned(), format!(r#"{{"messages":{calls}}}"#)),
            ("arguments as text", "{{ messages }}{{ tools|tojson }}".to_owned(), {
                let text = Value::from(around(r#"{"a":"#, "1", "}", depth));
                let call = format!(r#"{{"id":"1","type":"function","function":{{"name":"f","arguments":{text}}}}}"#);
                format!(r#"{{"messages":[{{"role":"assistant","content":"","tool_calls":[{call}]}}],"tools":{tools}}}"#)
            }),
            ("brackets", format!("{{{{ {} }}}}", around("[", "1", "]", depth)), plain.clone()),
            ("maps", format!("{{{{ {} }}}}", around("{'a':", "1", "}", depth)), plain.clone()),
        ]);
        for (open, close) in [
            ("{% if 1 %}", "{% endif %}"),
            ("{% set a %}", "{% endset %}"),
            ("{% filter trim %}", "{% endfilter %}"),
            ("{% macro m() %}", "{% endmacro %}"),
        ] {
            cases.push(("blocks", around(open, "x", close, depth), plain.clone()));
        }
    }
    let cases: Vec<_> = cases
        .into_iter()
        .map(|(name, source, text)| (name, (source, text)))
        .collect();
    each(SMALLEST, &cases, |(source, text)| {
        let (Ok(template), Ok(request)) =
            (ChatTemplate::new(source, "", ""), Request::from_text(text))
        else {
            return;
        };
        let Ok(params) = template.params(&request) else {
            return;
        };
        drop(params.parser.parse(b"<user>[f]{", EndedBy::Model));
        params.grammar();
    });
}

/// Depth costs no answer: what needed more than the caller's stack is rendered.
#[test]
fn deep_values_are_rendered_on_the_smallest_threads() {
    let schema = around(r#"{"a":"#, r#""deep""#, "}", 60);
    let tools =
        format!(r#"[{{"type":"function","function":{{"name":"f","parameters":{schema}}}}}]"#);
    let text = format!(r#"{{"messages":[{{"role":"user","content":"Hi"}}],"tools":{tools}}}"#);
    each(SMALLEST, &[("deep", text)], |text| {
        let template = ChatTemplate::new(FOLLOWS, "", "").unwrap();
        let prompt = template
            .params(&Request::from_text(text).unwrap())
            .unwrap()
            .prompt;
        assert!(prompt.contains("a:deep<user>Hi"), "{prompt}");
    });
}

#[test]
fn requests_and_texts() {
    let nested = |depth: usize| around("[", "", "]", depth);
    let mut cases = Vec::new();
    for depth in [100, 3_000, 100_000] {
        cases.extend([
            ("brackets", nested(depth)),
            ("open brackets", "[".repeat(depth)),
            ("tools", format!(r#"{{"messages": [], "tools": {}}}"#, "[".repeat(depth))),
            ("messages", format!(r#"{{"messages": {}}}"#, nested(depth))),
            ("members", around("{\"messages\":", "1", "}", depth)),
            ("parser", format!(r#"{{"chatparse_parser": 1, "prefill": "", "format": {}}}"#, nested(depth))),
            (
                "a node that is its own child",
                r#"{"chatparse_parser":1,"prefill":"","format":{"root":0,"nodes":[{"atomic":0}],"schemas":[]}}"#
                    .to_owned(),
            ),
        ]);
    }
    each(SMALL, &cases, |text| {
        drop(Request::from_text(text));
        drop(schema::from_text(text));
        assert!(Parser::from_text(text).is_err());
    });
}

#[test]
fn stored_parsers() {
    let stored = |nodes: Vec<Value>| {
        let root = nodes.len() - 1;
        let format = json!({"root": root, "nodes": nodes, "schemas": []});
        json!({"chatparse_parser": 1, "prefill": "", "format": format}).to_string()
    };
    let chain = |kind: fn(usize) -> Value, length: usize| {
        stored(
            [json!("any")]
                .into_iter()
                .chain((0..length).map(kind))
                .collect(),
        )
    };
    let mut cases = Vec::new();
    for length in [250, 500, 100_000] {
        cases.extend([
            ("atomic", chain(|below| json!({"atomic": below}), length)),
            ("tags", chain(|below| json!({"tag": [1, below]}), length)),
            (
                "repetitions",
                chain(|below| json!({"repeat": [below, 0, null]}), length),
            ),
            (
                "choices",
                chain(|below| json!({"choice": [below, 0]}), length),
            ),
            (
                "orders",
                chain(|below| json!({"unordered": [[below], [0]]}), length),
            ),
            ("look aheads", chain(|below| json!({"and": below}), length)),
        ]);
    }
    each(FOR_RECURSION, &cases, |text| {
        let Ok(parser) = Parser::from_text(text) else {
            return;
        };
        drop(parser.parse("x".repeat(100_000).as_bytes(), EndedBy::Model));
        // These double on each level: text stands for what is left, and the report says so.
        let report = parser.grammar(false).report;
        assert_eq!(text.contains("repeat"), !report.is_empty(), "{report:?}");
    });
}

#[test]
fn described_parsers() {
    let cases = [20, 60, 110, 1000].map(|depth| {
        let nested = format!(
            "{}\"end\"{}",
            "{\"atomic\":".repeat(depth),
            "}".repeat(depth)
        );
        (
            "nodes in nodes",
            format!("{{\"format\":{{\"root\":{nested}}}}}"),
        )
    });
    each(SMALLEST, &cases, |text| {
        assert_eq!(
            Parser::from_text(text).is_ok(),
            text.len() < 2_000,
            "{}",
            text.len()
        );
    });
}

/// A stored parser of rules, each of which leads to the next: `rule` writes the nodes of one, given
/// the number of its first node and a reference to the next. The root is all rules in a row, or the
/// first alone.
fn chain_of_rules(length: usize, order: Order, rule: fn(usize) -> Vec<Value>) -> String {
    let mut nodes = Vec::new();
    let mut rules: Vec<usize> = (0..length).collect();
    match order {
        Order::Forwards | Order::Named => {}
        Order::Backwards => rules.reverse(),
        Order::Mixed => rules.sort_by_key(|index| index * 7_919 % length),
    }
    let name = |index: usize| format!("r{index}");
    for index in rules {
        nodes.push(if index + 1 < length {
            json!({"ref": name(index + 1)})
        } else {
            json!({"literal": "z"})
        });
        nodes.extend(rule(nodes.len() - 1));
        nodes.push(
            json!({"rule": {"name": name(index), "child": nodes.len() - 1, "trigger": index == 0}}),
        );
    }
    let first = nodes.len();
    nodes.push(json!({"ref": name(0)}));
    let mut root = vec![first];
    if order == Order::Named {
        nodes.extend((1..length).map(|index| json!({"ref": name(index)})));
        root.extend(first + 1..nodes.len());
    }
    nodes.push(json!({"sequence": root}));
    let format = json!({"root": nodes.len() - 1, "nodes": nodes, "schemas": []});
    let tools = json!([{"name": "f", "description": "", "parameters": {}}]);
    json!({"chatparse_parser": 1, "prefill": "", "format": format, "rules": {"tools": tools}})
        .to_string()
}

/// In which order rules that lead to each other are seen.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Forwards,
    Backwards,
    Mixed,
    /// The root names all of them, too.
    Named,
}

type Nodes = fn(usize) -> Vec<Value>;

/// Uses a parser in all ways.
fn use_all(parser: &Parser, text: &str) {
    drop(parser.parse(text.as_bytes(), EndedBy::Model));
    drop(parser.tree(text.as_bytes(), 0, EndedBy::Limit));
    for lazy in [false, true] {
        let grammar = parser.grammar(lazy);
        drop(
            Recogniser::new(&grammar.text).map(|recogniser| Walk::new(&recogniser, 1).text(1_000)),
        );
    }
    drop(Parser::from_text(&parser.to_text()));
}

#[test]
fn chains_of_stored_rules() {
    let begins_with_the_next: [(&str, Nodes); 5] = [
        ("repeated", |next| vec![json!({"repeat": [next, 0, null]})]),
        ("as it is", |next| vec![json!({"atomic": next})]),
        ("behind white space", |next| {
            vec!["space".into(), json!({"sequence": [next + 1, next]})]
        }),
        ("looked ahead for", |next| vec![json!({"and": next})]),
        ("one of two", |next| {
            vec!["any".into(), json!({"choice": [next, next + 1]})]
        }),
    ];
    let consumes: [(&str, Nodes); 5] = [
        ("a byte first", |next| {
            vec![
                json!({"literal": "a"}),
                json!({"sequence": [next + 1, next]}),
            ]
        }),
        ("a byte first, then any number", |next| {
            let byte_and_more = json!({"sequence": [next + 1, next + 2]});
            vec![
                json!({"literal": "a"}),
                json!({"repeat": [next, 0, null]}),
                byte_and_more,
            ]
        }),
        ("repeated bytes", |next| {
            let byte_and_next = json!({"sequence": [next + 1, next]});
            vec![
                json!({"literal": "a"}),
                byte_and_next,
                json!({"repeat": [next + 2, 0, null]}),
            ]
        }),
        // A grammar leaves out the byte, so there each begins with the next.
        ("a byte that is tolerated", |next| {
            let byte_and_more = json!({"sequence": [next + 2, next + 3]});
            let more = json!({"repeat": [next, 0, null]});
            vec![
                json!({"literal": "a"}),
                json!({"tolerated": next + 1}),
                more,
                byte_and_more,
            ]
        }),
        ("a byte that is nothing in a grammar", |next| {
            let twice = json!({"sequence": [next + 2, next + 3, next + 3]});
            let more = json!({"repeat": [next, 0, null]});
            vec![
                json!({"literal": "a"}),
                json!({"gbnf": [next + 1, ""]}),
                more,
                twice,
            ]
        }),
    ];
    let orders = [
        Order::Forwards,
        Order::Backwards,
        Order::Mixed,
        Order::Named,
    ];
    let run = |(length, of, is_refused): &(usize, Nodes, Option<bool>)| {
        // A short one is as good where all rules are seen at once.
        for order in orders
            .into_iter()
            .filter(|order| *order != Order::Named || *length <= 170)
        {
            let parser = Parser::from_text(&chain_of_rules(*length, order, *of));
            assert!(
                is_refused.is_none_or(|refused| refused == parser.is_err()),
                "{length}, {order:?}"
            );
            drop(parser.map(|parser| use_all(&parser, &"a".repeat(*length))));
        }
    };
    // As long as unoptimized code takes in reasonable time.
    let longest = if cfg!(debug_assertions) { 400 } else { 20_000 };
    for (length, refused) in [(60, Some(false)), (170, None), (longest, Some(true))] {
        let cases: Vec<_> = begins_with_the_next
            .iter()
            .map(|(name, of)| (*name, (length, *of, refused)))
            .collect();
        each(FOR_RECURSION, &cases, run);
        let cases: Vec<_> = consumes
            .iter()
            .map(|(name, of)| (*name, (length, *of, Some(false))))
            .collect();
        each(FOR_RECURSION, &cases, run);
    }
}

#[test]
fn rules_that_refer_twice_to_the_next() {
    let twice: [(&str, Nodes); 3] = [
        ("in a row", |next| {
            vec![
                json!({"repeat": [next, 0, 1]}),
                json!({"sequence": [next + 1, next + 1]}),
            ]
        }),
        ("as alternatives", |next| {
            vec![json!({"choice": [next, next]})]
        }),
        ("repeated", |next| {
            vec![
                json!({"sequence": [next, next]}),
                json!({"repeat": [next + 1, 0, null]}),
            ]
        }),
    ];
    each(FOR_RECURSION, &twice, |of| {
        for order in [
            Order::Forwards,
            Order::Backwards,
            Order::Mixed,
            Order::Named,
        ] {
            let parser = Parser::from_text(&chain_of_rules(60, order, *of)).unwrap();
            use_all(&parser, "z");
        }
    });
}

#[test]
fn formats_of_the_hosts_own() {
    type Wrap = fn(&peg::Builder, peg::ExprId) -> peg::ExprId;
    let wrap: [(&str, Wrap); 6] = [
        ("atomic", |p, inner| p.atomic(inner)),
        ("sequences", |p, inner| p.sequence([inner, p.any()])),
        ("choices", |p, inner| p.choice([p.literal("<"), inner])),
        ("repetitions", |p, inner| p.repeat(inner, 1, None)),
        ("look aheads", |p, inner| p.not(inner)),
        ("tags", |p, inner| p.tag(TagId(1), inner)),
    ];
    for depth in [250, 500, 100_000] {
        each(FOR_RECURSION, &wrap, |wrap| {
            let p = peg::Builder::new();
            let root = (0..depth).fold(p.any(), |inner, _| wrap(&p, inner));
            let Ok(parser) = Parser::new(p.finish(root), "") else {
                return;
            };
            drop(parser.parse("x".repeat(1_000).as_bytes(), EndedBy::Model));
            parser.grammar(true);
            drop(Parser::from_text(&parser.to_text()));
        });
    }
}

#[test]
fn checks_and_walks() {
    let nest = "root ::= \"(\" root \")\" | \"a\"\n";
    each(
        SMALL,
        &[
            ("nested", nest),
            ("right", "root ::= \"a\" root |\n"),
            ("loop", "root ::= x\nx ::= root\n"),
        ],
        |grammar| {
            let Ok(recogniser) = Recogniser::new(grammar) else {
                return;
            };
            for open in ["(", "a"] {
                drop(recogniser.reach(&open.repeat(4_000)));
            }
            drop(Walk::new(&recogniser, 1).text(4_000));
        },
    );
    let template = ChatTemplate::builtin("tag-arguments").unwrap();
    each(FOR_RECURSION, &[("lint", template)], |template| {
        drop(lint::lint(template).to_json())
    });
}

#[test]
fn grammars() {
    let mut cases = Vec::new();
    for depth in [200, 60_000] {
        cases.extend([
            ("groups", around("(", "\"a\"", ")", depth)),
            ("repeated groups", around("(", "\"a\"", ")*", depth)),
            ("open groups", "(".repeat(depth)),
            ("classes", "[".repeat(depth)),
            ("counts", around("(", "\"a\"", "){2}", depth)),
            ("alternatives", "|".repeat(depth)),
        ]);
    }
    each(SMALL, &cases, |body| {
        if let Ok(recogniser) = Recogniser::new(&format!("root ::= {body}")) {
            recogniser.accepts(&"a".repeat(1_000));
        }
        if let Ok(rule) = Rule::gbnf(body) {
            let mut builder = Builder::new();
            builder.add_rule("root", rule);
            drop(builder.build());
        }
    });
    let chain: String = (0..60_000)
        .map(|i| format!("r{i} ::= r{} | \"b\"\n", i + 1))
        .collect();
    each(SMALL, &[("a chain of rules", chain)], |chain| {
        let recogniser = Recogniser::new(&format!("root ::= r0\n{chain}r60000 ::= \"a\"")).unwrap();
        assert!(recogniser.accepts("a"));
    });
}

/// Schemas as deep as JSON text gets, or wide, or in circles.
fn schemas() -> Vec<(&'static str, Value)> {
    let deep = |open: &str, close: &str| {
        serde_json::from_str(&around(open, "{}", close, limits::JSON_DEPTH / 2 - 4)).unwrap()
    };
    let wide = |property: Value| -> Value {
        (0..40)
            .map(|i| (format!("p{i}"), property.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let branches = vec![json!({"$ref": "#/$defs/n"}); 40];
    vec![
        ("items", deep("{\"items\":", "}")),
        ("members", deep("{\"properties\":{\"a\":", "}}")),
        ("others", deep("{\"additionalProperties\":", "}")),
        ("anyOf", deep("{\"anyOf\":[", "]}")),
        ("allOf", deep("{\"allOf\":[", "]}")),
        ("not", deep("{\"not\":", "}")),
        ("a circle", json!({"$ref": "#"})),
        (
            "itself in every member",
            json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": wide(json!({"$ref": "#/$defs/n"}))}}}),
        ),
        (
            "itself in a member, as anything",
            json!({"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"anyOf": branches}}}),
        ),
        (
            "members that are required",
            json!({"properties": wide(json!({})), "required": (0..40).map(|i| format!("p{i}")).collect::<Vec<_>>()}),
        ),
        (
            "patterns",
            json!({"properties": wide(json!({"pattern": "^((a*)*b{0,2000}){0,2000}$"}))}),
        ),
    ]
}

#[test]
fn schemas_of_every_kind() {
    each(SMALL, &schemas(), |schema| {
        drop(from_json_schema(schema).map(|grammar| Recogniser::new(&grammar.text).is_ok()));
        let mut builder = Builder::new();
        drop(builder.add_schema_within("f", schema, schema, Undeclared::LeftOut));
        drop(builder.build());
        let value: Value = serde_json::from_str(&around("[", "", "]", 120)).unwrap();
        drop(valid::check(schema, &value));
    });
}

#[test]
fn schemas_as_tools() {
    // Unoptimized code takes every fourth template: they have the same schemas.
    for name in builtin::names().step_by(if cfg!(debug_assertions) { 4 } else { 1 }) {
        let template = ChatTemplate::builtin(name).unwrap();
        each(FOR_RECURSION, &schemas(), |schema| {
            let Ok(params) = template.params(&request(
                json!({"tools": [tool(schema)], "tool_choice": "required"}),
            )) else {
                return;
            };
            params.grammar();
            params.to_json();
            drop(Parser::from_text(&params.parser.to_text()));
        });
    }
}
