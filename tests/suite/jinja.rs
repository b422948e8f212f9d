//! Templates rendered as Python's Jinja2 renders them, set up as transformers sets it up:
//! `corpus/jinja/cases.jsonl` holds what it made of each case (`judges/jinja.py` writes that file). Where
//! we differ by design, `corpus/jinja/exceptions.txt` says why.

use std::collections::BTreeMap;
use std::sync::Arc;

use chatparse::internals::template::{Conversation, GENERATED, Host, MIXED, Template, Traced};
use serde_json::{Map, Value, json};

const CASES: &str = include_str!("../../corpus/jinja/cases.jsonl");
const EXCEPTIONS: &str = include_str!("../../corpus/jinja/exceptions.txt");

fn render(template: &str, variables: &Map<String, Value>) -> Option<String> {
    let conversation = Conversation {
        messages: json!([]).into(),
        tools: Arc::new(Value::Null).into(),
        enable_thinking: true,
        add_generation_prompt: false,
        host: Host::Own,
        extra: variables.clone(),
        now: Some(1_787_356_800),
    };
    let template = Template::new(template, "", "").ok()?;
    let plain = template.render(&conversation).ok();
    let tracing = template.tracing();
    assert_eq!(tracing.render(&conversation).ok(), plain, "{template:?}");
    for (_, traced) in tracing.take_traced() {
        check_origins(&traced, variables);
    }
    plain
}

/// Stretches follow each other, and one that has more than a letter of its value's text is in it.
fn check_origins(traced: &Traced, variables: &Map<String, Value>) {
    let variables = Value::Object(variables.clone());
    let mut start = 0;
    for piece in &traced.pieces {
        let end = piece.end as usize;
        assert!(
            start < end && traced.text.is_char_boundary(end),
            "{traced:?}"
        );
        let from = piece.from & !GENERATED;
        let source = (from as usize).checked_sub(1).filter(|_| from != MIXED);
        if let Some((path, false)) = source.map(|source| &traced.sources[source])
            && let Some(text) = variables.pointer(path).and_then(Value::as_str)
        {
            let shown = &traced.text[start..end];
            let at = piece.at as usize;
            let same = text
                .get(at..at + shown.len())
                .is_some_and(|part| part == shown || part.to_lowercase() == shown.to_lowercase());
            // Escapes and other letters are shorter or longer.
            assert!(
                same || text.len() != shown.len() || !text.is_ascii(),
                "{traced:?}"
            );
        }
        start = end;
    }
}

/// Each template that may differ, by the reason: a line that begins with `#`, above the templates
/// as JSON texts.
fn exceptions() -> BTreeMap<String, &'static str> {
    let mut reason = "";
    let mut named = BTreeMap::new();
    for line in EXCEPTIONS.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(text) => reason = text,
            None => {
                named.insert(
                    serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")),
                    reason,
                );
            }
        }
    }
    named
}

#[test]
fn templates_render_as_in_python() {
    let mut lines = CASES.lines();
    let variables: Map<String, Value> = serde_json::from_str(lines.next().unwrap()).unwrap();
    let mut exceptions = exceptions();
    let (mut count, mut same, mut wrong) = (0, 0, Vec::new());
    for line in lines {
        let (template, expected): (String, Option<String>) = serde_json::from_str(line).unwrap();
        let shown = render(&template, &variables);
        count += 1;
        let excused = exceptions.remove(&template).is_some();
        match (shown == expected, excused) {
            (true, false) => same += 1,
            (true, true) => wrong.push(format!("{template:?} is no exception any more")),
            (false, true) => {}
            (false, false) => wrong.push(format!(
                "{template:?}\n  Jinja2 {expected:?}\n  we     {shown:?}"
            )),
        }
    }
    wrong.extend(
        exceptions
            .keys()
            .map(|template| format!("{template:?} is an exception and no case")),
    );
    println!("{same} of {count} templates render the same");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// A long text in a namespace goes on in place where a template appends to it. In parentheses the
/// sum is an ordinary one.
#[test]
fn what_grows_in_place_is_what_the_sum_is() {
    let cases = [
        "{% for i in range(99) %}{% set ns.x = ns.x + 'b' + '\n' %}{% endfor %}{{ ns.x }}",
        "{% for i in range(99) %}{% set ns.x = ns.x ~ i ~ none %}{% endfor %}{{ ns.x }}",
        "{% for i in range(99) %}{% set ns.x = ns.x + none + 'é' + absent %}{% endfor %}{{ ns.x }}",
        "{% for i in range(99) %}{% set ns.x = ns.x + i|string + [i] + 1.5 %}{% endfor %}{{ ns.x }}",
        "{% for i in range(99) %}{% set ns.x = ns.x + 'b' %}{{ ns.x|length }}{{ ns.x[-3:] }}{% endfor %}{{ ns }}",
        // The text of before stays, whoever appends to it.
        "{% set ns.x = ns.x + 'b' %}{% set ns.y = ns.x %}{% set ns.x = ns.x + 'c' %}{% set ns.y = ns.y + 'd' %}\
         {% set ns.x = ns.x + 'e' %}{{ ns.x == ns.y }}{{ ns.x }}{{ ns.y }}{% set ns.x = ns.y %}{% set ns.x = ns.x + 'f' %}{{ ns.x }}",
        // A term changes the place.
        "{% set ns.x = ns.x + 'b' %}{% macro more() %}{% set ns.x = ns.x + 'c' %}d{% endmacro %}\
         {% for i in range(9) %}{% set ns.x = ns.x + more() + more() %}{% endfor %}{{ ns.x }}",
        "{% set ns.x = ns.x + 'b' %}{% set ns.x = ns.x + 'c' if ns.x is string and ns.x else 'd' %}{{ ns.x }}",
        "{% set ns.x = ns.x + 'b' %}{% set ns.x = ns.x + ns.x %}{% set ns.x = ns.x + ns.x[:9] %}{{ ns.x }}",
        "{% set ns.x = ns.x + 'b' %}{% set ns.x = ns.x + 'c' == ns.x %}{{ ns.x }}{% set ns.x = ns.x + 1 %}{{ ns.x }}",
        "{% set ns.x = ns.x + 'b' %}{% set ns.x = ns.x + 'c', 1 %}{{ ns.x|length }}{% set ns.x = ns.x + (2,) %}{{ ns.x|length }}",
        "{% set ns.x = ns.x + 'b' %}{% set d = dict(x=ns.x, k=[ns.x]) %}{% set d.x = d.x + 'c' %}{{ d.x }}{{ d }}{{ ns|length }}",
        "{% set ns.x = ns.x + 'b' %}{% set ns.absent = ns.absent + 'c' %}{% set other.x = other.x + 'c' %}",
        "{% set ns.x = ns.x + 'b' %}{% for key in ns %}{{ key }}{{ ns[key]|length }}{% endfor %}{{ (ns.x ~ '')|tojson|length }}",
    ];
    let begun = "{% set ns = namespace(x='ä' * 5000, n=1) %}";
    for case in cases {
        let sums = case
            .replace("= ns.x +", "= (ns.x) +")
            .replace("= ns.x ~", "= (ns.x) ~")
            .replace("= ns.y +", "= (ns.y) +");
        let [grown, sums] =
            [case, &sums].map(|case| render(&format!("{begun}{case}"), &Map::new()));
        assert_eq!(grown, sums, "{case}");
    }
}
