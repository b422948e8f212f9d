//! Calls in a layout that somebody describes, by llama.cpp's names for its fields: the turn that is written so.

use serde::Deserialize;
use serde_json::Value;

use super::super::builder::FormatBuilder;
use super::super::{FormatSpec, Opening, learnt};
use crate::analysis::turn::{
    CallForm, CallPiece, Edge, Encoding, Members, Nested, Slot, SlotKind, TurnFormat, ValueKind,
};
use crate::analysis::{ArgumentsLayout, CallIdLayout, CallIdPosition, FunctionLayout, ToolFormat, ToolsLayout};
use chatparse_base::json_string::quoted;
use chatparse_base::{Error, Result};
use chatparse_message::{OutputOptions, Request, Tool, UnknownTools};
use chatparse_peg::{Builder, ExprId};

/// The groups of [`crate::analysis::Layout::to_json`] that are about calls.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::format) struct Described {
    pub tools: ToolsLayout,
    pub function: FunctionLayout,
    pub arguments: ArgumentsLayout,
    pub call_id: CallIdLayout,
}

/// Stand for parts of a call in its text.
pub const NAME: char = '\u{1}';
pub const ARGUMENTS: char = '\u{2}';
const ID: char = '\u{3}';

/// All calls of a message, with the markers around them, in a layout as [`Layout::to_json`](crate::analysis::Layout::to_json)
/// has it; what it leaves out is empty. One format is for descriptions only: `pythonic`, a list like `[f(x=1), g()]`. Of the request, the tools count, whether one must be called, and
/// whether several may be.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] if the layout has another shape or no format.
pub fn described(builder: &mut Builder, request: &Request, layout: &str) -> Result<ExprId> {
    let wrong = |error: serde_json::Error| Error::invalid(format!("layout: {error}"));
    let layout: Value = serde_json::from_str(layout).map_err(wrong)?;
    let opening = Opening::default();
    let spec = FormatSpec::of(request, &opening);
    let turn = match layout.pointer("/tools/format").is_some_and(|format| format == "pythonic") {
        true => pythonic("[", "]"),
        false => serde_json::from_value::<Described>(layout).map_err(wrong)?.turn(),
    };
    if turn.calls.is_empty() {
        return Err(Error::invalid("layout.tools.format: missing, or none"));
    }
    let mut p = FormatBuilder::from(std::mem::take(builder));
    p.mends = FormatBuilder::of(&spec).mends;
    let calls = match spec.tools().is_empty() {
        true => p.empty(),
        false => p.calls(&spec, learnt::calls(&p, &turn, &spec)),
    };
    *builder = p.into();
    Ok(calls)
}

/// Calls as a Python list between these brackets: `[f(x=1, s='text'), g()]`.
pub(in crate::format) fn pythonic(open: &str, close: &str) -> TurnFormat {
    let slot = Slot { open: "=".into(), encoding: Encoding::Quoted, ..Slot::default() };
    let members = one_by_one("(", ", ", slot);
    let form = |pieces, close: &str| CallForm { pieces, close: close.into() };
    let calls = vec![form(vec![CallPiece::Name, members], ")"), form(vec![CallPiece::Name], "()")];
    TurnFormat { calls, edges: edges([open, ", ", close]), ..TurnFormat::default() }
}

/// The calls of a message in a turn like this, of these tools; `unknown`: also of tools that are not offered.
pub fn section(p: &FormatBuilder, turn: &TurnFormat, tools: &[Tool], unknown: bool) -> ExprId {
    let mut options = OutputOptions::default();
    options.leniency.unknown_tools = if unknown { UnknownTools::Call } else { UnknownTools::Content };
    learnt::calls(p, turn, &FormatSpec { options: &options, opening: &Opening::default(), offered: tools })
}

/// A call in one of these forms, of one of these tools; `unknown`: also of tools that are not offered.
pub fn call(p: &FormatBuilder, calls: Vec<CallForm>, tools: &[Tool], unknown: bool) -> ExprId {
    let spec = FormatSpec { options: &OutputOptions::default(), opening: &Opening::default(), offered: tools };
    super::learnt::any(p, &TurnFormat { calls, ..TurnFormat::default() }, &spec, unknown)
}

