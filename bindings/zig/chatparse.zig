//! chatparse for Zig: prompts from chat templates, and messages from what the model answers, as it streams in.
//!
//! `Template`, `Params`, `Parser`, `Segments`, `Stream`, `Message`, `Matcher` and `Grammar` hold memory of the C library until their
//! `deinit`, which may come in any order: none needs another. Slices are borrowed, from a stream until it is fed again, from the others
//! until their `deinit`; those that were made with an allocator are the caller's. Templates, params and segments may be in use by any
//! number of threads at once, a stream or a matcher by one at a time.

const std = @import("std");
const c = @import("c");
const Allocator = std.mem.Allocator;

/// Why a call failed; `Diagnostic` has the sentence.
pub const Error = error{ InvalidArgument, Template, Schema, Limit, Parse, Internal };

/// What went wrong and where, for people. Give `fail` a place for it, or null.
pub const Diagnostic = struct {
    handle: ?*c.chat_error = null,

    pub fn message(self: Diagnostic) []const u8 {
        return slice(c.chat_error_message(self.handle));
    }

    pub fn deinit(self: *Diagnostic) void {
        c.chat_error_free(self.handle);
        self.handle = null;
    }
};

/// Which part of the message a delta adds to or takes from.
pub const DeltaKind = enum(u32) {
    reasoning = c.CHAT_DELTA_KIND_REASONING,
    content = c.CHAT_DELTA_KIND_CONTENT,
    tool_name = c.CHAT_DELTA_KIND_TOOL_NAME,
    tool_id = c.CHAT_DELTA_KIND_TOOL_ID,
    tool_arguments = c.CHAT_DELTA_KIND_TOOL_ARGUMENTS,
    /// The call is whole; the text is empty.
    tool_end = c.CHAT_DELTA_KIND_TOOL_END,
    /// After `Stream.rollback` only, as all that follow: the text is to be taken from the end.
    reasoning_withdrawn = c.CHAT_DELTA_KIND_REASONING_WITHDRAWN,
    content_withdrawn = c.CHAT_DELTA_KIND_CONTENT_WITHDRAWN,
    /// All of the last call; the text is its name.
    call_withdrawn = c.CHAT_DELTA_KIND_CALL_WITHDRAWN,
    tool_id_withdrawn = c.CHAT_DELTA_KIND_TOOL_ID_WITHDRAWN,
    tool_arguments_withdrawn = c.CHAT_DELTA_KIND_TOOL_ARGUMENTS_WITHDRAWN,
    /// The call is not whole any more; the text is empty.
    tool_end_withdrawn = c.CHAT_DELTA_KIND_TOOL_END_WITHDRAWN,
    _,
};

/// A text to append to the message or, after `Stream.rollback`, to take from it. All deltas of a stream, applied in order, are its
/// message.
pub const Delta = struct {
    kind: DeltaKind,
    /// Which tool call, from 0.
    call: usize,
    text: []const u8,
    /// Where in the output the text comes from, in bytes.
    begin: usize,
    end: usize,
};

/// How an output related to the template's format.
pub const Outcome = enum(u32) {
    none = c.CHAT_OUTCOME_NONE,
    complete = c.CHAT_OUTCOME_COMPLETE,
    partial = c.CHAT_OUTCOME_PARTIAL,
    recovered = c.CHAT_OUTCOME_RECOVERED,
    _,
};

/// The reports about a template.
pub const Report = enum(u32) {
    /// What it accepts.
    caps = c.CHAT_REPORT_CAPS,
    /// What was learnt of an assistant's turn.
    turn = c.CHAT_REPORT_TURN,
    /// The same by llama.cpp's names.
    layout = c.CHAT_REPORT_LAYOUT,
    /// The proof with what is not read back, and why.
    proof = c.CHAT_REPORT_PROOF,
    /// For authors of templates.
    lint = c.CHAT_REPORT_LINT,
    /// How outputs are read, as a response template for other programs.
    response_template = c.CHAT_REPORT_RESPONSE_TEMPLATE,
};

/// The texts of the model's special tokens; empty where it has none.
pub const Tokens = struct { bos: []const u8 = "", eos: []const u8 = "" };

/// How an output ended, and whether one that does not fit the format is an error.
pub const Flags = struct {
    partial: bool = false,
    strict: bool = false,

    fn bits(self: Flags) u32 {
        var sum: u32 = 0;
        if (self.partial) sum |= c.CHAT_PARSE_PARTIAL;
        if (self.strict) sum |= c.CHAT_PARSE_STRICT;
        return sum;
    }
};

