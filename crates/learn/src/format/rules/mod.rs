//! How models write otherwise than their templates: one table, a row a rule. Grammars have none of it.
//!
//! The lowering says what the template writes. Where models are known to deviate, at a site, it asks the site's rules for other ways.
//! A rule looks at what the site knows of the template's text, and at no model's name.

mod values;

use super::builder::FormatBuilder;
use super::calls::values::{Value, Values};
use crate::analysis::turn::{Container, Glue, Slot, ValueKind};
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
        self.sequence(self.ways(rules, way))
    }
}

sites! {
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
