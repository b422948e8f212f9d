//! A response template as a turn.
//!
//! What a model writes where an expression leaves it open is guessed as templates write it: a line
//! break between two markers, a space behind the punctuation of JSON. The parser reads other white
//! space as well.

use serde_json::Value;

use super::expression::{Part, Ways, ways};
use super::read::wrong;
use super::{Anchor, Field, ResponseTemplate};
use chatparse_base::find::shared;
use chatparse_base::{Error, Result};
use chatparse_learn::analysis::turn::{
    ANY, COUNTER, CallForm, CallPiece, Container, Encoding, Glue, Members, Nested, Reasoning, Slot,
    SlotKind::{self, Call, Content, End, Prompt},
    TurnFormat, ValueKind,
};

/// The names of the field of the reasoning.
pub const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

impl ResponseTemplate {
    /// The turn that is read so.
    ///
    /// # Errors
    /// [`chatparse_base::ErrorKind::InvalidArgument`] for what a turn cannot be like, with the
    /// place.
    pub fn turn(&self) -> Result<TurnFormat> {
        let starts = self.start.texts("start_anchor")?;
        let mut turn = TurnFormat {
            opening: starts.first().cloned().unwrap_or_default(),
            ..TurnFormat::default()
        };
        for (name, field) in &self.fields {
            let known =
                REASONING.contains(&&**name) || ["content", "tool_calls"].contains(&&**name);
            // A field that no text is in is no part of the message.
            let empty =
                matches!(&field.close, Some(Anchor::Pattern(close)) if close.starts_with("(?=.)"));
            if !known && !empty {
                return Err(wrong(
                    &format!("fields.{name}"),
                    "no part of a message that can be read",
                ));
            }
        }
        if let Some((name, field)) = self.field(&REASONING) {
            turn.reasoning = Some(field.reasoning(&format!("fields.{name}"), &turn.opening)?);
        }
        let (opens, closes) = match self.field(&["content"]) {
            Some((_, field)) => field.content(&mut turn)?,
            None => (vec![String::new()], Vec::new()),
        };
        // Where no field takes other text, what begins a turn may stand in front of each part.
        let sink = self.fields.iter().any(|(_, field)| field.open.is_none());
        let again = if sink {
            String::new()
        } else {
            turn.opening.clone()
        };
        for open in &opens {
            turn.edge(Prompt, open.trim_start_matches(ANY), Content);
            for again in [&*again, ""] {
                turn.edge(SlotKind::Reasoning, &begun(again, open), Content);
            }
        }
        if let Some((_, field)) = self.field(&["tool_calls"]) {
            field.calls(&mut turn, &again, &closes)?;
        }
        turn.delimiters.assistant = turn.opening.trim_end().to_owned();
        Ok(turn)
    }

    /// The first field with one of these names.
    fn field(&self, names: &[&str]) -> Option<&(String, Field)> {
        self.fields
            .iter()
            .find(|(name, _)| names.contains(&&**name))
    }
}

