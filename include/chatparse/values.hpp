// A part of chatparse.hpp, where the rules are: errors and results, what C gives as structs, lists, and how C functions are called.
#ifndef CHATPARSE_VALUES_HPP
#define CHATPARSE_VALUES_HPP

#include <chatparse.h>
#include <chatparse/unstable.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#if !defined(CHATPARSE_NO_EXCEPTIONS) && !defined(__cpp_exceptions) && !defined(_CPPUNWIND)
#define CHATPARSE_NO_EXCEPTIONS
#endif

namespace chatparse {
#ifdef CHATPARSE_NO_EXCEPTIONS
inline namespace returning {
#else
inline namespace throwing {
#endif

namespace detail {

inline std::string_view view(chat_str given) noexcept { return {given.data, given.len}; }

// Texts as C takes them.
class Strings {
 public:
  template <class Texts> explicit Strings(const Texts &texts) : texts_(std::begin(texts), std::end(texts)) {
    for (const std::string &text : texts_) views_.push_back({text.data(), text.size()});
  }
  const chat_str *data() const noexcept { return views_.data(); }
  std::size_t size() const noexcept { return views_.size(); }

 private:
  std::vector<std::string> texts_;
  std::vector<chat_str> views_;
};

inline std::optional<std::size_t> number(std::size_t given) noexcept {
  return given == SIZE_MAX ? std::nullopt : std::optional<std::size_t>(given);
}

}  // namespace detail

// Why a call failed. A copy shares what it holds, and cannot fail.
class error : public std::runtime_error {
 public:
  error(chat_status status, std::shared_ptr<const chat_error> why)
      : std::runtime_error(std::string(detail::view(chat_error_message(why.get())))), status_(status), why_(std::move(why)) {}

  chat_status status() const noexcept { return status_; }
  // What is wrong and where: what what() says, with its length.
  std::string_view message() const & noexcept { return detail::view(chat_error_message(why_.get())); }
  std::string message() const && { return std::string(message()); }
  // For servers: the code of the response, and its body in the shape of an API.
  std::uint32_t http_status() const noexcept { return chat_error_http_status(why_.get()); }
  std::string body(chat_api api) const { return std::string(detail::view(chat_error_body(why_.get(), api))); }

 private:
  chat_status status_;
  std::shared_ptr<const chat_error> why_;
};

#ifndef CHATPARSE_NO_EXCEPTIONS
template <class T> using Result = T;
#else
// A value, or why there is none.
template <class T> class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(chatparse::error why) : state_(std::in_place_index<1>, std::move(why)) {}

  explicit operator bool() const noexcept { return state_.index() == 0; }
  T &operator*() & { return held<0>(state_); }
  const T &operator*() const & { return held<0>(state_); }
  T operator*() && { return std::move(held<0>(state_)); }
  T *operator->() { return &held<0>(state_); }
  const T *operator->() const { return &held<0>(state_); }
  const chatparse::error &error() const & { return held<1>(state_); }
  chatparse::error error() && { return held<1>(state_); }

 private:
  std::variant<T, chatparse::error> state_;

  template <std::size_t index, class State> static auto &held(State &state) {
    if (state.index() != index) std::abort();
    return *std::get_if<index>(&state);
  }
};

template <> class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(chatparse::error why) : why_(std::move(why)) {}

  explicit operator bool() const noexcept { return !why_; }
  const chatparse::error &error() const & {
    if (!why_) std::abort();
    return *why_;
  }
  chatparse::error error() && { return static_cast<const Result &>(*this).error(); }

 private:
  std::optional<chatparse::error> why_;
};
#endif

// Bytes of an output or a prompt: `begin` and `end`.
using Span = chat_span;

// The fields of these are those of the C structs.
struct Delta {
  chat_delta_kind kind;
  std::size_t call;
  std::string_view text;
  Span span;

  explicit Delta(const chat_delta &c)
      : kind(c.kind), call(c.call), text(detail::view(c.text)), span{c.span_begin, c.span_end} {}
};

struct Event {
  std::string_view name, data;

  explicit Event(const chat_event &c) : name(detail::view(c.name)), data(detail::view(c.data)) {}
};

struct Diagnostic {
  chat_diagnostic_kind kind;
  std::optional<std::size_t> call;
  std::string_view message;
  Span span;

  explicit Diagnostic(const chat_diagnostic &c)
      : kind(c.kind), call(detail::number(c.call)), message(detail::view(c.message)), span{c.span_begin, c.span_end} {}
};

struct Part {
  chat_part_kind kind;
  std::size_t call;
  std::string_view text;
  Span span;

  explicit Part(const chat_part &c)
      : kind(c.kind), call(c.call), text(detail::view(c.text)), span{c.span_begin, c.span_end} {}
};

struct Segment {
  chat_text_origin origin;
  std::size_t index;
  std::string_view path;
  Span span;

  explicit Segment(const chat_segment &c)
      : origin(c.origin), index(c.index), path(detail::view(c.path)), span{c.begin, c.end} {}
};

struct Media {
  std::string_view kind, text, source;
  std::size_t message, part;
  bool native;

