//! Every limit on the cost of input, in time, memory and stack (128 KiB of the caller's), in one
//! place. Input is untrusted: reaching a limit gives an error, a status or a less exact result, as
//! documented for each, and never a hang.
//!
//! Numbers that only affect presentation (e.g. the length of a quoted text) are defined where they
//! are used.

/// Maximum length of a template's source, in bytes.
pub const TEMPLATE_BYTES: usize = 1 << 20;

/// Maximum nesting of brackets in an expression of a template.
pub const EXPRESSION_BRACKETS: usize = 100;

/// Maximum height of the tree of a template's expression. The engine's recursion follows it, and a
/// chain of operators is as high as it is long.
pub const EXPRESSION_HEIGHT: usize = 250;

/// Maximum number of `elif`s of all open `if`s at one place of a template: the engine nests each in
/// the previous one.
pub const OPEN_ELIFS: usize = 100;

/// Maximum number of open loops and `with`s at one place of a template: the engine asks each for a
/// variable.
pub const OPEN_SCOPES: usize = 32;

/// Maximum length of a name in a template, in bytes.
pub const NAME_BYTES: usize = 256;

/// Maximum length of a rendered prompt, in bytes.
pub const PROMPT_BYTES: usize = 64 << 20;

/// Maximum work of one render, in units of about a nanosecond: bytes and items that are read,
/// copied, compared or built. Conversations of the parity data need 52,000, one of 4 MB in 1,000
/// messages 40 million.
pub const RENDER_WORK: u64 = 1_000_000_000;

/// The work of one step of a render: a statement, a round of a loop, an operator.
pub const STEP_WORK: usize = 20;

/// Maximum work of one render of a probe.
pub const PROBE_WORK: u64 = 50_000_000;

/// Maximum work of all renders of probes for one question about a template: one turn, one proof.
pub const LEARNING_WORK: u64 = 500_000_000;

/// The same for one of the dozen findings of what a template accepts.
pub const TRIALS_WORK: u64 = LEARNING_WORK / 8;

/// Maximum length of a turn that is learnt from, in bytes. Templates write a few hundred for the
/// probes.
pub const TURN_BYTES: usize = 64 << 10;

/// Maximum number of a kind of parts of a stored turn. Turns of templates have up to ten.
pub const STORED_PARTS: usize = 64;

/// Maximum length of a stored template, in bytes. Known ones have up to 55 KB.
pub const STORED_BYTES: usize = 2 << 20;

/// Maximum length of an expression in a response template, or of the texts in its place, in bytes.
/// Known ones have up to 500.
pub const RESPONSE_PATTERN_BYTES: usize = 8 << 10;

/// Maximum number of ways in which such an expression may be written out, or of such texts. Known
/// ones have up to five.
pub const RESPONSE_WAYS: usize = 32;

/// Maximum number of texts at which a template cuts content that are tried as the end of reasoning.
/// Templates have one.
pub const REASONING_ENDS: usize = 4;

/// Maximum number of places in a turn at which a value is searched for.
pub const VALUE_STARTS: usize = 256;

/// Bytes that one render may build besides its prompt, including intermediate texts and values:
/// bounds memory even if the output is short.
pub const RENDER_BYTES: usize = 256 << 20;

/// Maximum nesting of one render: a loop or condition takes one level, a macro call about six.
pub const RENDER_DEPTH: usize = 500;

/// Nesting up to which a render uses the caller's stack, at most 700 bytes for a level. A render
/// that nests deeper runs again, on a stack of its own.
pub const SHALLOW_DEPTH: usize = 64;

/// Maximum nesting of JSON in a request or a schema.
pub const JSON_DEPTH: usize = 128;

/// Maximum length of a call's id in a request, in bytes. Models and servers write up to 140; some
/// put a provider's signature of several KB into it, and clients send that to the next model.
pub const CALL_ID_BYTES: usize = 64 << 10;