impl Anchor {
    /// The texts that it may be, as a template would write them.
    fn texts(&self, place: &str) -> Result<Vec<String>> {
        let mut texts: Vec<String> = Vec::new();
        for way in self.ways(place)? {
            let text = written(&way, &format!("{place}_pattern"))?;
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        Ok(texts)
    }

    /// The ways in which it may be written out.
    fn ways(&self, place: &str) -> Result<Ways> {
        match self {
            Anchor::Texts(texts) => Ok(texts
                .iter()
                .map(|text| vec![Part::Text(text.clone())])
                .collect()),
            Anchor::Pattern(pattern) => ways(pattern, &format!("{place}_pattern")),
        }
    }
}

/// Parts as a template would write them, without what may be missing.
fn written(parts: &[Part], place: &str) -> Result<String> {
    let mut text = String::new();
    for (at, part) in parts.iter().enumerate() {
        match part {
            Part::Text(part) => text.push_str(part),
            Part::Space => {
                let mut next = parts[at + 1..].iter();
                let next = next.find_map(|part| match part {
                    Part::Text(text) => text.chars().next(),
                    _ => None,
                });
                text.push_str(match (text.chars().next_back(), next) {
                    (Some('>' | ']'), Some('<' | '[' | '{')) => "\n",
                    (Some(':' | ','), _) | (Some(_), Some(_))
                        if !text.ends_with(['{', '[', '>']) =>
                    {
                        " "
                    }
                    _ => "",
                });
            }
            Part::Optional(_) | Part::Nothing => {}
            Part::Number => text.push(COUNTER),
            Part::Any => text.push(ANY),
            Part::Group(name, _) => return Err(no_room(place, name)),
        }
    }
    Ok(text)
}

fn no_room(place: &str, group: &str) -> Error {
    wrong(
        place,
        format_args!("there is no room for a group {group:?}"),
    )
}

/// What opens a part, behind what may stand in front of it.
fn begun(before: &str, open: &str) -> String {
    if before.is_empty() {
        open.trim_start_matches(ANY).to_owned()
    } else {
        format!("{before}{open}")
    }
}

impl Field {
    /// The texts that end it, without white space around them.
    fn closes(&self, place: &str) -> Result<Vec<String>> {
        let Some(close) = &self.close else {
            return Ok(Vec::new());
        };
        let texts = close.texts(&format!("{place}.close"))?;
        Ok(texts
            .iter()
            .map(|text| text.trim())
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
            .collect())
    }

    fn reasoning(&self, place: &str, opening: &str) -> Result<Reasoning> {
        let Some(close) = self.closes(place)?.into_iter().next() else {
            return Err(wrong(
                &format!("{place}.close"),
                "no text ends the reasoning",
            ));
        };
        let place = format!("{place}.open");
        let open = self.open.as_ref().ok_or_else(|| wrong(&place, "missing"))?;
        let texts = match open {
            // Its end announces it.
            Anchor::Pattern(pattern) if pattern.starts_with("(?=") => Vec::new(),
            _ => open.texts(&place)?,
        };
        // The white space beside its text is not its own, unless that is said.
        let line = if self.content_args.get("strip") == Some(&Value::Bool(false)) {
            ""
        } else {
            "\n"
        };
        // One that may be missing is not asked for.
        let asked = !texts.iter().any(|text| text.is_empty());
        let mut text = texts.iter().map(|text| text.trim_start_matches(ANY).trim());
        let first = text.find(|text| !text.is_empty());
        let open = first.filter(|_| asked).map(|open| format!("{open}{line}"));
        // The prompt has the tag that its end closes.
        let start = first.map(str::to_owned).or_else(|| {
            let tag = format!("<{}", close.strip_prefix("</")?);
            opening.contains(&tag).then_some(tag)
        });
        Ok(Reasoning {
            start: start.unwrap_or_default(),
            open: open.unwrap_or_default().into(),
            close: format!("{line}{close}").into(),
            shown: true,
            holds_calls: false,
        })
    }

    /// Adds the ends of content to the turn; what begins it, and what ends it if that is not the
    /// end of the turn.
    fn content(&self, turn: &mut TurnFormat) -> Result<(Vec<String>, Vec<String>)> {
        if !["", "text"].contains(&&*self.content) {
            return Err(wrong(
                "fields.content.content",
                "the content of a message is a text",
            ));
        }
        let closes = self.closes("fields.content")?;
        if let Some(open) = &self.open {
            closes
                .iter()
                .for_each(|close| turn.edge(Content, close, End));
            turn.edge(Content, "", End);
            return Ok((open.texts("fields.content.open")?, closes));
        }
        let mut closes = closes.into_iter();
        turn.end = closes.next().unwrap_or_default().into();
        turn.edge(Content, "", End);
        for close in closes {
            turn.edge(Content, &close, End);
            turn.stops.push(close);
        }
        Ok((vec![String::new()], Vec::new()))
    }

