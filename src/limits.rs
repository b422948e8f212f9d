//! Every bound of the library, in one place. Input is untrusted: reaching a bound is an error or a status, never a hang.

/// Longest template source, in bytes.
pub const TEMPLATE_BYTES: usize = 1 << 20;

/// Longest rendered prompt, in bytes.
pub const PROMPT_BYTES: usize = 64 << 20;

/// Steps of the template engine that one render may take. The 69 templates of the parity data need at most 5,000.
pub const RENDER_FUEL: u64 = 20_000_000;

/// Bytes that one render may build, counting every intermediate text: bounds memory where the output is still short.
pub const RENDER_BYTES: usize = 512 << 20;

/// Deepest nesting of one render: a loop or condition takes one step of it, a call of a macro about six.
pub const RENDER_DEPTH: usize = 500;

/// Deepest nesting of JSON that a request or a schema may have.
pub const JSON_DEPTH: usize = 128;
