//! The calls of a turn as a field of a response template.
//!
//! A call that is JSON throughout is a field's whole text, and so is a list of them. Otherwise the
//! opening of the field has the name, and its text the arguments: JSON, or tags and pairs of names
//! and values.

use serde_json::{Map, Value};

use super::pattern::{KEY, NAME, any, beside_text, glue, text};
use super::view::{Turn, distinct, patterns, trimmed};
use super::{Anchor, Engine, Field};
use chatparse_base::{Error, Result};
use chatparse_learn::analysis::turn::{
    CallForm, CallPiece, Encoding, Glue, Members, Slot,
    SlotKind::{Call, Content, End},
    ValueKind, slots_of,
};

/// The field, and what begins a call, without names of its parts.
pub struct Calls {
    pub field: Field,
    pub announced: String,
}

/// What is lost where only a look ahead would show the next call.
const APART: &str = "several calls cannot be told apart: the message is an error";

/// Most braces that are tried as the beginning or end of a call that is JSON throughout.
const BRACES: usize = 8;

/// The field of the calls; `None` if there are none, or none that the engine can read.
pub fn calls(turn: &mut Turn) -> Result<Option<Calls>> {
    let Some(form) = turn.turn.calls.first().cloned() else {
        return Ok(None);
    };
    let calls = match Object::of(turn, &form).filter(|object| object.is_marked(turn.engine)) {
        Some(object) => Some(objects(turn, object)),
        None => named(turn, &form)?,
    };
    let calls = calls.filter(|calls| turn.engine.takes(&calls.field));
    if calls.is_none() {
        turn.limit(
            "tool_calls",
            "this engine has no expression for calls that are written so: they are content",
        );
        turn.limit("content", "calls are content");
    }
    Ok(calls)
}

/// A call that is one JSON object.
struct Object {
    /// The glue in front of the first, and in front of one after another.
    firsts: Vec<Glue>,
    nexts: Vec<Glue>,
    /// The glue behind it, without that of the edges.
    rest: Glue,
    /// The beginning of the object, up to its first value.
    begins: String,
    /// Where the parts are: dotted paths.
    name: String,
    arguments: String,
    id: Option<String>,
}

impl Object {
    fn of(turn: &Turn, form: &CallForm) -> Option<Object> {
        let edges = turn.turn.edges.iter().filter(|edge| edge.to == Call);
        let first = &edges.clone().next()?.glue;
        let mut inside = String::new();
        for piece in &form.pieces {
            inside += &match piece {
                CallPiece::Glue(glue) => sample(glue),
                CallPiece::Name => "NAME".to_owned(),
                CallPiece::Id => "ID".to_owned(),
                CallPiece::Arguments { quoted: false } => r#"{"ARGUMENTS":0}"#.to_owned(),
                CallPiece::Arguments { quoted: true } => r#"{\"ARGUMENTS\":0}"#.to_owned(),
                CallPiece::NamedId { .. } | CallPiece::Members(_) => return None,
            };
        }
        let close = form.close.head();
        for (open, _) in first.head().match_indices('{').take(BRACES) {
            let begin = first.without_start(open);
            for (end, _) in close.match_indices('}').take(BRACES) {
                let whole = format!("{}{inside}{}", sample(&begin), &close[..=end]);
                let Ok(object) = serde_json::from_str::<Value>(&whole) else {
                    continue;
                };
                let (mut name, mut arguments, mut id) = (None, None, None);
                let mut values = Vec::new();
                visit(&object, String::new(), &mut values);
                for (path, value) in values {
                    match value.as_str() {
                        Some("NAME") => name = Some(path),
                        Some("ID" | "0") => id = Some(path),
                        Some(text) if text.contains("ARGUMENTS") => arguments = Some(path),
                        _ if value.get("ARGUMENTS").is_some() => arguments = Some(path),
                        _ => {}
                    }
                }
                let (mut firsts, mut nexts) = (Vec::new(), Vec::new());
                for edge in edges {
                    let glues = if edge.from == Call {
                        &mut nexts
                    } else {
                        &mut firsts
                    };
                    glues.push(edge.glue.strip_suffix(&begin)?);
                }
                return Some(Object {
                    firsts,
                    nexts,
                    rest: form.close.without_start(end + 1),
                    begins: glue(&begin.trim_end()),
                    name: name?,
                    arguments: arguments?,
                    id,
                });
            }
        }
        None
    }
}