/// A compiled chat template; make one for each model.
pub const Template = struct {
    handle: *c.chat_template,

    pub fn init(source: []const u8, tokens: Tokens, fail: ?*Diagnostic) Error!Template {
        var out: ?*c.chat_template = null;
        const bos = tokens.bos;
        const eos = tokens.eos;
        try check(c.chat_template_new(source.ptr, source.len, bos.ptr, bos.len, eos.ptr, eos.len, &out, place(fail)));
        return .{ .handle = out.? };
    }

    /// A template that the library brings along, such as `chatml`.
    pub fn builtin(name: []const u8, fail: ?*Diagnostic) Error!Template {
        var out: ?*c.chat_template = null;
        try check(c.chat_template_builtin(name.ptr, name.len, &out, place(fail)));
        return .{ .handle = out.? };
    }

    /// Takes a template in a certain way: `options` is a JSON object; the C header lists the fields.
    pub fn initWithOptions(source: []const u8, options: []const u8, fail: ?*Diagnostic) Error!Template {
        var out: ?*c.chat_template = null;
        try check(c.chat_template_with_options(source.ptr, source.len, options.ptr, options.len, &out, place(fail)));
        return .{ .handle = out.? };
    }

    /// What reads the model's output: `turn`, or the name of a family of templates.
    pub fn reader(self: Template) Error![]const u8 {
        var out: c.chat_str = undefined;
        try check(c.chat_template_reader(self.handle, &out, null));
        return slice(out);
    }

    /// How many messages that the template writes are read back, and of how many.
    pub fn proof(self: Template) Error!struct { read_back: usize, cases: usize } {
        var read_back: usize = 0;
        var cases: usize = 0;
        try check(c.chat_template_proof(self.handle, &read_back, &cases, null));
        return .{ .read_back = read_back, .cases = cases };
    }

    /// A report: JSON text. The C header lists the fields.
    pub fn report(self: Template, which: Report) Error![]const u8 {
        var out: c.chat_str = undefined;
        try check(c.chat_template_report(self.handle, @backingInt(which), &out, null));
        return slice(out);
    }

    pub fn deinit(self: Template) void {
        c.chat_template_free(self.handle);
    }

    /// Renders the prompt of a request: the JSON text of an OpenAI chat-completions body. `options` is a JSON object with options of the
    /// host, which win over the request's, so no client overrides them; `{}` where there is none to set.
    pub fn params(self: Template, request: []const u8, options: []const u8, fail: ?*Diagnostic) Error!Params {
        var out: ?*c.chat_params = null;
        const status = c.chat_params_from_template_with(self.handle, request.ptr, request.len, options.ptr, options.len, &out, place(fail));
        try check(status);
        return .{ .handle = out.? };
    }

    /// Makes the params of a prompt that the host has rendered: what its end leaves open, reasoning or a text, is read from it. Of the
    /// request, a body whose messages may be empty, the tools and the options count.
    pub fn paramsFor(self: Template, given: []const u8, request: []const u8, fail: ?*Diagnostic) Error!Params {
        var out: ?*c.chat_params = null;
        try check(c.chat_params_for_prompt(self.handle, given.ptr, given.len, request.ptr, request.len, &out, place(fail)));
        return .{ .handle = out.? };
    }

    /// Finds whose text each byte of a request's prompt is. `options` is a JSON object with options of the host, such as
    /// `{"for_training": true}`; `{}` where there is none to set.
    pub fn segments(self: Template, request: []const u8, options: []const u8, fail: ?*Diagnostic) Error!Segments {
        var out: ?*c.chat_segments = null;
        const status = c.chat_segments_from_template(self.handle, request.ptr, request.len, options.ptr, options.len, &out, place(fail));
        try check(status);
        return .{ .handle = out.? };
    }

    /// `segments` of each request, on at most this many threads; 0: on as many as the machine runs at once. `options` holds for all. The
    /// first request that fails is the error, with its index. Each of what is returned has a `deinit`.
    pub fn segmentsBatch(
        self: Template,
        allocator: Allocator,
        requests: []const []const u8,
        options: []const u8,
        threads: usize,
        fail: ?*Diagnostic,
    ) (Error || Allocator.Error)![]Segments {
        const texts = try allocator.alloc(c.chat_str, requests.len);
        defer allocator.free(texts);
        for (texts, requests) |*view, request| view.* = .{ .data = request.ptr, .len = request.len };
        const made = try allocator.alloc(?*c.chat_segments, requests.len);
        defer allocator.free(made);
        const all = try allocator.alloc(Segments, requests.len);
        errdefer allocator.free(all);
        const status = c.chat_segments_batch(self.handle, texts.ptr, texts.len, options.ptr, options.len, threads, made.ptr, place(fail));
        errdefer for (made) |one| c.chat_segments_free(one);
        try check(status);
        for (all, made) |*one, handle| one.* = .{ .handle = handle.? };
        return all;
    }
};

/// Where a part of a prompt comes from. Take one that has no name for `unknown`.
pub const Origin = enum(u32) {
    /// The template's own text, special tokens included.
    template = c.CHAT_TEXT_ORIGIN_TEMPLATE,
    message = c.CHAT_TEXT_ORIGIN_MESSAGE,
    tool = c.CHAT_TEXT_ORIGIN_TOOL,
    /// A template variable that the request sets, or its documents.
    variable = c.CHAT_TEXT_ORIGIN_KWARG,
    /// Never the template's text alone: treat it like a user's.
    unknown = c.CHAT_TEXT_ORIGIN_UNKNOWN,
    _,
};

/// A range of bytes or characters.
pub const Span = extern struct { begin: usize, end: usize };

/// A part of a prompt that comes from one place.
pub const Segment = struct {
    /// Its bytes.
    span: Span,
    origin: Origin,
    /// Which message or tool of the request; 0 for others.
    index: usize,
    /// Of a message: the field, a JSON pointer. Of a variable: its name.
    path: []const u8,
};

