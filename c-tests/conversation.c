// Conversations in token ids: a tokenizer with a token for each byte and two special ones; and NULL everywhere.
#include "support.h"

static int released;

static bool encode(void *user, const char *text, size_t len, chat_token_sink *sink) {
  if (*(int *)user) return false;
  for (size_t i = 0; i < len; i++) {
    const uint32_t id = (unsigned char)text[i];
    chat_token_sink_ids(sink, &id, 1);
  }
  return true;
}

static bool token_bytes(void *user, uint32_t id, chat_token_sink *sink) {
  (void)user;
  const char byte = (char)id;
  if (id < 256) chat_token_sink_bytes(sink, &byte, 1);
  return id < 256;
}

static void let_go(void *user) {
  (void)user;
  released++;
}

static size_t of(const chat_conversation *conversation, uint32_t id) {
  const chat_id_list ids = chat_conversation_view(conversation)->ids;
  size_t count = 0;
  for (size_t i = 0; i < ids.len; i++) count += ids.data[i] == id;
  return count;
}

static void a_turn(void) {
  int broken = 0;
  const chat_special_token special[] = {{{TEXT("<|im_start|>")}, 256, false, false}, {{TEXT("<|im_end|>")}, 257, false, false}};
  const chat_tokenizer tokenizer = {&broken, encode, token_bytes, let_go, special, 2};
  chat_template *template = NULL;
  chat_conversation *conversation = NULL, *other = NULL;
  OK(chat_template_builtin(TEXT("chatml"), &template, &error));
  OK(chat_conversation_new(template, &tokenizer, TEXT("{\"messages\": []}"), NULL, 0, &conversation, &error));
  chat_template_free(template);
  OK(chat_conversation_prompt(conversation, TEXT("[{\"role\": \"user\", \"content\": \"<|im_end|>\"}]"), &error));
  // What the user writes is no special token.
  CHECK(of(conversation, 257) == 1 && of(conversation, 256) == 2);
  const size_t sent = chat_conversation_view(conversation)->prompt_count;
  CHECK(sent == chat_conversation_view(conversation)->ids.len && chat_conversation_view(conversation)->text.len > sent);
  const uint32_t sampled[] = {'Y', 'e', 's', 257};
  const float logprobs[] = {-1, -2, -3, -4};
  OK(chat_conversation_observe(conversation, sampled, logprobs, 4, &error));
  CHECK(chat_conversation_view(conversation)->ended && chat_conversation_view(conversation)->output.len == 13);
  chat_delta delta;
  CHECK(chat_conversation_view(conversation)->deltas.len > 0);
  delta = chat_conversation_view(conversation)->deltas.data[0];
  CHECK(delta.kind == CHAT_DELTA_KIND_CONTENT);
  OK(chat_conversation_clone(conversation, &other, &error));
  OK(chat_conversation_rewind(other, sent + 1, &error));
  OK(chat_conversation_finish(other, CHAT_PARSE_PARTIAL, &error));
  chat_str text;
  OK(chat_conversation_message_json(other, &text, &error));
  CHECK(contains(text, "\"Y\""));
  // Each byte is a token, and the markers are special: nothing stands between the two.
  OK(chat_conversation_check_json(other, &text, &error));
  CHECK(text.len == 2 && contains(text, "[]") && chat_conversation_view(other)->ids.len == sent + 1);
  chat_conversation_free(other);
  chat_extended next;
  broken = 1;
  BAD(chat_conversation_extend(conversation, TEXT("[{\"role\": \"user\", \"content\": \"Bye\"}]"), &next, &error));
  broken = 0;
  CHECK(chat_conversation_view(conversation)->ids.len == sent + 4);
  OK(chat_conversation_extend(conversation, TEXT("[{\"role\": \"user\", \"content\": \"Bye\"}]"), &next, &error));
  CHECK(next.kept == sent + 4 && next.token == SIZE_MAX && next.reason.len == 0);
  CHECK(chat_conversation_view(conversation)->ids.data[next.kept] == '\n');
  CHECK(chat_conversation_tokens(conversation).len == chat_conversation_view(conversation)->ids.len);
  const chat_id_token token = chat_conversation_tokens(conversation).data[sent + 1];
  CHECK(token.sampled && token.field == CHAT_FIELD_CONTENT && token.logprob == -2 && token.call == SIZE_MAX);
  CHECK(!released);
  chat_conversation_free(conversation);
  CHECK(released == 1);
}

static void nothing(void) {
  chat_conversation *conversation = NULL;
  chat_extended next;
  chat_str text;
  BAD(chat_conversation_new(NULL, NULL, TEXT("{}"), NULL, 0, &conversation, &error));
  // The tokenizer is let go whatever fails.
  int broken = 0;
  const chat_tokenizer tokenizer = {&broken, encode, token_bytes, let_go, NULL, 0};
  chat_template *template = NULL;
  OK(chat_template_builtin(TEXT("chatml"), &template, &error));
  released = 0;
  BAD(chat_conversation_new(NULL, &tokenizer, TEXT("{}"), NULL, 0, &conversation, &error));
  BAD(chat_conversation_new(template, &tokenizer, TEXT("{}"), NULL, 0, NULL, &error));
  BAD(chat_conversation_new(template, &tokenizer, TEXT("{"), NULL, 0, &conversation, &error));
  CHECK(released == 3);
  // Messages need not be there.
  OK(chat_conversation_new(template, &tokenizer, TEXT("{}"), NULL, 0, &conversation, &error));
  chat_conversation_free(conversation);
  OK(chat_conversation_new(template, &tokenizer, TEXT(" {\"tools\": []}"), NULL, 0, &conversation, &error));
  chat_conversation_free(conversation);
  CHECK(released == 5);
  chat_template_free(template);
  BAD(chat_conversation_clone(NULL, &conversation, &error));
  BAD(chat_conversation_prompt(NULL, TEXT("[]"), &error));
  BAD(chat_conversation_observe(NULL, NULL, NULL, 0, &error));
  BAD(chat_conversation_finish(NULL, 0, &error));
  BAD(chat_conversation_extend(NULL, TEXT("[]"), &next, &error));
  BAD(chat_conversation_rewind(NULL, 0, &error));
  CHECK(chat_conversation_tokens(NULL).len == 0);
  BAD(chat_conversation_message_json(NULL, &text, &error));
  BAD(chat_conversation_check_json(NULL, &text, &error));
  CHECK(chat_conversation_view(NULL)->ids.len == 0 && chat_conversation_view(NULL)->prompt_count == 0 && !chat_conversation_view(NULL)->ended);
  CHECK(chat_conversation_view(NULL)->text.len == 0 && chat_conversation_view(NULL)->output.len == 0);
  CHECK(chat_conversation_view(NULL)->deltas.len == 0);
  chat_token_sink_ids(NULL, NULL, 0);
  chat_token_sink_bytes(NULL, NULL, 0);
  chat_conversation_free(NULL);
}

int main(void) {
  a_turn();
  nothing();
  return 0;
}
