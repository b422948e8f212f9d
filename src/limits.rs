//! Every bound on what input may cost, in one place: time, memory, and a stack of 1 MiB. Input is untrusted: reaching a bound
//! is an error, a status or less precision, as each says, and never a hang.
//!
//! Numbers that only choose a form (how much of a text evidence quotes, how long a date may get) stand where they are used.

/// Longest template source, in bytes.
pub const TEMPLATE_BYTES: usize = 1 << 20;

/// Deepest nesting of brackets in one expression of a template.
pub const EXPRESSION_BRACKETS: usize = 100;

/// Highest tree of one expression of a template. The engine walks it with its own stack, and a chain of operators is as high
/// as it is long.
pub const EXPRESSION_HEIGHT: usize = 250;

/// Most `elif`s of all `if`s of a template that are open at one place: the engine nests each in the one before.
pub const OPEN_ELIFS: usize = 100;

/// Longest rendered prompt, in bytes.
pub const PROMPT_BYTES: usize = 64 << 20;

/// Steps of the template engine that one render may take. The 69 templates of the parity data need at most 5,000.
pub const RENDER_FUEL: u64 = 20_000_000;

/// The same for a render that asks a template how it writes: there are some hundred of them, each of a few messages.
pub const PROBE_FUEL: u64 = 500_000;

/// Longest turn that is learnt from, in bytes. A template writes a few hundred for what it is asked.
pub const TURN_BYTES: usize = 64 << 10;

/// Places in a turn at which a value is looked for.
pub const VALUE_STARTS: usize = 256;

/// Bytes that one render may build, counting every intermediate text: bounds memory where the output is still short.
pub const RENDER_BYTES: usize = 512 << 20;

/// Deepest nesting of one render: a loop or condition takes one step of it, a call of a macro about six.
pub const RENDER_DEPTH: usize = 500;

/// Deepest nesting of lists and maps that a render may build. Twice what a request may bring, so that a template can wrap it.
pub const VALUE_DEPTH: usize = 2 * JSON_DEPTH;

/// Deepest nesting of JSON that a request or a schema may have.
pub const JSON_DEPTH: usize = 128;

/// Most parts of one JSON schema, counted as often as they are written out.
pub const SCHEMA_NODES: usize = 100_000;

/// Parts of a schema that are looked at to learn which types a value may have. Alternatives that lead back to themselves double
/// on every level.
pub const TYPE_STEPS: usize = 10_000;

/// Most violations of a schema that checking a value reports.
pub const VIOLATIONS: usize = 16;

/// Steps that checking a value against a schema may take, about as many as values and keywords are compared. What is not checked
/// by then counts as satisfied.
pub const VALID_STEPS: usize = 1_000_000;

/// Alternatives of a schema that are judged one inside the other when a value is checked. Deeper ones count as satisfied.
pub const VALID_DEPTH: usize = 256;

/// Steps that the rules of one schema may take: places, times the keywords that speak of each.
pub const SCHEMA_STEPS: usize = 4_000_000;

/// How many combinations of the branches of `anyOf` and `oneOf` one place of a schema may have; further choices are not followed.
pub const SCHEMA_COMBINATIONS: usize = 256;

/// States of an automaton that becomes rules: of a pattern, of numbers within bounds, of a count of properties.
pub const AUTOMATON_STATES: usize = 2_000;

/// Longest name of a rule that is made up from a schema, in bytes; longer ones are cut.
pub const RULE_NAME_BYTES: usize = 160;

/// Longest `pattern` that becomes rules, in bytes.
pub const PATTERN_SOURCE_BYTES: usize = 64 << 10;

/// Largest program of a `pattern` that a value is checked with, in bytes. A larger one counts as satisfied.
pub const PATTERN_BYTES: usize = 64 << 10;

/// Required names of an object that are looked for among its properties, to report those that are not.
pub const CHECKED_NAMES: usize = 64;

/// Levels of a schema, or of rules of a format that may be nothing, whose rules are written one inside the other. Deeper ones wait
/// for their turn and cost no stack.
pub const LOWERING_DEPTH: usize = 32;

/// Deepest nesting of groups in a `pattern` of a schema. The grammar takes a deeper one for any string, and reports it.
pub const PATTERN_DEPTH: usize = 100;

/// Longest property name, in characters, that an additional property cannot have in a grammar: the rule that keeps a name out
/// nests as deep as the name is long. Longer ones are let through, and reported.
pub const EXCLUDED_NAME_CHARS: usize = 100;

/// Most required parts in any order that a grammar tells apart: each set of them that may still be missing takes a rule. Of
/// more, the grammar only counts how many there are.
pub const ANY_ORDER_PARTS: usize = 5;

