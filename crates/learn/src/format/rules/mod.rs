//! How models write otherwise than their templates: one table, a row a rule. Grammars have none of it.
//!
//! The lowering says what the template writes. Where models are known to deviate, at a site, it asks the site's rules for other ways.
//! A rule looks at what the site knows of the template's text, and at no model's name.

mod arguments;
mod calls;
mod values;

pub(super) use calls::members_before_name;

use super::builder::FormatBuilder;
use super::calls::arguments::{Arguments, Tags};
use super::calls::learnt::{Call, End, Tail};
use super::calls::values::{Value, Values};
use crate::analysis::turn::{CallForm, Container, Glue, Members, Slot, TurnFormat, ValueKind};
use chatparse_peg::ExprId;

/// A rule: its name, and the other way that it reads, if it applies.
pub(super) type Rule<W> = (&'static str, W);

/// The sites in the order of an output, each with its rules in the order in which they are tried.
macro_rules! sites {
    ($($(#[$doc:meta])* $table:ident($site:literal): $way:ty = { $($name:literal => $rule:path,)* })*) => {
        $($(#[$doc])* pub(super) const $table: &[Rule<$way>] = &[$(($name, $rule)),*];)*

        /// Every rule: its site and its name.
        pub const RULES: &[(&str, &str)] = &[$($(($site, $name),)*)*];
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
    pub(super) fn or<W: Copy>(
        &self,
        written: ExprId,
        rules: &[Rule<W>],
        way: impl Fn(W) -> Option<ExprId>,
    ) -> ExprId {
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

sites! {
    /// What opens a call.
    CALL_OPEN("call"): fn(&FormatBuilder, &TurnFormat, &Glue) -> Option<ExprId> = {
        "members-before-name" => calls::members_before_name,
        "opening-without-word" => calls::without_word,
    }
    /// A call whose name the template writes twice: the text between the names, and the call from the second one on.
    NAMES("call"): fn(&FormatBuilder, &Glue, ExprId) -> Option<ExprId> = {
        "names-differ" => calls::names_differ,
    }
    /// The same, from its opening on.
    NAME_ALONE("call"): fn(&FormatBuilder, &Glue, ExprId) -> Option<ExprId> = {
        "first-name-left-out" => calls::first_name_left_out,
    }
    /// A form of a call.
    CALL_FORM("call"): fn(&Call, &CallForm) -> Option<ExprId> = {
        "id-left-out" => calls::id_left_out,
    }
    /// An id that calls begin with, between quotes.
    ID("call"): fn(&Call, &Glue) -> Option<ExprId> = {
        "id-as-number" => calls::id_as_number,
    }
    /// An id with the name in it.
    NAMED_ID("call"): fn(&FormatBuilder, &str, &str) -> Option<ExprId> = {
        "id-with-other-signs" => calls::id_with_other_signs,
    }
    /// An id that is the last member of a call: the end of a call without it.
    LAST_ID("call"): fn(ExprId) -> Option<ExprId> = {
        "last-id-left-out" => Some,
    }
    /// Before an id that is a member of a call.
    BEFORE_ID("call"): fn(&FormatBuilder, &str) -> Option<ExprId> = {
        "members-before-id" => calls::members_before_id,
    }
    /// Such an id: what is after it.
    FIRST_ID("call"): fn(ExprId) -> Option<ExprId> = {
        "first-id-left-out" => Some,
    }
    /// The name of a call.
    NAME("name"): fn(&FormatBuilder, &str) -> Option<ExprId> = {
        "name-again" => calls::name_again,
    }
    /// The tag that opens a call.
    CALL_TAG("name"): fn(&Call, &str) -> Option<ExprId> = {
        "empty-call-tag" => calls::empty_tag,
    }
    /// What is after a name, where nothing that all forms share is.
    NO_GLUE("name"): fn(&Call, &[Tail]) -> Option<ExprId> = {
        "argument-open-left-out" => calls::argument_open_left_out,
    }
    /// What is after a name and before the arguments of all forms; the quote that it begins with.
    NAME_CLOSE("name"): fn(&Call, Option<char>) -> Option<ExprId> = {
        "section-ends-call" => calls::section_ends_name,
    }
    /// Looks ahead to what may be after a name.
    AFTER_NAME("name"): fn(&Call, Option<&Members>) -> Option<ExprId> = {
        "arguments-as-object" => calls::object_after_name,
        "section-ends-call" => calls::section,
    }
    /// The rest of a call after its name.
    ARGUMENTS("arguments"): fn(&Call, &Tail, &Glue) -> Option<ExprId> = {
        "arguments-left-out" => calls::arguments_left_out,
    }
    /// The text before arguments.
    BEFORE_ARGUMENTS("arguments"): fn(&Call, &Glue) -> Option<ExprId> = {
        "members-before-arguments" => calls::members_before_arguments,
    }
    /// Arguments one by one, after the text before all.
    MEMBERS("arguments"): fn(&Call, &Glue) -> Option<ExprId> = {
        "arguments-as-object" => calls::as_object,
    }
    /// Between arguments, and after the last.
    BETWEEN_ARGUMENTS("arguments"): fn(&Call, &Members) -> Option<ExprId> = {
        "argument-closed-again" => calls::argument_closed_again,
    }
    /// After arguments that are one JSON object, in another.
    AFTER_ARGUMENTS("arguments"): fn(&Call) -> Option<ExprId> = {
        "members-after-arguments" => calls::members_after_arguments,
    }
    /// The end of a call without arguments.
    NO_ARGUMENTS("call-end"): fn(&Call) -> Option<ExprId> = {
        "section-ends-call" => calls::section_ends_call,
    }
    /// The end of a call: what it is, and the template's text for it.
    CALL_CLOSE("call-end"): fn(&Call, &End, ExprId) -> Option<ExprId> = {
        "call-in-object" => calls::in_object,
        "wrapper-ends-call" => calls::wrapper_ends,
        "opening-ends-call" => calls::opening_ends,
        "section-ends-call" => calls::section_ends,
        "output-ends-call" => calls::output_ends,
    }
    /// After the end of a call.
    CALL_CLOSED("call-end"): fn(&FormatBuilder, &End) -> Option<ExprId> = {
        "object-around-call" => calls::outer_object,
    }
    /// The end of a call's wrapper.
    WRAPPER_CLOSE("call-end"): fn(&Call) -> Option<ExprId> = {
        "wrapper-end-left-out" => calls::wrapper_end_left_out,
    }
    /// After the end of a call's wrapper.
    WRAPPER_CLOSED("call-end"): fn(&FormatBuilder, &Glue) -> Option<ExprId> = {
        "wrapper-closed-again" => calls::wrapper_closed_again,
    }
    /// An argument that the schema lists, or what is in its place.
    ARGUMENT("argument"): fn(&Arguments) -> Option<ExprId> = {
        "argument-opened-again" => arguments::opened_again,
    }
    /// What opens an argument.
    ARGUMENT_OPEN("argument"): fn(&Arguments) -> Option<ExprId> = {
        "argument-open-left-out" => arguments::open_left_out,
        "call-opens-argument" => arguments::call_opens,
    }
    /// What ends the name of an argument.
    NAME_OF_ARGUMENT_CLOSE("argument"): fn(&Tags) -> Option<ExprId> = {
        "name-end-left-out" => arguments::name_end_left_out,
    }
    /// After the name of an argument.
    NAME_OF_ARGUMENT_CLOSED("argument"): fn(&Tags) -> Option<ExprId> = {
        "name-closed-again" => arguments::name_closed_again,
    }
    /// What opens a value: the template's text for it.
    VALUE_OPEN("argument"): fn(&Tags, ExprId) -> Option<ExprId> = {
        "name-closed-as-value" => arguments::name_closed_as_value,
        "value-open-left-out" => arguments::value_open_left_out,
    }
    /// A raw text after what may end it.
    TEXT("value"): fn(&Arguments, &[String], ExprId) -> Option<ExprId> = {
        "text-goes-on" => arguments::text_goes_on,
    }
    /// A raw text where a literal of Python may be.
    TEXT_BEGIN("value"): fn(&FormatBuilder, &[String], ExprId) -> Option<ExprId> = {
        "text-begins-as-end" => arguments::text_begins_as_end,
    }
    /// The value of an argument, before all forms of the template.
    VALUE_FIRST("value"): fn(&Value) -> Option<ExprId> = {
        "text-in-quotes" => values::in_quotes,
        "printed-text" => values::printed_text,
        "printed-value" => values::printed,
    }
    /// An array or object, after the template's notation.
    CONTAINER("value"): fn(&Value, ValueKind, &Glue, &Slot) -> Option<ExprId> = {
        "container-as-json" => values::as_json,
    }
    /// The value of an argument, after containers.
    VALUE("value"): fn(&Value) -> Option<ExprId> = {
        "null" => values::null,
    }
    /// The value of an argument, before the template's texts.
    VALUE_TEXT("value"): fn(&Value) -> Option<ExprId> = {
        "escaped-quote" => values::escaped,
    }
    /// The value of an argument, after all forms of the template.
    VALUE_LAST("value"): fn(&Value) -> Option<ExprId> = {
        "text-to-line-end" => values::line,
        "text-for-type" => values::fallback,
        "text-for-other-type" => values::mistyped,
        "type-attribute" => values::attribute,
        "json-quotes" => values::json_quotes,
        "text-without-quotes" => values::without_quotes,
        "value-without-quotes" => values::without_json_quotes,
    }
    /// The end of a value.
    VALUE_CLOSE("value-end"): fn(&Value, &Slot) -> Option<ExprId> = {
        "call-ends-value" => values::call_ends,
        "container-ends-value" => values::container_ends,
    }
    /// The end of a container whose items have their own openings.
    CONTAINER_CLOSE("value-end"): fn(&Values) -> Option<ExprId> = {
        "container-ends-container" => values::outer_ends,
    }
    /// A text in quotes, after its first line or escape.
    QUOTED("value"): fn(&Values, char, ExprId) -> Option<ExprId> = {
        "unescaped-text" => values::unescaped,
    }
    /// The name of an argument.
    NAME_OF_ARGUMENT("argument"): fn(&FormatBuilder, ExprId, &[(ValueKind, Slot)]) -> Option<ExprId> = {
        "name-in-quotes" => values::name_in_quotes,
    }
    /// The name of an object's member.
    KEY("value"): fn(&Values, &Container, &[String], ExprId) -> Option<ExprId> = {
        "key-in-quotes" => values::key_in_quotes,
    }
}
