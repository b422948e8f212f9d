//! The view of a turn as llama.cpp's layout: which of three shapes its calls have, and what each marker is called there.
//!
//! Glue on an edge is one text. The layout divides it: the glue in front of the first call is the section's opening and the
//! call's, and what is also in front of a second call is the call's. Texts of reasoning are left out of it, and the names of
//! a JSON object's members are found by writing a call out.

use chatparse_base::brackets;
use serde_json::Value;

use super::markup::{Marker, Markup, is_space, trim, trim_start};
use super::turn::{CallForm, CallPiece, Edge, Glue, GluePiece, Members, SlotKind, TurnFormat, ValueKind};
use super::{
    ArgumentsLayout, CallIdLayout, CallIdPosition, ContentLayout, ContentMode, FunctionLayout, Layout, ReasoningLayout,
    ReasoningMode, ToolFormat, ToolsLayout,
};
use chatparse_base::find::shared_end;
use chatparse_base::limits::TURN_END_PIECES;

/// The words of the call that is written out.
const NAME: &str = "FF_name_FF";
const ARGUMENT: &str = "AA_argument_AA";
/// The id in llama.cpp's probes, which its layout keeps where an id follows the marker of a call at once.
const ID: &str = "call00001";

impl Layout {
    /// The layout of a template that writes turns like this.
    pub fn of(turn: &TurnFormat) -> Layout {
        let view = View { turn };
        let mut layout = Layout {
            reasoning: view.reasoning(),
            content: view.content(),
            user_start: turn.delimiters.user.clone(),
            assistant_start: turn.delimiters.assistant.clone(),
            additional_stops: turn.stops.clone(),
            ..Layout::default()
        };
        if let Some(form) = turn.calls.first() {
            view.calls(form, &mut layout);
            // A name in front of it is no part of a marker.
            let tools = &mut layout.tools;
            for marker in [&mut tools.section_start, &mut tools.per_call_start] {
                *marker = marker.strip_prefix(NAME).unwrap_or(marker).into();
            }
        }
        if layout.tools.format != ToolFormat::None {
            layout.tools.turn_end = view.turn_end();
        }
        layout.preserved_tokens = layout.markers();
        layout
    }

    /// The beginning of the first call; empty if calls have no marker.
    pub fn calls_marker(&self) -> &str {
        match &*self.tools.section_start {
            "" => &self.tools.per_call_start,
            section => section,
        }
    }

    /// All markers that the model writes, trimmed and without duplicates, in their usual order.
    fn markers(&self) -> Vec<String> {
        let Layout { reasoning, content, tools, function, arguments, call_id, .. } = self;
        let markers = [
            &reasoning.start,
            &reasoning.end,
            &content.start,
            &content.end,
            &tools.section_start,
            &tools.section_end,
            &tools.per_call_start,
            &tools.per_call_end,
            &function.name_prefix,
            &function.name_suffix,
            &function.args_separator,
            &function.close,
            &arguments.name_prefix,
            &arguments.name_suffix,
            &arguments.separator,
            &arguments.value_prefix,
            &arguments.value_suffix,
            &call_id.prefix,
            &call_id.suffix,
        ];
        let mut tokens: Vec<String> = Vec::new();
        for marker in markers {
            // The model writes another id.
            let marker = if call_id.example.is_empty() { marker.clone() } else { marker.replace(&call_id.example, "") };
            let marker = trim(&marker);
            if !marker.is_empty() && !tokens.iter().any(|token| token == marker) {
                tokens.push(marker.into());
            }
        }
        tokens
    }
}

struct View<'t> {
    turn: &'t TurnFormat,
}

