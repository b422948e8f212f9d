//! Cases of the library's properties, for the program.

#![expect(dead_code, reason = "the properties use the rest")]

#[path = "../../../../tests/properties/cases/choices.rs"]
pub mod choices;
#[path = "../../../../tests/properties/cases/operands.rs"]
pub mod operands;
