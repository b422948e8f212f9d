//! Rules for Python literals, as `repr` prints them.

use super::builder::Builder;
use super::expr::{ExprId, TagId};

/// The names of the rules for a value, a dict and a list.
type Names = [&'static str; 3];

/// Rules that accept Python and JSON.
const EITHER: Names = ["python-value", "python-dict", "python-list"];
/// Rules that accept Python only.
const STRICT: Names = ["python-literal", "python-literal-dict", "python-literal-list"];
/// Rules that accept Python and JSON, and quotes inside of strings.
const PRINTED: Names = ["printed-value", "printed-dict", "printed-list"];

/// The words of Python and of JSON.
const WORDS: &[&str] = &["true", "false", "null", "True", "False", "None"];

/// What may follow a string of Python: another argument, item or member, a value, the end of a call, list or dict.
const AFTER_STRING: &[(char, char)] = &[(')', ')'), (',', ','), (':', ':'), (']', ']'), ('}', '}')];

impl Builder {
    /// Any value, as JSON or as a Python literal: `{'a': [True, None]}`.
    pub fn python(&self) -> ExprId {
        self.python_value(EITHER, WORDS, &|| self.python_string(), &|_| Vec::new())
    }

    /// [`Builder::python`] with [`Builder::printed_string`]s. `more`: other values, made of any value.
    pub fn printed_python(&self, inner: impl Into<TagId>, more: &dyn Fn(ExprId) -> Vec<ExprId>) -> ExprId {
        let inner = inner.into();
        self.python_value(PRINTED, WORDS, &|| self.printed_string(inner), more)
    }

    /// Any Python literal.
    pub fn python_literal(&self) -> ExprId {
        self.python_value(STRICT, &["True", "False", "None"], &|| self.python_string(), &|_| Vec::new())
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

    fn python_value(
        &self,
        [value, dict, list]: Names,
        words: &[&str],
        string: &dyn Fn() -> ExprId,
        more: &dyn Fn(ExprId) -> Vec<ExprId>,
    ) -> ExprId {
        if self.is_defined(value) {
            return self.reference(value);
        }
        let string = string();
        let member = self.sequence([string, self.space(), self.literal(":"), self.space(), self.reference(value)]);
        let others = [
            self.json_container(dict, ["{", "}"], member),
            self.json_container(list, ["[", "]"], self.reference(value)),
            string,
            self.json_number(),
        ];
        let words = words.iter().map(|&word| self.literal(word)).collect::<Vec<_>>();
        let more = more(self.reference(value));
        self.rule(value, self.choice(more.into_iter().chain(others).chain(words)))
    }

    /// The inside of a string, of which `body` is what JSON has: a backslash in front of any other character is one itself.
    pub fn python_body(&self, body: ExprId) -> ExprId {
        let more = self.many(self.sequence([self.literal("\\"), body]));
        self.sequence([body, self.tolerated(more)])
    }

    /// A string in double or single quotes.
    pub fn python_string(&self) -> ExprId {
        let quoted = |quote: &str| {
            let body = self.python_body(self.string_body(quote.as_bytes()[0]));
            self.sequence([self.literal(quote), body, self.literal(quote)])
        };
        self.choice([quoted("\""), quoted("'")])
    }

    /// The same with quotes inside: models print texts between quotes as they are. A quote closes the string only in front of
    /// what may follow one, or at the end. Others are text, each captured under this tag.
    pub fn printed_string(&self, inner: impl Into<TagId>) -> ExprId {
        let inner = inner.into();
        let ends = self.sequence([self.space(), self.choice([self.one_of(AFTER_STRING), self.end()])]);
        let quoted = |quote: &str| {
            let (sign, body) = (self.literal(quote), self.python_body(self.string_body(quote.as_bytes()[0])));
            let text = self.sequence([self.not(self.sequence([sign, ends])), self.tag(inner, sign), body]);
            self.sequence([sign, body, self.tolerated(self.many(text)), sign])
        };
        self.choice([quoted("\""), quoted("'")])
    }
}
