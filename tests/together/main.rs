//! Options of requests together: what holds alone holds in combination. `table` has the options,
//! `cover` puts each pair of their values into a row, and the laws are here. `CHATPARSE_TEMPLATES`:
//! with how many templates each pair is tried; `CHATPARSE_ROWS`: how many random rows there are
//! besides.

mod apis;
mod cover;
mod laws;
mod outputs;
#[path = "../support/shown.rs"]
mod shown;
mod table;
#[path = "../each_template/written.rs"]
#[allow(dead_code, reason = "the properties of each template use the rest")]
mod written;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use chatparse::api::Api;
use chatparse::internals::request::{CHAT, Kind, OPTIONS};
use chatparse::{ChatTemplate, EndedBy, ErrorKind, Request, builtin};
use serde_json::{Value, json};

use outputs::Outputs;
use table::{About, Body, NO_OPTION, Row, base, rows};

struct Tried {
    name: &'static str,
    template: ChatTemplate,
    outputs: OnceLock<Outputs>,
}

impl Tried {
    fn outputs(&self) -> &Outputs {
        self.outputs.get_or_init(|| outputs::of(&self.template))
    }
}

static BUILTIN: LazyLock<Vec<Tried>> = LazyLock::new(|| {
    let of = |name| Tried {
        name,
        template: ChatTemplate::builtin(name).unwrap(),
        outputs: OnceLock::new(),
    };
    builtin::names().map(of).collect()
});

#[test]
fn each_field_of_a_request_is_in_the_table() {
    let rows = rows();
    let known = |name: &str| {
        rows.iter().any(|row| row.fields.contains(&name))
            || NO_OPTION.iter().any(|(field, _)| *field == name)
    };
    let read = CHAT.0[0]
        .fields
        .iter()
        .filter(|(_, kind, _)| *kind == Kind::Read);
    let theirs: Vec<&str> = read.map(|(name, ..)| *name).collect();
    let missing: Vec<&&str> = OPTIONS
        .iter()
        .chain(&theirs)
        .filter(|name| !known(name))
        .collect();
    assert!(
        missing.is_empty(),
        "neither in the table of options nor among those that are none: {missing:?}"
    );
    let fields = rows
        .iter()
        .flat_map(|row| row.fields)
        .chain(NO_OPTION.iter().map(|(name, _)| name));
    let gone: Vec<_> = fields
        .filter(|name| !OPTIONS.contains(name) && !theirs.contains(name))
        .collect();
    assert!(gone.is_empty(), "no fields: {gone:?}");
}

/// A body of new messages changes a request as if its fields had been in the body of all.
#[test]
fn each_field_may_come_with_a_turn() {
    let mut stay = 0;
    for row in rows() {
        for choice in &row.choices {
            let mut before = base();
            (row.setup)(&mut before);
            let mut after = before.clone();
            (choice.set)(&mut after);
            let is_new = |(name, value): &(&String, &Value)| {
                *name == "messages" || before[name.as_str()] != **value
            };
            let new: Value = after
                .as_object()
                .unwrap()
                .iter()
                .filter(is_new)
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            // What is refused cannot be changed.
            let Ok(before) = Request::from_json(&before) else {
                continue;
            };
            let of = format!("{} {}", row.name, choice.name);
            match before.renewed(&new) {
                Ok(renewed) => assert_eq!(Ok(renewed), Request::from_json(&after), "{of}"),
                Err(error) => {
                    let stays = row
                        .fields
                        .iter()
                        .any(|name| error.to_string() == format!("{name}: stays for all turns"));
                    assert!(
                        stays || Request::from_json(&after).is_err(),
                        "{of}: {error}"
                    );
                    stay += usize::from(stays);
                }
            }
        }
    }
    // How outputs are read, and what a conversation is.
    assert!(stay > 20, "{stay}");
}

