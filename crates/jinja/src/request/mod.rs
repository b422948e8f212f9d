//! Requests as what a template sees: as llama.cpp prepares them, or as transformers shows them.

pub(crate) mod context;
pub(crate) mod continued;
pub(crate) mod effort;
pub(crate) mod media;
pub(crate) mod messages;
pub(crate) mod offered;
pub(crate) mod plain;
pub(crate) mod prepare;
pub(crate) mod roles;
pub(crate) mod said;
pub(crate) mod tools;
