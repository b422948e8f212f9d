//! Grammars of many tools: they have a tool's rules as any other list has them, allow what the
//! grammar of the whole format allows, and are printed from their rules.

use std::sync::atomic::{AtomicUsize, Ordering};

use chatparse::ChatTemplate;
use chatparse::grammar::{Dialect, Grammar, Recogniser, Start};
use chatparse::internals::grammar::Walk;
use chatparse::{Parser, Request};
use serde_json::{Value, json};

use super::written::tool;

/// Without optimisation it takes long.
const EVERY: usize = if cfg!(debug_assertions) { 8 } else { 1 };

/// What is wrong, and how many requests were looked at.
pub fn check(template: &ChatTemplate) -> (Vec<String>, usize) {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    if !ASKED.fetch_add(1, Ordering::Relaxed).is_multiple_of(EVERY) {
        return (Vec::new(), 0);
    }
    let schemas = [
        json!({"town": {"type": "string", "maxLength": 9}, "days": {"type": "integer"}}),
        json!({}),
        json!({"way": {"enum": ["one", "two"]}, "tags": {"type": "array", "items": {"type": "string"}}}),
    ];
    let listed = |at: usize| tool(&format!("do_{at}"), &schemas[at % 3]);
    let lists: [Vec<Value>; 2] = [
        (0..9).map(listed).collect(),
        (2..12).rev().map(listed).collect(),
    ];
    let (mut wrong, mut looked) = (Vec::new(), 0);
    let mut rules: Vec<Vec<String>> = Vec::new();
    for tools in &lists {
        let body =
            json!({"messages": [{"role": "user", "content": "Hi"}], "now": 0, "tools": tools});
        let Ok(params) = template.params(&Request::from_json(&body).expect("it is a request"))
        else {
            continue;
        };
        let grammar = params.grammar();
        if grammar.text.is_empty() {
            continue;
        }
        looked += 1;
        let is_of_tool = |line: &&str| {
            ["tool-do-4", "tool-do-5"]
                .iter()
                .any(|name| line.starts_with(name))
        };
        let mut of_tool: Vec<String> = grammar
            .text
            .lines()
            .filter(is_of_tool)
            .map(str::to_owned)
            .collect();
        of_tool.sort();
        rules.push(of_tool);
        let whole =
            Parser::from_text(&params.parser.to_text()).expect("it was written by this library");
        let whole = whole.grammar(params.constraint.is_lazy());
        wrong.extend(other_texts(grammar, &whole).or_else(|| other_texts(&whole, grammar)));
        let mut spoilt = Grammar::clone(grammar);
        spoilt.text = "no grammar".to_owned();
        let begins = match params.constraint.is_lazy() {
            true => Start::AtTrigger(params.constraint.triggers()),
            false => Start::AfterPrefix(&params.generation_prompt),
        };
        let printed = [Dialect::PortableGbnf, Dialect::Lark, Dialect::StructuralTag]
            .map(|dialect| [grammar, &spoilt].map(|grammar| grammar.print_output(dialect, begins)));
        let matchers = [grammar, &spoilt]
            .map(|grammar| grammar.matcher(begins).map(|matcher| matcher.forced()));
        if printed.iter().any(|[one, other]| one != other) || matchers[0] != matchers[1] {
            wrong.push("the text of the grammar is read".to_owned());
        }
    }
    if rules.first() != rules.last() {
        wrong.push(format!("the rules of a tool depend on others: {rules:#?}"));
    }
    (wrong, looked)
}

/// A text that one grammar allows and the other does not.
fn other_texts(one: &Grammar, other: &Grammar) -> Option<String> {
    let [one, other] =
        [one, other].map(|grammar| Recogniser::new(&grammar.text).expect("it is a grammar"));
    let mut walk = Walk::new(&one, 7);
    let mut texts = (0..12).filter_map(|_| walk.text(80));
    texts
        .find(|text| !other.accepts(text))
        .map(|text| format!("one of the two grammars allows {text:?}"))
}
