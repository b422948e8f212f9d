// Reads the output of each case of tests/cases, in one piece and in pieces of 1 and 7 bytes. Standard input has the lines of
// tests/cases/expand.py.
#include <chatparse/server.h>

#include "support.h"
#include "text.h"

// Whether a call was a success. If not, `why` is the kind of the error and what it says.
static bool done(chat_status status, chat_error *error, buffer *why) {
  if (status == CHAT_STATUS_OK) return true;
  buffer_add(why, text_at(chat_status_name(status)));
  buffer_add(why, text_at(": "));
  buffer_add(why, chat_error_message(error));
  chat_error_free(error);
  return false;
}

static const known_template *template_of(known_template **templates, yyjson_val *line) {
  yyjson_val *own = yyjson_obj_get(line, "own");
  const chat_str name = string_at(line, "template"), source = string_at(own, "source");
  buffer key = {0};
  if (own != NULL) buffer_add(&key, string_at(line, "file"));
  buffer_add(&key, name);
  known_template *entry = known_of(templates, key);
  if (entry->chat != NULL || entry->why.len > 0) return entry;
  chat_error *error = NULL;
  if (own == NULL) {
    const chat_status status = chat_template_builtin(name.data, name.len, &entry->chat, &error);
    CHECK(done(status, error, &entry->why));
  } else {
    yyjson_mut_doc *options = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(options, yyjson_val_mut_copy(options, own));
    yyjson_mut_obj_remove_key(yyjson_mut_doc_get_root(options), "source");
    char *text = yyjson_mut_write(options, YYJSON_WRITE_NOFLAG, NULL);
    const chat_status status = chat_template_with_options(source.data, source.len, text, strlen(text), &entry->chat, &error);
    done(status, error, &entry->why);
    free(text);
    yyjson_mut_doc_free(options);
  }
  return entry;
}

static bool has(chat_str text, chat_str part) {
  for (size_t at = 0; at + part.len <= text.len; at++)
    if (same_texts((chat_str){text.data + at, part.len}, part)) return true;
  return false;
}

// The body of chat completions; one of another API becomes it. False where there is none, and why.
static bool request_of(yyjson_val *line, buffer *request, buffer *why) {
  yyjson_val *body = yyjson_obj_get(line, "body");
  char *text = yyjson_val_write(body == NULL ? yyjson_obj_get(line, "request") : body, YYJSON_WRITE_NOFLAG, NULL);
  chat_answer *answer = NULL;
  chat_error *error = NULL;
  bool made = true;
  if (body == NULL) {
    buffer_add(request, text_at(text));
  } else {
    const chat_str name = string_at(line, "api");
    const uint32_t api = same_texts(name, text_at("responses"))  ? CHAT_API_RESPONSES
                         : same_texts(name, text_at("messages")) ? CHAT_API_MESSAGES
                                                                 : CHAT_API_CHAT_COMPLETIONS;
    const chat_status status = chat_answer_new(api, text, strlen(text), NULL, 0, &answer, &error);
    made = done(status, error, why);
    if (made) buffer_add(request, chat_answer_view(answer)->request);
    chat_answer_free(answer);
  }
  free(text);
  return made;
}

// NULL where there are none, and why.
static chat_params *params_of(const chat_template *template, chat_str request, buffer *why) {
  chat_params *params = NULL;
  chat_error *error = NULL;
  const chat_status status = chat_params_from_template(template, request.data, request.len, &params, &error);
  done(status, error, why);
  return params;
}

static bool ends_with(chat_str text, chat_str end) {
  return text.len >= end.len && same_texts((chat_str){text.data + text.len - end.len, end.len}, end);
}

// The output of a case: its own, or what the template writes for its message after the prompt.
static void output_of(const chat_template *template, chat_str prompt, yyjson_val *line, buffer *output) {
  if (yyjson_obj_get(line, "after") == NULL) {
    buffer_add(output, string_at(line, "output"));
    return;
  }
  yyjson_val *opened = yyjson_obj_get(line, "opened");
  for (size_t i = 0; i < yyjson_arr_size(opened); i++) {
    yyjson_val *pair = yyjson_arr_get(opened, i);
    const chat_str opening = string_of(yyjson_arr_get(pair, 0));
    if (!ends_with(prompt, opening)) continue;
    prompt.len -= opening.len;
    buffer_add(output, string_of(yyjson_arr_get(pair, 1)));
    break;
  }
  buffer why = {0};
  char *request = yyjson_val_write(yyjson_obj_get(line, "after"), YYJSON_WRITE_NOFLAG, NULL);
  chat_params *after = params_of(template, text_at(request), &why);
  CHECK(after != NULL);
  free(request);
  const chat_str all = chat_params_view(after)->prompt;
  CHECK(prompt.len <= all.len && same_texts(prompt, (chat_str){all.data, prompt.len}));
  buffer_add(output, (chat_str){all.data + prompt.len, all.len - prompt.len});
  chat_params_free(after);
}

static chat_message *read_output(const chat_params *params, chat_str output, size_t piece, bool limit) {
  chat_stream *stream = NULL;
  chat_message *message = NULL;
  OK(chat_stream_new(params, &stream, &error));
  for (size_t at = 0; at < output.len; at += piece)
    OK(chat_stream_feed(stream, output.data + at, output.len - at < piece ? output.len - at : piece, &error));
  OK(chat_stream_finish(stream, limit ? CHAT_PARSE_PARTIAL : 0, &error));
  OK(chat_stream_message(stream, &message, &error));
  chat_stream_free(stream);
  return message;
}