impl Object {
    /// Whether it is one of a list.
    fn is_listed(&self) -> bool {
        self.firsts
            .iter()
            .all(|glue| glue.trim_end().head().ends_with('['))
    }

    /// Whether markers, or the brackets of a list, show where it begins and ends.
    fn is_marked(&self, engine: Engine) -> bool {
        let are_apart = has_word(&self.rest) && self.nexts.iter().all(has_word);
        self.is_listed() || self.firsts.iter().all(has_word) && (are_apart || !engine.looks())
    }
}

/// Glue with a number for each placeholder.
fn sample(glue: &Glue) -> String {
    glue.shown().replace("‹number›", "0").replace("‹word›", "0")
}

/// Adds all values in an object whose path has words only.
fn visit<'v>(value: &'v Value, path: String, values: &mut Vec<(String, &'v Value)>) {
    values.push((path.clone(), value));
    for (key, value) in value.as_object().into_iter().flatten() {
        if !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_') {
            visit(value, format!("{path}.{key}"), values);
        }
    }
}

fn objects(turn: &mut Turn, object: Object) -> Calls {
    let list = object.is_listed();
    let root = if list { "" } else { "content" };
    let id = object.id.as_ref().map(|id| part(root, id));
    let (name, arguments) = (part(root, &object.name), part(root, &object.arguments));
    let mut field = Field {
        content: "json".into(),
        transform: Some(shape(&name, &arguments, id)),
        ..Field::default()
    };
    let Object {
        firsts,
        mut nexts,
        rest,
        ..
    } = object;
    // The brackets of a list are JSON: one field reads all calls.
    if list {
        let opens = patterns(firsts.iter().map(|glue| {
            let open = glue.trim_end();
            open.up_to(open.head().len().saturating_sub(1))
        }));
        let mut announced = turn.ahead(&format!(r"\[\s*{}", object.begins));
        if !opens.is_empty() {
            announced = any(&opens) + r"\s*" + &announced;
        }
        let ends = turn
            .turn
            .glues([Call], End)
            .map(|glue| rest.and(glue).trim_start());
        let ends = patterns(ends.filter_map(|glue| glue.strip_prefix(&"]".into())));
        if ends.is_empty() && turn.turn.glues([Call], Content).next().is_some() {
            turn.limit(
                "tool_calls",
                "text behind a list of calls cannot be told from them: the message is an error",
            );
        }
        field.open = Some(Anchor::Pattern(announced.clone()));
        field.close = closing(&ends, turn);
        field.transform_each = true;
        return Calls { field, announced };
    }
    // Otherwise each call is a field of its own, so its end must be found.
    let closed = has_word(&rest) || turn.engine.looks();
    if !turn.engine.looks() && !nexts.iter().all(|next| closed && has_word(next)) {
        turn.limit("tool_calls", APART);
        nexts.clear();
    }
    let opens = patterns(firsts.iter().chain(&nexts));
    let (ends, announced) = (behind(turn), any(&opens));
    field.close = if closed {
        Some(end_of_call(&rest, &ends))
    } else {
        let all = turn.with_ends(ends);
        (!all.is_empty()).then(|| Anchor::Pattern(any(&all)))
    };
    field.open = Some(match (&*firsts, &*opens) {
        ([first, ..], [_]) => pattern_or_text(first),
        _ => Anchor::Pattern(opens.join("|")),
    });
    field.repeats = true;
    Calls { field, announced }
}

