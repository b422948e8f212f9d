//! Twice the output costs twice the work: counted, whole and byte by byte, for what templates
//! write, for the same with small mistakes, and for what somebody would write who wants it to cost
//! more.
//!
//! Time is measured in `benches/adversarial.rs`.

#[path = "../support/counted.rs"]
mod counted;
mod rendered;
mod shapes;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use chatparse::message::DiagnosticKind;
use chatparse::stream::Ended;
use chatparse::{ChatTemplate, EndedBy, Parser, Stream};
use counted::BYTES;
use rendered::{Asked, FAMILIES, Family};
use serde_json::json;
use shapes::SHAPES;

/// Debug builds are slow.
const DEBUG: bool = cfg!(debug_assertions);

static TEMPLATES: LazyLock<Vec<(String, ChatTemplate)>> = LazyLock::new(rendered::templates);

fn parse(parser: &Parser, output: &[u8], piece: usize) -> (u64, Ended) {
    let mut stream = Stream::new(parser);
    output
        .chunks(piece)
        .for_each(|chunk| drop(stream.feed(chunk)));
    let ended = stream.finish(EndedBy::Model);
    (stream.work(), ended)
}

/// The work for a byte of the longer one of two outputs. The error says what grows too fast.
fn growth(parser: &Parser, once: &str, twice: &str) -> Result<f64, String> {
    growth_below(2.3, parser, once, twice)
}

fn growth_below(most: f64, parser: &Parser, once: &str, twice: &str) -> Result<f64, String> {
    growth_of(most, [(parser, once), (parser, twice)])
}

fn growth_of(most: f64, [once, twice]: [(&Parser, &str); 2]) -> Result<f64, String> {
    let work = |(parser, output): (&Parser, &str)| {
        [output.len(), 1].map(|piece| parse(parser, output.as_bytes(), piece).0 as f64)
    };
    let (of_once, of_twice) = (work(once), work(twice));
    let (parser, twice) = twice;
    let mut wrong = Vec::new();
    for (index, way) in ["whole", "byte by byte"].into_iter().enumerate() {
        let ratio = of_twice[index] / of_once[index];
        if ratio >= most {
            wrong.push(format!(
                "{way} from {} to {}, × {ratio:.2}",
                of_once[index], of_twice[index]
            ));
        }
    }
    let apart = of_twice[1] / of_twice[0];
    if apart >= 3.0 {
        wrong.push(format!(
            "whole {}, byte by byte {}, × {apart:.2}",
            of_twice[0], of_twice[1]
        ));
    }
    if reaches_budget(parser, twice) {
        wrong.push("the budget is used up".to_owned());
    }
    if wrong.is_empty() {
        Ok(of_twice[1] / twice.len() as f64)
    } else {
        Err(wrong.join("; "))
    }
}

fn reaches_budget(parser: &Parser, output: &str) -> bool {
    let (_, ended) = parse(parser, output.as_bytes(), output.len());
    ended
        .diagnostics()
        .iter()
        .any(|found| found.kind == DiagnosticKind::Limit)
}

/// How much there is in the shorter output.
fn size(family: Family) -> usize {
    match family {
        Family::Arguments | Family::Tools => rendered::PROPERTIES / 2,
        _ if DEBUG => 25,
        _ => 500,
    }
}