/// Most parts that the rules of a format's grammar may have. Any text stands for what is beyond, and the grammar reports it.
/// 200 tools of twenty arguments each take 60,000.
pub const FORMAT_GRAMMAR_PARTS: usize = 1_000_000;

/// References of a schema that a format follows one inside the other where it spells out a value's members; behind these, any
/// value will do.
pub const NESTED_REFERENCES: usize = 4;

/// Expressions of a format from which on it follows no more references there.
pub const REFERRING_PARTS: usize = 50_000;

/// Most text that the rules of one grammar may have, in bytes. 50,000 properties with short names need 15 MB.
pub const GRAMMAR_BYTES: usize = 64 << 20;

/// Longest `tokenizer_config.json`, in bytes. Those with all their added tokens have some 2 MB.
pub const CONFIG_BYTES: usize = 32 << 20;

/// The largest bound of a repetition in GBNF. llama.cpp refuses a grammar with a larger lower bound, and ignores a larger upper
/// bound.
pub const GBNF_REPETITIONS: u64 = 2_000;

/// Deepest nesting of groups in a grammar that is read.
pub const GBNF_DEPTH: usize = 256;

/// Most symbols that a grammar may have that is read, with its repetitions unrolled.
pub const GBNF_SYMBOLS: usize = 20_000_000;

/// Steps that checking one text against a grammar may take. 10 KB of JSON against the grammar of any JSON value take 5 million.
pub const CHECK_STEPS: usize = 100_000_000;

/// How long a sequence in a sequence, or a choice in a choice, may be to be laid out in place. Longer ones stay shared: a list of two
/// such lists must not double in memory with each level.
pub const EXPR_INLINE: usize = 256;

/// Deepest nesting of expressions in a format description; and, through rules, of those that are entered before a byte is
/// consumed.
pub const EXPR_DEPTH: usize = 512;

/// Longest format description, in expressions and bytes of their texts, where those that are used in several places count each
/// time. 100 tools of ten arguments take some 100,000.
pub const PROGRAM_SIZE: usize = 8 << 20;

/// Expressions and bytes at the beginning of an alternative that a choice looks for before it enters it. A tool's name has at most 64
/// bytes as a rule.
pub const LEAD_STEPS: usize = 256;

/// Open alternatives, rounds and calls while parsing; a JSON value needs up to five a level. Where an output nests deeper, the rest
/// of it is content.
pub const PARSE_STACK: usize = 1 << 16;

/// Work that the parser may take for one byte of output, averaged over the output: instructions, bytes moved over and captures
/// taken back. What templates write takes 5 to 20 with few tools (`tests/growth`). A host may set another bound.
pub const PARSE_WORK_PER_BYTE: u64 = 200;

/// The same for each alternative of a format's widest choice, about as many as there are tools, or arguments of a tool. Many short
/// calls of one of 100 tools take 100 a byte where an id stands in front of the name; where nothing does, 5.
pub const PARSE_WORK_PER_ALTERNATIVE: u64 = 8;

/// Work that the parser may take on top of that, once.
pub const PARSE_WORK_BASE: u64 = 1_000_000;

/// What a template was found to be by many renders, each for one set of its variables, that it keeps.
pub const NOTED_ANSWERS: usize = 64;

/// Formats, each for one set of tools and options, that a template keeps compiled for requests that want the same.
pub const CACHED_FORMATS: usize = 16;

/// Most memory that these take together, in bytes, as far as it can be counted, with their grammars and with what reads calls
/// outside the format. Of 100 tools of seven arguments one takes 1 to 5 million, of 300 tools 3 to 15 million (Qwen3-Coder), with
/// DeepSeek-V3.2 some 20: one of those fits together with others.
pub const CACHED_FORMATS_BYTES: usize = 32 << 20;

/// Longest render of a short probe conversation from which a template's format is learnt, in bytes.
pub const PROBE_BYTES: usize = 1 << 20;

/// Most renders that look for labels which leave a prompt as it is. Two are the rule; each value that the template looks into takes some more.
pub(crate) const SEGMENT_RENDERS: usize = 40;

/// Most words that are looked for one by one in a prompt, because the template compares them and so they have no label.
pub(crate) const SEGMENT_WORDS: usize = 1_000;

/// Longest text between two messages in which the beginning of a turn is looked for, in bytes.
pub(crate) const SEGMENT_GLUE: usize = 4 << 10;

/// Most text that the special tokens of a stream may have together, in bytes. A model has some thousand of them, of 15 bytes each; a
/// byte takes 24 bytes of memory. So much of an output may wait at most.
pub const SPECIAL_TOKEN_BYTES: usize = 1 << 20;