/// A request with these values.
fn body(rows: &[Row], setups: &[usize], set: &[(usize, usize)]) -> Body {
    let mut body = base();
    setups.iter().for_each(|row| (rows[*row].setup)(&mut body));
    // A message that is continued is the last.
    let (last, first): (Vec<_>, Vec<_>) = set
        .iter()
        .copied()
        .partition(|(row, _)| rows[*row].name == "continue_final_message");
    first
        .into_iter()
        .chain(last)
        .for_each(|(row, value)| (rows[row].choices[value].set)(&mut body));
    if body["plain"] == true || body["for_training"] == true {
        // Templates see them as they are, and most want objects.
        let messages = body["messages"].as_array_mut().unwrap().iter_mut();
        for arguments in
            messages.filter_map(|message| message.pointer_mut("/tool_calls/0/function/arguments"))
        {
            *arguments =
                serde_json::from_str(arguments.as_str().unwrap()).unwrap_or_else(|_| json!({}));
        }
    }
    body
}

/// All that a request makes, or why it is refused.
type Made = Result<Value, (ErrorKind, String)>;

fn trace(tried: &Tried, body: &Body) -> Made {
    let params = Request::from_json(body).and_then(|request| tried.template.params(&request));
    let params = params.map_err(|error| (error.kind(), error.message().to_owned()))?;
    let mut all = params.to_json();
    let reads = tried.outputs().all.iter();
    let reads = reads.map(|output| {
        format!(
            "{:?}",
            params.parser.read(output.as_bytes(), EndedBy::Model)
        )
    });
    all["reads"] = reads.collect();
    all["hosted"] = Request::from_json(body).unwrap().hosted_tools.into();
    Ok(all)
}

/// What a value does, beside another one or alone.
#[derive(PartialEq)]
enum Effect {
    Acts,
    /// It has nothing to do there, and why that is no loss, or what names it.
    Idle,
    Dropped,
    Refused(String),
}

/// `known`: what requests of this template make, by their texts.
fn effect(
    tried: &Tried,
    rows: &[Row],
    known: &mut BTreeMap<String, Made>,
    value: (usize, usize),
    beside: Option<(usize, usize)>,
) -> Effect {
    let setups: Vec<usize> = beside
        .iter()
        .map(|(row, _)| *row)
        .chain([value.0])
        .collect();
    let set: Vec<(usize, usize)> = beside.into_iter().chain([value]).collect();
    let (without, with) = (
        body(rows, &setups, &set[..set.len() - 1]),
        body(rows, &setups, &set),
    );
    if without == with {
        return Effect::Idle;
    }
    let before = known
        .entry(without.to_string())
        .or_insert_with(|| trace(tried, &without))
        .clone();
    match (before, trace(tried, &with)) {
        // What is refused for another reason says nothing of this value.
        (Err(_), _) => Effect::Idle,
        (Ok(_), Err((_, error))) => Effect::Refused(error),
        (Ok(before), Ok(after)) if before != after => Effect::Acts,
        (Ok(_), Ok(after)) => {
            match idle(
                &rows[value.0],
                told(rows, value),
                beside.map(|beside| told(rows, beside)),
                &with,
                &after,
            ) {
                true => Effect::Idle,
                false => Effect::Dropped,
            }
        }
    }
}

