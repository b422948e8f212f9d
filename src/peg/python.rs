//! Rules for Python literals, as `repr` prints them.

use super::builder::Builder;
use super::expr::ExprId;

/// The names of the rules for a value, a dict and a list.
type Names = [&'static str; 3];

/// Rules that accept Python and JSON.
const EITHER: Names = ["python-value", "python-dict", "python-list"];
/// Rules that accept Python only.
const STRICT: Names = ["python-literal", "python-literal-dict", "python-literal-list"];

impl Builder {
    /// Any value, as JSON or as a Python literal: `{'a': [True, None]}`.
    pub fn python(&self) -> ExprId {
        self.python_value(EITHER, &["true", "false", "null", "True", "False", "None"])
    }

    /// Any Python literal.
    pub fn python_literal(&self) -> ExprId {
        self.python_value(STRICT, &["True", "False", "None"])
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

    fn python_value(&self, [value, dict, list]: Names, words: &[&str]) -> ExprId {
        if self.is_defined(value) {
            return self.reference(value);
        }
        let member =
            self.sequence([self.python_string(), self.space(), self.literal(":"), self.space(), self.reference(value)]);
        let others = [
            self.json_container(dict, ["{", "}"], member),
            self.json_container(list, ["[", "]"], self.reference(value)),
            self.python_string(),
            self.json_number(),
        ];
        let words = words.iter().map(|&word| self.literal(word)).collect::<Vec<_>>();
        self.rule(value, self.choice(others.into_iter().chain(words)))
    }

    /// A string in double or single quotes.
    pub fn python_string(&self) -> ExprId {
        let quoted = |quote: &str| {
            self.sequence([self.literal(quote), self.string_body(quote.as_bytes()[0]), self.literal(quote)])
        };
        self.choice([quoted("\""), quoted("'")])
    }
}
