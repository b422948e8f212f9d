#include <stdio.h>
#include <string.h>

#include <chatparse.h>

// A template as a model vendor ships it. How this model writes reasoning and tool calls is learnt from the text.
static const char source[] =
    "{%- for tool in tools or [] -%}\n"
    "Tool: {{ tool.function | tojson }}\n"
    "{% endfor -%}\n"
    "{%- for message in messages -%}\n"
    "<|{{ message.role }}|>\n"
    "{%- if message.reasoning_content -%}<think>{{ message.reasoning_content }}</think>{%- endif -%}\n"
    "{{- message.content or '' }}\n"
    "{%- for call in message.tool_calls or [] -%}\n"
    "<tool_call>{\"name\": \"{{ call.function.name }}\", \"arguments\": {{ call.function.arguments | tojson }}}</tool_call>\n"
    "{%- endfor -%}\n"
    "<|end|>\n"
    "{%- endfor -%}\n"
    "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}\n";

// An OpenAI chat-completions body.
static const char request[] =
    "{\"messages\": [{\"role\": \"user\", \"content\": \"Is it raining in Oslo?\"}],"
    " \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"weather\", \"parameters\": {\"type\": \"object\","
    " \"properties\": {\"city\": {\"type\": \"string\"}}, \"required\": [\"city\"]}}}]}";

// What the model writes, in pieces as they come.
static const char *const pieces[] = {
    "<think>Rain? Let me", " look.</think>One moment. <tool",
    "_call>{\"name\": \"wea", "ther\", \"arguments\": {\"city\"", ": \"Oslo\"}}</tool_call>",
};

static void print_deltas(const chat_stream *stream) {
  const chat_delta_list deltas = chat_stream_view(stream)->deltas;
  for (size_t i = 0; i < deltas.len; i++) {
    const chat_delta *delta = &deltas.data[i];
    printf("%s: %.*s\n", chat_delta_kind_name(delta->kind), (int)delta->text.len, delta->text.data);
  }
}

int main(void) {
  chat_template *chat = NULL;
  chat_params *params = NULL;
  chat_stream *stream = NULL;
  chat_message *message = NULL;
  chat_error *error = NULL;
  chat_str text;

  // Once for each model:
  chat_status status = chat_template_new(source, strlen(source), "", 0, "<|end|>", 7, &chat, &error);

  // Once for each request:
  if (status == CHAT_STATUS_OK) status = chat_params_from_template(chat, request, strlen(request), &params, &error);
  if (status == CHAT_STATUS_OK) {
    text = chat_params_view(params)->prompt;
    printf("%.*s\n", (int)text.len, text.data);
    status = chat_stream_new(params, &stream, &error);
  }

  // As the model writes:
  for (size_t i = 0; status == CHAT_STATUS_OK && i < sizeof pieces / sizeof *pieces; i++) {
    status = chat_stream_feed(stream, pieces[i], strlen(pieces[i]), &error);
    print_deltas(stream);
  }
  if (status == CHAT_STATUS_OK) {
    status = chat_stream_finish(stream, 0, &error);
    print_deltas(stream);
  }

  // And the message as a whole:
  if (status == CHAT_STATUS_OK) status = chat_stream_message(stream, &message, &error);
  if (status == CHAT_STATUS_OK) status = chat_message_json(message, &text, &error);
  if (status == CHAT_STATUS_OK) {
    printf("%.*s\n", (int)text.len, text.data);
  } else {
    text = chat_error_message(error);
    fprintf(stderr, "%s: %.*s\n", chat_status_name(status), (int)text.len, text.data);
  }

  chat_error_free(error);
  chat_message_free(message);
  chat_stream_free(stream);
  chat_params_free(params);
  chat_template_free(chat);
  return status == CHAT_STATUS_OK ? 0 : 1;
}