  explicit Media(const chat_media &c)
      : kind(detail::view(c.kind)), text(detail::view(c.text)), source(detail::view(c.source)), message(c.message),
        part(c.part), native(c.native) {}
};

struct Trigger {
  chat_trigger_kind kind;
  std::string_view value;

  explicit Trigger(const chat_trigger &c) : kind(c.kind), value(detail::view(c.value)) {}
};

struct Fidelity {
  chat_fidelity_kind kind;
  std::string_view schema, pointer, message;

  explicit Fidelity(const chat_fidelity &c)
      : kind(c.kind), schema(detail::view(c.schema)), pointer(detail::view(c.pointer)), message(detail::view(c.message)) {}
};

// `words` is valid for ever.
struct Rewrite {
  chat_reason reason;
  std::string_view words;
  std::optional<std::size_t> message;

  explicit Rewrite(const chat_turn_fields &c)
      : reason(c.reason), words(detail::view(c.words)), message(detail::number(c.message)) {}
};

// A call of chat_message_view, and what chat_message_report says of it.
struct ToolCall {
  std::string_view name, id, arguments;
  bool complete, known, valid;
  chat_origin origin;

  ToolCall(const chat_tool_call &call, const chat_call_report &report)
      : name(detail::view(call.name)), id(detail::view(call.id)), arguments(detail::view(call.arguments)),
        complete(report.complete), known(report.known), valid(report.valid), origin(report.origin) {}
};

struct MessageDelimiter {
  std::string_view role, text;

  explicit MessageDelimiter(const chat_delimiter &c) : role(detail::view(c.role)), text(detail::view(c.text)) {}
};

struct Proof {
  std::size_t read_back, cases;
};

// Ids of a conversation.
class Ids {
 public:
  explicit Ids(chat_id_list c) noexcept : ids_(c) {}

  const std::uint32_t *begin() const noexcept { return data(); }
  const std::uint32_t *end() const noexcept { return data() + size(); }
  const std::uint32_t *data() const noexcept { return ids_.data; }
  std::size_t size() const noexcept { return ids_.len; }
  bool empty() const noexcept { return size() == 0; }
  std::uint32_t operator[](std::size_t index) const noexcept { return data()[index]; }

 private:
  chat_id_list ids_;
};

// An id that was sampled, with its log probability.
struct Sampled {
  std::uint32_t id;
  float logprob;
};

struct IdToken {
  std::size_t end;
  std::optional<std::size_t> call;
  std::string_view argument;
  chat_field field;
  float logprob;
  bool sampled;

  explicit IdToken(const chat_id_token &c)
      : end(c.end), call(detail::number(c.call)), argument(detail::view(c.argument)), field(c.field), logprob(c.logprob),
        sampled(c.sampled) {}
};

// From which token on a template changes what was sent, and why. `reason` and `words` are valid for ever.
struct IdRewrite {
  std::size_t token, at;
  std::optional<std::size_t> message;
  std::string_view reason, words;
};

// `ids` are to be sent behind the first `kept`.
struct Extended {
  std::size_t kept;
  Ids ids;
  std::optional<IdRewrite> rewrite;