/// What a token of a prompt is.
pub const Token = extern struct {
    /// Whose text it is; with a byte of a value it is never the template's.
    origin: Origin,
    /// Which message it comes from, or in whose turn it is; `none` for others.
    message: usize,
    /// Whether a model wrote a byte of it.
    sampled: bool,

    pub const none = std.math.maxInt(usize);
};

/// What of the models' text a mask holds.
pub const MaskParts = packed struct(u32) {
    reasoning: bool = true,
    content: bool = true,
    calls: bool = true,
    /// What ends a turn.
    end: bool = true,
    /// Of the last turn alone.
    last_only: bool = false,
    /// What the prompt has already written of a turn.
    prefill: bool = false,
    /// The white space behind the end of a turn.
    space: bool = false,
    _: u25 = 0,
};

/// A prompt with the origin of each of its bytes. A tokenizer should encode special tokens only where that is the template: then no text
/// of a user becomes one.
pub const Segments = struct {
    handle: *c.chat_segments,

    pub fn deinit(self: Segments) void {
        c.chat_segments_free(self.handle);
    }

    pub fn prompt(self: Segments) []const u8 {
        return slice(c.chat_segments_view(self.handle).*.prompt);
    }

    pub fn count(self: Segments) usize {
        return c.chat_segments_view(self.handle).*.segments.len;
    }

    /// Segment number `index`, in the order of the prompt; null where there is none. They cover the prompt, and none is empty.
    pub fn at(self: Segments, index: usize) ?Segment {
        const all = c.chat_segments_view(self.handle).*.segments;
        if (index >= all.len) return null;
        const raw = all.data[index];
        return .{
            .span = .{ .begin = raw.begin, .end = raw.end },
            .origin = @fromBackingInt(@intCast(raw.origin)),
            .index = raw.index,
            .path = slice(raw.path),
        };
    }

    /// The bytes of the prompt that models wrote, for training. The slice is the caller's.
    pub fn mask(self: Segments, allocator: Allocator, parts: MaskParts) Allocator.Error![]Span {
        const bits: u32 = @bitCast(parts);
        const spans = try allocator.alloc(Span, c.chat_segments_mask(self.handle, bits, null, 0));
        _ = c.chat_segments_mask(self.handle, bits, @ptrCast(spans.ptr), spans.len);
        return spans;
    }

    /// What the tokens at these places of the prompt are: places in characters, as tokenizers of transformers give them, or in bytes.
    /// `parts` says what counts as sampled, as for `mask`. The slice is the caller's.
    pub fn tokens(
        self: Segments,
        allocator: Allocator,
        offsets: []const Span,
        unit: enum { chars, bytes },
        parts: MaskParts,
        fail: ?*Diagnostic,
    ) (Error || Allocator.Error)![]Token {
        const labels = try allocator.alloc(Token, offsets.len);
        errdefer allocator.free(labels);
        const places: [*c]const c.chat_span = @ptrCast(offsets.ptr);
        const out: [*c]c.chat_segment_token = @ptrCast(labels.ptr);
        try check(c.chat_segments_tokens(self.handle, @bitCast(parts), places, offsets.len, unit == .chars, out, place(fail)));
        return labels;
    }

    /// What ran out in search of origins and turns; empty where nothing did. If something did, more is `unknown` than need be, or turns
    /// are missing in masks.
    pub fn limit(self: Segments) []const u8 {
        return slice(c.chat_segments_view(self.handle).*.limit);
    }
};

/// What one request needs: its prompt, what sampler and tokeniser must know, and the parser of the output.
pub const Params = struct {
    handle: *c.chat_params,

    pub fn deinit(self: Params) void {
        c.chat_params_free(self.handle);
    }

    pub fn prompt(self: Params) []const u8 {
        return slice(c.chat_params_view(self.handle).*.prompt);
    }

    /// All of the params: grammar and triggers, stops, preserved tokens. The C header lists the fields.
    pub fn json(self: Params) Error![]const u8 {
        var out: c.chat_str = undefined;
        try check(c.chat_params_json(self.handle, &out, null));
        return slice(out);
    }

    /// Parses an output that is there.
    pub fn parse(self: Params, output: []const u8, flags: Flags, fail: ?*Diagnostic) Error!Message {
        var out: ?*c.chat_message = null;
        try check(c.chat_parse_partial(self.handle, output.ptr, output.len, flags.bits(), &out, place(fail)));
        return .{ .handle = out.? };
    }

    /// Goes on behind an output with new messages, the JSON text of an array, so that nothing that was sent is written anew: `append` of
    /// the new params is what to send behind the first `kept` bytes.
    pub fn next(self: Params, output: []const u8, messages: []const u8, fail: ?*Diagnostic) Error!Params {
        var out: ?*c.chat_params = null;
        try check(c.chat_params_continue(self.handle, output.ptr, output.len, messages.ptr, messages.len, 0, &out, place(fail)));
        return .{ .handle = out.? };
    }

    /// How many bytes of what was sent before `next`, prompt and output, stand in the prompt.
    pub fn kept(self: Params) usize {
        return c.chat_params_turn(self.handle).*.kept;
    }

    /// What to send behind these.
    pub fn append(self: Params) []const u8 {
        return slice(c.chat_params_turn(self.handle).*.append);
    }

    /// The prompt as the template renders the whole conversation; another one where the request's option `append` is `always`.
    pub fn rendered(self: Params) []const u8 {
        return slice(c.chat_params_turn(self.handle).*.rendered);
    }

    /// Why the template writes anew what was sent, behind byte `kept` unless the option `append` is `always`; empty where it does not.
    pub fn rewrite(self: Params) []const u8 {
        return slice(c.chat_params_turn(self.handle).*.words);
    }

    /// What the output is parsed with, by itself.
    pub fn parser(self: Params) Error!Parser {
        var out: ?*c.chat_parser = null;
        try check(c.chat_params_parser(self.handle, &out, null));
        return .{ .handle = out.? };
    }

    /// What may come next in the output, and what must, from its first byte on. Each call makes it anew; keep it, and clone it.
    pub fn matcher(self: Params, fail: ?*Diagnostic) Error!Matcher {
        var out: ?*c.chat_matcher = null;
        try check(c.chat_params_matcher(self.handle, &out, place(fail)));
        return .{ .handle = out.? };
    }

    /// A parser at the start of an output.
    pub fn stream(self: Params) Error!Stream {
        var out: ?*c.chat_stream = null;
        try check(c.chat_stream_new(self.handle, &out, null));
        return .{ .handle = out.? };
    }
};

