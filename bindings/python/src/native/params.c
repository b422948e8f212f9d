/* What one request needs, and the parser of its output. */
#include "native.h"

PyTypeObject *params_type, *parser_type;

FREED_BY(params, chat_params_free)
MADE_TEXT(params, json)
VIEW(params, prompt, chat_params_view(HANDLE(self))->prompt)
VIEW(params, generation_prompt, chat_params_view(HANDLE(self))->generation_prompt)
VIEW(params, append, chat_params_turn(HANDLE(self))->append)
VIEW(params, rendered, chat_params_turn(HANDLE(self))->rendered)
VIEW(params, format, chat_params_view(HANDLE(self))->format)
VIEW(params, end_of_turn, chat_params_end_of_turn(HANDLE(self)))
VIEW(params, thinking_start_tag, chat_params_view(HANDLE(self))->thinking_start_tag)
TEXTS(params, preserved_token, chat_params_view(HANDLE(self))->preserved_tokens)
TEXTS(params, additional_stop, chat_params_view(HANDLE(self))->additional_stops)
TEXTS(params, thinking_end_tag, chat_params_view(HANDLE(self))->thinking_end_tags)

static PyObject *params_render(PyObject *type, PyObject *arguments) {
  PyObject *template;
  Text request, options;
  if (!PyArg_ParseTuple(arguments, "O!O&O&", template_type, &template, text_from, &request, text_from, &options)) return NULL;
  chat_params *made = NULL;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_params_from_template_with(
    HANDLE(template), request.data, request.len, options.data, options.len, &made, &error));
  text_done(&request);
  text_done(&options);
  return wrap(type, status, error, made);
}

static PyObject *params_given(PyObject *type, PyObject *arguments) {
  PyObject *template;
  Text prompt, request;
  if (!PyArg_ParseTuple(arguments, "O!O&O&", template_type, &template, text_from, &prompt, text_from, &request)) return NULL;
  chat_params *made = NULL;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_params_for_prompt(
    HANDLE(template), prompt.data, prompt.len, request.data, request.len, &made, &error));
  text_done(&prompt);
  text_done(&request);
  return wrap(type, status, error, made);
}

static PyObject *params_continued(PyObject *type, PyObject *arguments) {
  PyObject *before;
  Text output, messages;
  if (!PyArg_ParseTuple(arguments, "O!O&O&", params_type, &before, text_from, &output, text_from, &messages)) return NULL;
  chat_params *made = NULL;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_params_continue(
    HANDLE(before), output.data, output.len, messages.data, messages.len, 0, &made, &error));
  text_done(&output);
  text_done(&messages);
  return wrap(type, status, error, made);
}

static PyObject *params_followed(PyObject *type, PyObject *arguments) {
  PyObject *before;
  Text output, request, options;
  if (!PyArg_ParseTuple(
        arguments, "O!O&O&O&", params_type, &before, text_from, &output, text_from, &request, text_from, &options))
    return NULL;
  chat_params *made = NULL;
  chat_error *error = NULL;
  size_t first = SIZE_MAX;
  chat_status status;
  UNLOCKED(chat_params_follow(
    HANDLE(before), output.data, output.len, request.data, request.len, options.data, options.len, &first, &made, &error));
  text_done(&output);
  text_done(&request);
  text_done(&options);
  PyObject *params = wrap(type, status, error, made);
  if (!params) return NULL;
  if (first == SIZE_MAX) return Py_BuildValue("(NO)", params, Py_None);
  return Py_BuildValue("(Nn)", params, (Py_ssize_t)first);
}

static PyObject *params_one_media(PyObject *self, size_t index) {
  const chat_media media = chat_params_media(HANDLE(self)).data[index];
  return Py_BuildValue(
    "(NNNnnN)", str_of(media.kind), str_of(media.text), str_of(media.source), (Py_ssize_t)media.message, (Py_ssize_t)media.part,
    PyBool_FromLong(media.native));
}
LISTED(params, media, chat_params_media(HANDLE(self)))

static PyObject *params_one_grammar_trigger(PyObject *self, size_t index) {
  const chat_trigger trigger = chat_params_view(HANDLE(self))->grammar_triggers.data[index];
  return Py_BuildValue("(IN)", (unsigned)trigger.kind, str_of(trigger.value));
}
LISTED(params, grammar_trigger, chat_params_view(HANDLE(self))->grammar_triggers)