/// Maximum length of the name of an offered tool, in bytes. APIs allow 64 or 128.
pub const TOOL_NAME_BYTES: usize = 1 << 10;

/// Maximum number of parts of a JSON schema, counted as often as they are written out.
pub const SCHEMA_NODES: usize = 100_000;

/// Parts of a schema that are visited to find the types of its values. Recursive alternatives
/// double on each level.
pub const TYPE_STEPS: usize = 10_000;

/// Maximum number of reported violations of a schema by a value.
pub const VIOLATIONS: usize = 16;

/// Maximum number of values that are named where an output cannot be closed without them.
pub const MISSING_VALUES: usize = 64;

/// Steps for checking a value against a schema, about one for each value and keyword. A value that
/// is not checked by then counts as valid.
pub const VALID_STEPS: usize = 1_000_000;

/// Maximum nesting of alternatives when a value is checked. Deeper ones count as valid.
pub const VALID_DEPTH: usize = 256;

/// Steps for the rules of one schema: the number of places, times the keywords for each.
pub const SCHEMA_STEPS: usize = 4_000_000;

/// Maximum number of combinations of the branches of `anyOf` and `oneOf` at one place of a schema;
/// further choices are not followed.
pub const SCHEMA_COMBINATIONS: usize = 256;

/// The same with conditions (`if`, `dependencies`, a `oneOf` of which two branches may hold):
/// further ones are not followed.
pub const CONDITION_COMBINATIONS: usize = 8;

/// Length of a grammar in bytes from which on no more conditions are followed: each repeats the
/// schema that it is part of.
pub const CONDITION_BYTES: usize = 16 << 10;

/// Maximum number of states of an automaton that becomes rules: of a pattern, of numbers within
/// bounds, of a count of properties.
pub const AUTOMATON_STATES: usize = 2_000;

/// Steps for all automata of one schema: states and ranges of characters that are found. An
/// automaton that needs more is widened. The schemas of tools take some thousand for each pattern
/// or bound.
pub const AUTOMATON_STEPS: usize = 10_000_000;

/// Maximum number of steps in which the states of text up to markers are merged; beyond, each keeps
/// its own.
pub const TEXT_STEPS: usize = 1_000_000;

/// Steps for checking the listed values of one schema, and the names of its properties, against its
/// other keywords. Values that are left then stay in the grammar, and the report says so.
pub const LISTED_STEPS: usize = 10_000_000;

/// Maximum length of a rule name derived from a schema, in bytes; longer names are cut.
pub const RULE_NAME_BYTES: usize = 160;

/// Maximum length of a `pattern` that becomes rules, in bytes.
pub const PATTERN_SOURCE_BYTES: usize = 64 << 10;

/// Maximum number of states of the automaton by which a `pattern` is looked for in a text. A larger
/// one counts as met.
pub const PATTERN_STATES: usize = 16_000;

/// Required names of an object that are searched for among its properties, to report missing ones.
pub const CHECKED_NAMES: usize = 64;

/// Levels of a schema, or of a format's possibly empty rules, whose rules are written recursively.
/// Deeper ones wait in a queue and use no stack.
pub const LOWERING_DEPTH: usize = 32;

/// Maximum nesting of groups in a `pattern` of a schema. For a deeper one, the grammar allows any
/// string, and reports it.
pub const PATTERN_DEPTH: usize = 100;

/// Maximum length in characters of a property name that a grammar excludes from additional
/// properties: the rule nests as deep as the name is long. Longer names are allowed, and reported.
pub const EXCLUDED_NAME_CHARS: usize = 100;

/// Maximum number of required parts in any order that a grammar distinguishes: each subset takes a
/// rule. More are written in their order, and reported; llama.cpp's grammars count them.
pub const ANY_ORDER_PARTS: usize = 5;

/// Maximum number of parts in the rules of a format's grammar. Parts beyond it are replaced by any
/// text, and reported. 200 tools with twenty arguments each take 60,000.
pub const FORMAT_GRAMMAR_PARTS: usize = 1_000_000;

