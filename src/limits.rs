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

/// Most parts of one JSON schema, counted as often as they are written out.
pub const SCHEMA_NODES: usize = 100_000;

/// Most text that the rules of one grammar may have, in bytes. 50,000 properties with short names need 15 MB.
pub const GRAMMAR_BYTES: usize = 64 << 20;

/// The largest lower bound of a repetition that llama.cpp's grammar reader takes; it reads a larger upper bound as none.
pub const GBNF_REPETITIONS: u64 = 2_000;

/// Deepest nesting of groups in a grammar that is read.
pub const GBNF_DEPTH: usize = 256;

/// Most symbols that a grammar may have that is read, with its repetitions unrolled.
pub const GBNF_SYMBOLS: usize = 20_000_000;

/// Steps that checking one text against a grammar may take. 10 KB of JSON against the grammar of any JSON value take 5 million.
pub const CHECK_STEPS: usize = 100_000_000;

/// Deepest nesting of expressions in a format description.
pub const EXPR_DEPTH: usize = 512;

/// Longest format description, in expressions and bytes of their texts, where those that are used in several places count each
/// time. 100 tools of ten arguments take some 100,000.
pub const PROGRAM_SIZE: usize = 8 << 20;

/// Open alternatives, rounds and calls while parsing; a JSON value needs five a level.
pub const PARSE_STACK: usize = 1 << 16;

/// Steps that the parser may take for one byte of output, averaged over the output.
pub const PARSE_STEPS_PER_BYTE: u64 = 2_000;

/// Steps that the parser may take on top of those, once.
pub const PARSE_STEPS_BASE: u64 = 1_000_000;

/// Longest render of a short probe conversation from which a template's format is learnt, in bytes.
pub const PROBE_BYTES: usize = 1 << 20;