/// Whether a value that changes nothing has nothing to do: each line is a rule that the guide of
/// requests has.
fn idle(row: &Row, value: String, beside: Option<String>, body: &Body, made: &Value) -> bool {
    let beside = beside.unwrap_or_default();
    let has = |names: &[&str]| names.iter().any(|name| beside.starts_with(name));
    let is = |names: &[&str]| names.iter().any(|name| value.starts_with(name));
    let (calls, reasoning, grammar) = (
        row.about == About::Calls,
        row.about == About::Reasoning,
        row.about == About::Grammar,
    );
    let named = |field: &str| {
        made["notes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|note| note.as_str().unwrap().starts_with(field))
    };
    let continues = !body["continue_final_message"].is_null();
    // A note or the report of the grammar names it.
    is(&["tool_choice"]) && named("tools:")
        || is(&["tool_choice", "grammar_style"]) && made["grammar_report"] != json!([])
        || is(&["response_format", "json_schema"]) && named("response_format:")
        || is(&["json_spacing"]) && named("json_spacing:")
        || is(&["prose"]) && named("prose:")
        // What no call is allowed for, and what all is content for, has no calls to be read or held
        // to a grammar.
        || (calls || grammar) && body["tool_choice"] == "none"
        || (calls || grammar || reasoning) && body["force_pure_content"] == true
        // A message that goes on is past its beginning; the prompt does not begin a turn.
        || (calls || reasoning || is(&["thinking", "add_generation_prompt", "for_training"])) && continues
        // Reasoning that is not separated, or not written, is not read.
        || is(&["opening_again", "calls_in_reasoning", "bare_calls"]) && has(&["reasoning_format=none", "thinking", "calls_in_reasoning", "dialects=off"])
        // The same in other words.
        || has(&["compat"]) && is(&["reasoning_format=none", "parallel_tool_calls=false", "grammar_style", "opening_again", "calls_in_reasoning", "bare_calls", "nearly_json"])
        || is(&["compat"])
        || is(&["for_training", "add_generation_prompt"]) && (has(&["for_training", "add_generation_prompt"]) || made["generation_prompt"] == "")
        || body["json_schema"] == body["response_format"]["json_schema"]["schema"] && body["json_schema"].is_object()
        // Where an answer has a schema, an object without a marker is the answer.
        || is(&["bare_calls", "dialects"]) && has(&["response_format", "json_schema"])
        // Where a call is required, other text leaves the format.
        || is(&["dialects=always", "dialects=tail"]) && body["tool_choice"] == "required"
        // All is as sent anyway, or there is no level to change.
        || is(&["roles", "effort"]) && has(&["plain", "for_training", "compat"])
        || is(&["effort"]) && has(&["thinking", "reasoning_effort"])
        || is(&["reasoning_effort"]) && has(&["effort"])
        // There is nothing of the kind.
        || is(&["hosted_tools"]) && has(&["plain", "for_training"])
        || is(&["media_marker"]) && has(&["parts"])
        || is(&["nearly_json", "calls_in_reasoning=llama.cpp"]) && has(&["tool_choice"])
        // llama.cpp's grammars allow further calls of some models.
        || is(&["parallel_tool_calls"]) && has(&["grammar_style"])
}

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a whole number"))
}

fn told(rows: &[Row], (row, value): (usize, usize)) -> String {
    format!(
        "{}={}",
        rows[row].name,
        rows[row].choices[value].name.trim_matches('"')
    )
}

fn values(rows: &[Row]) -> Vec<(usize, usize)> {
    (0..rows.len())
        .flat_map(|row| (0..rows[row].choices.len()).map(move |value| (row, value)))
        .collect()
}

#[test]
fn no_option_alone_is_dropped_in_silence() {
    let rows = rows();
    let mut dropped = BTreeMap::<String, Vec<&str>>::new();
    // What models write in one way has no other reading.
    for value in values(&rows)
        .into_iter()
        .filter(|(row, _)| rows[*row].about == About::Turn)
    {
        for tried in BUILTIN.iter() {
            if effect(tried, &rows, &mut BTreeMap::new(), value, None) == Effect::Dropped {
                dropped
                    .entry(told(&rows, value))
                    .or_default()
                    .push(tried.name);
            }
        }
    }
    assert!(dropped.is_empty(), "dropped in silence: {dropped:#?}");
}

#[test]
fn no_option_is_dropped_in_silence_1() {
    no_option_is_dropped_beside(0);
}

#[test]
fn no_option_is_dropped_in_silence_2() {
    no_option_is_dropped_beside(1);
}

/// Each value beside every second one, from one on.
fn no_option_is_dropped_beside(from: usize) {
    let rows = rows();
    let each = number("CHATPARSE_TEMPLATES", 1);
    let (mut dropped, mut count) = (BTreeMap::<String, Vec<&str>>::new(), 0);
    let mut refused = BTreeMap::<String, Vec<String>>::new();
    for (index, first) in values(&rows).into_iter().enumerate().skip(from).step_by(2) {
        for turn in 0..each {
            let tried = &BUILTIN[(index * 7 + turn * 11) % BUILTIN.len()];
            let known = &mut BTreeMap::new();
            for second in values(&rows)
                .into_iter()
                .filter(|second| second.0 != first.0)
            {
                count += 1;
                let pair = format!("{} beside {}", told(&rows, second), told(&rows, first));
                match effect(tried, &rows, known, second, Some(first)) {
                    Effect::Acts | Effect::Idle => {}
                    // What it does alone it does beside another.
                    Effect::Dropped => {
                        if effect(tried, &rows, known, second, None) == Effect::Acts {
                            dropped.entry(pair).or_default().push(tried.name);
                        }
                    }
                    Effect::Refused(error) => refused.entry(error).or_default().push(pair),
                }
            }
        }
    }
    println!("{count} pairs");
    for (error, pairs) in &refused {
        println!("refused: {error}: {}", pairs.join("; "));
    }
    let known = |error: &str| WORDS.iter().any(|words| error.contains(words));
    let unknown: Vec<_> = refused.iter().filter(|(error, _)| !known(error)).collect();
    assert!(unknown.is_empty(), "refused in other words: {unknown:#?}");
    let told: Vec<String> = dropped
        .iter()
        .map(|(pair, names)| format!("{pair}: {}", names.join(", ")))
        .collect();
    assert!(
        dropped.is_empty(),
        "{} of {count} dropped in silence:\n{}",
        told.len(),
        told.join("\n")
    );
}

