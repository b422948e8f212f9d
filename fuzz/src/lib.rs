//! The cases of the property tests, for a fuzzer to choose.

#[path = "../../tests/properties/cases/mod.rs"]
pub mod cases;