  Extended(const chat_extended &c, Ids all) : kept(c.kept), ids({all.data() + c.kept, all.size() - c.kept}) {
    if (c.token == SIZE_MAX) return;
    rewrite = IdRewrite{c.token, c.at, detail::number(c.message), detail::view(c.reason), detail::view(c.words)};
  }
};

struct SpecialToken {
  std::string text;
  std::uint32_t id;
  bool strips_left = false, strips_right = false;
};

// A tokenizer of the host's (chat_tokenizer). Its functions give nothing, or throw, where they fail: then the call that needed them
// fails, or throws the same. Any thread that uses a conversation with it may call them, several at once.
struct Tokenizer {
  std::function<std::optional<std::vector<std::uint32_t>>(std::string_view text)> encode;
  std::function<std::optional<std::string>(std::uint32_t id)> token_bytes;
  std::vector<SpecialToken> special_tokens;
};

namespace detail {

#ifdef CHATPARSE_NO_EXCEPTIONS
template <class T> Result<T> failed(error why) { return why; }
template <class T> T value(Result<T> result) { return *std::move(result); }
#else
template <class T> [[noreturn]] T failed(error why) { throw why; }
template <class T> T value(T result) { return result; }
#endif

template <class T> Result<T> failed(chat_status status, chat_error *why) {
  return failed<T>(error(status, std::shared_ptr<const chat_error>(why, chat_error_free)));
}

// Calls a function whose last arguments are an output of the type `Given` and the error, and makes a `T` of the output.
template <class T, class Given, class F, class... Args> Result<T> make(F function, Args... args) {
  Given out{};
  chat_error *why = nullptr;
  const chat_status status = function(args..., &out, &why);
  if (status != CHAT_STATUS_OK) return failed<T>(status, why);
  if constexpr (std::is_same_v<Given, chat_str>) {
    return T(view(out));
  } else {
    return T(out);
  }
}
template <class T, class F, class... Args> Result<T> object(F function, Args... args) {
  return make<T, typename T::c_type *>(function, args...);
}
template <class T, class F, class... Args> Result<T> text(F function, Args... args) {
  return make<T, chat_str>(function, args...);
}

// Calls a function that has no output but the error; `done` makes the result.
template <class Done, class F, class... Args> auto run(Done done, F function, Args... args) -> Result<decltype(done())> {
  chat_error *why = nullptr;
  const chat_status status = function(args..., &why);
  if (status != CHAT_STATUS_OK) return failed<decltype(done())>(status, why);
  return done();
}

template <class F, class... Args> Result<void> run_only(F function, Args... args) {
  chat_error *why = nullptr;
  const chat_status status = function(args..., &why);
  if (status != CHAT_STATUS_OK) return failed<void>(status, why);
  return Result<void>();
}

template <class C, void (*free)(C *)> class Handle {
 public:
  using c_type = C;

  Handle() = default;
  explicit Handle(C *taken_over) noexcept : owned_(taken_over) {}

  explicit operator bool() const noexcept { return owned_ != nullptr; }
  C *get() noexcept { return owned_.get(); }
  const C *get() const noexcept { return owned_.get(); }
  C *release() noexcept { return owned_.release(); }

 private:
  struct Free {
    void operator()(C *handle) const noexcept { free(handle); }
  };
  std::unique_ptr<C, Free> owned_;
};

// A list of C's, with an item as a `T`.
template <class T, class L> class List {
  using Item = decltype(L::data);

 public:
  class iterator {
   public:
    using value_type = T;
    using reference = T;
    using pointer = void;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    using iterator_concept = std::forward_iterator_tag;

    iterator() = default;
    explicit iterator(Item at) noexcept : at_(at) {}

    T operator*() const { return made(*at_); }
    iterator &operator++() noexcept {
      ++at_;
      return *this;
    }
    iterator operator++(int) noexcept { return iterator(at_++); }
    friend bool operator==(iterator a, iterator b) noexcept { return a.at_ == b.at_; }
    friend bool operator!=(iterator a, iterator b) noexcept { return !(a == b); }

   private:
    Item at_ = nullptr;
  };
  using const_iterator = iterator;
  using value_type = T;

  explicit List(L list) noexcept : list_(list) {}

  iterator begin() const noexcept { return iterator(list_.data); }
  iterator end() const noexcept { return iterator(list_.data + list_.len); }
  std::size_t size() const noexcept { return list_.len; }
  bool empty() const noexcept { return size() == 0; }
  T operator[](std::size_t index) const { return made(list_.data[index]); }

 private:
  L list_;

  static T made(const std::remove_reference_t<decltype(*L::data)> &item) {
    if constexpr (std::is_same_v<L, chat_str_list>) {
      return view(item);
    } else {
      return T(item);
    }
  }
};

// What a tokenizer threw on this thread: it must not pass through C.
inline std::exception_ptr &thrown() noexcept {
  thread_local std::exception_ptr what;
  return what;
}
// Puts what a function of a tokenizer gives into C's sink.
template <class F, class Given, class Put> bool answer(F &function, Given given, Put put, chat_token_sink *sink) noexcept {
#ifndef CHATPARSE_NO_EXCEPTIONS
  try {
#endif
    const auto result = function(given);
    if (result) put(sink, result->data(), result->size());
    return result.has_value();
#ifndef CHATPARSE_NO_EXCEPTIONS
  } catch (...) {
    thrown() = std::current_exception();
    return false;
  }
#endif
}
// As run, for a function that may call a tokenizer; `done` makes the result.
template <class T, class Done, class F, class... Args> Result<T> ask(Done done, F function, Args... args) {
  thrown() = nullptr;
  chat_error *why = nullptr;
  const chat_status status = function(args..., &why);
  if (status == CHAT_STATUS_OK) return done();
  if (!thrown()) return failed<T>(status, why);
  chat_error_free(why);
  std::rethrow_exception(std::exchange(thrown(), nullptr));
}

// A tokenizer that conversations share. With one of them it owns itself, until C releases it.
struct SharedTokenizer {
  Tokenizer tokenizer;
  std::shared_ptr<SharedTokenizer> self;

  static SharedTokenizer &of(void *user) { return *static_cast<SharedTokenizer *>(user); }
  static bool encode(void *user, const char *text, std::size_t len, chat_token_sink *sink) {
    return answer(of(user).tokenizer.encode, std::string_view(text, len), chat_token_sink_ids, sink);
  }
  static bool token_bytes(void *user, std::uint32_t id, chat_token_sink *sink) {
    return answer(of(user).tokenizer.token_bytes, id, chat_token_sink_bytes, sink);
  }
  static void release(void *user) { const auto last = std::move(of(user).self); }
};

}  // namespace detail

}  // inline namespace
}  // namespace chatparse

#endif