    /// Adds the calls to the turn. `again`: what may stand in front of a call behind other parts;
    /// `closes`: what ends content.
    fn calls(&self, turn: &mut TurnFormat, again: &str, closes: &[String]) -> Result<()> {
        let place = "fields.tool_calls.open";
        let open = self.open.as_ref().ok_or_else(|| wrong(place, "missing"))?;
        let (close, section) = self.call_end()?;
        let shape = Shape::of(self)?;
        let mut fronts = Vec::new();
        // What follows is the same in all ways.
        let mut head = None;
        for way in open.ways(place)? {
            let (front, behind) = split_at_group(&way);
            fronts.push(written(front, place)?);
            head.get_or_insert(Head::of(behind, &shape, &format!("{place}_pattern"))?);
        }
        let calls = self.forms(&shape, &head.unwrap_or_default(), &close, &fronts)?;
        turn.calls = calls.forms;
        let separates = fronts.len() > 1
            && fronts
                .iter()
                .any(|front| is_separator(front) && !front.is_empty());
        for front in &fronts {
            let open = format!("{front}{}", calls.begin);
            if separates && is_separator(front) {
                turn.edge(Call, &open, Call);
                continue;
            }
            for close in closes {
                turn.edge(Content, &begun(&format!("{close}{again}"), &open), Call);
            }
            turn.edge(Prompt, &begun("", &open), Call);
            for from in [SlotKind::Reasoning, Content] {
                for again in [again, ""] {
                    turn.edge(from, &begun(again, &open), Call);
                }
            }
            if !separates {
                let next = calls.next.clone().unwrap_or_else(|| begun(again, &open));
                turn.edge(Call, &next, Call);
            }
        }
        turn.edge(Call, &format!("{}{section}", calls.finish), End);
        Ok(())
    }

    /// What ends a call, and what may stand behind the last.
    fn call_end(&self) -> Result<(String, String)> {
        let place = "fields.tool_calls.close";
        let close = self.close.as_ref();
        let ways = close.map_or(Ok(Vec::new()), |close| close.ways(place))?;
        let Some(way) = ways.first() else {
            return Ok(Default::default());
        };
        // The beginning that all ways share ends a call; the rest comes after the last call.
        let text = written(way, place)?;
        let mut end = text.len();
        for other in &ways {
            end = end.min(shared(&text, &written(other, place)?));
        }
        let (close, rest) = text.split_at(end);
        let mut section = rest.trim_start().to_owned();
        for part in way.iter().rev() {
            if let Part::Optional(inside) = part {
                section = written(inside, place)?;
                break;
            }
        }
        Ok((close.trim().to_owned(), section))
    }

    /// The forms of calls behind what is in front of them.
    fn forms(&self, shape: &Shape, head: &Head, close: &str, fronts: &[String]) -> Result<Calls> {
        let Head { pieces, text } = head;
        let arguments = CallPiece::Arguments { quoted: false };
        let forms = match (&*self.content, shape.captured) {
            ("json", true) if self.content_args.contains_key("string_delims") => {
                let members = CallPiece::Members(self.quoted_members(text)?.into());
                vec![
                    form(pieces, &[members], &format!("}}{close}")),
                    form(pieces, &[], &format!("{text}{{}}{close}")),
                ]
            }
            ("json", true) => {
                let whole = [CallPiece::Glue(text.into()), arguments];
                let more = if text.is_empty() { &whole[1..] } else { &whole };
                vec![form(pieces, more, close)]
            }
            ("json", false) => {
                // The object's white space is the template's: a line of its own where the marker
                // has one.
                let line = if close.starts_with("</") { "\n" } else { "" };
                let end = if self.transform_each {
                    "}".to_owned()
                } else {
                    format!("}}{line}{close}")
                };
                let (begin, forms) = shape.objects(self.open.as_ref(), &end);
                return Ok(match self.transform_each {
                    true => Calls {
                        begin: format!("[{begin}"),
                        next: Some(format!(", {begin}")),
                        finish: format!("]{close}"),
                        forms,
                    },
                    false => Calls {
                        begin: format!("{line}{begin}"),
                        forms,
                        ..Calls::default()
                    },
                });
            }
            ("xml-inline", true) => {
                let (before, slots, python) = self.tag()?;
                let inner = if python {
                    String::new()
                } else {
                    unclosed(&fronts[0], text, close)
                };
                let close = format!("{inner}{close}");
                let line = if before.starts_with('<') && !text.ends_with('\n') {
                    "\n"
                } else {
                    ""
                };
                let kinds = ValueKind::ALL.into_iter();
                let members = Members {
                    first: format!("{text}{line}{before}").into(),
                    next: if python { ", ".into() } else { before.into() },
                    slots: kinds
                        .flat_map(|kind| slots.iter().map(move |slot| (kind, slot.clone())))
                        .collect(),
                    nested: Nested::default(),
                };
                vec![
                    form(pieces, &[CallPiece::Members(members.into())], &close),
                    form(pieces, &[], &format!("{text}{line}{close}")),
                ]
            }
            ("xml-inline", false) => {
                return Err(wrong(
                    "fields.tool_calls.transform",
                    "the name of a call is in no group of open_pattern",
                ));
            }
            (other, _) => {
                let what = format_args!(
                    "calls in {other:?} cannot be read; in json and xml-inline they can"
                );
                return Err(wrong("fields.tool_calls.content", what));
            }
        };
        Ok(Calls {
            forms,
            ..Calls::default()
        })
    }

