//! Any text where a stored parser is expected: an error, or a parser that is safe to feed and can
//! be stored again.

use std::sync::LazyLock;

use chatparse::grammar::Recogniser;
use chatparse::internals::peg::program_of;
use chatparse::{ErrorKind, Parser, Stream};
use serde_json::{Value, json};

use super::choices::Choices;
use super::known::{self, known};
use super::shown::feed;

const WORDS: &[&str] = &[
    "empty",
    "end",
    "any",
    "space",
    "literal",
    "sequence",
    "choice",
    "repeat",
    "and",
    "not",
    "char",
    "string_body",
    "string_line",
    "until",
    "unordered",
    "tag",
    "atomic",
    "tolerated",
    "rule",
    "ref",
    "schema",
    "excluding",
    "name",
    "child",
    "trigger",
    "raw",
    "document",
    "pointer",
    "ranges",
    "negated",
    "a",
    "b",
    "",
    "é",
    "<",
    "</a>",
    "\"",
    "/properties/key",
    "nodes",
    "root",
    "schemas",
    "prefill",
    "chatparse_parser",
];

/// Parsers of real formats, as they are stored.
static STORED: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let parsers =
        (0..known::templates()).map(|template| known(template, template % known::REQUESTS));
    parsers
        .map(|known| serde_json::from_str(&known.params.parser.to_text()).unwrap_or_default())
        .collect()
});

pub fn case(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let text = match Choices::text(bytes) {
        Some(text) => text.to_owned(),
        None => {
            let mut stored = if choices.once_in(3) {
                choices.pick(&STORED).clone()
            } else {
                small(&mut choices)
            };
            for _ in 0..choices.below(4) {
                choices.mutate_json(&mut stored, WORDS);
            }
            let text = stored.to_string();
            if choices.once_in(8) {
                choices.mutate_text(
                    &text,
                    &WORDS.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>(),
                )
            } else {
                text
            }
        }
    };
    let parser = match Parser::from_text(&text) {
        Ok(parser) => parser,
        Err(error) => {
            let kind = error.kind();
            assert!(
                matches!(kind, ErrorKind::InvalidArgument | ErrorKind::Limit),
                "{text}: {kind:?}: {error}"
            );
            return;
        }
    };
    let again =
        Parser::from_text(&parser.to_text()).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(program_of(&again), program_of(&parser), "{text}");
    for lazy in [false, true] {
        let grammar = parser.grammar(lazy).text;
        match Recogniser::new(&grammar) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Limit => {}
            Err(error) => panic!("{text}: {error}\n{grammar}"),
        }
    }
    let pieces = [
        "a",
        "b",
        "ab",
        "<",
        "</a>",
        "\"",
        "\\",
        "{\"a\": 1}",
        " ",
        "é",
        "\u{1F600}",
    ];
    let mut output: Vec<u8> = (0..choices.below(16))
        .flat_map(|_| choices.pick(&pieces).bytes())
        .collect();
    let count = choices.below(6);
    output.extend(choices.bytes(count));
    let cut_off = choices.once_in(2);
    // A format from anywhere may read a text in one way and then, a byte later, in another: its
    // message may depend on the pieces, but deltas append.
    let size = 1 + choices.below(8);
    for pieces in [
        output.chunks(1),
        output.chunks(size),
        output.chunks(output.len().max(1)),
    ] {
        feed(Stream::new(&parser), pieces, cut_off).unwrap_or_else(|error| {
            panic!("{text}: {:?}: {error}", String::from_utf8_lossy(&output))
        });
    }
}

/// A format of a few nodes, most of which are sound.
fn small(choices: &mut Choices) -> Value {
    let mut nodes: Vec<Value> = vec![json!({"literal": "a"})];
    for _ in 0..choices.below(16) {
        let mut child = || choices.below(nodes.len());
        let (one, two, three) = (child(), child(), child());
        let text = *choices.pick(&["a", "b", "ab", "<", "</a>", "", "é"]);
        let node = match choices.below(24) {
            0 => json!("empty"),
            1 => json!("end"),
            2 => json!("any"),
            3 => json!("space"),
            4 => json!({"literal": text}),
            5 | 6 => json!({"sequence": [one, two, three]}),
            7 | 8 => json!({"choice": [one, two, three]}),
            9 | 10 => {
                let most = choices.below(3);
                json!({"repeat": [one, choices.below(3), if most == 0 { Value::Null } else { json!(most) }]})
            }
            11 => json!({"and": one}),
            12 => json!({"not": one}),
            13 => {
                json!({"char": {"ranges": [["a", "b"], ["é", "é"]], "negated": choices.once_in(2)}})
            }
            14 => json!({"string_body": 34}),
            15 => json!({"string_line": 34}),
            16 => json!({"until": [text, "b"]}),
            17 => json!({"until": []}),
            18 => json!({"unordered": [[one, two], [three]]}),
            19 | 20 => json!({"tag": [choices.below(22), one]}),
            21 => json!({"atomic": one}),
            22 => {
                json!({"rule": {"name": format!("r{}", choices.below(3)), "child": one, "trigger": choices.once_in(2)}})
            }
            _ => match choices.below(4) {
                0 => json!({"ref": format!("r{}", choices.below(3))}),
                1 => json!({"tolerated": one}),
                2 => json!({"excluding": [one, [text]]}),
                _ => {
                    json!({"schema": {"child": one, "name": "s", "schema": {"document": 0, "pointer": ""}, "raw": choices.once_in(2)}})
                }
            },
        };
        nodes.push(node);
    }
    let root = nodes.len() - 1;
    let schemas = json!([{"type": "object", "properties": {"a": {"type": "integer"}}}]);
    let prefill = *choices.pick(&["", "a", "b"]);
    json!({"chatparse_parser": 1, "prefill": prefill, "format": {"root": root, "nodes": nodes, "schemas": schemas}})
}
