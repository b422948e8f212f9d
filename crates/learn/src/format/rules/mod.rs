//! How models write otherwise than their templates: one table, a row a rule. Grammars have none of it.
//!
//! The lowering says what the template writes. Where models are known to deviate, at a site, it asks the site's rules for other ways.
//! A rule looks at what the site knows of the template's text, and at no model's name.

mod arguments;
mod calls;
mod channels;
mod markers;
mod thought;
mod turn;
mod values;

pub(super) use calls::members_before_name;

use super::builder::FormatBuilder;
use super::calls::arguments::{Arguments, Tags};
use super::calls::learnt::{Call, End, Tail};
use super::calls::values::{Value, Values};
use super::harmony::Harmony;
use super::late::Want;
use super::learnt::Writer;
use super::thought::Thought;
use super::{FormatSpec, Opening, Writing, lower};
use crate::analysis::turn::{CallForm, Container, Glue, Members, Slot, TurnFormat, ValueKind};
use chatparse_message::{OutputOptions, Tool};
use chatparse_peg::ExprId;
use serde_json::json;

/// A rule: its name, and the other way that it reads, if it applies.
pub(super) type Rule<W> = (&'static str, W);

/// The sites in the order of an output, each with its rules in the order in which they are tried.
macro_rules! sites {
    ($($(#[$doc:meta])* $table:ident($site:literal): ($($at:ty),*) = { $($room:ident::$rule:ident,)* })*) => {
        $(
            $(#[$doc])*
            pub(super) const $table: &[Rule<fn($($at),*) -> Option<ExprId>>] = &[$((stringify!($rule), $room::$rule)),*];
        )*

        /// Every rule: its site and its name.
        pub const RULES: &[(&str, &str)] = &[$($(($site, stringify!($rule)),)*)*];
    };
}

impl FormatBuilder {
    /// What the rules of a site read, in their order.
    pub(super) fn ways<W: Copy>(&self, rules: &[Rule<W>], way: impl Fn(W) -> Option<ExprId>) -> Vec<ExprId> {
        let mut ways = Vec::new();
        for (name, rule) in rules {
            if *name != self.without {
                ways.extend(way(*rule).map(|way| self.tolerated(way)));
            }
        }
        ways
    }

    /// What the template writes, or else what the rules of a site read.
    pub(super) fn or<W: Copy>(&self, written: ExprId, rules: &[Rule<W>], way: impl Fn(W) -> Option<ExprId>) -> ExprId {
        self.choice([written].into_iter().chain(self.ways(rules, way)))
    }

    /// What the rules of a site read between two parts of the template's text, where each also matches nothing.
    pub(super) fn between<W: Copy>(&self, rules: &[Rule<W>], way: impl Fn(W) -> Option<ExprId>) -> ExprId {
        match self.ways(rules, way) {
            ways if ways.is_empty() => self.empty(),
            ways => self.sequence(ways),
        }
    }
}

/// The names of the rules that read something in outputs of a model that writes like this, with tools of all kinds of arguments.
pub fn applied(writing: &Writing) -> Vec<&'static str> {
    let schema = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": ["boolean", "null"]}, "d": {},
        "e": {"type": "array", "items": {"type": "string"}},
        "f": {"type": "object", "required": ["g"], "properties": {"g": {"type": "string"}, "h": {"type": "number"}}},
    }});
    let tools = [Tool::new("f", "", schema), Tool::new("g.h", "", json!({"type": "object"}))];
    let (options, opening) = (OutputOptions::default(), Opening::of(&writing.turn.opening));
    let spec = FormatSpec { options: &options, opening: &opening, offered: &tools };
    let all = lower(writing, &spec, Want::Whole).output;
    let mut names: Vec<&str> = RULES.iter().map(|(_, name)| *name).collect();
    names.retain(|name| lower(&writing.without(name), &spec, Want::Whole).output != all);
    names
}

