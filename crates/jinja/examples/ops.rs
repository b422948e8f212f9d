//! What operations on a long text cost: in the engine, in the prototype, and there with origins.
use std::sync::Arc;
use std::time::Instant;

use chatparse_jinja::{Conversation, Host, Template};
use serde_json::json;

fn main() {
    let line = "A line of some words, with \"quotes\" and a | in it.\n";
    let x = line.repeat(2000);
    let words: Vec<String> = (0..2000).map(|n| format!("word {n}")).collect();
    let conversation = Conversation {
        messages: json!([]).into(),
        tools: Arc::new(json!(null)).into(),
        enable_thinking: true,
        add_generation_prompt: false,
        host: Host::Own,
        extra: json!({"x": x, "w": words, "d": {"a": x, "b": [1, 2, {"c": x}]}})
            .as_object()
            .unwrap()
            .clone(),
        now: None,
    };
    println!("bytes {}", x.len());
    for source in [
        "{{ x }}",
        "{{ x ~ x }}",
        "{{ x + 'a' + x }}",
        "{{ x[10:-10] }}",
        "{{ x|trim }}",
        "{{ x|upper }}",
        "{{ x.split('\\n')|length }}",
        "{{ x.split('\\n')|join('; ') }}",
        "{{ x|replace('words', 'texts') }}",
        "{{ x|indent(4) }}",
        "{{ x|tojson }}",
        "{{ d|tojson }}",
        "{{ d }}",
        "{{ w|join(', ') }}",
        "{{ '%s: %s' % (x, x) }}",
        "{{ '{}: {}'.format(x, x) }}",
        "{% set y %}{{ x }}{{ x }}{% endset %}{{ y }}",
        "{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(x) }}{{ m(m(x)) }}",
        "{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}{{ x }}{% endcall %}",
        "{% filter upper %}{{ x }}{% endfilter %}",
        "{% for a in w %}<{{ a }}>{% endfor %}",
        "{% for a in range(3000) %}{% if a % 3 == 0 and a is not none %}{{ loop.index }},{% endif %}{% endfor %}",
        "{% set n = namespace(t='') %}{% for a in w %}{% set n.t = n.t ~ a %}{% endfor %}{{ n.t }}",
    ] {
        let template = Template::new(source, "", "").unwrap();
        let own = chatparse_jinja::own::Own::new(source).unwrap();
        let mut times = [f64::MAX; 3];
        let mut pieces = 0;
        for _ in 0..8 {
            let start = Instant::now();
            let a = template.render(&conversation).unwrap();
            times[0] = times[0].min(start.elapsed().as_secs_f64());
            for traced in [false, true] {
                let start = Instant::now();
                let b = own.render(&template, &conversation, traced).unwrap();
                let at = 1 + usize::from(traced);
                times[at] = times[at].min(start.elapsed().as_secs_f64());
                assert_eq!(a, b.text, "{source}");
                pieces = b.pieces.len();
            }
        }
        let [a, b, c] = times.map(|t| t * 1e6);
        println!(
            "{a:8.0} {b:8.0} {c:8.0} {pieces:7} {}",
            source.replace('\n', "\\n")
        );
    }
    // Compiling.
    for path in std::env::args().skip(1) {
        let source = std::fs::read_to_string(&path).unwrap();
        let start = Instant::now();
        let mut n = 0;
        while n < 20 {
            let _ = Template::new(&source, "", "");
            n += 1;
        }
        let engine = start.elapsed().as_secs_f64() / 20.0 * 1e6;
        let start = Instant::now();
        n = 0;
        while n < 20 {
            let _ = chatparse_jinja::own::Own::new(&source);
            n += 1;
        }
        let own = start.elapsed().as_secs_f64() / 20.0 * 1e6;
        println!(
            "compile {engine:7.0} {own:7.0} {}",
            path.rsplit('/').next().unwrap()
        );
    }
}

#[test]
fn hostile_templates_end() {
    let conversation = Conversation {
        messages: json!([]).into(),
        tools: Arc::new(json!(null)).into(),
        enable_thinking: true,
        add_generation_prompt: false,
        host: Host::Own,
        extra: serde_json::Map::new(),
        now: None,
    };
    for source in [
        "{% set n = namespace(t='aaaaaaaaaa') %}{% for i in range(60) %}{% set n.t = n.t ~ n.t %}{% endfor %}{{ n.t|length }}",
        "{% set n = namespace(t='aaaaaaaaaa') %}{% for i in range(60) %}{% set n.t = n.t|replace('a', n.t) %}{% endfor %}{{ n.t|length }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% for a in range(1000000) %}{% for b in range(1000000) %}{% endfor %}{% endfor %}",
    ] {
        let template = Template::new(source, "", "").unwrap();
        let own = chatparse_jinja::own::Own::new(source).unwrap();
        let start = Instant::now();
        let result = own
            .render(&template, &conversation, false)
            .map(|rendered| rendered.text);
        println!("{:?} {:?}", start.elapsed(), result.as_ref().err());
        assert!(result.is_err(), "{source}");
    }
}