/// Arguments one by one, in values of this form.
pub fn one_by_one(first: &str, next: &str, slot: Slot) -> CallPiece {
    let slots = ValueKind::ALL.map(|kind| (kind, slot.clone())).to_vec();
    CallPiece::Members(Box::new(Members { first: first.into(), next: next.into(), slots, nested: Nested::default() }))
}

/// The glue in front of the first call, between two, and behind the last.
fn edges([first, between, last]: [&str; 3]) -> Vec<Edge> {
    let all = [
        (SlotKind::Prompt, first, SlotKind::Call),
        (SlotKind::Call, between, SlotKind::Call),
        (SlotKind::Call, last, SlotKind::End),
    ];
    all.map(|(from, glue, to)| Edge { from, glue: glue.into(), to }).into()
}

/// The form of a call that is written like this.
pub fn form(text: &str) -> CallForm {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find([NAME, ARGUMENTS, ID]) {
        if at > 0 {
            pieces.push(CallPiece::Glue(rest[..at].into()));
        }
        pieces.push(match char::from(rest.as_bytes()[at]) {
            NAME => CallPiece::Name,
            ARGUMENTS => CallPiece::Arguments { quoted: false },
            _ => CallPiece::Id,
        });
        rest = &rest[at + 1..];
    }
    CallForm { pieces, close: rest.into() }
}

impl Described {
    /// The turn; without forms of calls if there is no format.
    pub fn turn(&self) -> TurnFormat {
        let tools = &self.tools;
        let [start, end] =
            [[&*tools.section_start, &*tools.per_call_start], [&*tools.per_call_end, &*tools.section_end]];
        let separator = if tools.side_by_side { "" } else { ", " };
        let (open, forms, list) = match tools.format {
            ToolFormat::None => return TurnFormat::default(),
            ToolFormat::JsonNative => ("{".to_owned(), self.json_calls(), tools.array_wrapped),
            ToolFormat::TagWithJson | ToolFormat::TagWithTagged => {
                (self.before_name().0.to_owned(), self.tagged(), false)
            }
        };
        let between = match tools.per_call_start.is_empty() {
            true => format!("{separator}{open}"),
            false => format!("{}{open}", tools.per_call_start),
        };
        let [list_open, list_close] = if list { ["[", "]"] } else { [""; 2] };
        let edges =
            edges([&format!("{}{list_open}{open}", start.concat()), &between, &format!("{list_close}{}", end[1])]);
        let calls = forms.into_iter().map(|form| CallForm { close: form.close.and(&end[0].into()), ..form });
        TurnFormat {
            edges,
            calls: calls.collect(),
            end: tools.turn_end.concat().as_str().into(),
            ..TurnFormat::default()
        }
    }