#[test]
fn what_templates_write() {
    let mut wrong = Vec::new();
    // In debug builds, tools by the hundred for a few templates only.
    let numbers: &[usize] = if DEBUG { &[1, 100] } else { &[1, 10, 100] };
    for &tools in numbers {
        let (mut run, mut skipped, mut most) = (0, 0, (0.0, String::new()));
        let mut of_family = [0.0_f64; FAMILIES.len()];
        let templates = if DEBUG && tools > 1 {
            &TEMPLATES[..12]
        } else {
            &TEMPLATES[..]
        };
        for (name, template) in templates {
            for (index, family) in FAMILIES.into_iter().enumerate() {
                let n = size(family);
                let asked = Asked::new(template, family, tools);
                let outputs = asked
                    .and_then(|asked| Some((asked.output(n)?, asked.output(2 * n)?, asked.parser)));
                let Some((once, twice, parser)) = outputs else {
                    skipped += 1;
                    continue;
                };
                run += 1;
                let case = format!("{name}, {family:?}, {tools} tools");
                match growth(&parser, &once, &twice) {
                    Ok(each) => {
                        of_family[index] = of_family[index].max(each);
                        let share = each / parser.budget().per_byte as f64;
                        if share > most.0 {
                            most = (share, case);
                        }
                    }
                    Err(error) => wrong.push(format!("{case}: {error}")),
                }
            }
        }
        let each: Vec<_> = FAMILIES
            .iter()
            .zip(of_family)
            .map(|(family, most)| format!("{family:?} {most:.1}"))
            .collect();
        println!("{tools} tools, most for a byte: {}", each.join(", "));
        println!(
            "{tools} tools: {run} outputs, {skipped} that templates do not write; {:.1} % of the budget in {}",
            100.0 * most.0,
            most.1
        );
        assert!(
            run > 2 * skipped,
            "{run} outputs, {skipped} that templates do not write"
        );
        // An order of magnitude above what is needed, and no more.
        assert!((0.01..0.2).contains(&most.0), "{most:?} of the budget");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Templates whose calls have an id or other text in front of the tool's name: each tool is tried.
const NAME_BEHIND_TEXT: &[&str] = &[
    "json-nested",
    "llm-jp",
    "muse-glimmer",
    "cohere2",
    "command-r7b",
    "command_a",
    "solar-open",
    "mistral-7b-instruct-v0.3-sota",
];

/// Twice the arguments or tools that are declared, and a message that has each of them.
#[test]
fn all_that_is_declared() {
    let mut wrong = Vec::new();
    let n = if DEBUG { 50 } else { 500 };
    let templates = if DEBUG {
        &TEMPLATES[..12]
    } else {
        &TEMPLATES[..]
    };
    for (name, template) in templates {
        for family in [Family::Arguments, Family::Tools] {
            let asked = |declared: usize| {
                let asked = Asked::declaring(template, family, 1, declared)?;
                Some((asked.output(declared)?, asked.parser))
            };
            let (Some((once, parser)), Some((twice, parser_of_twice))) = (asked(n), asked(2 * n))
            else {
                continue;
            };
            let tries_each = family == Family::Tools && {
                let name = name.to_lowercase();
                NAME_BEHIND_TEXT.iter().any(|listed| name.contains(listed))
            };
            match growth_of(2.3, [(&parser, &once), (&parser_of_twice, &twice)]) {
                Ok(_) if tries_each => {
                    wrong.push(format!("{name} is no part of NAME_BEHIND_TEXT any more"))
                }
                Ok(each) => println!("{name}, {family:?}: {each:.1} a byte"),
                Err(_) if tries_each => {}
                Err(error) => wrong.push(format!("{name}, {family:?}: {error}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Spoils one of seven places where `at` is found.
fn spoil(output: &str, at: &str, instead: &str) -> String {
    let mut spoilt = String::new();
    for (index, part) in output.split(at).enumerate() {
        match index {
            0 => {}
            _ if index % 7 == 3 => spoilt.push_str(instead),
            _ => spoilt.push_str(at),
        }
        spoilt.push_str(part);
    }
    spoilt
}

/// A mark that is missing, quotes of another kind, line breaks at the edges of marks.
const SPOILT: &[(&str, &str)] = &[
    ("<", ""),
    ("\"", "'"),
    (">", ">\n"),
    ("<", "\n<"),
    ("\n", ""),
    ("{", "{ \n"),
    ("]", ""),
];

#[test]
fn what_templates_write_with_mistakes() {
    let mut wrong = Vec::new();
    let templates = if DEBUG {
        &TEMPLATES[..chatparse::builtin::BUILTINS.len()]
    } else {
        &TEMPLATES[..]
    };
    for (name, template) in templates {
        for family in [Family::Calls, Family::Items] {
            let n = if DEBUG { 15 } else { 60 };
            let asked = Asked::new(template, family, 2);
            let outputs = asked
                .and_then(|asked| Some((asked.output(n)?, asked.output(4 * n)?, asked.parser)));
            let Some((once, four_times, parser)) = outputs else {
                continue;
            };
            for (at, instead) in SPOILT {
                let [once, four_times] =
                    [&once, &four_times].map(|output| spoil(output, at, instead));
                // Where it leaves the format decides whether an output is read once or twice.
                if let Err(error) = growth_below(2.0 * 2.3 * 2.3, &parser, &once, &four_times) {
                    wrong.push(format!(
                        "{name}, {family:?}, {at:?} is {instead:?}: {error}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_written_to_cost_much() {
    let mut wrong = Vec::new();
    for shape in SHAPES {
        let n = if DEBUG { 100 } else { 1_000 };
        let (parser, once, twice) = (shape.parser(), (shape.output)(n), (shape.output)(2 * n));
        match growth(&parser, &once, &twice) {
            Ok(each) => println!("{}: {each:.1} a byte", shape.name),
            Err(error) => wrong.push(format!("{}: {error}", shape.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A grammar that is followed over an output: what it finds out, and what closes the output, grow
/// no faster than the output.
#[test]
fn what_a_matcher_finds_out() {
    let mut wrong = Vec::new();
    let n = if DEBUG { 200 } else { 2_000 };
    let open = |n: usize| {
        format!(
            "{}{}",
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"items\": ",
            "[".repeat(n)
        )
    };
    let any = chatparse::grammar::from_json_schema(&serde_json::json!({})).unwrap();
    let nested = chatparse::grammar::Recogniser::new(&any.text).unwrap();
    let deep = |n: usize| "[{\"a\": ".repeat(n);
    let cases = SHAPES.iter().map(|shape| {
        (
            shape.name,
            (shape.output)(n),
            (shape.output)(2 * n),
            Some(shape),
        )
    });
    for (name, once, twice, shape) in cases.chain([
        ("open lists", open(n), open(2 * n), Some(&SHAPES[0])),
        ("any JSON", deep(n), deep(2 * n), None),
    ]) {
        let found = |output: &str| {
            let mut matcher = shape.map_or_else(
                || nested.matcher(),
                |shape| shape.parser().matcher().unwrap(),
            );
            let empty = matcher.bytes();
            let taken = matcher.feed(output.as_bytes()).unwrap();
            let closing: usize = matcher.closings().iter().map(Vec::len).sum();
            (
                taken,
                (matcher.bytes() - empty + 1_000) as f64,
                (closing + 100) as f64,
            )
        };
        let (once, twice) = (found(&once), found(&twice));
        if twice.1 / once.1 > 2.3 || twice.2 / once.2 > 2.3 {
            wrong.push(format!("{name}: {once:?} to {twice:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a host asks of a running parse: bytes that each question allocates.
fn asked(stream: &mut Stream) -> [usize; 3] {
    let questions: [fn(&mut Stream); 3] = [
        |stream| drop(stream.state()),
        |stream| drop(stream.schema()),
        |stream| drop(stream.close()),
    ];
    questions.map(|question| {
        let before = BYTES.get();
        question(stream);
        BYTES.get() - before
    })
}

/// Each question costs as much as the output is long, at the end and after each piece.
#[test]
fn what_a_host_asks() {
    let mut wrong = Vec::new();
    let n = if DEBUG { 200 } else { 2_000 };
    for shape in SHAPES {
        let parser = shape.parser();
        // The first one makes the grammar.
        asked(&mut Stream::new(&parser));
        let cost = |output: &str, pieces: usize| {
            let mut stream = Stream::new(&parser);
            let mut most = [0; 3];
            for piece in output.as_bytes().chunks(output.len().div_ceil(pieces)) {
                drop(stream.feed(piece));
                let now = asked(&mut stream);
                most = std::array::from_fn(|at| most[at].max(now[at]));
            }
            most.map(|bytes| (bytes + 2_000) as f64)
        };
        for pieces in [1, 10] {
            let [once, twice] = [n, 2 * n].map(|n| cost(&(shape.output)(n), pieces));
            for (at, question) in ["state", "schema", "close"].into_iter().enumerate() {
                if twice[at] > 2.5 * once[at] {
                    let (name, once, twice) = (shape.name, once[at], twice[at]);
                    wrong.push(format!(
                        "{name}, {question} after each of {pieces}: {once} bytes, then {twice}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The beginnings of a call, over and over.
#[test]
fn calls_that_begin_and_do_not_go_on() {
    let mut wrong = Vec::new();
    let templates = if DEBUG {
        &TEMPLATES[..chatparse::builtin::BUILTINS.len()]
    } else {
        &TEMPLATES[..]
    };
    for (name, template) in templates {
        for family in [Family::Calls, Family::Items] {
            let Some(asked) = Asked::new(template, family, 2) else {
                continue;
            };
            let Some(call) = asked.output(1) else {
                continue;
            };
            for part in (1..8).map(|eighths| call.len() * eighths / 8) {
                let Some(part) = call.get(..part) else {
                    continue;
                };
                let n = if DEBUG { 30 } else { 300 };
                if let Err(error) = growth(&asked.parser, &part.repeat(n), &part.repeat(2 * n)) {
                    wrong.push(format!("{name}, {part:?}: {error}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Markers of thoughts, of calls and of what stands around these, over and over, with text behind
/// the last.
#[test]
fn markers_over_and_over() {
    const UNITS: [&str; 14] = [
        "<think>",
        "</think>\n",
        "<think></think>",
        "<tool_call>",
        "</tool_call>",
        "<tool_call>\n{",
        "<function=f>",
        "[TOOL_CALLS]",
        "```json\n",
        "[",
        "]",
        "<|a|>",
        "<|channel|>",
        "<｜DSML｜",
    ];
    let options = [
        json!({}),
        json!({"dialects": "always", "calls_in_reasoning": "always", "bare_calls": "anywhere"}),
    ];
    let (mut wrong, n) = (Vec::new(), if DEBUG { 50 } else { 1_000 });
    let templates = if DEBUG {
        &TEMPLATES[..chatparse::builtin::BUILTINS.len()]
    } else {
        &TEMPLATES[..]
    };
    for ((name, template), options) in templates
        .iter()
        .flat_map(|named| options.iter().map(move |set| (named, set)))
    {
        let Some(params) = shapes::params(template, 2, options) else {
            continue;
        };
        let thinking = params
            .thinking
            .iter()
            .flat_map(|thinking| thinking.ends.iter().chain([&thinking.start]));
        let own = thinking
            .chain(&params.preserved_tokens)
            .map(String::as_str)
            .filter(|unit| !unit.is_empty());
        for unit in UNITS.into_iter().chain(own).collect::<BTreeSet<_>>() {
            let output = |n: usize| format!("{} text", unit.repeat(n));
            if let Err(error) = growth(&params.parser, &output(n), &output(2 * n)) {
                wrong.push(format!("{name}, {options}, {unit:?}: {error}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
