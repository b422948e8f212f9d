//! `unevaluatedProperties` and `unevaluatedItems`: schemas for what no other schema describes that
//! holds for the same value.

use super::Lowering;
use super::conjunction::Conjunction;
use super::places::Part;
use crate::schema::Keywords;
use chatparse_base::Result;

impl<'a> Lowering<'_, 'a> {
    /// The schemas that `key` (one of the two) adds for a property or an item. `describes`: whether
    /// the keywords of a part, apart from `key` itself, describe it.
    pub fn unevaluated(
        &mut self,
        all: &Conjunction<'a>,
        key: &'static str,
        describes: &dyn Fn(Part<'a>, Keywords<'a>) -> bool,
    ) -> Result<Vec<Part<'a>>> {
        let mut added = Vec::new();
        for (part, schema) in all.values(key) {
            // Each part's way to the outer one is at most as long as there are parts.
            self.spend(all.parts.len() * all.parts.len() / 8)?;
            if !self.is_certain(all, part, key) {
                continue;
            }
            let is_described = all.keywords().any(|(other, keywords)| {
                let is_outer = other.key() == part.key();
                !other.is_made
                    && (describes(other, keywords) || !is_outer && keywords.has(key))
                    && self.places.is_within(other, part)
            });
            if !is_described {
                added.push(self.places.key(part, key, schema));
            }
        }
        Ok(added)
    }

    /// Whether all that holds beside a part is known; if not, reports that its keyword is not
    /// followed.
    fn is_certain(&mut self, all: &Conjunction<'a>, part: Part<'a>, key: &'static str) -> bool {
        let is_certain = !all.is_partial
            && all.keywords().all(|(other, keywords)| {
                let lone_if = keywords.has("if") && !self.places.conditions.has(other.schema, "if");
                !lone_if && (key != "unevaluatedItems" || !keywords.has("contains"))
            });
        if !is_certain {
            self.unfollowed(part.place, key);
        } else if all.chose_any {
            self.narrowed(
                part.place,
                key,
                "only what one branch of an anyOf describes is beside the others",
            );
        }
        is_certain
    }
}