/// Maximum size of the rules of one grammar, in bytes. 50,000 properties with short names need 8
/// MB.
pub const GRAMMAR_BYTES: usize = 32 << 20;

/// Maximum length of listed texts that become one tree of their common beginnings, in bytes. Longer
/// lists are alternatives.
pub const LISTED_BYTES: usize = 4 << 20;

/// Steps for finding out where an engine that reads Lark would confuse two terminals. A grammar
/// that takes more has single characters as terminals. The tools of a request take some hundred
/// thousand.
pub const LARK_STEPS: usize = 20_000_000;

/// Maximum size of a grammar that is printed as Lark, in parts of its rules and bytes of their
/// texts: each may become a terminal. 50,000 properties with short names need 2 million.
pub const LARK_PARTS: usize = 8_000_000;

/// Maximum length of a `tokenizer_config.json`, in bytes. Files with all added tokens have some 2
/// MB.
pub const CONFIG_BYTES: usize = 32 << 20;

/// The largest bound of a repetition in GBNF. llama.cpp rejects a larger lower bound, and ignores a
/// larger upper bound.
pub const GBNF_REPETITIONS: u64 = 2_000;

/// Maximum nesting of groups in a grammar that is read.
pub const GBNF_DEPTH: usize = 256;

/// Nesting of groups up to which a grammar is read on the caller's stack.
pub const SHALLOW_GROUPS: usize = 64;

/// Maximum number of symbols of a grammar that is read, with its repetitions unrolled.
pub const GBNF_SYMBOLS: usize = 20_000_000;

/// Steps of a matcher for a text, in addition, and for one byte: the places where it can be, and
/// the rules that wait there. The beginning of 50,000 properties takes some 150,000.
pub const MATCHER_WORK: usize = 1 << 20;

/// The same for each byte, on average. Grammars of requests take some ten; others can be read in as
/// many ways as the text is long.
pub const MATCHER_BYTE_WORK: usize = 1 << 10;

/// Memory of a matcher's findings, in bytes. Beyond it the matcher begins anew with the open
/// findings, which may take half. A value of JSON takes some 100 bytes for each level; the calls of
/// 200 tools 1 to 4 million.
pub const MATCHER_BYTES: usize = 16 << 20;

/// Rounds over a matcher's steps in search of the shortest ends. One more is needed where a rule is
/// before one that calls it.
pub const MATCHER_SWEEPS: usize = 64;

/// Ways to read an output for which a matcher looks for an end. A format has few, with and without
/// the reasoning, say.
pub const MATCHER_CLOSINGS: usize = 8;

/// Maximum length of a text that must come next, in bytes. A constant of a schema may be longer;
/// ask again after it.
pub const FORCED_BYTES: usize = 64 << 10;

/// Maximum length of a sequence in a sequence, or of a choice in a choice, that is flattened.
/// Longer ones stay shared: a list of two such lists must not double in memory with each level.
pub const EXPR_INLINE: usize = 256;

/// Maximum nesting of expressions in a format; also of expressions that are entered, through rules,
/// before a byte is consumed.
pub const EXPR_DEPTH: usize = 512;

/// Maximum size of a format, in expressions and bytes of their texts, counted for each place that
/// uses them. 100 tools with ten arguments take some 100,000.
pub const PROGRAM_SIZE: usize = 8 << 20;

/// Expressions and bytes at the beginning of an alternative that a choice compares before it enters
/// the alternative. A tool's name usually has at most 64 bytes.
pub const LEAD_STEPS: usize = 256;

/// Maximum length of a word inside of a marker that models choose, e.g. of a special token's name,
/// in characters. It is structure, in no field of the message; templates write up to 20.
pub const MARKER_WORD_CHARS: u32 = 64;

/// Open alternatives, rounds and calls while parsing; a JSON value needs up to five for each level.
/// If an output nests deeper, its rest becomes content.
pub const PARSE_STACK: usize = 1 << 16;