/// The words of all refusals.
const WORDS: &[&str] = &[
    "grammar: cannot go with tools",
    "response_format: json_schema asks for another answer",
    // What the option is for.
    ".function.arguments: not JSON",
    "there is another tool \"look_up\"",
    // What transformers refuses, too.
    "continue_final_message: the template does not show the end of the last message",
    // A plain request gives the template what it does not take: a tool without a function, parts.
    "is not JSON serializable",
    "cannot be added to a string",
];

/// Values that do not go together, each a row of the table and a value, and the words of the
/// refusal.
const REFUSED: &[[&str; 3]] = &[
    ["tools=", "tool_choice=named", "there is no tool"],
    ["tools=", "tool_choice=allowed", "there is no tool"],
    ["grammar=own", "tools=two", "grammar: cannot go with tools"],
    [
        "grammar=own",
        "tools=deferred",
        "grammar: cannot go with tools",
    ],
    ["grammar=own", "parts=tool", "grammar: cannot go with tools"],
    ["grammar=own", "tool_choice=named", "there is no tool"],
    ["grammar=own", "tool_choice=allowed", "there is no tool"],
    [
        "continue_final_message=reasoning",
        "plain=true",
        "does not show the end",
    ],
    [
        "continue_final_message=reasoning",
        "for_training=true",
        "does not show the end",
    ],
    [
        "json_schema=schema",
        "response_format=json_object",
        "response_format: json_schema asks for another answer",
    ],
];

/// The markers of an output, as if each were a token.
fn tokens_of(output: &str) -> Vec<&str> {
    let marker = |(at, _)| {
        let rest: &str = &output[at..];
        let end = 1 + rest.find('>')?;
        (end > 3 && !rest[1..end].contains(['<', ' ', '=', '\n'])).then(|| &rest[..end])
    };
    let mut tokens: Vec<&str> = output.match_indices('<').filter_map(marker).collect();
    tokens.sort_unstable();
    tokens.dedup();
    tokens
}

/// Where tokens stand in a text.
fn occurrences(text: &str, tokens: &[&str]) -> Vec<std::ops::Range<usize>> {
    let mut spans: Vec<_> = tokens
        .iter()
        .flat_map(|token| {
            text.match_indices(token)
                .map(|(at, token)| at..at + token.len())
        })
        .collect();
    spans.sort_unstable_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    spans.dedup_by(|next, last| next.start < last.end);
    spans
}

/// Rows that cover all pairs of values, and random ones: for each option 0, or one more than its
/// choice.
fn covering(rows: &[Row]) -> Vec<cover::Picked> {
    let counts: Vec<usize> = rows.iter().map(|row| 1 + row.choices.len()).collect();
    let named = |(row, value): (usize, usize)| {
        (
            rows[row].name,
            if value == 0 {
                ""
            } else {
                rows[row].choices[value - 1].name.trim_matches('"')
            },
        )
    };
    let allowed = |a, b| {
        let (a, b) = (named(a), named(b));
        let is = |[one, other, _]: &[&str; 3]| {
            let fits = |known: &str, (row, value): (&str, &str)| known == format!("{row}={value}");
            fits(one, a) && fits(other, b) || fits(one, b) && fits(other, a)
        };
        !REFUSED.iter().any(is)
    };
    let mut all = cover::pairs(&counts, &allowed);
    all.extend(cover::random(
        &counts,
        &allowed,
        number("CHATPARSE_ROWS", 0),
    ));
    all
}

