//! `unevaluatedProperties` and `unevaluatedItems`: schemas for what no other schema describes that holds for the same value.

use serde_json::Value;

use super::Lowering;
use super::all::All;
use super::places::{Fields, Part};
use crate::error::Result;
use crate::grammar::builder::FidelityKind;

impl<'a> Lowering<'_, 'a> {
    /// The schemas that `key` (one of the two) adds for a property or an item. `describes`: whether the keywords of a part, apart
    /// from `key` itself, describe it.
    pub(super) fn unevaluated(
        &mut self,
        all: &All<'a>,
        key: &'static str,
        describes: &dyn Fn(Part<'a>, &'a Fields) -> bool,
    ) -> Result<Vec<Part<'a>>> {
        let outer: Vec<(Part<'a>, &'a Value)> = all.values(key).collect();
        let mut added = Vec::new();
        for (part, schema) in outer {
            // Each part's way to the outer one is at most as long as there are parts.
            self.spend(all.parts.len() * all.parts.len() / 8)?;
            if !self.is_certain(all, part, key) {
                continue;
            }
            let is_described = all.fields().any(|(other, fields)| {
                let is_outer = std::ptr::eq(other.schema, part.schema);
                !other.is_made
                    && (describes(other, fields) || !is_outer && fields.contains_key(key))
                    && self.places.is_within(other, part)
            });
            if !is_described {
                added.push(self.places.key(part, key, schema));
            }
        }
        Ok(added)
    }

    /// Whether all that holds beside a part is known; if not, reports that its keyword is not followed.
    fn is_certain(&mut self, all: &All<'a>, part: Part<'a>, key: &'static str) -> bool {
        let hides = |(other, fields): (Part<'a>, &'a Fields)| {
            let lone_if = fields.contains_key("if") && !self.places.conditions.has(other.schema, "if");
            let contains = key == "unevaluatedItems" && fields.contains_key("contains");
            lone_if || contains || fields.contains_key("$dynamicRef") || fields.contains_key("$recursiveRef")
        };
        let is_certain = !all.is_partial && !all.fields().any(hides);
        if !is_certain {
            self.note(part.place, key, FidelityKind::Widened, "not followed by the grammar".to_owned());
        } else if all.chose_any {
            let message = "only what one branch of an anyOf describes is beside the others".to_owned();
            self.note(part.place, key, FidelityKind::Narrowed, message);
        }
        is_certain
    }
}