/// Work of the parser for one byte of output, on average: instructions, bytes passed and captures
/// taken back. Output as templates write it takes 5 to 20 with few tools (`tests/growth`). A host
/// may set another budget.
pub const PARSE_WORK_PER_BYTE: u64 = 200;

/// The same for each alternative of a format's widest choice, about as many as there are tools, or
/// arguments of a tool. Many short calls of one of 100 tools take 100 for each byte if an id
/// precedes the name, and 5 otherwise.
pub const PARSE_WORK_PER_ALTERNATIVE: u64 = 8;

/// Work that the parser may do in addition, once.
pub const PARSE_WORK_BASE: u64 = 1_000_000;

/// Maximum number of a request's variables under which a template is learnt. With more, it is as
/// without any. Templates read up to five.
pub const VARIABLES: usize = 8;

/// Maximum length of the text of such a variable, in bytes. A longer one counts as not given.
pub const VARIABLE_BYTES: usize = 256;

/// Maximum number of values of variables under which a template keeps what it learns, and the
/// approximate size for each, in bytes.
pub const VARIED: usize = 8;
pub const VARIED_BYTES: usize = 50 << 10;

/// Maximum number of tools whose calls are linked. The calls of more tools are built at once: they
/// may exceed a limit, and then the request must fail.
pub const LATE_TOOLS: usize = 8 << 10;

/// The same for the values in the schema of one tool.
pub const LATE_TOOL_VALUES: u32 = 1 << 10;

/// Maximum number of compiled formats that a template caches, each for one set of tools and
/// options.
pub const CACHED_FORMATS: usize = 16;

/// Maximum memory of the cached formats together, in bytes, as far as it can be counted, with their
/// grammars and fallback parsers. A format for 100 tools with seven arguments takes 1 to 5 million,
/// for 300 tools 3 to 15 million (Qwen3-Coder), with DeepSeek-V3.2 some 20 million: one such format
/// fits together with others.
pub const CACHED_FORMATS_BYTES: usize = 32 << 20;

/// Maximum bytes of the JSON that a template wrote of tools and keeps for later renders.
pub const TOOL_TEXT_BYTES: usize = 4 << 20;

/// Maximum memory of the tools of earlier requests that a template keeps, in bytes: some 1,200 with
/// five arguments.
pub const KNOWN_TOOLS_BYTES: usize = 8 << 20;

/// Maximum memory of the parts of single tools, which formats share: the rules and the program
/// of a tool with seven arguments take some 20 KB.
pub const CACHED_PARTS_BYTES: usize = 8 << 20;

/// Maximum memory of the rules of texts up to markers, which the grammars of a template share.
pub const CACHED_TEXTS_BYTES: usize = 1 << 20;

/// Maximum length of a probe's render from which a template's format is learnt, in bytes.
pub const PROBE_BYTES: usize = 1 << 20;

/// Maximum number of renders in search of labels that leave a prompt unchanged, of changes that
/// move nothing but values, and twice of the ends of turns. Usually there are some five in all;
/// each value that the template inspects adds some.
pub const SEGMENT_RENDERS: usize = 40;

/// Maximum number of a template's texts that are looked for in the values of a request. Templates
/// have some two hundred.
pub const SEGMENT_KEPT: usize = 400;

/// Maximum number of words that are searched for one by one in a prompt, because the template
/// compares them and so they have no label.
pub const SEGMENT_WORDS: usize = 1_000;

/// Maximum length of a text between two messages in which the beginning of a turn is searched for,
/// in bytes.
pub const SEGMENT_GLUE: usize = 4 << 10;

/// Maximum length of a text that ends outputs, in bytes. A longer one is a part of the message.
pub const END_BYTES: usize = 256;

/// Maximum length of all special tokens of a stream together, in bytes. A model has some thousand,
/// of 15 bytes each; a byte takes 24 bytes of memory. It also bounds the part of an output that
/// waits.
pub const SPECIAL_TOKEN_BYTES: usize = 1 << 20;
