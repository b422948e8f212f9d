//! How models write otherwise than their templates: a table for each part of a turn, a row a rule.
//! Grammars have none of it.
//!
//! The lowering says what the template writes. Where models are known to deviate, at a site, it
//! asks the site's rules for other ways. A rule looks at what the site knows of the template's
//! text, and at no model's name.

#[macro_use]
mod table;

pub(super) mod arguments;
pub(super) mod calls;
pub(super) mod channels;
pub(super) mod texts;
pub(super) mod thought;
pub(super) mod turn;
pub(super) mod values;

/// Every rule, in the order of an output: its site and its name.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    let tables = [
        thought::RULES,
        turn::RULES,
        channels::RULES,
        calls::RULES,
        arguments::RULES,
        values::RULES,
        texts::RULES,
    ];
    tables.into_iter().flatten().copied()
}