impl<'t> View<'t> {
    /// The first edge between two places.
    fn edge(&self, from: SlotKind, to: SlotKind) -> Option<&'t Edge> {
        self.turn.edges.iter().find(|edge| edge.from == from && edge.to == to)
    }

    /// The glue of that edge as text; empty if there is none.
    fn glue(&self, from: SlotKind, to: SlotKind) -> &'t str {
        self.edge(from, to).map_or("", |edge| edge.glue.head())
    }

    fn reasoning(&self) -> ReasoningLayout {
        let Some(reasoning) = &self.turn.reasoning else { return ReasoningLayout::default() };
        let with_content = self.edge(SlotKind::Reasoning, SlotKind::Content).is_some();
        let calls_only = !with_content && self.edge(SlotKind::Reasoning, SlotKind::Call).is_some();
        ReasoningLayout {
            mode: if calls_only { ReasoningMode::ToolsOnly } else { ReasoningMode::TagBased },
            start: if reasoning.open.is_blank() { &*reasoning.start } else { trim_start(reasoning.open.head()) }.into(),
            end: reasoning.close.head().into(),
        }
    }

    /// What opens a part behind the prompt, without a closed or an empty reasoning.
    fn opening(&self, to: SlotKind) -> String {
        let froms = [SlotKind::Prompt, SlotKind::Reasoning, SlotKind::Content].into_iter();
        let edge = froms.filter_map(|from| self.edge(from, to)).next();
        let text = edge.map_or_else(String::new, |edge| filled(&edge.glue));
        let close = self.turn.reasoning.as_ref().map_or("", |reasoning| trim(reasoning.close.head()));
        let behind = if close.is_empty() { None } else { text.rfind(close).map(|at| at + close.len()) };
        trim_start(&text[behind.unwrap_or(0)..]).to_owned()
    }

    fn content(&self) -> ContentLayout {
        let mut edges =
            self.turn.edges.iter().filter(|edge| edge.to == SlotKind::Content && edge.from == SlotKind::Reasoning);
        let behind_reasoning = edges.find(|edge| !edge.glue.is_blank()).map_or("", |edge| trim(edge.glue.head()));
        let (mode, start) = match (&*self.opening(SlotKind::Content), behind_reasoning) {
            ("", "") => (ContentMode::Plain, String::new()),
            ("", start) => (ContentMode::WrappedWithReasoning, start.to_owned()),
            (start, _) => (ContentMode::AlwaysWrapped, start.to_owned()),
        };
        let mut edges =
            self.turn.edges.iter().filter(|edge| edge.from == SlotKind::Content && edge.to == SlotKind::End);
        let end = edges.find(|edge| !edge.glue.is_blank()).map_or("", |edge| trim_start(edge.glue.head()));
        ContentLayout { mode, start, end: end.into() }
    }

    fn calls(&self, form: &CallForm, layout: &mut Layout) {
        let first = self.opening(SlotKind::Call);
        let (call, end) = (written(form), self.glue(SlotKind::Call, SlotKind::End));
        let text = [&*first, &call, end].concat();
        let json = text.find('{').zip(text.rfind('}')).and_then(|(open, close)| text.get(open..=close));
        if stands_in_json(&text, NAME) {
            // Calls of another notation than JSON have no names here.
            if let Some(Value::Object(object)) = json.and_then(|json| serde_json::from_str(json).ok()) {
                layout.tools = self.json(&object, &text);
            }
            return;
        }
        let as_one = form.pieces.iter().any(|piece| matches!(piece, CallPiece::Arguments { .. }));
        layout.tools.format = if as_one { ToolFormat::TagWithJson } else { ToolFormat::TagWithTagged };
        self.frame(form, &first, layout);
        self.within(form, layout);
    }

    /// Calls that are JSON throughout. `text`: one call, from the section's opening to its end.
    fn json(&self, object: &serde_json::Map<String, Value>, text: &str) -> ToolsLayout {
        let mut tools = ToolsLayout { format: ToolFormat::JsonNative, ..ToolsLayout::default() };
        for (key, value) in object {
            read_field(&mut tools, key, value);
        }
        tools.field_order = in_order_of_appearance(&tools, text);
        let (before, rest) = text.split_at(text.find('{').unwrap_or_default());
        let after = rest.rfind('}').map_or("", |at| &rest[at + 1..]);
        let array = before.trim_end_matches(is_space).strip_suffix('[').zip(trim_start(after).strip_prefix(']'));
        tools.array_wrapped = array.is_some();
        let (start, end) = array.unwrap_or((before, after));
        let next = self.glue(SlotKind::Call, SlotKind::Call);
        let repeated = !start.is_empty() && next.contains(trim(start));
        let end = trim(through_first_marker(end)).to_owned();
        match repeated {
            true => (tools.per_call_start, tools.per_call_end) = (start.into(), end),
            false => {
                (tools.section_start, tools.section_end) = (start.into(), end);
                tools.side_by_side = trim_start(next).starts_with('{');
            }
        }
        tools
    }

    /// The markers around tagged calls: those of the section, of each call, and of the name.
    fn frame(&self, form: &CallForm, first: &str, layout: &mut Layout) {
        let (tools, function) = (&mut layout.tools, &mut layout.function);
        let next = self.edge(SlotKind::Call, SlotKind::Call).map(|edge| &edge.glue);
        let own = match next {
            Some(next) => trim_start(common_end(first, next.head())),
            None => {
                let markers = whole_markers(first);
                let section = markers.len() >= 2;
                &first[if section { markers[0].spaced } else { 0 }..]
            }
        };
        tools.section_start = first.strip_suffix(own).unwrap_or_default().into();
        match whole_markers(own).first() {
            Some(marker) => {
                tools.per_call_start = own[..marker.spaced].into();
                function.name_prefix = own[marker.spaced..].into();
            }
            None if tools.section_start.is_empty() => tools.per_call_start = own.into(),
            None => function.name_prefix = own.into(),
        }
        let close = form.close.head();
        let (inner, outer) = match (whole_markers(close).last(), tools.per_call_start.is_empty()) {
            (Some(marker), false) => close.split_at(marker.start),
            _ => (close, ""),
        };
        (function.close, tools.per_call_end) = (trim_start(inner).into(), trim(outer).into());
        tools.section_end = trim(through_first_marker(self.glue(SlotKind::Call, SlotKind::End))).into();
        let closes = if tools.per_call_end.is_empty() { &function.close } else { &tools.per_call_end };
        let between = next.map_or("", |next| next.head());
        tools.side_by_side =
            tools.per_call_start.is_empty() && next.is_some() && !closes.is_empty() && trim_start(between) == own;
    }

    /// The text around a tagged call's name, id and arguments.
    fn within(&self, form: &CallForm, layout: &mut Layout) {
        let Layout { tools, function, arguments, call_id, .. } = layout;
        let mut gap = String::new();
        let (mut named, mut identified) = (false, false);
        for piece in &form.pieces {
            match piece {
                CallPiece::Glue(glue) => {
                    gap.push_str(glue.head());
                    continue;
                }
                CallPiece::NamedId { .. } => named = true,
                CallPiece::Name => {
                    named = true;
                    if identified {
                        id_before_name(function, call_id, &gap);
                    }
                }
                CallPiece::Id => {
                    identified = true;
                    if named {
                        *call_id = CallIdLayout {
                            position: CallIdPosition::BetweenNameAndArguments,
                            prefix: trim(&gap).into(),
                            ..CallIdLayout::default()
                        };
                    }
                }
                CallPiece::Arguments { .. } if call_id.position == CallIdPosition::BetweenNameAndArguments => {
                    call_id.suffix = trim(&gap).into();
                }
                CallPiece::Arguments { .. } => function.name_suffix = gap.clone(),
                CallPiece::Members(members) => *arguments = tagged_arguments(members, function),
            }
            gap.clear();
        }
        if form.pieces.last() == Some(&CallPiece::Id) && named {
            call_id.position = CallIdPosition::AfterArguments;
            let close = if function.close.is_empty() { &mut tools.per_call_end } else { &mut function.close };
            call_id.suffix = trim(&std::mem::take(close)).into();
        }
    }

    /// The pieces that end a turn behind calls.
    fn turn_end(&self) -> Vec<String> {
        let last = self.glue(SlotKind::Call, SlotKind::End);
        let end = [&last[through_first_marker(last).len()..], self.turn.end.head()].concat();
        let pieces = Markup::new(&end).segments().into_iter().map(|piece| trim(piece.as_str()).to_owned());
        // Words belong to an instruction for the next turn, not to the end of this one.
        let pieces = pieces.filter(|piece| !piece.is_empty()).take_while(|piece| !piece.contains(is_space));
        pieces.take(TURN_END_PIECES).collect()
    }
}