/// The bodies of the covering rows, and what is set in each.
fn requests() -> Vec<(Body, String)> {
    let rows = rows();
    let request = |picked: cover::Picked| {
        let set = picked
            .into_iter()
            .enumerate()
            .filter(|(_, value)| *value > 0);
        let set: Vec<(usize, usize)> = set.map(|(row, value)| (row, value - 1)).collect();
        let names: Vec<String> = set.iter().map(|value| told(&rows, *value)).collect();
        (body(&rows, &[], &set), names.join(" "))
    };
    covering(&rows).into_iter().map(request).collect()
}

/// The laws for one of so many templates in each row, in turn.
fn together(templates: &[Tried], one_in: usize) {
    let requests = requests();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (index, (body, names)) in requests.iter().enumerate() {
        let request = Request::from_json(body);
        for tried in templates
            .iter()
            .skip((one_in - index % one_in) % one_in)
            .step_by(one_in)
        {
            count += 1;
            let found = match &request {
                Ok(request) => {
                    laws::broken(&tried.template, tried.outputs(), body, request, index * 7)
                }
                Err(error) => vec![format!("refused: {error}")],
            };
            wrong.extend(
                found
                    .into_iter()
                    .map(|found| format!("{} {names}: {found}", tried.name)),
            );
        }
    }
    println!("{} rows, {count} requests", requests.len());
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn what_holds_alone_holds_together() {
    together(&BUILTIN, 4);
}

#[test]
fn what_holds_alone_holds_together_in_templates_of_others() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let folders =
        ["templates", "templates-wild"].map(|folder| std::fs::read_dir(shared.join(folder)));
    let mut files: Vec<_> = folders
        .into_iter()
        .flatten()
        .flatten()
        .flatten()
        .map(|file| file.path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "jinja"));
    files.sort();
    if files.is_empty() {
        println!("skipped: no templates next to the repository");
        return;
    }
    let load = |file: &PathBuf| {
        let source = std::fs::read_to_string(file).expect("the template is there");
        let template = ChatTemplate::new(&source, "<BOS>", "<EOS>").expect("the template compiles");
        let name = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Tried {
            name: name.leak(),
            template,
            outputs: OnceLock::new(),
        }
    };
    together(&files.iter().map(load).collect::<Vec<_>>(), 8);
}

#[test]
fn what_is_refused_says_why() {
    let rows = rows();
    for [one, other, words] in REFUSED {
        let values: Vec<_> = values(&rows)
            .into_iter()
            .filter(|value| [*one, *other].contains(&&*told(&rows, *value)))
            .collect();
        let request = Request::from_json(&body(&rows, &[], &values));
        // A template may show it.
        let tried = BUILTIN.iter().filter_map(|tried| match &request {
            Err(error) => Some(error.clone()),
            Ok(request) => tried.template.params(request).err(),
        });
        let told: Vec<_> = tried.collect();
        assert!(
            told.iter().any(|error| error.message().contains(words)),
            "{one} {other}: {told:?}"
        );
    }
}

#[test]
fn each_api_has_the_same_request() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (index, (mut body, names)) in requests().into_iter().enumerate() {
        if body["plain"] == true || body["for_training"] == true {
            continue;
        }
        // The other APIs have the ids of results only.
        for message in body["messages"].as_array_mut().unwrap() {
            message.as_object_mut().unwrap().remove("name");
        }
        let template = &BUILTIN[index * 7 % BUILTIN.len()].template;
        let made = |body: &Body| {
            Request::from_json(body).and_then(|request| Ok(template.params(&request)?.to_json()))
        };
        for (api, other) in [
            (Api::Messages, apis::messages(&body)),
            (Api::Responses, apis::responses(&body)),
        ] {
            let Some(other) = other else { continue };
            count += 1;
            let chat = api.request(&other);
            let (expected, found) = (made(&body), chat.and_then(|chat| made(&chat)));
            if expected != found {
                wrong.push(format!(
                    "{api:?} {names}: {other}\n  {expected:?}\n  {found:?}"
                ));
            }
        }
    }
    println!("{count} requests");
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