    /// An object whose texts have delimiters of their own.
    fn quoted_members(&self, head: &str) -> Result<Members> {
        let place = "fields.tool_calls.content_args.string_delims";
        let delimiters = &self.content_args["string_delims"];
        let (Some(open), Some(close), None) = (
            delimiters[0][0].as_str(),
            delimiters[0][1].as_str(),
            delimiters.get(1),
        ) else {
            return Err(wrong(place, "not a list of one pair of texts"));
        };
        let quote = if self.content_args.get("unquoted_keys") == Some(&Value::Bool(true)) {
            ""
        } else {
            "\""
        };
        let of_object = quoted_slots(&format!("{quote}:"), [open, close]);
        let nested = Nested {
            array: container(["[", "", "]"], quoted_slots("", [open, close])),
            object: container(["{", quote, "}"], of_object.clone()),
        };
        Ok(Members {
            first: format!("{head}{{{quote}").into(),
            next: format!(",{quote}").into(),
            slots: of_object,
            nested,
        })
    }

    /// What stands in front of an argument's name, the forms of its value, and whether values are
    /// Python's.
    fn tag(&self) -> Result<(String, Vec<Slot>, bool)> {
        let place = "fields.tool_calls.content_args.tag_pattern";
        let pattern = self.tag_pattern().ok_or_else(|| wrong(place, "missing"))?;
        let (mut front, mut slots, mut python) = (None, Vec::new(), false);
        for way in ways(pattern, place)? {
            let (Some(key), Some(value)) = (group(&way, "key"), group(&way, "value")) else {
                return Err(wrong(
                    place,
                    "there is no group for the key, or none for the value",
                ));
            };
            if key > value {
                return Err(wrong(
                    place,
                    "the key of an argument does not stand in front of its value",
                ));
            }
            let [before, open, close] = [&way[..key], &way[key + 1..value], &way[value + 1..]];
            let [mut open_text, before] = [written(open, place)?, written(before, place)?];
            let mut close_text = written(close, place)?;
            // White space beside a value is a line break, if there is any.
            if open.last() == Some(&Part::Space) && open_text.ends_with('>') {
                open_text.push('\n');
            }
            if close.first() == Some(&Part::Space) && !close_text.starts_with('\n') {
                close_text = format!("\n{}", close_text.trim_start());
            }
            let mut encoding = Encoding::Raw;
            if close_text.is_empty() {
                (encoding, python) = (Encoding::Quoted, true);
            } else if !before.is_empty() {
                close_text.push('\n');
            }
            let [open, close] = [open_text, close_text].map(Glue::from);
            let slot = Slot {
                open,
                close,
                encoding,
                ..Slot::default()
            };
            if !slots.contains(&slot) {
                slots.push(slot);
            }
            if *front.get_or_insert(before.clone()) != before {
                return Err(wrong(place, "different texts stand in front of keys"));
            }
        }
        Ok((front.unwrap_or_default(), slots, python))
    }
}

/// The parts up to the first group, and the rest.
fn split_at_group(parts: &[Part]) -> (&[Part], &[Part]) {
    let group = parts
        .iter()
        .position(|part| matches!(part, Part::Group(..)));
    parts.split_at(group.unwrap_or(parts.len()))
}

/// The place of the group with a name.
fn group(parts: &[Part], name: &str) -> Option<usize> {
    parts
        .iter()
        .position(|part| matches!(part, Part::Group(group, _) if group == name))
}

/// Whether a text is one sign of punctuation, or blank.
fn is_separator(text: &str) -> bool {
    let text = text.trim();
    text.len() <= 1 && text.chars().all(|c| c.is_ascii_punctuation())
}

/// A call of these pieces, and then more.
fn form(pieces: &[CallPiece], more: &[CallPiece], close: &str) -> CallForm {
    CallForm {
        pieces: [pieces, more].concat(),
        close: close.into(),
    }
}

/// The values of each kind in an object whose texts have delimiters. `before`: after a key.
fn quoted_slots(before: &str, [open, close]: [&str; 2]) -> Vec<(ValueKind, Slot)> {
    let mut slots = Vec::new();
    for kind in ValueKind::ALL {
        let mut slot = Slot {
            open: before.into(),
            ..Slot::default()
        };
        match kind {
            ValueKind::Text => {
                (slot.open, slot.close) = (format!("{before}{open}").into(), close.into());
            }
            ValueKind::Array | ValueKind::Object => slot.encoding = Encoding::Nested,
            _ => {}
        }
        slots.push((kind, slot));
    }
    slots
}

fn container([open, each, close]: [&str; 3], slots: Vec<(ValueKind, Slot)>) -> Option<Container> {
    Some(Container {
        open: open.into(),
        each: each.into(),
        next: ",".into(),
        close: close.into(),
        slots,
    })
}

/// The ends of the tags that a call opens in front of its arguments and that `close` does not
/// close.
fn unclosed(front: &str, head: &str, close: &str) -> String {
    let last = front.rsplit('<').next().unwrap_or_default();
    if last.contains('>') || !head.trim_start().starts_with('>') {
        return String::new();
    }
    let name = last.split(|c: char| c == '=' || c.is_whitespace()).next();
    let end = format!("</{}>", name.unwrap_or_default());
    if end == "</>" || close.contains(&end) {
        String::new()
    } else {
        end + "\n"
    }
}

/// Calls, and what stands around them besides the texts of the opening.
#[derive(Default)]
struct Calls {
    begin: String,
    /// In front of all but the first; `None` if that is the opening.
    next: Option<String>,
    finish: String,
    forms: Vec<CallForm>,
}

/// The parts of a call in its opening, and the text behind them.
#[derive(Default)]
struct Head {
    pieces: Vec<CallPiece>,
    text: String,
}

impl Head {
    /// `parts`: those of the opening from the first group on.
    fn of(parts: &[Part], shape: &Shape, place: &str) -> Result<Head> {
        let mut head = Head::default();
        let mut rest = parts;
        while let Some((Part::Group(group, inside), behind)) = rest.split_first() {
            head.pieces.push(match group == &shape.name {
                true => CallPiece::Name,
                false if group == "id" => id(inside, shape, place)?,
                false => return Err(no_room(place, group)),
            });
            let (between, more) = split_at_group(behind);
            rest = more;
            head.text = written(between, place)?;
            if !rest.is_empty() {
                head.pieces.push(CallPiece::Glue((&head.text).into()));
            }
        }
        if shape.captured && !head.pieces.iter().any(CallPiece::is_name) {
            Err(wrong(place, "a way to begin a call has no name"))
        } else {
            Ok(head)
        }
    }
}

/// An id, which may have the name in it.
fn id(pattern: &str, shape: &Shape, place: &str) -> Result<CallPiece> {
    if !pattern.contains(&format!("<{}>", shape.name)) {
        return Ok(CallPiece::Id);
    }
    let ways = ways(pattern, place)?;
    let way = ways.into_iter().next().unwrap_or_default();
    let (before, behind) = way.split_at(group(&way, &shape.name).unwrap_or(0));
    let behind = written(behind.get(1..).unwrap_or_default(), place)?;
    Ok(CallPiece::NamedId {
        before: written(before, place)?.into(),
        behind: behind.into(),
    })
}

/// Where the parts of a call are.
#[derive(Default)]
struct Shape {
    /// The group with the name, or its key in an object.
    name: String,
    /// The key of the arguments in an object.
    arguments: String,
    /// The key of the id in an object, if it has one.
    id: Option<String>,
    /// The keys of the objects around both.
    around: Vec<String>,
    /// Whether the name is in a group of the opening.
    captured: bool,
}

impl Shape {
    fn of(field: &Field) -> Result<Shape> {
        let place = "fields.tool_calls.transform";
        let Some(transform) = &field.transform else {
            return Err(wrong(
                place,
                "missing: which part is the name of a call, and which its arguments, is unknown",
            ));
        };
        let function = transform.get("function").unwrap_or(transform);
        let root = if field.transform_each { "" } else { "content." };
        if *function == "{content}" && !field.transform_each {
            return Ok(Shape {
                name: "name".into(),
                arguments: "arguments".into(),
                ..Shape::default()
            });
        }
        let [name, arguments] =
            ["name", "arguments"].map(|member| function.get(member).and_then(part));
        let (Some(name), Some(arguments)) = (name, arguments) else {
            return Err(wrong(
                place,
                "a function has a name and arguments, each in braces",
            ));
        };
        let id = transform.get("id").and_then(part);
        let id = id.and_then(|id| inside(&id, root));
        match (inside(&name, root), inside(&arguments, root)) {
            (Some((around, name)), Some((same, arguments))) if around == same => Ok(Shape {
                name,
                arguments,
                id: id.filter(|(keys, _)| *keys == around).map(|(_, id)| id),
                around,
                captured: false,
            }),
            _ if arguments == "content" && !name.contains('.') => Ok(Shape {
                name,
                arguments,
                id: id.map(|(_, id)| id),
                around: Vec::new(),
                captured: true,
            }),
            _ => Err(wrong(
                place,
                "the name and the arguments are at other places than one object or group has them",
            )),
        }
    }

