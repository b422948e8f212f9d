// chatparse from C++17, header-only: objects that own what chatparse.h gives. That file is the manual of what each function does, takes and
// refuses: functions here have its names without the noun, and take its enums and flags. The rules:
//
// Objects. Template, Params, Stream, ... can be moved and not copied, and free what they own. None needs another to stay alive. One that
// was moved from, or made by its default constructor, is empty: a function that returns a plain value gives an empty one, any other
// fails with CHAT_STATUS_INVALID_ARGUMENT. get() lends the C handle, release() gives it away, and a constructor takes one over.
//
// Texts. Those that go in are views, only looked at; a stream must not be fed with its own. Those that come out are views into the object,
// valid until it is freed, wherever it is moved. Of a temporary, which would leave the view dangling, they are a std::string, and so are
// those that the next call would spoil. Only deltas, events and what a conversation has are views that end with the next call of their
// stream, answer or conversation that is not const.
//
// Lists. What there are several of can be walked through with `for`, has size(), and [i] for any i below it. A list looks into its object
// and is valid as long as a view is; a temporary gives none.
//
// Errors. What can fail returns a Result<T>. That is T itself, and a chatparse::error is thrown. There is nothing to free, and no output
// to be read where a call failed. What a model writes is never an error. Without exceptions, where the compiler has none or
// CHATPARSE_NO_EXCEPTIONS is defined, a Result<T> holds a T or an error: ask it, as taking what it does not hold aborts the
// program. Sources with and without exceptions may be in one program; what they hand each other is C handles.
//
// Threads. Any number of threads may use an object through its const functions at once; the other functions want it for themselves.
#ifndef CHATPARSE_HPP
#define CHATPARSE_HPP

