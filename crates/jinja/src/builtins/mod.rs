//! Filters, tests, functions and methods that templates call, with Python's arguments.

pub mod args;
pub mod filters;
pub mod functions;
pub mod json;
pub mod list_filters;
pub mod methods;
pub mod tests;