// Arguments are values where they are JSON.
static bool same_arguments(chat_str a, chat_str b) {
  yyjson_doc *one = read_json(a), *other = read_json(b);
  const bool same = same_texts(a, b) || (one != NULL && other != NULL && yyjson_equals(yyjson_doc_get_root(one), yyjson_doc_get_root(other)));
  yyjson_doc_free(one);
  yyjson_doc_free(other);
  return same;
}

static bool same_kinds(yyjson_val *expected, yyjson_val *found) {
  bool same = yyjson_arr_size(expected) == yyjson_arr_size(found);
  for (size_t i = 0; same && i < yyjson_arr_size(expected); i++)
    same = same_texts(string_of(yyjson_arr_get(expected, i)), string_at(yyjson_arr_get(found, i), "kind"));
  return same;
}

static bool as_expected(const chat_message *message, yyjson_val *line) {
  const chat_message_fields *fields = chat_message_view(message);
  yyjson_val *calls = yyjson_obj_get(line, "calls"), *kinds = yyjson_obj_get(line, "diagnostics");
  chat_str text;
  OK(chat_message_report_json(message, &text, &error));
  yyjson_doc *report = read_json(text);
  yyjson_val *root = yyjson_doc_get_root(report);
  bool same = same_texts(fields->reasoning, string_at(line, "reasoning")) && same_texts(fields->content, string_at(line, "content")) &&
              same_texts(string_at(root, "status"), string_at(line, "status")) && fields->calls.len == yyjson_arr_size(calls) &&
              (kinds == NULL || same_kinds(kinds, yyjson_obj_get(root, "diagnostics")));
  for (size_t i = 0; same && i < fields->calls.len; i++) {
    yyjson_val *call = yyjson_arr_get(calls, i);
    const chat_tool_call got = fields->calls.data[i];
    same = same_texts(got.name, string_at(call, "name")) && same_texts(got.id, string_at(call, "id")) &&
           same_arguments(got.arguments, string_at(call, "arguments"));
  }
  yyjson_doc_free(report);
  return same;
}

static bool same_json(chat_str text, yyjson_val *expected) {
  yyjson_doc *found = read_json(text);
  const bool same = found != NULL && yyjson_equals(expected, yyjson_doc_get_root(found));
  yyjson_doc_free(found);
  return same;
}

static bool same_notes(const chat_params *params, yyjson_val *notes) {
  chat_str text;
  OK(chat_params_json(params, &text, &error));
  yyjson_doc *all = read_json(text);
  const bool same = yyjson_equals(notes, yyjson_obj_get(yyjson_doc_get_root(all), "notes"));
  yyjson_doc_free(all);
  return same;
}

// False, with a message, where the output is read otherwise than the case says.
static bool run(known_template **templates, yyjson_val *line) {
  static const size_t pieces[] = {SIZE_MAX / 2, 1, 7};
  const known_template *known = template_of(templates, line);
  buffer why = {0}, request = {0}, output = {0};
  buffer_add(&why, text_in(&known->why));
  chat_params *params = NULL;
  yyjson_val *chat = yyjson_obj_get(line, "chat"), *fault = yyjson_obj_get(line, "error");
  yyjson_val *prompt = yyjson_obj_get(line, "prompt"), *notes = yyjson_obj_get(line, "notes");
  bool right = fault == NULL;
  if (known->chat == NULL || !request_of(line, &request, &why)) {
    right = fault != NULL && has(text_in(&why), string_of(fault));
  } else if (chat != NULL) {
    right = same_json(text_in(&request), chat);
  } else {
    params = params_of(known->chat, text_in(&request), &why);
    right = (params == NULL) == (fault != NULL) && (params != NULL || has(text_in(&why), string_of(fault)));
  }
  if (right && params != NULL)
    right = (prompt == NULL || same_texts(string_of(prompt), chat_params_view(params)->prompt)) &&
            (notes == NULL || same_notes(params, notes));
  if (!right) {
    const chat_str found = params != NULL ? chat_params_view(params)->prompt : why.len > 0 ? text_in(&why) : text_in(&request);
    printf("%s, %s: %s writes %.*s\n", string_at(line, "file").data, string_at(line, "name").data, string_at(line, "template").data,
           (int)found.len, found.data);
  }
  buffer_free(&why);
  buffer_free(&request);
  if (!right || yyjson_obj_get(line, "output") == NULL) {
    chat_params_free(params);
    return right;
  }
  output_of(known->chat, chat_params_view(params)->prompt, line, &output);
  for (size_t i = 0; right && i < sizeof pieces / sizeof *pieces; i++) {
    chat_message *message = read_output(params, text_in(&output), pieces[i], yyjson_is_true(yyjson_obj_get(line, "limit")));
    right = as_expected(message, line);
    if (!right) {
      chat_str json, report;
      OK(chat_message_json(message, &json, &error));
      OK(chat_message_report_json(message, &report, &error));
      printf("%s, %s: %s reads %.*s\n  in pieces of %zu: %.*s\n  %.*s\n", string_at(line, "file").data, string_at(line, "name").data,
             string_at(line, "template").data, (int)output.len, output.data, pieces[i], (int)json.len, json.data, (int)report.len, report.data);
    }
    chat_message_free(message);
  }
  buffer_free(&output);
  chat_params_free(params);
  return right;
}

int main(void) {
  known_template *templates = NULL;
  buffer text = {0};
  size_t rows = 0, wrong = 0;
  for (; read_line(stdin, &text); rows++) {
    yyjson_doc *line = read_json(text_in(&text));
    CHECK(line != NULL);
    wrong += !run(&templates, yyjson_doc_get_root(line));
    yyjson_doc_free(line);
  }
  known_free(templates);
  buffer_free(&text);
  printf("%zu of %zu lines are read otherwise\n", wrong, rows);
  return rows > 0 && wrong == 0 ? 0 : 1;
}