/// A call with its name in front of its arguments; `None` if the engine cannot read it.
fn named(turn: &mut Turn, form: &CallForm) -> Result<Option<Calls>> {
    let mut head = String::new();
    let mut arguments = None;
    for piece in &form.pieces {
        match piece {
            CallPiece::Glue(between) => head += &glue(between),
            CallPiece::Name => head += &format!("(?P<name>{NAME})"),
            CallPiece::Id => head += r#"(?P<id>[^\s<>\[\]"]+?)"#,
            CallPiece::NamedId { before, behind } => {
                head += &format!("(?P<id>{}(?P<name>{NAME}){})", glue(before), glue(behind));
            }
            CallPiece::Arguments { .. } | CallPiece::Members(_) => {
                arguments = Some(piece);
                break;
            }
        }
    }
    if !head.contains("(?P<name>") {
        return Err(inexpressible(
            "their names are not in front of their arguments",
        ));
    }
    let arguments = arguments.ok_or_else(|| inexpressible("they have no arguments"))?;
    if form.pieces.last() != Some(arguments) {
        turn.limit(
            "tool_calls",
            "what follows the arguments of a call, as an id, is left out",
        );
    }
    let mut field = Field {
        content: "json".into(),
        repeats: true,
        ..Field::default()
    };
    let mut own_close = form.close.clone();
    match arguments {
        CallPiece::Members(members) => match literals(members, &form.close) {
            Some((delimiters, rest)) => {
                let delimiters = json!([[delimiters[0], delimiters[1]]]);
                field.content_args = [
                    ("unquoted_keys".into(), true.into()),
                    ("string_delims".into(), delimiters),
                ]
                .into_iter()
                .collect();
                turn.limit(
                    "tool_calls",
                    "an argument whose name has other characters than letters, digits and _ is an error",
                );
                head += &turn.ahead(r"\{");
                own_close = rest;
            }
            None => {
                let (before, tag) = tags(turn, members);
                head += &before;
                field.content = "xml-inline".into();
                field.content_args = tag;
            }
        },
        _ => {
            head = head.trim_end_matches(r"\s*").to_owned() + r"\s*" + &turn.ahead(r#"["\{\[]"#);
        }
    }
    // Nothing behind a name ends it, so its characters do.
    if let Some(lazy) = head.strip_suffix("?)") {
        head = format!("{lazy})");
    }
    let id = head.contains("(?P<id>").then(|| "{id}".to_owned());
    field.transform = Some(shape("{name}", "{content}", id));
    // What is in front of the names.
    let last = form.close.head().trim_end().chars().next_back();
    let mut fronts = Vec::new();
    let (mut alone, looks) = (false, turn.engine.looks());
    for edge in turn.turn.edges.iter().filter(|edge| edge.to == Call) {
        let front = glue(&edge.glue.trim_start());
        let is_bare = edge.from == Call && !has_word(&edge.glue);
        if !looks && (front.is_empty() || is_bare) {
            alone = true;
            continue;
        }
        fronts.push(match last {
            Some(last) if is_bare => format!(r"(?<={}\s*){front}", text(&last.to_string())),
            _ => front,
        });
    }
    if alone {
        turn.limit(
            "tool_calls",
            "a call that nothing marks, as the first or behind another, is no call",
        );
        turn.limit("content", "a call that nothing marks is content");
    }
    let blank = fronts.iter().any(String::is_empty) || fronts.is_empty();
    let fronts = distinct(fronts);
    let front = match fronts.is_empty() {
        true => String::new(),
        false if blank => format!("(?:{})?", fronts.join("|")),
        false => any(&fronts),
    };
    if blank {
        // Text may end where the name begins.
        head = head.replace(NAME, r"[\w-]+?");
        for field in ["content", "tool_calls"] {
            turn.limit(
                field,
                "no marker begins a call, so text that is written like one is a call",
            );
        }
    }
    let open = format!("{front}{head}");
    let announced = open.replace("(?P<name>", "(?:").replace("(?P<id>", "(?:");
    let ends = behind(turn);
    let close = trimmed(&own_close);
    let mut readable = true;
    // A host may stop at the marker that ends a call.
    let marker = own_close
        .marker_spans()
        .first()
        .map_or(0, |marker| marker.start);
    let (front, behind) = own_close.split_at(marker);
    field.close = Some(match has_word(&own_close) {
        true if looks && !front.is_blank() && !has_word(&front) => {
            let end = with_ends(glue(&behind.trim_end()), &ends);
            Anchor::Pattern(format!(r"{}\s*(?:{end}|\Z)", trimmed(&front)))
        }
        true => end_of_call(&own_close, &ends),
        false if !looks => {
            let all = turn.with_ends(ends);
            let own = own_close.core();
            // Arguments have such braces.
            readable = !own.starts_with('}');
            if !close.is_empty() {
                turn.limit("tool_calls", format!("an argument ends at {own:?}"));
                Anchor::Pattern(with_ends(close, &all))
            } else {
                if turn.turn.glues([Call], Call).next().is_some() {
                    turn.limit("tool_calls", APART);
                }
                readable &= !all.is_empty();
                Anchor::Pattern(any(&all))
            }
        }
        false => {
            let mut all = ends;
            all.extend(turn.ends.iter().map(|end| turn.ahead(&text(end))));
            all.push(turn.ahead(&announced));
            all.push(r"\Z".into());
            let close = if close.is_empty() {
                r"(?<=[\}\]])"
            } else {
                &close
            };
            Anchor::Pattern(format!(r"{close}\s*{}", any(&all)))
        }
    });
    field.open = Some(Anchor::Pattern(open));
    Ok(readable.then_some(Calls { field, announced }))
}

fn inexpressible(what: &str) -> Error {
    Error::invalid(format!(
        "response template: it cannot express the calls: {what}"
    ))
}

/// A place in a transform, below the root.
fn part(root: &str, path: &str) -> String {
    format!("{{{}}}", format!("{root}{path}").trim_start_matches('.'))
}

/// The pattern of the end of a call, and of one of the ends that may follow the last.
fn with_ends(close: String, ends: &[String]) -> String {
    if ends.is_empty() {
        close
    } else {
        format!(r"{close}(?:\s*{})?", any(ends))
    }
}

/// The end of a field with a call that ends with this glue.
fn end_of_call(close: &Glue, ends: &[String]) -> Anchor {
    if ends.is_empty() {
        pattern_or_text(close)
    } else {
        Anchor::Pattern(with_ends(trimmed(close), ends))
    }
}

/// Arguments that are an object in a notation like JSON: the delimiters of its texts, and the end
/// of the call behind it.
fn literals(members: &Members, close: &Glue) -> Option<([String; 2], Glue)> {
    let text = slots_of(&members.slots, ValueKind::Text).next()?;
    let number = slots_of(&members.slots, ValueKind::Integer).next()?;
    let [open, plain] = [text, number].map(|slot| slot.open.core());
    let opens = open.strip_prefix(plain).filter(|opens| !opens.is_empty())?;
    let object = members.first.core() == "{" && plain == ":" && number.close.is_blank();
    let rest = close.trim_start().strip_prefix(&Glue::from("}"));
    rest.filter(|_| object)
        .map(|rest| ([opens.to_owned(), text.close.core().to_owned()], rest))
}

/// Arguments one by one: the text between a call's name and the first, and how each is found.
fn tags(turn: &mut Turn, members: &Members) -> (String, Map<String, Value>) {
    let separator = members.next.trim_start().trim_end();
    let first = members.first.trim_end();
    let between = first
        .strip_suffix(&separator)
        .filter(|_| has_word(&separator));
    let (before, each) = match between {
        Some(between) => (glue(&between.trim_end()), glue(&separator)),
        None => (glue(&first), String::new()),
    };
    if members
        .slots
        .iter()
        .any(|(_, slot)| slot.encoding == Encoding::Nested)
    {
        turn.limit(
            "tool_calls",
            "arrays and objects that are not written as JSON stay texts",
        );
    }
    let mut slots: Vec<&Slot> = Vec::new();
    for (_, slot) in &members.slots {
        if !slots.contains(&slot) {
            slots.push(slot);
        }
    }
    // A form with more text around its values is no other.
    chatparse_base::sort::by_key(&mut slots, |slot| {
        std::cmp::Reverse(slot.open.head().len() + slot.close.head().len())
    });
    let quoted = slots.iter().any(|slot| slot.encoding == Encoding::Quoted);
    let single = quoted && turn.turn.single_quotes;
    let again = if turn.engine.looks() { "(?P=key)" } else { KEY };
    let mut known: Vec<String> = Vec::new();
    for slot in &slots {
        let before = glue(&slot.before);
        let open = beside_text(&slot.open);
        let close = beside_text(&slot.close.trim_end());
        // A value may have what ends it, unless that is a marker.
        let next = format!("{}{KEY}{open}|{}", glue(&members.next), turn.engine.end());
        let takes =
            turn.engine.looks() || slots.len() == 1 && !quoted && !next.contains(['(', ')']);
        let next = if slot.close.marker_spans().is_empty() && !separator.is_blank() && takes {
            format!("(?={next})")
        } else {
            String::new()
        };
        let values: &[&str] = match (slot.encoding, single) {
            // Where nothing separates two arguments, a value ends by itself.
            _ if separator.is_blank() && slot.close.is_blank() => &["(?P<value>(?&json))"],
            (Encoding::Quoted, true) => {
                &["'(?P<value>.*?)'", "\"(?P<value>.*?)\"", "(?P<value>.*?)"]
            }
            (Encoding::Quoted, false) => &[r#"(?P<value>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|.*?)"#],
            _ => &["(?P<value>.*?)"],
        };
        for value in values {
            let way = format!("{before}(?P<key>{KEY}){open}{value}{close}{next}");
            let way = way.replace("(?P=key)", again);
            if !known.contains(&way) {
                known.push(way);
            }
        }
    }
    if known.len() > 1 && !turn.engine.looks() {
        // A name stands for one group.
        known = one_way(known);
    }
    let tag = format!("{each}{}", any(&known));
    let defined = if tag.contains("(?&json)") { JSON } else { "" };
    let mut args = Map::new();
    args.insert("tag_pattern".into(), format!("{defined}{tag}").into());
    if quoted && !single {
        args.insert(
            "value_parser".into(),
            json!({"name": "json", "args": {"allow_non_json": true}}),
        );
        turn.limit(
            "tool_calls",
            "values that are not JSON are texts, unless the tools' schemas say what they are",
        );
    } else {
        turn.limit("tool_calls", "values are texts, unless transformers is given the tools, whose schemas say what they are; an array or object that is not JSON stays a text, and so do escapes in texts");
    }
    (before, args)
}

/// Ways to write an argument as one, as far as they differ between a key and its value; as they are
/// where that is not all.
fn one_way(ways: Vec<String>) -> Vec<String> {
    let key = format!("(?P<key>{KEY})");
    let parts: Option<Vec<_>> = ways
        .iter()
        .map(|way| {
            let (before, rest) = way.split_once(&key)?;
            let (open, value) = rest.split_at(rest.find("(?P<value>")?);
            Some([before, open, value].map(str::to_owned))
        })
        .collect();
    let parts = parts.filter(|parts| {
        parts
            .iter()
            .all(|part| part[0] == parts[0][0] && part[2] == parts[0][2])
    });
    let Some(parts) = parts else { return ways };
    let opens = any(&distinct(
        parts.iter().map(|part| part[1].clone()).collect(),
    ));
    vec![format!("{}{key}{opens}{}", parts[0][0], parts[0][2])]
}

/// A definition of JSON, for a pattern in front of which it stands.
const JSON: &str = r#"(?(DEFINE)(?P<json>"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|\[(?:[\s,]*(?&json))*\s*\]|\{(?:[\s:,]*(?&json))*\s*\}))"#;

/// The shape of a call in a message.
fn shape(name: &str, arguments: &str, id: Option<String>) -> Value {
    let function = json!({"name": name, "arguments": arguments});
    match id {
        Some(id) => json!({"id": id, "type": "function", "function": function}),
        None => json!({"type": "function", "function": function}),
    }
}

/// What follows the last call.
fn behind(turn: &Turn) -> Vec<String> {
    patterns(
        turn.turn
            .edges
            .iter()
            .filter(|edge| edge.from == Call && edge.to != Call)
            .map(|edge| &edge.glue),
    )
}

/// The end of a field whose text reaches up to one of these, or else to the end of the turn.
fn closing(ends: &[String], turn: &Turn) -> Option<Anchor> {
    if !ends.is_empty() {
        return Some(Anchor::Pattern(any(ends)));
    }
    if turn.ends.is_empty() {
        return None;
    }
    let end = any(&turn.with_ends(Vec::new()));
    Some(Anchor::Pattern(match turn.engine {
        engine if !engine.looks() => end,
        Engine::Sglang => format!(r"{}|\Z", turn.ahead(&end)),
        _ => turn.ahead(&end),
    }))
}

/// Whether glue has letters or a marker, so that it is no mere punctuation.
fn has_word(glue: &Glue) -> bool {
    glue.head().contains(|c: char| c.is_alphanumeric())
        || glue.marker_spans().iter().any(|span| span.len() > 2)
}

fn pattern_or_text(each: &Glue) -> Anchor {
    let trimmed = each.trim_start().trim_end();
    match trimmed
        .literal()
        .filter(|text| !text.contains(char::is_whitespace) && !text.is_empty())
    {
        Some(text) => Anchor::Texts(vec![text.to_owned()]),
        None => Anchor::Pattern(glue(&trimmed)),
    }
}