/// What an output is parsed with, without the rest of the params. As a text it can be kept, or sent to another process whose
/// library has the same version.
pub const Parser = struct {
    handle: *c.chat_parser,

    /// Of what `text` has given, or of a description of a format (docs/formats.md).
    pub fn init(source: []const u8, fail: ?*Diagnostic) Error!Parser {
        var out: ?*c.chat_parser = null;
        try check(c.chat_parser_from_json(source.ptr, source.len, &out, place(fail)));
        return .{ .handle = out.? };
    }

    pub fn deinit(self: Parser) void {
        c.chat_parser_free(self.handle);
    }

    /// What `init` takes.
    pub fn text(self: Parser) Error![]const u8 {
        var out: c.chat_str = undefined;
        try check(c.chat_parser_json(self.handle, &out, null));
        return slice(out);
    }

    /// Parses an output that is there.
    pub fn parse(self: Parser, output: []const u8, flags: Flags, fail: ?*Diagnostic) Error!Message {
        var out: ?*c.chat_message = null;
        try check(c.chat_parser_parse(self.handle, output.ptr, output.len, flags.bits(), &out, place(fail)));
        return .{ .handle = out.? };
    }

    /// A parse at the start of an output.
    pub fn stream(self: Parser) Error!Stream {
        var out: ?*c.chat_stream = null;
        try check(c.chat_stream_from_parser(self.handle, &out, null));
        return .{ .handle = out.? };
    }
};

/// A parse in progress: pieces of the output in, what they add to the message out.
pub const Stream = struct {
    handle: *c.chat_stream,

    pub fn deinit(self: Stream) void {
        c.chat_stream_free(self.handle);
    }

    /// Takes the next piece, cut anywhere; the deltas are good until the next call that changes the stream.
    pub fn feed(self: Stream, piece: []const u8) Error!Deltas {
        try check(c.chat_stream_feed(self.handle, piece.ptr, piece.len, null));
        return .{ .handle = self.handle };
    }

    /// Ends the output; what was held back, because it could have become a marker, is in the deltas.
    pub fn finish(self: Stream, flags: Flags, fail: ?*Diagnostic) Error!Deltas {
        try check(c.chat_stream_finish(self.handle, flags.bits(), place(fail)));
        return .{ .handle = self.handle };
    }

    /// Notes how the parse stands; `rollback` goes back to here, or to any later byte. There is one at a time.
    pub fn checkpoint(self: Stream) Error!void {
        try check(c.chat_stream_checkpoint(self.handle, null));
    }

    /// Takes back all output behind its first `length` bytes; what that withdraws from the message is in the deltas.
    pub fn rollback(self: Stream, length: usize, fail: ?*Diagnostic) Error!Deltas {
        try check(c.chat_stream_rollback(self.handle, length, place(fail)));
        return .{ .handle = self.handle };
    }

    /// Bounds the work of the parse: `base`, and `per_byte` for each byte of output. What comes behind it is content.
    pub fn setBudget(self: Stream, base: u64, per_byte: u64) Error!void {
        try check(c.chat_stream_set_budget(self.handle, base, per_byte, null));
    }

    /// What the parse has taken so far of its budget.
    pub fn work(self: Stream) u64 {
        return c.chat_stream_view(self.handle).*.work;
    }

    /// The last deltas as the `delta` object of an OpenAI chunk; `{}` where they add nothing. Good as long as they are, and ends
    /// the texts of deltas that were read before.
    pub fn chunk(self: Stream) Error![]const u8 {
        var out: c.chat_str = undefined;
        try check(c.chat_stream_chunk_json(self.handle, &out, null));
        return slice(out);
    }

    /// The last bytes fed that are in no delta yet, and are not known to be markup either. They may end inside of a character.
    pub fn pending(self: Stream) []const u8 {
        return slice(c.chat_stream_view(self.handle).*.pending);
    }

    /// In what the output stands, JSON text: `part` (`reasoning`, `content`, `markup`, `name`, `key` or `value`), the number of the open
    /// `call` and its `tool`, a JSON `pointer` into its arguments, `in_string`, and `left_at`, where it has left the format. Good as `chunk`.
    pub fn state(self: Stream) Error![]const u8 {
        var out: c.chat_str = undefined;
        try check(c.chat_stream_state_json(self.handle, &out, null));
        return slice(out);
    }

    /// The schema of the value at the pointer of `state`, JSON text: what the tool asks of it; `true` where it asks nothing, `false` where no
    /// value may be, `null` where no call is open or its tool is not known. Good as `chunk`.
    pub fn schema(self: Stream) Error![]const u8 {
        var out: c.chat_str = undefined;
        try check(c.chat_stream_schema_json(self.handle, &out, null));
        return slice(out);
    }

    /// What closes the output now, in the model's own words, JSON text: `text`; whether it is `complete` behind that; the values that are
    /// `missing`, each with `tool`, `pointer` and `begun`; and the `reason` why it is not complete. Good as `chunk`.
    pub fn closing(self: Stream) Error![]const u8 {
        var out: c.chat_str = undefined;
        try check(c.chat_stream_close_json(self.handle, &out, null));
        return slice(out);
    }

    /// What may follow what was fed, for an engine that begins here: all of the format, also where the request's grammar is lazy.
    pub fn grammar(self: Stream, dialect: Dialect, fail: ?*Diagnostic) Error!Grammar {
        var out: ?*c.chat_grammar = null;
        try check(c.chat_stream_grammar(self.handle, @backingInt(dialect), &out, place(fail)));
        return .{ .handle = out.? };
    }

    /// The message so far or, after `finish`, the message.
    pub fn message(self: Stream) Error!Message {
        var out: ?*c.chat_message = null;
        try check(c.chat_stream_message(self.handle, &out, null));
        return .{ .handle = out.? };
    }
};

