//! Values as Python prints them. Everything that is JSON is among them.

use super::builder::Builder;
use super::expr::ExprId;

impl Builder {
    /// Any value, as JSON or as a Python literal: `{'a': [True, None]}`.
    pub fn python(&self) -> ExprId {
        const NAME: &str = "python-value";
        if self.is_defined(NAME) {
            return self.reference(NAME);
        }
        let member =
            self.sequence([self.python_string(), self.space(), self.literal(":"), self.space(), self.reference(NAME)]);
        let words = ["true", "false", "null", "True", "False", "None"].map(|word| self.literal(word));
        let others = [
            self.json_container("python-dict", ["{", "}"], member),
            self.json_container("python-list", ["[", "]"], self.reference(NAME)),
            self.python_string(),
            self.json_number(),
        ];
        self.rule(NAME, self.choice(others.into_iter().chain(words)))
    }

    /// A string in double or single quotes.
    pub fn python_string(&self) -> ExprId {
        let quoted = |quote: &str| {
            self.sequence([self.literal(quote), self.string_body(quote.as_bytes()[0]), self.literal(quote)])
        };
        self.choice([quoted("\""), quoted("'")])
    }
}