    /// The beginning of a call that is one object, and its forms, with this end. An id is in front
    /// where `open` looks ahead to it, and otherwise behind.
    fn objects(&self, open: Option<&Anchor>, end: &str) -> (String, Vec<CallForm>) {
        let around: String = self
            .around
            .iter()
            .map(|key| format!("\"{key}\": {{"))
            .collect();
        let end = &*format!("{}{end}", "}".repeat(self.around.len()));
        let name = format!("{around}\"{}\": \"", self.name);
        let between = format!("\", \"{}\": ", self.arguments);
        let arguments = CallPiece::Arguments { quoted: false };
        let pieces = [CallPiece::Name, CallPiece::Glue(between.into()), arguments];
        let mut forms = Vec::new();
        if let Some(id) = &self.id {
            let ahead = matches!(open, Some(Anchor::Pattern(pattern)) if pattern.contains(&format!("\"{id}\"")));
            if ahead {
                let first = [CallPiece::Id, CallPiece::Glue(format!("\", {name}").into())];
                let begin = format!("{{{around}\"{id}\": \"");
                return (begin, vec![form(&first, &pieces, end)]);
            }
            let last = [
                CallPiece::Glue(format!(", \"{id}\": \"").into()),
                CallPiece::Id,
            ];
            forms.push(form(&pieces, &last, &format!("\"{end}")));
        }
        forms.push(form(&pieces, &[], end));
        (format!("{{{name}"), forms)
    }
}

/// The path in braces.
fn part(value: &Value) -> Option<String> {
    Some(
        value
            .as_str()?
            .strip_prefix('{')?
            .strip_suffix('}')?
            .to_owned(),
    )
}

/// The keys of a path below the root: those of the objects around, and the last.
fn inside(path: &str, root: &str) -> Option<(Vec<String>, String)> {
    let mut keys: Vec<String> = path
        .strip_prefix(root)?
        .split('.')
        .map(str::to_owned)
        .collect();
    let key = keys.pop()?;
    Some((keys, key))
}