    /// Calls that are JSON throughout, without the first brace. Ids may be missing.
    fn json_calls(&self) -> Vec<CallForm> {
        let tools = &self.tools;
        let name = if tools.name_field.is_empty() { "name" } else { &tools.name_field };
        let arguments = if tools.args_field.is_empty() { "arguments" } else { &tools.args_field };
        let ids: Vec<&str> = [&*tools.id_field, &tools.gen_id_field].into_iter().filter(|id| !id.is_empty()).collect();
        let sets = (0..1_u8 << ids.len()).rev();
        let texts = sets.flat_map(|set| {
            let ids = ids.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1).map(|(_, id)| *id);
            let text = match tools.name_is_key {
                true => self.name_as_key(ids.collect()),
                false => self.object(name, arguments, ids.collect()),
            };
            let wrapped = tools.openai_wrapper.then(|| format!("\"type\": \"function\", {text}"));
            [text].into_iter().chain(wrapped)
        });
        texts.map(|text| form(&text)).collect()
    }

    /// `"f": {...}}`, or with an arguments field and ids in the inner object.
    fn name_as_key(&self, ids: Vec<&str>) -> String {
        match &*self.tools.args_field {
            "" => format!("\"{NAME}\": {ARGUMENTS}}}"),
            field => format!("\"{NAME}\": {{{}}}}}", members(ids.into_iter().chain([field]), "", field)),
        }
    }

    /// `"name": "f", "arguments": {...}}`, with ids in the layout's order; or with an object that holds name and arguments.
    fn object(&self, name: &str, arguments: &str, mut ids: Vec<&str>) -> String {
        let tools = &self.tools;
        let split = |field| str::split_once(field, '.').map_or((None, field), |(holder, field)| (Some(holder), field));
        let ((name_holder, name), (arguments_holder, arguments)) = (split(name), split(arguments));
        let own = Some(&*tools.function_field).filter(|field| !field.is_empty() && *field != "function");
        if let Some(holder) = name_holder.or(arguments_holder).or(own) {
            ids.retain(|id| !id.contains('.'));
            let before: String = ids.iter().map(|id| format!("{}, ", member(id, name, arguments))).collect();
            return format!("{before}{}: {{{}}}}}", quoted(holder), members([name, arguments], name, arguments));
        }
        let mut fields = vec![name, arguments];
        fields.extend(ids);
        let order = &tools.field_order;
        chatparse_base::sort::by_key(&mut fields, |field| {
            order.iter().position(|known| known == field).unwrap_or(order.len())
        });
        format!("{}}}", members(fields, name, arguments))
    }

    /// What stands in front of a name, up to an id in it, and that id with what follows it.
    fn before_name(&self) -> (&str, String) {
        let (prefix, id) = (&*self.function.name_prefix, &self.call_id);
        match prefix.split_once(&*id.example).filter(|(_, after)| !id.example.is_empty() && !after.is_empty()) {
            Some((before, after)) => (before, format!("{ID}{after}")),
            None => (prefix, String::new()),
        }
    }

    /// Calls with the name in a tag, behind what stands in front of it.
    fn tagged(&self) -> Vec<CallForm> {
        let Described { tools, function, arguments, call_id } = self;
        let between = call_id.position == CallIdPosition::BetweenNameAndArguments && !call_id.prefix.is_empty();
        let id = format!("{}{ID}{}", call_id.prefix, call_id.suffix);
        let ids = [Some(id).filter(|_| between), Some(String::new())];
        let head = format!("{}{NAME}{}{}", self.before_name().1, function.name_suffix, function.args_separator);
        let close = format!("{}{}", arguments.end, function.close);
        let slot = Slot {
            open: format!("{}{}", arguments.name_suffix, arguments.value_prefix).as_str().into(),
            close: arguments.value_suffix.as_str().into(),
            ..Slot::default()
        };
        let forms = ids.into_iter().flatten().flat_map(|id| {
            let head = format!("{head}{id}{}", arguments.start);
            if tools.format == ToolFormat::TagWithJson {
                return vec![form(&format!("{head}{ARGUMENTS}{close}"))];
            }
            let CallForm { mut pieces, close: first } = form(&head);
            let next = format!("{}{}", arguments.separator, arguments.name_prefix);
            pieces.push(one_by_one(first.and(&arguments.name_prefix.as_str().into()).head(), &next, slot.clone()));
            vec![CallForm { pieces, close: close.as_str().into() }, form(&format!("{head}{close}"))]
        });
        forms.collect()
    }
}

/// Members of a JSON object. All but name and arguments are ids.
fn members<'a>(fields: impl IntoIterator<Item = &'a str>, name: &str, arguments: &str) -> String {
    fields.into_iter().map(|field| member(field, name, arguments)).collect::<Vec<_>>().join(", ")
}

fn member(field: &str, name: &str, arguments: &str) -> String {
    let value = match field {
        _ if field == arguments => ARGUMENTS.to_string(),
        _ if field == name => format!("\"{NAME}\""),
        _ => format!("\"{ID}\""),
    };
    format!("{}: {value}", quoted(field))
}