static PyObject *params_one_message_delimiter(PyObject *self, size_t index) {
  const chat_delimiter delimiter = chat_params_view(HANDLE(self))->message_delimiters.data[index];
  return Py_BuildValue("(NN)", str_of(delimiter.role), str_of(delimiter.text));
}
LISTED(params, message_delimiter, chat_params_view(HANDLE(self))->message_delimiters)

static PyObject *params_grammar_lazy(PyObject *self, PyObject *none) {
  (void)none;
  return PyBool_FromLong(chat_params_view(HANDLE(self))->grammar_lazy);
}

static PyObject *params_supports_thinking(PyObject *self, PyObject *none) {
  (void)none;
  return PyBool_FromLong(chat_params_view(HANDLE(self))->supports_thinking);
}

static PyObject *params_kept(PyObject *self, PyObject *none) {
  (void)none;
  return PyLong_FromSize_t(chat_params_turn(HANDLE(self))->kept);
}

static PyObject *params_rewrite(PyObject *self, PyObject *none) {
  (void)none;
  const chat_turn_fields *turn = chat_params_turn(HANDLE(self));
  if (turn->message == SIZE_MAX) return Py_BuildValue("(INO)", (unsigned)turn->reason, str_of(turn->words), Py_None);
  return Py_BuildValue("(INn)", (unsigned)turn->reason, str_of(turn->words), (Py_ssize_t)turn->message);
}

static PyObject *params_warm(PyObject *self, PyObject *none) {
  (void)none;
  const chat_params *params = HANDLE(self);
  Py_BEGIN_ALLOW_THREADS
  chat_params_warm(params);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

#define VALUE(noun, name) {"get_" #name, noun##_##name, METH_NOARGS, NULL}

static PyMethodDef params_methods[] = {
  MAKES(params, render),
  MAKES(params, given),
  MAKES(params, continued),
  MAKES(params, followed),
  {"json", params_json, METH_NOARGS, "json()\n--\n\nAll of it as JSON text."},
  {"warm", params_warm, METH_NOARGS,
   "warm()\n--\n\nBuilds what streams otherwise build when an output first needs it: some milliseconds, while the model reads the prompt."},
  VALUE(params, prompt),
  VALUE(params, generation_prompt),
  VALUE(params, append),
  VALUE(params, rendered),
  VALUE(params, format),
  VALUE(params, end_of_turn),
  VALUE(params, thinking_start_tag),
  VALUE(params, thinking_end_tags),
  VALUE(params, preserved_tokens),
  VALUE(params, additional_stops),
  VALUE(params, message_delimiters),
  VALUE(params, medias),
  VALUE(params, grammar_triggers),
  VALUE(params, grammar_lazy),
  VALUE(params, supports_thinking),
  VALUE(params, kept),
  VALUE(params, rewrite),
  {NULL, NULL, 0, NULL},
};

FREED_BY(parser, chat_parser_free)
MADE_TEXT(parser, json)

static PyObject *parser_of_params(PyObject *type, PyObject *arguments) {
  PyObject *params;
  if (!PyArg_ParseTuple(arguments, "O!", params_type, &params)) return NULL;
  chat_parser *made = NULL;
  chat_error *error = NULL;
  const chat_status status = chat_params_parser(HANDLE(params), &made, &error);
  return wrap(type, status, error, made);
}

static PyObject *parser_from_json(PyObject *type, PyObject *arguments) {
  Text text;
  if (!PyArg_ParseTuple(arguments, "O&", text_from, &text)) return NULL;
  chat_parser *made = NULL;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_parser_from_json(text.data, text.len, &made, &error));
  text_done(&text);
  return wrap(type, status, error, made);
}

static PyMethodDef parser_methods[] = {
  MAKES(parser, of_params),
  MAKES(parser, from_json),
  VALUE(parser, json),
  {NULL, NULL, 0, NULL},
};

int add_params(PyObject *module) {
  if (add_type(module, "chatparse._native.Params", &params_type, params_dealloc, params_methods) < 0) return -1;
  return add_type(module, "chatparse._native.Parser", &parser_type, parser_dealloc, parser_methods);
}