/// Iterates over what the last piece has added.
pub const Deltas = struct {
    handle: *const c.chat_stream,
    index: usize = 0,

    pub fn next(self: *Deltas) ?Delta {
        const all = c.chat_stream_view(self.handle).*.deltas;
        if (self.index >= all.len) return null;
        const raw = all.data[self.index];
        self.index += 1;
        return .{
            .kind = @fromBackingInt(@intCast(raw.kind)),
            .call = raw.call,
            .text = slice(raw.text),
            .begin = raw.span_begin,
            .end = raw.span_end,
        };
    }
};

/// What a model said.
pub const Message = struct {
    handle: *c.chat_message,

    pub const ToolCall = struct { id: []const u8, name: []const u8, arguments: []const u8 };

    pub fn deinit(self: Message) void {
        c.chat_message_free(self.handle);
    }

    pub fn outcome(self: Message) Outcome {
        return @fromBackingInt(@intCast(c.chat_message_view(self.handle).*.outcome));
    }

    pub fn content(self: Message) []const u8 {
        return slice(c.chat_message_view(self.handle).*.content);
    }

    pub fn reasoning(self: Message) []const u8 {
        return slice(c.chat_message_view(self.handle).*.reasoning);
    }

    pub fn toolCallCount(self: Message) usize {
        return c.chat_message_view(self.handle).*.calls.len;
    }

    /// Call number `index`; its texts are empty where there is none. The id also where the model's format has none.
    pub fn toolCall(self: Message, index: usize) ToolCall {
        const calls = c.chat_message_view(self.handle).*.calls;
        if (index >= calls.len) return .{ .id = "", .name = "", .arguments = "" };
        const call = calls.data[index];
        return .{ .id = slice(call.id), .name = slice(call.name), .arguments = slice(call.arguments) };
    }

    /// The whole as an OpenAI message.
    pub fn json(self: Message) Error![]const u8 {
        var out: c.chat_str = undefined;
        try check(c.chat_message_json(self.handle, &out, null));
        return slice(out);
    }
};

/// The notations of grammars.
pub const Dialect = enum(u32) {
    /// As llama.cpp writes it.
    gbnf = c.CHAT_DIALECT_GBNF,
    /// For all versions of llama.cpp, and for XGrammar.
    portable_gbnf = c.CHAT_DIALECT_PORTABLE_GBNF,
    /// For llguidance, XGrammar and vLLM.
    lark = c.CHAT_DIALECT_LARK,
    /// XGrammar's structural tag, as JSON.
    structural_tag = c.CHAT_DIALECT_STRUCTURAL_TAG,
};

/// A grammar for a sampler.
pub const Grammar = struct {
    handle: *c.chat_grammar,

    pub fn deinit(self: Grammar) void {
        c.chat_grammar_free(self.handle);
    }

    /// Empty where nothing is constrained.
    pub fn text(self: Grammar) []const u8 {
        return slice(c.chat_grammar_view(self.handle).*.text);
    }
};

