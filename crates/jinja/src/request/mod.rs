//! Turns requests into the values that a template sees: as llama.cpp prepares them, or as
//! transformers shows them.

pub mod context;
pub mod continued;
pub mod effort;
pub mod media;
pub mod messages;
pub mod offered;
pub mod plain;
pub mod prepare;
pub mod roles;
pub mod said;
pub mod tools;