sites! {
    /// After the end of the prompt: the opening of reasoning in it.
    OPENING("opening"): (&Writer, &str) = {
        thought::prompt_opening_again,
    }
    /// After the opening of reasoning, or in its place where the prompt has it: the opening.
    THOUGHT_OPENED("thought"): (&Writer, &str) = {
        thought::opening_again,
    }
    /// What opens reasoning.
    THOUGHT_OPEN("thought"): (&Writer, &Thought) = {
        thought::opening_without_word,
    }
    /// Reasoning with its opening and its end.
    THOUGHT("thought"): (&Writer, &Thought) = {
        thought::thought_end_alone,
    }
    /// The end of reasoning, before the template's: what opens more.
    THOUGHT_JOIN("thought-end"): (&FormatBuilder, &Thought, ExprId) = {
        thought::thoughts_joined,
    }
    /// The end of reasoning: what opens content, and how calls go on that begin so.
    THOUGHT_CLOSE("thought-end"): (&FormatBuilder, &[String], &[String]) = {
        thought::content_ends_thought,
    }
    /// A call in reasoning: what it begins with.
    THOUGHT_CALL("thought-end"): (ExprId) = {
        thought::call_ends_thought,
    }
    /// The end of reasoning that is shown as content: the texts that open calls.
    SHOWN_THOUGHT_CLOSE("thought-end"): (&FormatBuilder, &[String]) = {
        thought::output_ends_thought,
        thought::call_ends_shown_thought,
    }
    /// After reasoning: what opens more, and its text with the end.
    THOUGHT_AGAIN("thought-end"): (&FormatBuilder, ExprId, ExprId) = {
        thought::thought_again,
    }
    /// After all reasoning.
    THOUGHT_CLOSED("thought-end"): (&FormatBuilder, &Thought) = {
        thought::thought_closed_again,
    }
    /// Reasoning after content.
    LATE_THOUGHT("thought"): (&Writer, &Thought) = {
        thought::late_end_alone,
    }
    /// After the content, in place of calls.
    NO_CALLS("calls"): (&Writer) = {
        turn::empty_section,
    }
    /// Before calls without the marker around all.
    SECTION_OPEN("calls"): (&Writer) = {
        turn::section_misspelled,
    }
    /// All calls: what opens them, and the calls.
    CALLS("calls"): (&FormatBuilder, &Glue, ExprId) = {
        turn::call_without_list,
    }
    /// A further call.
    NEXT_CALL("calls"): (&Writer) = {
        turn::call_in_wrapper,
        turn::inner_call,
    }
    /// The end of all calls.
    LIST_CLOSE("calls-end"): (&FormatBuilder, &Glue) = {
        turn::bracket_left_out,
    }
    /// After the end of all calls: calls with what opens all.
    CALLS_CLOSED("calls-end"): (&Writer, &[ExprId]) = {
        turn::calls_again,
    }
    /// After the end of a turn.
    TURN_END("turn-end"): (&Writer) = {
        turn::next_header,
    }
    /// A text up to the next part, which begins with one of these.
    PART_CLOSE("turn-end"): (&FormatBuilder, &[&str]) = {
        markers::part_ends_text,
    }
    /// A tag with the number of a call: what is before and after the attribute.
    NUMBER("marker"): (&FormatBuilder, ExprId, ExprId) = {
        markers::number_left_out,
    }
    /// A text of the template, before it.
    LINE_BREAKS("marker"): (&FormatBuilder, &str) = {
        markers::line_break_spelled,
    }
    /// A text of the template.
    MARKER("marker"): (&FormatBuilder, &str) = {
        markers::other_argument_key,
        markers::other_spelling,
    }
    /// The name of a tool.
    TOOL_NAME("name"): (&FormatBuilder, &str) = {
        markers::name_escaped,
    }
    /// Arguments that are one JSON object.
    OBJECT("arguments"): (&FormatBuilder) = {
        values::arguments_as_text,
    }
    /// A value of Python: any value.
    PYTHON("value"): (&FormatBuilder, ExprId) = {
        values::python_tuple,
        values::python_set,
        values::python_number,
    }
    /// After the marker that ends a raw text: what more text looks like.
    TEXT_CLOSED("value-end"): (&FormatBuilder, ExprId) = {
        values::marker_in_text,
    }
    /// The marker that ends a raw text: without its white space; what may be after it; what else ends the text.
    TEXT_CLOSE("value-end"): (&FormatBuilder, ExprId, ExprId, ExprId) = {
        values::marker_with_other_space,
        values::name_ends_text,
    }
    /// The space before a role.
    START_SPACE("channel"): (&FormatBuilder) = {
        channels::space_left_out,
    }
    /// After a token.
    TOKEN("channel"): (&Harmony) = {
        channels::more_spaces,
    }
    /// What begins a message: nearly that.
    START_OF_MESSAGE("channel"): (&FormatBuilder, ExprId) = {
        channels::start_left_out,
    }
    /// After the beginning of a message.
    STARTED("channel"): (&FormatBuilder, ExprId) = {
        channels::started_again,
    }
    /// A message: what begins it.
    BARE_TEXT("channel"): (&Harmony, ExprId) = {
        channels::text_without_header,
    }
    /// A message that is not the last.
    MESSAGE("channel"): (&Harmony) = {
        channels::unknown_header,
    }
    /// Before a call.
    CALL_HEADER("channel"): (&Harmony) = {
        channels::header_before_another,
    }
    /// The end of reasoning, or of an answer that goes on.
    THOUGHT_END("channel"): (&FormatBuilder) = {
        channels::message_ends_message,
    }
    /// The header of an answer.
    FINAL_HEADER("channel"): (&Harmony) = {
        channels::channel_left_out,
    }
    /// The token before the channel of a call.
    CHANNEL_TOKEN("channel"): (&FormatBuilder) = {
        channels::channel_token_left_out,
    }
    /// What opens a call.
    CALL_OPEN("call"): (&FormatBuilder, &TurnFormat, &Glue) = {
        calls::members_before_name,
        calls::call_without_word,
    }
    /// A call whose name the template writes twice: the text between the names, and the call from the second one on.
    NAMES("call"): (&FormatBuilder, &Glue, ExprId) = {
        calls::names_differ,
    }
    /// The same, from its opening on.
    NAME_ALONE("call"): (&FormatBuilder, &Glue, ExprId) = {
        calls::first_name_left_out,
    }
    /// A form of a call.
    CALL_FORM("call"): (&Call, &CallForm) = {
        calls::id_left_out,
    }
    /// An id that calls begin with, between quotes.
    ID("call"): (&Call, &Glue) = {
        calls::id_as_number,
    }
    /// An id with the name in it.
    NAMED_ID("call"): (&FormatBuilder, &str, &str) = {
        calls::id_with_other_signs,
    }
    /// An id that is the last member of a call: the end of a call without it.
    LAST_ID("call"): (ExprId) = {
        calls::last_id_left_out,
    }
    /// Before an id that is a member of a call.
    BEFORE_ID("call"): (&FormatBuilder, &str) = {
        calls::members_before_id,
    }
    /// Such an id: what is after it.
    FIRST_ID("call"): (ExprId) = {
        calls::first_id_left_out,
    }
    /// The name of a call.
    NAME("name"): (&FormatBuilder, &str) = {
        calls::name_again,
    }
    /// The tag that opens a call.
    CALL_TAG("name"): (&Call, &str) = {
        calls::empty_call_tag,
    }
    /// What is after a name, where nothing that all forms share is.
    NO_GLUE("name"): (&Call, &[Tail]) = {
        calls::argument_ends_name,
    }
    /// What is after a name and before the arguments of all forms; the quote that it begins with.
    NAME_CLOSE("name"): (&Call, Option<char>) = {
        calls::section_ends_name,
    }
    /// Looks ahead to what may be after a name.
    AFTER_NAME("name"): (&Call, Option<&Members>) = {
        calls::object_after_name,
        calls::section_ends_later,
    }
    /// The rest of a call after its name.
    ARGUMENTS("arguments"): (&Call, &Tail, &Glue) = {
        calls::arguments_left_out,
    }
    /// The text before arguments.
    BEFORE_ARGUMENTS("arguments"): (&Call, &Glue) = {
        calls::members_before_arguments,
    }
    /// Arguments one by one, after the text before all.
    MEMBERS("arguments"): (&Call, &Glue) = {
        calls::arguments_as_object,
    }
    /// Between arguments, and after the last.
    BETWEEN_ARGUMENTS("arguments"): (&Call, &Members) = {
        calls::argument_closed_again,
    }
    /// After arguments that are one JSON object, in another.
    AFTER_ARGUMENTS("arguments"): (&Call) = {
        calls::members_after_arguments,
    }
    /// The end of a call without arguments.
    NO_ARGUMENTS("call-end"): (&Call) = {
        calls::section_ends_call,
    }
    /// The end of a call: what it is, and the template's text for it.
    CALL_CLOSE("call-end"): (&Call, &End, ExprId) = {
        calls::call_in_object,
        calls::wrapper_ends_call,
        calls::opening_ends_call,
        calls::section_ends_arguments,
        calls::output_ends_call,
    }
    /// After the end of a call.
    CALL_CLOSED("call-end"): (&FormatBuilder, &End) = {
        calls::object_around_call,
    }
    /// The end of a call's wrapper.
    WRAPPER_CLOSE("call-end"): (&Call) = {
        calls::wrapper_end_left_out,
    }
    /// After the end of a call's wrapper.
    WRAPPER_CLOSED("call-end"): (&FormatBuilder, &Glue) = {
        calls::wrapper_closed_again,
    }
    /// An argument that the schema lists, or what is in its place.
    ARGUMENT("argument"): (&Arguments) = {
        arguments::argument_opened_again,
    }
    /// What opens an argument.
    ARGUMENT_OPEN("argument"): (&Arguments) = {
        arguments::argument_open_left_out,
        arguments::call_opens_argument,
    }
    /// What ends the name of an argument.
    NAME_OF_ARGUMENT_CLOSE("argument"): (&Tags) = {
        arguments::name_end_left_out,
    }
    /// After the name of an argument.
    NAME_OF_ARGUMENT_CLOSED("argument"): (&Tags) = {
        arguments::name_closed_again,
    }
    /// What opens a value: the template's text for it.
    VALUE_OPEN("argument"): (&Tags, ExprId) = {
        arguments::name_closed_as_value,
        arguments::value_open_left_out,
    }
    /// A raw text after what may end it.
    TEXT("value"): (&Arguments, &[String], ExprId) = {
        arguments::text_goes_on,
    }
    /// A raw text where a literal of Python may be.
    TEXT_BEGIN("value"): (&FormatBuilder, &[String], ExprId) = {
        arguments::text_begins_as_end,
    }
    /// The value of an argument, before all forms of the template.
    VALUE_FIRST("value"): (&Value) = {
        values::text_in_quotes,
        values::printed_text,
        values::printed_value,
    }
    /// An array or object, after the template's notation.
    CONTAINER("value"): (&Value, ValueKind, &Glue, &Slot) = {
        values::container_as_json,
    }
    /// The value of an argument, after containers.
    VALUE("value"): (&Value) = {
        values::null,
    }
    /// The value of an argument, before the template's texts.
    VALUE_TEXT("value"): (&Value) = {
        values::escaped_quote,
    }
    /// The value of an argument, after all forms of the template.
    VALUE_LAST("value"): (&Value) = {
        values::text_to_line_end,
        values::text_for_type,
        values::text_for_other_type,
        values::type_attribute,
        values::json_quotes,
        values::text_without_quotes,
        values::value_without_quotes,
    }
    /// The end of a value.
    VALUE_CLOSE("value-end"): (&Value, &Slot) = {
        values::call_ends_value,
        values::container_ends_value,
    }
    /// The end of a container whose items have their own openings.
    CONTAINER_CLOSE("value-end"): (&Values) = {
        values::container_ends_container,
    }
    /// A text in quotes, after its first line or escape.
    QUOTED("value"): (&Values, char, ExprId) = {
        values::unescaped_text,
    }
    /// The name of an argument.
    NAME_OF_ARGUMENT("argument"): (&FormatBuilder, ExprId, &[(ValueKind, Slot)]) = {
        values::name_in_quotes,
    }
    /// The name of an object's member.
    KEY("value"): (&Values, &Container, &[String], ExprId) = {
        values::key_in_quotes,
    }
}
