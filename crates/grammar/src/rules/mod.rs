//! Rules as compilers write them: names and text, and what a grammar reports.

mod builder;
mod class;
pub mod json;
pub mod primitive;
mod report;
mod rule;
mod schema_rules;
mod section;

pub use builder::{Builder, Letter, clean};
pub use class::{class, string_character};
pub use report::{Fidelity, FidelityKind, Notes};
pub use rule::{Blank, Bounds, Pad, Rule, SPACE, distinct, spelled};
pub use section::{Grammar, SIGN, Section, SectionRule};
