//! Filters, tests, functions and methods, as Jinja2 and Python define them.

mod args;
mod filters;
mod format;
mod functions;
mod lists;
mod methods;
mod tests;

pub use args::Call;
pub use filters::escape;
pub use format::printf;
pub use functions::function;
pub use lists::filter;
pub use methods::method;
pub use tests::test;
