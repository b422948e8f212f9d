// chatparse.hpp without exceptions: this file is compiled without, and main.cpp with them.
#include "check.h"

#include <string>
#include <utility>

#include <chatparse.hpp>

#ifndef CHATPARSE_NO_EXCEPTIONS
#error "the header does not see that there are no exceptions"
#endif

void returning() {
  const auto broken = chatparse::Template::compile("a\n{% if %}");
  CHECK(!broken && broken.error().status() == CHAT_STATUS_TEMPLATE && contains(broken.error().message(), "line"));
  const chatparse::error why = chatparse::Template::builtin("no such").error();
  CHECK(why.status() == CHAT_STATUS_INVALID_ARGUMENT && contains(why.what(), "chatml"));

  const auto model = chatparse::Template::builtin("json-call");
  CHECK(model);
  auto params = model->params(REQUEST);
  CHECK(params && contains(params->prompt(), "Hi"));
  auto stream = params->stream();
  CHECK(stream);
  std::string content;
  for (const char byte : OUTPUT) {
    const auto deltas = stream->feed({&byte, 1});
    CHECK(deltas);
    for (const auto &delta : *deltas)
      if (delta.kind == CHAT_DELTA_KIND_CONTENT) content += delta.text;
  }
  CHECK(stream->checkpoint());
  const auto finished = stream->finish(CHAT_PARSE_STRICT);
  CHECK(finished);
  CHECK(content == "See." && stream->outcome() == CHAT_OUTCOME_COMPLETE);
  const auto checkpoint = stream->checkpoint();
  CHECK(!checkpoint && checkpoint.error().status() == CHAT_STATUS_INVALID_ARGUMENT && !stream->feed("x"));

  const auto message = stream->message();
  CHECK(message && message->tool_calls().size() == 1 && (*message).tool_calls()[0].arguments == "{\"a\": 1}");
  CHECK((*stream->message()).reasoning() == "Hm.");
  const std::string json = *(*stream->message()).json();
  CHECK(*message->json() == json);

  // What is there can be taken out, and what was taken is gone.
  chatparse::Params taken = *std::move(params);
  CHECK(taken && !*params && !params->stream());
}
