//! The sites where models deviate from their template: what the lowering knows there, as data for
//! the rules.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use super::FormatSpec;
use super::builder::FormatBuilder;
use super::calls::members::Member;
use chatparse_base::brackets::is_marker;
use chatparse_grammar::schema::Types;
use chatparse_learn::Tolerances;
use chatparse_learn::analysis::Layout;
use chatparse_learn::analysis::turn::{
    CallForm, CallPiece, Glue, Members, Nested, Reasoning, Slot, TurnFormat, ValueKind,
};
use chatparse_message::Tool;
use chatparse_peg::{ExprId, Literals, SchemaRef};

/// One tool's call, the site of the rules for calls.
pub struct Call<'a> {
    pub p: &'a FormatBuilder,
    pub turn: &'a TurnFormat,
    pub tool: &'a Tool,
    pub shared: &'a Shared,
    /// The arguments of each tool as one object, by its name.
    pub objects: &'a RefCell<HashMap<String, ExprId>>,
    pub behind: ExprId,
    /// The opening of each call.
    pub open: &'a Glue,
    /// What closes the wrapper of a call, which is not part of the call.
    pub wrapper_close: &'a Glue,
    /// What opens a further call in the same wrapper.
    pub inner: Option<&'a Glue>,
}

impl Call<'_> {
    /// Whether the tool stands for any that is not offered.
    pub fn is_any(&self) -> bool {
        self.tool.name == FormatBuilder::ANY
    }
}

/// Expressions for what the calls of all tools have in common.
#[derive(Default)]
pub struct Shared {
    /// An argument of any name, by the form of the call.
    pub arguments: Once<CallForm>,
    /// The end of a call that does not repeat its name.
    pub ends: Once<End>,
}

/// An expression for each key.
pub struct Once<K>(RefCell<Vec<(K, ExprId)>>);

impl<K> Default for Once<K> {
    fn default() -> Self {
        Once(RefCell::default())
    }
}

impl<K: PartialEq> Once<K> {
    pub fn get(&self, key: K, make: impl FnOnce() -> ExprId) -> ExprId {
        let known = self
            .0
            .borrow()
            .iter()
            .find(|(known, _)| *known == key)
            .map(|(_, rule)| *rule);
        known.unwrap_or_else(|| {
            let made = make();
            self.0.borrow_mut().push((key, made));
            made
        })
    }
}

/// The end of a call.
#[derive(Clone, PartialEq)]
pub struct End {
    pub close: Glue,
    /// JSON is before it.
    pub is_json: bool,
    /// Arguments one by one are before it.
    pub ends_members: bool,
    /// It begins with the brace of a JSON object, which further members may be before.
    pub is_brace: bool,
}

impl End {
    /// What closes the call, as far as it ends the arguments.
    pub fn braces(&self) -> Glue {
        self.close.up_to(self.first_mark().start)
    }

    /// Whether that is all of it.
    pub fn ends_arguments(&self) -> bool {
        self.braces().head().trim_end().ends_with(['}', ')'])
    }

    pub fn first_mark(&self) -> std::ops::Range<usize> {
        let length = self.close.head().len();
        self.close
            .marker_spans()
            .first()
            .cloned()
            .unwrap_or(length..length)
    }
}

/// The text that a call has beside its name and its arguments.
pub fn keys(turn: &TurnFormat, open: &Glue) -> String {
    let glues = turn.pieces().filter_map(|piece| match piece {
        CallPiece::Glue(glue) => Some(glue),
        _ => None,
    });
    glues
        .chain([open])
        .chain(turn.calls.iter().map(|form| &form.close))
        .map(Glue::head)
        .collect()
}

/// The text between the two names of a call, from the end of its first marker on.
pub fn unannounced(between: &Glue) -> Glue {
    between.without_start(between.marker_spans().first().map_or(0, |first| first.end))
}

/// The rule for a further call in the wrapper of the one before.
pub const INNER: &str = "inner-call";

