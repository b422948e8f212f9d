//! JSON as rules. Each is defined once per arena, on first use.

use serde_json::Value;

use super::expr::{Arena, ExprId};

impl Arena {
    /// Any JSON value.
    pub fn json(&mut self) -> ExprId {
        const NAME: &str = "json-value";
        if self.rule_named(NAME).is_none() {
            let object = self.json_container("json-object", b"{}", true);
            let array = self.json_container("json-array", b"[]", false);
            let string = self.json_string();
            let number = self.json_number();
            let words = ["true", "false", "null"].map(|word| self.literal(word));
            let value = self.choice([object, array, string, number].into_iter().chain(words));
            return self.rule(NAME, value);
        }
        self.reference(NAME)
    }

    /// A JSON string, quotes included.
    pub fn json_string(&mut self) -> ExprId {
        const NAME: &str = "json-string";
        if self.rule_named(NAME).is_none() {
            let string = self.json_quoted(|_, body| body);
            return self.rule(NAME, string);
        }
        self.reference(NAME)
    }

    /// A JSON string of which `wrap` sees the inside.
    pub fn json_quoted(&mut self, wrap: impl FnOnce(&mut Arena, ExprId) -> ExprId) -> ExprId {
        let open = self.literal("\"");
        let body = self.string_body(b'"');
        let body = wrap(self, body);
        let close = self.literal("\"");
        self.sequence([open, body, close])
    }

    /// A JSON number. It ends only where a character follows that cannot extend it: `3` may yet become `3.14`.
    pub fn json_number(&mut self) -> ExprId {
        const NAME: &str = "json-number";
        if self.rule_named(NAME).is_some() {
            return self.reference(NAME);
        }
        let digit = |a: &mut Arena| a.one_of(&[('0', '9')]);
        let minus = self.literal("-");
        let minus = self.optional(minus);
        let zero = self.literal("0");
        let first = self.one_of(&[('1', '9')]);
        let more = digit(self);
        let more = self.many(more);
        let positive = self.sequence([first, more]);
        let whole = self.choice([zero, positive]);

        let point = self.literal(".");
        let digits = digit(self);
        let digits = self.some(digits);
        let fraction = self.sequence([point, digits]);
        let fraction = self.optional(fraction);

        let e = self.one_of(&[('e', 'e'), ('E', 'E')]);
        let sign = self.one_of(&[('+', '+'), ('-', '-')]);
        let sign = self.optional(sign);
        let exponent = self.sequence([e, sign, digits]);
        let exponent = self.optional(exponent);

        let longer = self.one_of(&[('0', '9'), ('.', '.'), ('e', 'e'), ('E', 'E'), ('+', '+'), ('-', '-')]);
        let done = self.not(longer);
        let number = self.sequence([minus, whole, fraction, exponent, done]);
        self.rule(NAME, number)
    }

    /// `"key"`, a colon and a value, with white space around the colon.
    pub fn json_member(&mut self, key: &str, value: ExprId) -> ExprId {
        let key = self.literal(Value::from(key).to_string());
        let colon = self.literal(":");
        let space = self.space();
        self.sequence([key, space, colon, space, value])
    }

    /// An object or an array, by its brackets.
    fn json_container(&mut self, name: &str, brackets: &[u8; 2], keyed: bool) -> ExprId {
        let open = self.literal(char::from(brackets[0]));
        let close = self.literal(char::from(brackets[1]));
        let comma = self.literal(",");
        let space = self.space();
        let value = self.reference("json-value");
        let item = if keyed {
            let key = self.json_string();
            let colon = self.literal(":");
            self.sequence([key, space, colon, space, value])
        } else {
            value
        };
        let next = self.sequence([space, comma, space, item]);
        let next = self.many(next);
        let items = self.sequence([item, next, space, close]);
        let body = self.choice([close, items]);
        let whole = self.sequence([open, space, body]);
        self.rule(name, whole)
    }
}