/// An id in front of the name, with `gap` between the two.
fn id_before_name(function: &mut FunctionLayout, call_id: &mut CallIdLayout, gap: &str) {
    if function.name_prefix.is_empty() {
        function.name_prefix = format!("{ID}{gap}");
        call_id.example = ID.into();
        return;
    }
    *call_id = CallIdLayout {
        position: CallIdPosition::BeforeName,
        prefix: trim(&std::mem::take(&mut function.name_prefix)).into(),
        suffix: trim(gap).into(),
        ..CallIdLayout::default()
    };
}

/// The text around arguments that are written one by one, and in front of them.
fn tagged_arguments(members: &Members, function: &mut FunctionLayout) -> ArgumentsLayout {
    let (first, next) = (members.first.head(), members.next.head());
    let prefix = match common_end(first, next) {
        "" => Markup::new(first).since_last_marker().unwrap_or(first),
        common => trim_start(common),
    };
    let before = &first[..first.len() - prefix.len()];
    match trim_start(before).starts_with(brackets::opens) {
        true => function.args_separator = trim(before).into(),
        false => function.name_suffix = before.into(),
    }
    let text = members.slots.iter().find(|(kind, _)| *kind == ValueKind::Text).or(members.slots.first());
    let (open, close) = text.map_or(("", ""), |(_, slot)| (tail(&slot.open), slot.close.head()));
    let markers = whole_markers(open);
    let at = if markers.len() > 1 || open.starts_with(|c| c != '[' && brackets::opens(c)) {
        markers.first().map_or(0, |m| m.spaced)
    } else {
        open.len()
    };
    ArgumentsLayout {
        name_prefix: prefix.into(),
        name_suffix: open[..at].into(),
        value_prefix: open[at..].into(),
        value_suffix: close.into(),
        separator: trim(next.strip_suffix(prefix).unwrap_or_default()).into(),
        ..ArgumentsLayout::default()
    }
}