/// The tags around an argument's name and value, as far as they are tags.
pub struct Tags<'a> {
    pub p: &'a FormatBuilder,
    /// What opens each argument.
    pub next: Option<&'a str>,
    pub name_close: Option<&'a str>,
    pub value_open: Option<&'a str>,
    pub value_close: Option<&'a str>,
}

/// The whole of this glue, if that is a tag.
pub fn tag(glue: &Glue) -> Option<&str> {
    Some(glue.core()).filter(|tag| is_marker(tag) && glue.is_literal())
}

/// The arguments of one tool, written one by one.
pub struct Arguments<'a> {
    pub p: &'a FormatBuilder,
    pub tool: &'a Tool,
    /// The schema of its arguments.
    pub root: SchemaRef,
    pub members: &'a Members,
    /// What opens an argument.
    pub opens: ExprId,
    /// What opens calls, where names of arguments are certain without their opening.
    pub call_open: Option<&'a Glue>,
    /// What closes the call after the last argument.
    pub close: Option<&'a Glue>,
    pub wrapper_close: &'a Glue,
    pub behind: ExprId,
    /// The end of the markers around all calls, and what may be after that.
    pub section: Option<(&'a str, ExprId)>,
}

/// The values of one tool's arguments.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    pub p: &'a FormatBuilder,
    pub tool: &'a Tool,
    pub nested: &'a Nested,
    /// Values are Python literals, as in `f(x=None)`: a schema's JSON does not hold for them.
    pub python: bool,
    /// What may follow an argument whose text is in quotes.
    pub after: Option<ExprId>,
    /// What ends the call, and a value whose own end is missing.
    pub enclosing: Option<&'a str>,
    /// What ends the value that this one is in, and this one if its own end is missing.
    pub within: Option<ExprId>,
    /// What may follow a value in another, besides the end of that.
    pub next: Option<ExprId>,
}

pub const QUOTE: &str = "\"";

/// One argument's value: its slots by what its types allow, and the site of the rules for values.
pub struct Value<'a> {
    pub p: &'a FormatBuilder,
    pub values: Values<'a>,
    pub member: &'a Member<'a>,
    /// How many containers the value is in.
    pub depth: usize,
    /// A raw text and its end.
    pub raw: &'a dyn Fn(&Slot) -> ExprId,
    pub types: Types,
    pub literals: Literals,
    /// The slots for texts.
    pub texts: Vec<&'a Slot>,
    /// The slots for values that are one piece of JSON or Python.
    pub plain: Vec<&'a Slot>,
    /// The slots for arrays and objects in the template's own notation.
    pub nested: Vec<(ValueKind, &'a Slot)>,
    /// The slot for null, where its type is allowed.
    pub null: Option<&'a Slot>,
    /// The slot for raw texts, where the schema allows none: a value that does not match the schema
    /// is a text.
    pub fallback: Option<&'a Slot>,
    /// The slots of other types, whose values are texts as well.
    pub mistyped: Vec<&'a Slot>,
    /// The slots that the schema's types use.
    pub used: Vec<&'a Slot>,
    /// What opens each of these slots.
    pub opens: Glue,
    /// What closes a value without the quotes that the template puts around all.
    pub bare_close: Option<Glue>,
}

/// A turn for one request: its parts, and the site of the rules for thoughts, sections and ends.
pub struct Writer<'a> {
    pub p: &'a FormatBuilder,
    pub turn: &'a TurnFormat,
    pub layout: &'a Layout,
    pub spec: &'a FormatSpec<'a>,
    /// The part of the prompt's opening before what is read.
    pub opening: &'a str,
    pub callable: bool,
    pub thought: Option<&'a Reasoning>,
    pub tolerances: &'a Tolerances,
    /// What opens each call, and what closes its wrapper.
    pub call_open: Glue,
    pub wrapper_close: Glue,
    /// What several parts of the format ask for, found once: see the functions of these names.
    pub before_first_call: OnceCell<Vec<Glue>>,
    pub announced_call: OnceCell<ExprId>,
    pub marks_of_calls: OnceCell<Vec<String>>,
}
