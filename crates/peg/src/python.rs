//! Rules for Python literals, as `repr` prints them, and for JSON as models write it.

use super::builder::Builder;
use super::expr::{ExprId, TagId};

/// The names of the rules for a value, a dict and a list.
type Names = [&'static str; 3];

/// Rules that accept JSON only.
pub const JSON: Names = ["json-value", "json-object", "json-array"];
/// Rules that accept Python and JSON.
const EITHER: Names = ["python-value", "python-dict", "python-list"];
/// Rules that accept Python only.
const STRICT: Names = [
    "python-literal",
    "python-literal-dict",
    "python-literal-list",
];
/// Rules that accept Python and JSON, and quotes inside of strings.
const PRINTED: Names = ["printed-value", "printed-dict", "printed-list"];

/// Rules that accept Python and JSON, commas after the last item or member, and comments.
const NEARLY: Names = [
    "nearly-json-value",
    "nearly-json-object",
    "nearly-json-array",
];

/// The words of JSON and of Python.
pub const WORDS: [&str; 6] = ["true", "false", "null", "True", "False", "None"];

/// The signs that may follow a string in a list or dict of Python: another item or member, a value,
/// the end.
const AFTER_ITEM: [(char, char); 4] = [(',', ','), (':', ':'), (']', ']'), ('}', '}')];

impl Builder {
    /// Any value, as JSON or as a Python literal: `{'a': [True, None]}`.
    pub fn python(&self) -> ExprId {
        self.python_value(EITHER, &WORDS, &|| self.python_string(), &|_| Vec::new())
    }

    /// [`Builder::python`] as models spoil it: a comma may follow the last item or member, a
    /// comment may replace white space, and a string may have single quotes, of which one closes it
    /// only before text that may follow an item. The others are captured under this tag. `closer`:
    /// the marker after the value, if it has one. Where a string has it, the string shows only once
    /// it is whole.
    pub fn nearly_json(&self, inner: TagId, closer: &str) -> ExprId {
        let names = NEARLY.map(|name| format!("{name}{closer}"));
        let string = || self.nearly_string(inner, closer);
        self.python_value(
            names.each_ref().map(|name| &**name),
            &WORDS,
            &string,
            &|_| Vec::new(),
        )
    }

    /// An object of [`Builder::nearly_json`], in a rule of this name. `first`: a member that is
    /// tried before any other.
    pub fn nearly_object(&self, inner: TagId, name: &str, first: ExprId) -> ExprId {
        let member = self.member(
            self.nearly_string(inner, ""),
            self.gap(NEARLY[0]),
            self.nearly_json(inner, ""),
        );
        self.nearly_container(
            name,
            ["{", "}"],
            self.choice([first, member]),
            self.gap(NEARLY[0]),
        )
    }

    fn nearly_string(&self, inner: TagId, closer: &str) -> ExprId {
        let [line, block] = ["//", "/*"].map(|comment| self.literal(comment));
        let after = self.choice([self.one_of(&AFTER_ITEM), line, block, self.end()]);
        self.choice([
            self.quoted("\"", closer),
            self.printed("'", self.body_around("'", closer), inner, after),
        ])
    }

    fn member(&self, name: ExprId, gap: ExprId, value: ExprId) -> ExprId {
        self.sequence([name, gap, self.literal(":"), gap, value])
    }

    /// The inside of a string. From a closer in it on, it waits for the quote, as the value may end
    /// there instead.
    fn body_around(&self, quote: &str, closer: &str) -> ExprId {
        let body = self.python_body(self.string_body(quote.as_bytes()[0]));
        if closer.is_empty() {
            return body;
        }
        let run = self.until_any([quote, "\\", closer, closer.trim_start()]);
        let more = self.many(self.sequence([self.literal("\\"), self.optional(self.any()), run]));
        let rest = self.sequence([self.space(), self.literal(closer.trim_start()), body]);
        let ends = self.and(self.sequence([
            rest,
            self.literal(quote),
            self.space(),
            self.one_of(&AFTER_ITEM),
        ]));
        self.sequence([
            run,
            self.tolerated(more),
            self.optional(self.sequence([ends, rest])),
        ])
    }

    /// White space, and with [`Builder::nearly_json`] comments, which JSON does not have.
    fn gap(&self, value: &str) -> ExprId {
        const NAME: &str = "comments";
        if !value.starts_with(NEARLY[0]) {
            return self.space();
        }
        if !self.is_defined(NAME) {
            let line = self.sequence([self.literal("//"), self.until("\n")]);
            let block = self.sequence([self.literal("/*"), self.until("*/"), self.literal("*/")]);
            self.rule(
                NAME,
                self.some(self.sequence([self.choice([line, block]), self.space()])),
            );
        }
        self.sequence([
            self.space(),
            self.choice([self.reference(NAME), self.empty()]),
        ])
    }

    /// Objects and arrays that a comma may end. `gap`: the text that may be between their parts.
    fn nearly_container(
        &self,
        name: &str,
        brackets: [&str; 2],
        item: ExprId,
        gap: ExprId,
    ) -> ExprId {
        let [open, close] = brackets.map(|bracket| self.literal(bracket));
        let last = self.tolerated(self.and(close));
        let next = self.sequence([
            self.literal(","),
            gap,
            self.choice([self.sequence([item, gap]), last]),
        ]);
        let items = self.sequence([item, gap, self.many(next), close]);
        let whole = self.sequence([open, gap, self.choice([close, items])]);
        self.rule(name, whole)
    }

    /// [`Builder::python`] with [`Builder::printed_string`]s. `more`: other values, made of any
    /// value.
    pub fn printed_python(
        &self,
        inner: impl Into<TagId>,
        more: &dyn Fn(ExprId) -> Vec<ExprId>,
    ) -> ExprId {
        let inner = inner.into();
        self.python_value(PRINTED, &WORDS, &|| self.printed_string(inner), more)
    }

    /// Any Python literal.
    pub fn python_literal(&self) -> ExprId {
        self.python_value(STRICT, &WORDS[3..], &|| self.python_string(), &|_| {
            Vec::new()
        })
    }

    /// Any Python dict.
    pub fn python_dict(&self) -> ExprId {
        self.python_literal();
        self.reference(STRICT[1])
    }

    /// Any Python list.
    pub fn python_list(&self) -> ExprId {
        self.python_literal();
        self.reference(STRICT[2])
    }

    pub(super) fn python_value(
        &self,
        [value, dict, list]: [&str; 3],
        words: &[&str],
        string: &dyn Fn() -> ExprId,
        more: &dyn Fn(ExprId) -> Vec<ExprId>,
    ) -> ExprId {
        if self.is_defined(value) {
            return self.reference(value);
        }
        let string = string();
        let gap = self.gap(value);
        let member = self.member(string, gap, self.reference(value));
        let container = |name, brackets, item| {
            if value.starts_with(NEARLY[0]) || value == PRINTED[0] {
                self.nearly_container(name, brackets, item, gap)
            } else {
                self.json_container(name, brackets, item)
            }
        };
        let others = [
            container(dict, ["{", "}"], member),
            container(list, ["[", "]"], self.reference(value)),
            string,
            self.json_number(),
        ];
        let words = words
            .iter()
            .map(|&word| self.literal(word))
            .collect::<Vec<_>>();
        let more = more(self.reference(value));
        self.rule(
            value,
            self.choice(more.into_iter().chain(others).chain(words)),
        )
    }

    /// The inside of a string; `body`: as JSON has it. A backslash before any other character is
    /// text, or joins two lines.
    pub fn python_body(&self, body: ExprId) -> ExprId {
        let line = self.optional(self.literal("\n"));
        let more = self.many(self.sequence([self.literal("\\"), line, body]));
        self.sequence([body, self.tolerated(more)])
    }

    /// A string in double or single quotes.
    pub fn python_string(&self) -> ExprId {
        self.choice(["\"", "'"].map(|quote| self.quoted(quote, "")))
    }

    fn quoted(&self, quote: &str, closer: &str) -> ExprId {
        let sign = self.literal(quote);
        self.sequence([sign, self.body_around(quote, closer), sign])
    }

    /// The same with quotes inside: models print texts between quotes as they are. A quote closes
    /// the string only before text that may follow a string, or at the end. The other quotes are
    /// text, each captured under this tag.
    pub fn printed_string(&self, inner: impl Into<TagId>) -> ExprId {
        let inner = inner.into();
        let after = self.choice([self.one_of(&AFTER_ITEM), self.literal(")"), self.end()]);
        self.choice(
            ["\"", "'"].map(|quote| self.printed(quote, self.body_around(quote, ""), inner, after)),
        )
    }

    /// A string that ends only before white space and `after`.
    fn printed(&self, quote: &str, body: ExprId, inner: TagId, after: ExprId) -> ExprId {
        let sign = self.literal(quote);
        let closes = self.sequence([sign, self.space(), after]);
        let text = self.sequence([self.not(closes), self.tag(inner, sign), body]);
        self.sequence([sign, body, self.tolerated(self.many(text)), sign])
    }
}