#include <chatparse.h>
#include <chatparse/values.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace chatparse {
#ifdef CHATPARSE_NO_EXCEPTIONS
inline namespace returning {
#else
inline namespace throwing {
#endif

using Deltas = detail::List<Delta, chat_delta_list>;
using IdTokens = detail::List<IdToken, chat_id_token_list>;
using Events = detail::List<Event, chat_event_list>;
using ToolCalls = std::vector<ToolCall>;
using Diagnostics = detail::List<Diagnostic, chat_diagnostic_list>;
using Parts = detail::List<Part, chat_part_list>;
using SegmentList = detail::List<Segment, chat_segment_list>;
using Report = detail::List<Fidelity, chat_fidelity_list>;
using MediaList = detail::List<Media, chat_media_list>;
using Triggers = detail::List<Trigger, chat_trigger_list>;
using Texts = detail::List<std::string_view, chat_str_list>;
using MessageDelimiters = detail::List<MessageDelimiter, chat_delimiter_list>;

// What a model said.
class Message : public detail::Handle<chat_message, chat_message_free> {
 public:
  using Handle::Handle;

  chat_outcome outcome() const noexcept { return chat_message_view(get())->outcome; }
  std::string_view content() const & noexcept { return detail::view(chat_message_view(get())->content); }
  std::string content() const && { return std::string(detail::view(chat_message_view(get())->content)); }
  std::string_view reasoning() const & noexcept { return detail::view(chat_message_view(get())->reasoning); }
  std::string reasoning() const && { return std::string(detail::view(chat_message_view(get())->reasoning)); }
  ToolCalls tool_calls() const & {
    const chat_tool_call_list calls = chat_message_view(get())->calls;
    const chat_call_report *reports = chat_message_report(get())->calls.data;
    ToolCalls all;
    for (std::size_t i = 0; i < calls.len; i++) all.emplace_back(calls.data[i], reports[i]);
    return all;
  }
  ToolCalls tool_calls() const && = delete;
  Diagnostics diagnostics() const & noexcept { return Diagnostics(chat_message_report(get())->diagnostics); }
  Diagnostics diagnostics() const && = delete;
  Parts parts() const & noexcept { return Parts(chat_message_view(get())->parts); }
  Parts parts() const && = delete;
  Result<std::string_view> json() const & { return detail::text<std::string_view>(chat_message_json, get()); }
  Result<std::string> json() const && { return detail::text<std::string>(chat_message_json, get()); }
  // Of a message of `Parser::tagged`.
  Result<std::string_view> tree_json() const & { return detail::text<std::string_view>(chat_message_tree_json, get()); }
  Result<std::string> tree_json() const && { return detail::text<std::string>(chat_message_tree_json, get()); }
  Result<std::string_view> report_json() const & {
    return detail::text<std::string_view>(chat_message_report_json, get());
  }
  Result<std::string> report_json() const && { return detail::text<std::string>(chat_message_report_json, get()); }
  // Where a field was read: its kind as that of a delta, and the call. Or CHAT_SPANS_STRUCTURE.
  std::vector<Span> spans(std::uint32_t field, std::size_t call = 0) const {
    std::vector<Span> spans(chat_message_spans(get(), field, call, nullptr, 0));
    chat_message_spans(get(), field, call, spans.data(), spans.size());
    return spans;
  }
};

// What a sampler may let the model write.
class Grammar : public detail::Handle<chat_grammar, chat_grammar_free> {
 public:
  using Handle::Handle;

  static Result<Grammar> from_json_schema(std::string_view schema, chat_grammar_style style = CHAT_GRAMMAR_STYLE_FAITHFUL) {
    return detail::object<Grammar>(chat_grammar_from_json_schema, schema.data(), schema.size(), style);
  }
  // What a grammar (GBNF) says of a text.
  static Result<chat_grammar_verdict> check(std::string_view gbnf, std::string_view text) {
    return detail::make<chat_grammar_verdict, chat_grammar_verdict>(
        chat_grammar_check, gbnf.data(), gbnf.size(), text.data(), text.size());
  }

  std::string_view text() const & noexcept { return detail::view(chat_grammar_view(get())->text); }
  std::string text() const && { return std::string(detail::view(chat_grammar_view(get())->text)); }
  Report report() const & noexcept { return Report(chat_grammar_view(get())->report); }
  Report report() const && = delete;
  Result<Grammar> as(chat_dialect dialect) const { return detail::object<Grammar>(chat_grammar_as, get(), dialect); }
};

// What may come next in an output, and what must. Copies that clone() makes are cheap: keep one to go back to.
class Matcher : public detail::Handle<chat_matcher, chat_matcher_free> {
 public:
  using Handle::Handle;

  static Result<Matcher> from_grammar(std::string_view gbnf) {
    return detail::object<Matcher>(chat_matcher_new, gbnf.data(), gbnf.size());
  }
  // How many of the bytes are allowed: it stands behind those.
  Result<std::size_t> feed(std::string_view bytes) {
    return detail::make<std::size_t, std::size_t>(chat_matcher_feed, get(), bytes.data(), bytes.size());
  }
  bool can(std::string_view bytes) const noexcept { return chat_matcher_can(get(), bytes.data(), bytes.size()); }
  Result<chat_byte_set> allowed() const { return detail::make<chat_byte_set, chat_byte_set>(chat_matcher_allowed, get()); }
  std::string forced() const {
    std::string bytes(chat_matcher_forced(get(), nullptr, 0), '\0');
    chat_matcher_forced(get(), &bytes[0], bytes.size());
    return bytes;
  }
  bool may_end() const noexcept { return chat_matcher_may_end(get()); }
  bool ended() const noexcept { return chat_matcher_ended(get()); }
  Result<Matcher> clone() const { return detail::object<Matcher>(chat_matcher_clone, get()); }
  // What may follow what was fed, for an engine that begins there.
  Result<Grammar> grammar(chat_dialect dialect) const { return detail::object<Grammar>(chat_matcher_grammar, get(), dialect); }
};

// A parse in progress. Its deltas are those of its last feed, finish or rollback.
class Stream : public detail::Handle<chat_stream, chat_stream_free> {
 public:
  using Handle::Handle;

  // Model output, cut anywhere.
  Result<Deltas> feed(std::string_view bytes) & {
    return detail::run([&] { return deltas(); }, chat_stream_feed, get(), bytes.data(), bytes.size());
  }
  // The same with the bytes that came from special tokens: a vector or an array of spans, or spans in braces.
  template <class Spans = std::initializer_list<Span>> Result<Deltas> feed_marked(std::string_view bytes, const Spans &spans) & {
    return detail::run(
        [&] { return deltas(); }, chat_stream_feed_marked, get(), bytes.data(), bytes.size(), std::data(spans), std::size(spans));
  }
  template <class Tokens = std::initializer_list<std::string_view>> Result<void> set_special_tokens(const Tokens &tokens) {
    const detail::Strings given(tokens);
    return detail::run_only(chat_stream_set_special_tokens, get(), given.data(), given.size());
  }
  // After CHAT_STATUS_PARSE the deltas are there, too.
  Result<Deltas> finish(std::uint32_t flags = 0) & { return detail::run([&] { return deltas(); }, chat_stream_finish, get(), flags); }
  Result<void> checkpoint() { return detail::run_only(chat_stream_checkpoint, get()); }
  Result<Deltas> rollback(std::size_t output_len) & {
    return detail::run([&] { return deltas(); }, chat_stream_rollback, get(), output_len);
  }
  Result<void> set_budget(std::uint64_t base, std::uint64_t per_byte) {
    return detail::run_only(chat_stream_set_budget, get(), base, per_byte);
  }
  Result<void> reset() { return detail::run_only(chat_stream_reset, get()); }
  Result<std::string> chunk_json() { return detail::text<std::string>(chat_stream_chunk_json, get()); }
  // In what the output stands, the schema of the value there, what closes it, and what may follow.
  Result<std::string> state_json() { return detail::text<std::string>(chat_stream_state_json, get()); }
  Result<std::string> schema_json() { return detail::text<std::string>(chat_stream_schema_json, get()); }
  Result<std::string> close_json() { return detail::text<std::string>(chat_stream_close_json, get()); }
  Result<Grammar> grammar(chat_dialect dialect) { return detail::object<Grammar>(chat_stream_grammar, get(), dialect); }

  Deltas deltas() const & noexcept { return Deltas(chat_stream_view(get())->deltas); }
  Deltas deltas() const && = delete;
  chat_outcome outcome() const noexcept { return chat_stream_view(get())->outcome; }
  Result<Message> message() const { return detail::object<Message>(chat_stream_message, get()); }
  Result<Stream> clone() const { return detail::object<Stream>(chat_stream_clone, get()); }
  std::uint64_t work() const noexcept { return chat_stream_view(get())->work; }
  // The last bytes fed that are in no delta yet, and not known to be markup.
  std::string_view pending() const & noexcept { return detail::view(chat_stream_view(get())->pending); }
  std::string pending() const && = delete;
};

// What an output is parsed with.
class Parser : public detail::Handle<chat_parser, chat_parser_free> {
 public:
  using Handle::Handle;

  // Of what `json` has written, or of a description of a format of your own.
  static Result<Parser> from_json(std::string_view text) {
    return detail::object<Parser>(chat_parser_from_json, text.data(), text.size());
  }

  Result<std::string_view> json() const & { return detail::text<std::string_view>(chat_parser_json, get()); }
  Result<std::string> json() const && { return detail::text<std::string>(chat_parser_json, get()); }
  Result<Grammar> grammar(bool lazy) const { return detail::object<Grammar>(chat_parser_grammar, get(), lazy); }
  Result<Stream> stream() const { return detail::object<Stream>(chat_stream_from_parser, get()); }
  Result<Message> parse(std::string_view text, std::uint32_t flags = 0) const {
    return detail::object<Message>(chat_parser_parse, get(), text.data(), text.size(), flags);
  }
  // The tagged parts of a text alone, with its syntax tree (`Message::tree_json`).
  Result<Message> tagged(std::string_view text, std::size_t from = 0, std::uint32_t flags = 0) const {
    return detail::object<Message>(chat_parser_tagged, get(), text.data(), text.size(), from, flags);
  }
};

// What one request needs.
class Params : public detail::Handle<chat_params, chat_params_free> {
 public:
  using Handle::Handle;

  std::string_view prompt() const & noexcept { return detail::view(chat_params_view(get())->prompt); }
  std::string prompt() const && { return std::string(detail::view(chat_params_view(get())->prompt)); }
  std::string_view generation_prompt() const & noexcept { return detail::view(chat_params_view(get())->generation_prompt); }
  std::string generation_prompt() const && { return std::string(detail::view(chat_params_view(get())->generation_prompt)); }
  MediaList media() const & noexcept { return MediaList(chat_params_media(get())); }
  MediaList media() const && = delete;
  Texts preserved_tokens() const & noexcept { return Texts(chat_params_view(get())->preserved_tokens); }
  Texts preserved_tokens() const && = delete;
  Texts additional_stops() const & noexcept { return Texts(chat_params_view(get())->additional_stops); }
  Texts additional_stops() const && = delete;
  std::string_view format() const & noexcept { return detail::view(chat_params_view(get())->format); }
  std::string format() const && { return std::string(detail::view(chat_params_view(get())->format)); }
  Result<std::string_view> json() const & { return detail::text<std::string_view>(chat_params_json, get()); }
  Result<std::string> json() const && { return detail::text<std::string>(chat_params_json, get()); }

  void warm() const noexcept { chat_params_warm(get()); }
  std::string_view end_of_turn() const & noexcept { return detail::view(chat_params_end_of_turn(get())); }
  std::string end_of_turn() const && { return std::string(detail::view(chat_params_end_of_turn(get()))); }
  bool supports_thinking() const noexcept { return chat_params_view(get())->supports_thinking; }
  std::string_view thinking_start_tag() const & noexcept { return detail::view(chat_params_view(get())->thinking_start_tag); }
  std::string thinking_start_tag() const && { return std::string(detail::view(chat_params_view(get())->thinking_start_tag)); }
  Texts thinking_end_tags() const & noexcept { return Texts(chat_params_view(get())->thinking_end_tags); }
  Texts thinking_end_tags() const && = delete;
  MessageDelimiters message_delimiters() const & noexcept { return MessageDelimiters(chat_params_view(get())->message_delimiters); }
  MessageDelimiters message_delimiters() const && = delete;

  Result<Grammar> grammar(chat_dialect dialect = CHAT_DIALECT_GBNF) const {
    return detail::object<Grammar>(chat_params_grammar, get(), dialect);
  }
  Result<Matcher> matcher() const { return detail::object<Matcher>(chat_params_matcher, get()); }
  bool grammar_lazy() const noexcept { return chat_params_view(get())->grammar_lazy; }
  Triggers grammar_triggers() const & noexcept { return Triggers(chat_params_view(get())->grammar_triggers); }
  Triggers grammar_triggers() const && = delete;

  Result<Parser> parser() const { return detail::object<Parser>(chat_params_parser, get()); }
  Result<Stream> stream() const { return detail::object<Stream>(chat_stream_new, get()); }
  Result<Message> parse(std::string_view text, std::uint32_t flags = 0) const {
    return detail::object<Message>(chat_parse_partial, get(), text.data(), text.size(), flags);
  }

  // The next turn (chat_params_continue), and what the params of one say of it.
  Result<Params> next(std::string_view output, std::string_view messages, std::uint32_t flags = 0) const {
    return detail::object<Params>(
        chat_params_continue, get(), output.data(), output.size(), messages.data(), messages.size(), flags);
  }
  // The same for a whole request (chat_params_follow). `first`: the index of its first new message.
  Result<Params> follow(
      std::string_view output, std::string_view request, std::string_view options = "{}", std::size_t *first = nullptr) const {
    return detail::object<Params>(
        chat_params_follow, get(), output.data(), output.size(), request.data(), request.size(), options.data(), options.size(), first);
  }
  std::size_t kept() const noexcept { return chat_params_turn(get())->kept; }
  std::string_view append() const & noexcept { return detail::view(chat_params_turn(get())->append); }
  std::string append() const && { return std::string(detail::view(chat_params_turn(get())->append)); }
  std::string_view rendered() const & noexcept { return detail::view(chat_params_turn(get())->rendered); }
  std::string rendered() const && { return std::string(detail::view(chat_params_turn(get())->rendered)); }
  Rewrite rewrite() const noexcept { return Rewrite(*chat_params_turn(get())); }
};

// A prompt and whose text it is: a list of segments, in its order.
class Segments : public detail::Handle<chat_segments, chat_segments_free> {
 public:
  using Handle::Handle;

  std::string_view prompt() const & noexcept { return detail::view(chat_segments_view(get())->prompt); }
  std::string prompt() const && { return std::string(detail::view(chat_segments_view(get())->prompt)); }
  SegmentList::iterator begin() const & noexcept { return segments().begin(); }
  SegmentList::iterator end() const & noexcept { return segments().end(); }
  std::size_t size() const noexcept { return chat_segments_view(get())->segments.len; }
  bool empty() const noexcept { return size() == 0; }
  Segment operator[](std::size_t index) const & { return segments()[index]; }
  Segment operator[](std::size_t index) const && = delete;

  // `parts` is a sum of CHAT_MASK_...
  std::vector<Span> mask(std::uint32_t parts) const {
    std::vector<Span> spans(chat_segments_mask(get(), parts, nullptr, 0));
    chat_segments_mask(get(), parts, spans.data(), spans.size());
    return spans;
  }

  // What tokens at these places are (chat_segments_tokens).
  Result<std::vector<chat_segment_token>> tokens(std::uint32_t parts, const std::vector<chat_span> &offsets, bool in_chars) const {
    std::vector<chat_segment_token> labels(offsets.size());
    chat_segment_token *const out = labels.data();
    return detail::run([&] { return std::move(labels); }, chat_segments_tokens, get(), parts, offsets.data(), offsets.size(), in_chars, out);
  }
  std::string_view limit() const noexcept { return detail::view(chat_segments_view(get())->limit); }

 private:
  SegmentList segments() const noexcept { return SegmentList(chat_segments_view(get())->segments); }
};

// A conversation in token ids; only in a library with the part `conversation`, without which programs that use it do not link. Its
// deltas are those of its last observe or finish.
class Conversation : public detail::Handle<chat_conversation, chat_conversation_free> {
 public:
  using Handle::Handle;

  // The ids of these messages, JSON. What there was is forgotten.
  Result<Ids> prompt(std::string_view messages) & {
    return detail::ask<Ids>([&] { return ids(); }, chat_conversation_prompt, get(), messages.data(), messages.size());
  }
  // Ids as they were sampled: a vector or an array of them, or ids in braces.
  template <class List = std::initializer_list<std::uint32_t>> Result<Deltas> observe(const List &sampled) & {
    return detail::ask<Deltas>(
        [&] { return deltas(); }, chat_conversation_observe, get(), std::data(sampled), nullptr, std::size(sampled));
  }
  Result<Deltas> observe(const std::vector<Sampled> &sampled) & {
    std::vector<std::uint32_t> ids;
    std::vector<float> logprobs;
    for (const Sampled &each : sampled) {
      ids.push_back(each.id);
      logprobs.push_back(each.logprob);
    }
    return detail::ask<Deltas>(
        [&] { return deltas(); }, chat_conversation_observe, get(), ids.data(), logprobs.data(), ids.size());
  }
  Result<Deltas> finish(std::uint32_t flags = 0) & {
    return detail::run([&] { return deltas(); }, chat_conversation_finish, get(), flags);
  }
  // What to send behind the output in order to go on with these messages, JSON.
  Result<Extended> extend(std::string_view messages) & {
    chat_extended next{};
    const auto done = [&] { return Extended(next, ids()); };
    return detail::ask<Extended>(done, chat_conversation_extend, get(), messages.data(), messages.size(), &next);
  }
  Result<void> rewind(std::size_t length) {
    return detail::ask<void>([] { return Result<void>(); }, chat_conversation_rewind, get(), length);
  }
  // A fork: both go on from here, each its own way.
  Result<Conversation> clone() const { return detail::object<Conversation>(chat_conversation_clone, get()); }
  // The last output as OpenAI has it.
  Result<std::string> message_json() { return detail::text<std::string>(chat_conversation_message_json, get()); }
  // Whether the tokenizer goes with the template: an array of what stands between them.
  Result<std::string> check_json() { return detail::text<std::string>(chat_conversation_check_json, get()); }

  Deltas deltas() const & noexcept { return Deltas(chat_conversation_view(get())->deltas); }
  Deltas deltas() const && = delete;
  // All, sent and sampled.
  Ids ids() const & noexcept { return Ids(chat_conversation_view(get())->ids); }
  Ids ids() const && = delete;
  // What each of them is a part of.
  IdTokens tokens() const & noexcept { return IdTokens(chat_conversation_tokens(get())); }
  IdTokens tokens() const && = delete;
  // For each of them 1 if it was sampled, and 0 if it was sent.
  std::vector<std::uint8_t> mask() const {
    std::vector<std::uint8_t> mask;
    for (const IdToken &token : tokens()) mask.push_back(token.sampled);
    return mask;
  }
  std::size_t prompt_count() const noexcept { return chat_conversation_view(get())->prompt_count; }
  std::string_view text() const & noexcept { return detail::view(chat_conversation_view(get())->text); }
  std::string text() const && { return std::string(detail::view(chat_conversation_view(get())->text)); }
  std::string_view output() const & noexcept { return detail::view(chat_conversation_view(get())->output); }
  std::string output() const && { return std::string(detail::view(chat_conversation_view(get())->output)); }
  bool ended() const noexcept { return chat_conversation_view(get())->ended; }
};

// A compiled template.
class Template : public detail::Handle<chat_template, chat_template_free> {
 public:
  using Handle::Handle;

  static Result<Template> compile(std::string_view source, std::string_view bos = {}, std::string_view eos = {}) {
    return detail::object<Template>(
        chat_template_new, source.data(), source.size(), bos.data(), bos.size(), eos.data(), eos.size());
  }
  static Result<Template> with_options(std::string_view source, std::string_view options) {
    return detail::object<Template>(
        chat_template_with_options, source.data(), source.size(), options.data(), options.size());
  }
  // What to_bytes of the same library version wrote.
  static Result<Template> from_bytes(std::string_view bytes) {
    return detail::object<Template>(chat_template_from_bytes, bytes.data(), bytes.size());
  }
  static Result<Template> builtin(std::string_view name) {
    return detail::object<Template>(chat_template_builtin, name.data(), name.size());
  }
  // Valid for ever.
  static std::vector<std::string_view> builtin_names() {
    const Texts names(chat_template_builtins());
    return {names.begin(), names.end()};
  }

  std::string_view source() const & noexcept { return detail::view(chat_template_source(get())); }
  std::string source() const && { return std::string(detail::view(chat_template_source(get()))); }
  // The template with what was learnt of it. Other versions of the library refuse it.
  Result<std::string_view> to_bytes() const & { return detail::text<std::string_view>(chat_template_to_bytes, get()); }
  Result<std::string> to_bytes() const && { return detail::text<std::string>(chat_template_to_bytes, get()); }
  // JSON.
  Result<std::string_view> report(chat_report which) const & {
    return detail::text<std::string_view>(chat_template_report, get(), which);
  }
  Result<std::string> report(chat_report which) const && {
    return detail::text<std::string>(chat_template_report, get(), which);
  }
  // Valid for ever.
  Result<std::string_view> reader() const { return detail::text<std::string_view>(chat_template_reader, get()); }
  Result<Proof> proof() const {
    const auto both = [](const chat_template *of, Proof *out, chat_error **why) {
      return chat_template_proof(of, &out->read_back, &out->cases, why);
    };
    return detail::make<Proof, Proof>(both, get());
  }

  // Both texts are JSON: the client's body, and the host's options.
  Result<Params> params(std::string_view request, std::string_view options = "{}") const {
    return detail::object<Params>(
        chat_params_from_template_with, get(), request.data(), request.size(), options.data(), options.size());
  }
  // Those of a prompt that the host has rendered: what its end leaves open is read from it. Of the request, the tools and options count.
  Result<Params> params_for(std::string_view prompt, std::string_view request = R"({"messages": []})") const {
    return detail::object<Params>(
        chat_params_for_prompt, get(), prompt.data(), prompt.size(), request.data(), request.size());
  }
  // A conversation in the ids of this tokenizer. Of the request, the tools and options count.
  Result<Conversation> conversation(
      Tokenizer tokenizer, std::string_view request = R"({"messages": []})", std::string_view options = "{}") const {
    using Shared = detail::SharedTokenizer;
    std::vector<chat_special_token> special;
    for (const SpecialToken &token : tokenizer.special_tokens)
      special.push_back({{token.text.data(), token.text.size()}, token.id, token.strips_left, token.strips_right});
    const auto encode = tokenizer.encode ? Shared::encode : nullptr;
    const auto token_bytes = tokenizer.token_bytes ? Shared::token_bytes : nullptr;
    // Moved, the texts stay where they are.
    const auto shared = std::make_shared<Shared>(Shared{std::move(tokenizer), nullptr});
    const chat_tokenizer given = {shared.get(), encode, token_bytes, Shared::release, special.data(), special.size()};
    chat_conversation *made = nullptr;
    const auto done = [&] {
      shared->self = shared;
      return Conversation(made);
    };
    return detail::ask<Conversation>(
        done, chat_conversation_new, get(), &given, request.data(), request.size(), options.data(), options.size(), &made);
  }
  Result<Segments> segments(std::string_view request, std::string_view options = "{}") const {
    return detail::object<Segments>(
        chat_segments_from_template, get(), request.data(), request.size(), options.data(), options.size());
  }
  // The same of many requests, on threads (chat_segments_batch). `Texts`: a list of texts.
  template <class Texts>
  Result<std::vector<Segments>> segments_batch(
      const Texts &requests, std::string_view options = "{}", std::size_t threads = 0) const {
    const detail::Strings texts(requests);
    std::vector<chat_segments *> made(texts.size());
    std::vector<Segments> all(texts.size());
    chat_error *why = nullptr;
    const chat_status status = chat_segments_batch(
        get(), texts.data(), texts.size(), options.data(), options.size(), threads, made.data(), &why);
    for (std::size_t i = 0; i < made.size(); i++) all[i] = Segments(made[i]);
    if (status != CHAT_STATUS_OK) return detail::failed<std::vector<Segments>>(status, why);
    return all;
  }
};

// One request of an API, and its answer. Its events are those of the last call that made some.
class Answer : public detail::Handle<chat_answer, chat_answer_free> {
 public:
  using Handle::Handle;

  static Result<Answer> create(chat_api api, std::string_view request, std::string_view options = {}) {
    return detail::object<Answer>(chat_answer_new, api, request.data(), request.size(), options.data(), options.size());
  }

  // For Template::params.
  std::string_view request() const & noexcept { return detail::view(chat_answer_view(get())->request); }
  std::string request() const && { return std::string(detail::view(chat_answer_view(get())->request)); }
  // The client's stop text that has ended the content, or nothing.
  std::string_view stopped() const & noexcept { return detail::view(chat_answer_view(get())->stopped); }
  std::string stopped() const && { return std::string(detail::view(chat_answer_view(get())->stopped)); }
  // The log probability, a JSON object, of the token that is these bytes of the output.
  Result<void> token(std::size_t begin, std::size_t end, std::string_view entry) & {
    return detail::run_only(chat_answer_token, get(), begin, end, entry.data(), entry.size());
  }
  Result<Events> begin(std::uint64_t input_tokens = 0) & {
    return detail::run([&] { return events(); }, chat_answer_begin, get(), input_tokens);
  }
  Result<Events> deltas(const Stream &stream) & { return detail::run([&] { return events(); }, chat_answer_deltas, get(), stream.get()); }
  Result<Events> finish(const Message &message, std::string_view end = {}) & {
    return detail::run([&] { return events(); }, chat_answer_finish, get(), message.get(), end.data(), end.size());
  }
  Result<Events> fail(std::uint32_t http_status, std::string_view text) & {
    return detail::run([&] { return events(); }, chat_answer_fail, get(), http_status, text.data(), text.size());
  }
  Result<Events> ping() & { return detail::run([&] { return events(); }, chat_answer_ping, get()); }
  Events events() const & noexcept { return Events(chat_answer_view(get())->events); }
  Events events() const && = delete;
  // The events as bytes to send.
  Result<std::string> sse() { return detail::text<std::string>(chat_answer_sse, get()); }
  Result<std::string> body(const Message &message, std::string_view end = {}) {
    return detail::text<std::string>(chat_answer_body, get(), message.get(), end.data(), end.size());
  }
};

// Puts a grammar together. What is added tells the name that its rule has.
class GrammarBuilder : public detail::Handle<chat_grammar_builder, chat_grammar_builder_free> {
 public:
  using Handle::Handle;

  static Result<GrammarBuilder> create() { return detail::object<GrammarBuilder>(chat_grammar_builder_new); }

  Result<void> set_style(chat_grammar_style style) {
    return detail::run_only(chat_grammar_builder_set_style, get(), style);
  }
  Result<std::string> add_rule(std::string_view name, std::string_view body) {
    return add(chat_grammar_builder_add_rule, name, body);
  }
  Result<std::string> add_literal(std::string_view name, std::string_view text) {
    return add(chat_grammar_builder_add_literal, name, text);
  }
  Result<std::string> add_schema(std::string_view name, std::string_view schema) {
    return add(chat_grammar_builder_add_schema, name, schema);
  }
  Result<Grammar> build() const { return detail::object<Grammar>(chat_grammar_builder_build, get()); }

 private:
  template <class F> Result<std::string> add(F function, std::string_view name, std::string_view text) {
    return detail::text<std::string>(function, get(), name.data(), name.size(), text.data(), text.size());
  }
};

inline Result<bool> schema_allows_string(std::string_view schema) {
  return detail::make<bool, bool>(chat_schema_allows_string, schema.data(), schema.size());
}

// Of the library that is linked; valid for ever.
inline std::string_view version() noexcept { return chat_version(); }
// That it serves programs which were compiled with this header.
inline Result<void> check_version() { return detail::run_only(chat_version_check, std::uint32_t{CHAT_VERSION_NUMBER}); }
inline std::string_view status_name(chat_status status) noexcept { return chat_status_name(status); }
inline std::string_view delta_kind_name(chat_delta_kind kind) noexcept { return chat_delta_kind_name(kind); }

}  // inline namespace
}  // namespace chatparse

#endif
