//! JSON as rules. Each rule is defined once per arena, on first use. Numbers, strings and nesting
//! follow RFC 8259.

use super::builder::Builder;
use super::expr::ExprId;
use super::python::{JSON, WORDS};

impl Builder {
    /// Any JSON value.
    pub fn json(&self) -> ExprId {
        self.python_value(JSON, &WORDS[..3], &|| self.json_string(), &|_| Vec::new())
    }

    /// Any JSON object.
    pub fn json_object(&self) -> ExprId {
        self.json();
        self.reference(JSON[1])
    }

    /// Any JSON array.
    pub fn json_array(&self) -> ExprId {
        self.json();
        self.reference(JSON[2])
    }

    /// A JSON string, quotes included. If the arena already defines a rule `json-string`, that rule
    /// is used, also inside JSON values.
    pub fn json_string(&self) -> ExprId {
        const NAME: &str = "json-string";
        if self.is_defined(NAME) {
            return self.reference(NAME);
        }
        self.sequence([
            self.literal("\""),
            self.string_body(b'"'),
            self.literal("\""),
        ])
    }

    /// A JSON number. It ends only at a character that cannot extend it: `3` may become `3.14`.
    pub fn json_number(&self) -> ExprId {
        const NAME: &str = "json-number";
        if self.is_defined(NAME) {
            return self.reference(NAME);
        }
        let digit = self.one_of(&[('0', '9')]);
        let positive = self.sequence([self.one_of(&[('1', '9')]), self.many(digit)]);
        let fraction = self.sequence([self.literal("."), self.some(digit)]);
        let exponent = self.sequence([
            self.one_of(&[('e', 'e'), ('E', 'E')]),
            self.optional(self.one_of(&[('+', '+'), ('-', '-')])),
            self.some(digit),
        ]);
        let longer = [
            ('0', '9'),
            ('.', '.'),
            ('e', 'e'),
            ('E', 'E'),
            ('+', '+'),
            ('-', '-'),
        ];
        let number = self.sequence([
            self.optional(self.literal("-")),
            self.choice([self.literal("0"), positive]),
            self.optional(fraction),
            self.optional(exponent),
            self.not(self.one_of(&longer)),
        ]);
        self.rule(NAME, number)
    }

    /// An object or an array, given its brackets and the expression between its commas.
    pub(super) fn json_container(&self, name: &str, brackets: [&str; 2], item: ExprId) -> ExprId {
        let [open, close] = brackets.map(|bracket| self.literal(bracket));
        let next = self.sequence([self.space(), self.literal(","), self.space(), item]);
        let items = self.sequence([item, self.many(next), self.space(), close]);
        let whole = self.sequence([open, self.space(), self.choice([close, items])]);
        self.rule(name, whole)
    }
}
