//! What templates call: filters, tests, functions and methods, with Python's arguments.

pub(crate) mod args;
pub(crate) mod filters;
pub(crate) mod functions;
pub(crate) mod json;
pub(crate) mod list_filters;
pub(crate) mod methods;
pub(crate) mod tests;