/// The text behind the last placeholder.
fn tail(glue: &Glue) -> &str {
    match glue.pieces().last() {
        Some(GluePiece::Text(text)) => text,
        _ => "",
    }
}

/// The glue around the call that is written out.
fn filled(glue: &Glue) -> String {
    let piece = |piece: GluePiece| match piece {
        GluePiece::Text(text) => text.to_owned(),
        GluePiece::Name => NAME.to_owned(),
        GluePiece::Key => ARGUMENT.to_owned(),
        GluePiece::Counter => "0".to_owned(),
        GluePiece::Word | GluePiece::Any => String::new(),
    };
    glue.pieces().map(piece).collect()
}

/// A call with [`NAME`], [`ID`] and one argument.
fn written(form: &CallForm) -> String {
    let arguments = json!({ARGUMENT: 1}).to_string();
    let pieces = form.pieces.iter().map(|piece| match piece {
        CallPiece::Glue(glue) => filled(glue),
        CallPiece::Name => NAME.to_owned(),
        CallPiece::Id => ID.to_owned(),
        CallPiece::NamedId { before, behind } => format!("{}{NAME}{}", filled(before), filled(behind)),
        CallPiece::Arguments { quoted: false } => arguments.clone(),
        CallPiece::Arguments { quoted: true } => Value::from(&*arguments).to_string(),
        CallPiece::Members(members) => {
            let slot = members.slots.iter().find(|(kind, _)| *kind == ValueKind::Integer);
            let (open, close) =
                slot.map_or_else(Default::default, |(_, slot)| (filled(&slot.open), filled(&slot.close)));
            [&*filled(&members.first), ARGUMENT, &open, "1", &close].concat()
        }
    });
    pieces.chain([filled(&form.close)]).collect()
}

/// Whether `word` is a quoted string in `text`, directly after `{` or `:`.
fn stands_in_json(text: &str, word: &str) -> bool {
    let quoted = format!("\"{word}\"");
    text.match_indices(&quoted).any(|(at, _)| text[..at].trim_end_matches(is_space).ends_with(['{', ':']))
}

/// Reads the fields from one member of the call's object.
fn read_field(tools: &mut ToolsLayout, key: &str, value: &Value) {
    if key == NAME {
        tools.name_is_key = true;
        tools.name_field.clear();
        tools.args_field.clear();
        return;
    }
    if let Value::Object(inner) = value
        && (!mentions_argument(value) || inner.values().any(|value| value == NAME))
    {
        tools.function_field = key.into();
        for (name, value) in inner {
            assign_role(tools, format!("{key}.{name}"), name, value);
        }
        return;
    }
    assign_role(tools, key.into(), key, value);
}

/// Recognises a field by its value. An id that the template makes up is recognised by its key.
fn assign_role(tools: &mut ToolsLayout, path: String, key: &str, value: &Value) {
    match value {
        Value::String(text) if text.contains(ID) => tools.id_field = path,
        Value::String(text) if text == NAME => tools.name_field = path,
        _ if mentions_argument(value) => tools.args_field = path,
        _ if key.contains("id") => tools.gen_id_field = path,
        _ => {}
    }
}

/// Whether the argument's name is in `value`, as a key or inside JSON text in a string.
fn mentions_argument(value: &Value) -> bool {
    value.to_string().contains(ARGUMENT)
}

fn in_order_of_appearance(tools: &ToolsLayout, text: &str) -> Vec<String> {
    let fields = [&tools.name_field, &tools.args_field, &tools.id_field, &tools.gen_id_field];
    let mut placed: Vec<(usize, String)> = fields
        .into_iter()
        .filter(|field| !field.is_empty())
        .map(|field| (text.find(field.as_str()).unwrap_or(usize::MAX), field.clone()))
        .collect();
    chatparse_base::sort::sort(&mut placed);
    placed.into_iter().map(|(_, field)| field).collect()
}

/// The markers of a text that do not overlap.
fn whole_markers(text: &str) -> Vec<Marker> {
    let mut end = 0;
    let mut markers = Markup::new(text).markers_from(0).to_vec();
    markers.retain(|marker| {
        let apart = marker.start >= end;
        end = if apart { marker.end } else { end };
        apart
    });
    markers
}

/// The text up to the end of its first marker; all of it if it has none.
fn through_first_marker(text: &str) -> &str {
    Markup::new(text).markers_from(0).first().map_or(text, |marker| &text[..marker.end])
}

/// The common end of two texts, from the border of a marker or a line on.
fn common_end<'a>(a: &'a str, b: &str) -> &'a str {
    let same = &a[a.len() - shared_end(a, b)..];
    same.find(|c| c == '\n' || brackets::opens(c)).map_or("", |at| &same[at..])
}