/// What may come next in an output, and what must. `Params.matcher` makes that of a request.
pub const Matcher = struct {
    handle: *c.chat_matcher,

    /// Of a grammar, which must be GBNF.
    pub fn init(gbnf: []const u8, fail: ?*Diagnostic) Error!Matcher {
        var out: ?*c.chat_matcher = null;
        try check(c.chat_matcher_new(gbnf.ptr, gbnf.len, &out, place(fail)));
        return .{ .handle = out.? };
    }

    pub fn deinit(self: Matcher) void {
        c.chat_matcher_free(self.handle);
    }

    /// Goes on behind these bytes, cut anywhere, and tells how many of them are allowed; if those are not all, it stands in front of the
    /// first that is not.
    pub fn feed(self: Matcher, piece: []const u8) Error!usize {
        var taken: usize = 0;
        try check(c.chat_matcher_feed(self.handle, piece.ptr, piece.len, &taken, null));
        return taken;
    }

    /// Whether all these bytes may come next.
    pub fn can(self: Matcher, piece: []const u8) bool {
        return c.chat_matcher_can(self.handle, piece.ptr, piece.len);
    }

    /// The bytes that may come next.
    pub fn allowed(self: Matcher) Error!std.bit_set.Array(u64, 256) {
        var set: c.chat_byte_set = undefined;
        try check(c.chat_matcher_allowed(self.handle, &set, null));
        return .{ .masks = set.words };
    }

    /// The longest text that must come next, as far as it fits into the buffer; empty where there is a choice, or where the output may
    /// end. It may end inside of a character.
    pub fn forced(self: Matcher, buffer: []u8) []u8 {
        return buffer[0..@min(buffer.len, c.chat_matcher_forced(self.handle, buffer.ptr, buffer.len))];
    }

    /// Whether the output may end here.
    pub fn mayEnd(self: Matcher) bool {
        return c.chat_matcher_may_end(self.handle);
    }

    /// Whether the output must end here.
    pub fn ended(self: Matcher) bool {
        return c.chat_matcher_ended(self.handle);
    }

    /// What may follow what was fed, for an engine that begins there.
    pub fn grammar(self: Matcher, dialect: Dialect, fail: ?*Diagnostic) Error!Grammar {
        var out: ?*c.chat_grammar = null;
        try check(c.chat_matcher_grammar(self.handle, @backingInt(dialect), &out, place(fail)));
        return .{ .handle = out.? };
    }

    /// A second matcher at this place, to go back to; it is cheap.
    pub fn clone(self: Matcher) Error!Matcher {
        var out: ?*c.chat_matcher = null;
        try check(c.chat_matcher_clone(self.handle, &out, null));
        return .{ .handle = out.? };
    }
};

fn slice(view: c.chat_str) []const u8 {
    return view.data[0..view.len];
}

/// Where the library writes what is wrong; what stood there is freed first.
fn place(fail: ?*Diagnostic) ?*?*c.chat_error {
    const diagnostic = fail orelse return null;
    diagnostic.deinit();
    return &diagnostic.handle;
}

fn check(status: u32) Error!void {
    // A number that this version does not know counts as the first of its hundred.
    return switch (status / 100 * 100) {
        c.CHAT_STATUS_OK => {},
        c.CHAT_STATUS_INVALID_ARGUMENT => error.InvalidArgument,
        c.CHAT_STATUS_TEMPLATE => error.Template,
        c.CHAT_STATUS_SCHEMA => error.Schema,
        c.CHAT_STATUS_LIMIT => error.Limit,
        c.CHAT_STATUS_PARSE => error.Parse,
        else => error.Internal,
    };
}

test "errors say what is wrong" {
    var fail: Diagnostic = .{};
    defer fail.deinit();
    try std.testing.expectError(error.Template, Template.init("{% for %}", .{}, &fail));
    try std.testing.expect(std.mem.find(u8, fail.message(), "line") != null);
    try std.testing.expectError(error.InvalidArgument, Template.builtin("none such", &fail));
    try std.testing.expect(std.mem.find(u8, fail.message(), "chatml") != null);
    try std.testing.expectError(error.InvalidArgument, Template.builtin("none such", null));
}

test "bytes cut inside characters, a NUL, and an output that is cut off" {
    const template = try Template.builtin("chatml", null);
    defer template.deinit();
    const params = try template.params("{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}", "{}", null);
    // None needs another.
    const stream = try params.stream();
    defer stream.deinit();
    params.deinit();
    const output = "Blåbær\x00!";
    for (0..output.len) |i| _ = try stream.feed(output[i..][0..1]);
    _ = try stream.finish(.{ .partial = true }, null);
    const message = try stream.message();
    defer message.deinit();
    try std.testing.expectEqualStrings(output, message.content());
    try std.testing.expectEqual(Outcome.partial, message.outcome());
    try std.testing.expectError(error.InvalidArgument, stream.feed("more"));
}

test "options of the host win over those of the client" {
    const template = try Template.builtin("chatml", null);
    defer template.deinit();
    const body = "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], \"add_generation_prompt\": true}";
    const client = try template.params(body, "{}", null);
    defer client.deinit();
    const host = try template.params(body, "{\"add_generation_prompt\": false}", null);
    defer host.deinit();
    const opening = "<|im_start|>assistant\n";
    try std.testing.expect(std.mem.endsWith(u8, client.prompt(), opening));
    try std.testing.expectEqualStrings(client.prompt()[0 .. client.prompt().len - opening.len], host.prompt());
    try std.testing.expectError(error.InvalidArgument, template.params(body, "{\"no such\": 1}", null));
}

test "a parser as text, chunks, and the end of a call" {
    const template = try Template.builtin("json-call", null);
    defer template.deinit();
    const params = try template.params(
        \\{"messages": [], "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]}
    , "{}", null);
    const first = try params.parser();
    params.deinit();
    const parser = try Parser.init(try first.text(), null);
    first.deinit();
    const stream = try parser.stream();
    defer stream.deinit();
    parser.deinit();

    _ = try stream.feed("Hm.");
    try std.testing.expectEqualStrings("{\"content\":\"Hm.\"}", try stream.chunk());
    var deltas = try stream.feed("\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>");
    var last: DeltaKind = .content;
    while (deltas.next()) |delta| last = delta.kind;
    try std.testing.expectEqual(DeltaKind.tool_end, last);
    try std.testing.expectError(error.InvalidArgument, Parser.init("{}", null));
}

test "what a template writes is read back" {
    const template = try Template.builtin("json-call", null);
    defer template.deinit();
    const proof = try template.proof();
    try std.testing.expect(proof.cases > 20 and proof.cases == proof.read_back);
    try std.testing.expect(std.mem.find(u8, try template.report(.proof), "\"failures\":[]") != null);
    const learnt = try Template.initWithOptions("{# <|channel|> #}", "{\"learn_only\": true}", null);
    defer learnt.deinit();
    try std.testing.expectEqualStrings("turn", try learnt.reader());
    try std.testing.expectError(error.InvalidArgument, Template.initWithOptions("", "[]", null));
}

test "a draft is taken back" {
    const template = try Template.builtin("json-call", null);
    defer template.deinit();
    const params = try template.params(
        \\{"messages": [], "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]}
    , "{}", null);
    defer params.deinit();
    const stream = try params.stream();
    defer stream.deinit();
    var fail: Diagnostic = .{};
    defer fail.deinit();
    try std.testing.expectError(error.InvalidArgument, stream.rollback(0, &fail));
    try std.testing.expect(std.mem.find(u8, fail.message(), "checkpoint") != null);

    const call = "\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
    _ = try stream.feed("Let me");
    try stream.checkpoint();
    _ = try stream.feed(" look." ++ call);
    var deltas = try stream.rollback("Let me look".len, null);
    const first = deltas.next().?;
    try std.testing.expectEqual(DeltaKind.call_withdrawn, first.kind);
    try std.testing.expectEqualStrings("f", first.text);
    const second = deltas.next().?;
    try std.testing.expectEqual(DeltaKind.content_withdrawn, second.kind);
    try std.testing.expectEqual("Let me look".len, second.begin);
    try std.testing.expect(deltas.next() == null);

    const before = stream.work();
    try std.testing.expect(before > 0);
    _ = try stream.feed(" up.");
    try std.testing.expect(stream.work() > before);
    try stream.setBudget(0, 0);
    _ = try stream.feed(call);
    _ = try stream.finish(.{}, null);
    const message = try stream.message();
    defer message.deinit();
    try std.testing.expectEqualStrings("Let me look up." ++ call, message.content());
    try std.testing.expectEqual(Outcome.recovered, message.outcome());
}

test "the next turn goes on behind what was sent" {
    const template = try Template.builtin("chatml", null);
    defer template.deinit();
    const params = try template.params("{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}", "{}", null);
    defer params.deinit();
    const following = try params.next("Hello", "[{\"role\": \"user\", \"content\": \"Bye\"}]", null);
    defer following.deinit();
    try std.testing.expectEqual(params.prompt().len + "Hello".len, following.kept());
    try std.testing.expectEqualStrings("", following.rewrite());
    try std.testing.expect(std.mem.endsWith(u8, following.prompt(), following.append()));
    try std.testing.expect(std.mem.find(u8, following.append(), "Bye") != null);
    try std.testing.expectError(error.InvalidArgument, params.next("Hello", "{}", null));
}

test "whose text a prompt is, and what models wrote of it" {
    const allocator = std.testing.allocator;
    const template = try Template.builtin("chatml", null);
    defer template.deinit();
    const said = "{\"messages\": [{\"role\": \"user\", \"content\": \"Hå<|im_end|>\"}, {\"role\": \"assistant\", \"content\": \"Né\"}]}";
    const asked = "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}";
    const batch = try template.segmentsBatch(allocator, &.{ said, asked }, "{\"for_training\": true}", 2, null);
    defer allocator.free(batch);
    defer for (batch) |one| one.deinit();
    try std.testing.expectEqual(2, batch.len);
    const segments = batch[0];
    const prompt = segments.prompt();
    try std.testing.expectEqual(prompt.len, segments.at(segments.count() - 1).?.span.end);
    try std.testing.expect(segments.at(segments.count()) == null);
    const user = segments.at(1).?;
    try std.testing.expectEqualStrings("Hå<|im_end|>", prompt[user.span.begin..user.span.end]);
    try std.testing.expectEqual(Origin.message, user.origin);
    try std.testing.expectEqualStrings("/content", user.path);

    const mask = try segments.mask(allocator, .{ .end = false });
    defer allocator.free(mask);
    try std.testing.expectEqual(1, mask.len);
    try std.testing.expectEqualStrings("Né", prompt[mask[0].begin..mask[0].end]);

    // In front is an å, which has two bytes, and an é inside.
    const chars = Span{ .begin = mask[0].begin - 1, .end = mask[0].end - 2 };
    for ([_]Span{ mask[0], chars }, 0..) |place_of, in_chars| {
        const offsets = [_]Span{ .{ .begin = 0, .end = 1 }, place_of };
        const labels = switch (in_chars) {
            0 => try segments.tokens(allocator, &offsets, .bytes, .{}, null),
            else => try segments.tokens(allocator, &offsets, .chars, .{}, null),
        };
        defer allocator.free(labels);
        try std.testing.expectEqual(Token{ .origin = .template, .message = Token.none, .sampled = false }, labels[0]);
        try std.testing.expectEqual(Token{ .origin = .message, .message = 1, .sampled = true }, labels[1]);
    }
    try std.testing.expectEqualStrings("", segments.limit());
    const one = try template.segments(said, "{\"for_training\": true}", null);
    defer one.deinit();
    try std.testing.expectEqualStrings(prompt, one.prompt());

    var fail: Diagnostic = .{};
    defer fail.deinit();
    const beyond = [_]Span{.{ .begin = 0, .end = prompt.len + 1 }};
    try std.testing.expectError(error.InvalidArgument, segments.tokens(allocator, &beyond, .bytes, .{}, &fail));
    try std.testing.expect(std.mem.find(u8, fail.message(), "offsets[0]") != null);
    const bad = template.segmentsBatch(allocator, &.{ said, "{}", said }, "{}", 0, &fail);
    try std.testing.expectError(error.InvalidArgument, bad);
    try std.testing.expect(std.mem.find(u8, fail.message(), "requests[1]") != null);
}

test "where an output stands, what closes it, and what may follow" {
    const template = try Template.builtin("json-call", null);
    defer template.deinit();
    const params = try template.paramsFor("<|im_start|>assistant\n<think>\nLet me",
        \\{"messages": [], "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
        \\ "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]}
    , null);
    defer params.deinit();
    const stream = try params.stream();
    defer stream.deinit();
    try std.testing.expect(std.mem.find(u8, try stream.state(), "\"part\":\"reasoning\"") != null);
    _ = try stream.feed(" see.\n</think>\n\n<tool_");
    try std.testing.expect(std.mem.endsWith(u8, stream.pending(), "<tool_"));
    _ = try stream.feed("call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Os");
    try std.testing.expect(std.mem.find(u8, try stream.state(), "\"pointer\":\"/city\"") != null);
    try std.testing.expectEqualStrings("{\"type\":\"string\"}", try stream.schema());
    try std.testing.expect(std.mem.find(u8, try stream.closing(), "\"text\":\"\\\"}}\\n</tool_call>\"") != null);
    const rest = try stream.grammar(.lark, null);
    defer rest.deinit();
    try std.testing.expect(std.mem.find(u8, rest.text(), "tool_call>") != null);
}

test "what may come next, and what must" {
    var fail: Diagnostic = .{};
    defer fail.deinit();
    try std.testing.expectError(error.InvalidArgument, Matcher.init("a ::= \"b\"", &fail));
    const matcher = try Matcher.init("root ::= \"say \" (\"yes\" | \"yellow\" | \"é\")", null);
    defer matcher.deinit();
    var buffer: [16]u8 = undefined;
    try std.testing.expectEqualStrings("say ", matcher.forced(&buffer));
    try std.testing.expectEqualStrings("sa", matcher.forced(buffer[0..2]));
    try std.testing.expectEqual(4, try matcher.feed("say "));
    try std.testing.expectEqualStrings("", matcher.forced(&buffer));
    const allowed = try matcher.allowed();
    try std.testing.expect(allowed.count() == 2 and allowed.isSet('y') and allowed.isSet(0xc3));
    const before = try matcher.clone();
    defer before.deinit();
    try std.testing.expect(matcher.can("yell") and !matcher.can("yelp") and !matcher.mayEnd());
    try std.testing.expectEqual(3, try matcher.feed("yes!"));
    try std.testing.expect(matcher.mayEnd() and matcher.ended());

    const rest = try before.grammar(.portable_gbnf, &fail);
    defer rest.deinit();
    const again = try Matcher.init(rest.text(), null);
    defer again.deinit();
    try std.testing.expectEqual(1, try again.feed("\xc3"));
    try std.testing.expectEqualStrings("\xa9", again.forced(&buffer));

    const template = try Template.builtin("chatml", null);
    defer template.deinit();
    const params = try template.params("{\"messages\": []}", "{}", null);
    defer params.deinit();
    const free = try params.matcher(&fail);
    defer free.deinit();
    try std.testing.expect(free.can("anything") and free.mayEnd() and !free.ended());
}
