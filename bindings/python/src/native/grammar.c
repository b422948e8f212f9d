/* Grammars, and what puts them together. */
#include "native.h"

PyTypeObject *grammar_type, *builder_type, *matcher_type;

FREED_BY(grammar, chat_grammar_free)
VIEW(grammar, text, chat_grammar_view(HANDLE(self))->text)

/* The grammar of params; in the dialect of that number, or as it is where that is 0. */
static PyObject *grammar_of_params(PyObject *type, PyObject *arguments) {
  PyObject *params;
  unsigned dialect;
  if (!PyArg_ParseTuple(arguments, "O!I", params_type, &params, &dialect)) return NULL;
  chat_grammar *made = NULL;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_params_grammar(HANDLE(params), dialect ? dialect : CHAT_DIALECT_GBNF, &made, &error));
  return wrap(type, status, error, made);
}

static PyObject *grammar_of_parser(PyObject *type, PyObject *arguments) {
  PyObject *parser;
  int lazy;
  if (!PyArg_ParseTuple(arguments, "O!p", parser_type, &parser, &lazy)) return NULL;
  chat_grammar *made = NULL;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_parser_grammar(HANDLE(parser), lazy, &made, &error));
  return wrap(type, status, error, made);
}

static PyObject *grammar_of_schema(PyObject *type, PyObject *arguments) {
  Text schema;
  unsigned style;
  if (!PyArg_ParseTuple(arguments, "O&I", text_from, &schema, &style)) return NULL;
  chat_grammar *made = NULL;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_grammar_from_json_schema(schema.data, schema.len, style, &made, &error));
  text_done(&schema);
  return wrap(type, status, error, made);
}

static PyObject *grammar_in_dialect(PyObject *type, PyObject *arguments) {
  PyObject *grammar;
  unsigned dialect;
  if (!PyArg_ParseTuple(arguments, "O!I", grammar_type, &grammar, &dialect)) return NULL;
  chat_grammar *made = NULL;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_grammar_as(HANDLE(grammar), dialect, &made, &error));
  return wrap(type, status, error, made);
}

static PyObject *one_fidelity(PyObject *self, size_t index) {
  const chat_fidelity place = chat_grammar_view(HANDLE(self))->report.data[index];
  return Py_BuildValue(
    "(INNN)", (unsigned)place.kind, str_of(place.schema), str_of(place.pointer), str_of(place.message));
}

static PyObject *grammar_get_report(PyObject *self, PyObject *none) {
  (void)none;
  return list_of(self, chat_grammar_view(HANDLE(self))->report.len, one_fidelity);
}

static PyObject *grammar_check_text(PyObject *nothing, PyObject *arguments) {
  Text grammar, text;
  (void)nothing;
  if (!PyArg_ParseTuple(arguments, "O&O&", text_from, &grammar, text_from, &text)) return NULL;
  chat_grammar_verdict verdict = CHAT_GRAMMAR_VERDICT_REFUSED;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_grammar_check(grammar.data, grammar.len, text.data, text.len, &verdict, &error));
  text_done(&grammar);
  text_done(&text);
  return status == CHAT_STATUS_OK ? PyLong_FromUnsignedLong(verdict) : fail(status, error);
}

/* The interpreter's lock stays with a builder's calls: it has one user at a time. */
FREED_BY(builder, chat_grammar_builder_free)

static PyObject *builder_begin(PyObject *type, PyObject *arguments) {
  unsigned style;
  if (!PyArg_ParseTuple(arguments, "I", &style)) return NULL;
  chat_grammar_builder *made = NULL;
  chat_error *error = NULL;
  chat_status status = chat_grammar_builder_new(&made, &error);
  if (status == CHAT_STATUS_OK) status = chat_grammar_builder_set_style(made, style, &error);
  if (status != CHAT_STATUS_OK) chat_grammar_builder_free(made);
  return wrap(type, status, error, made);
}

#define ADDS(name)                                                                                                   \
  static PyObject *builder_##name(PyObject *self, PyObject *arguments) {                                             \
    Text rule, text;                                                                                                 \
    if (!PyArg_ParseTuple(arguments, "O&O&", text_from, &rule, text_from, &text)) return NULL;                       \
    chat_str called;                                                                                                 \
    chat_error *error = NULL;                                                                                        \
    const chat_status status =                                                                                       \
      chat_grammar_builder_##name(HANDLE(self), rule.data, rule.len, text.data, text.len, &called, &error);          \
    text_done(&rule);                                                                                                \
    text_done(&text);                                                                                                \
    return status == CHAT_STATUS_OK ? str_of(called) : fail(status, error);                                          \
  }

ADDS(add_rule)
ADDS(add_literal)
ADDS(add_schema)

static PyObject *builder_add_parser(PyObject *self, PyObject *arguments) {
  PyObject *parser;
  int lazy;
  if (!PyArg_ParseTuple(arguments, "O!p", parser_type, &parser, &lazy)) return NULL;
  chat_error *error = NULL;
  const chat_status status = chat_grammar_builder_add_parser(HANDLE(self), HANDLE(parser), lazy, &error);
  if (status != CHAT_STATUS_OK) return fail(status, error);
  Py_RETURN_NONE;
}

static PyObject *grammar_of_builder(PyObject *type, PyObject *arguments) {
  PyObject *builder;
  if (!PyArg_ParseTuple(arguments, "O!", builder_type, &builder)) return NULL;
  chat_grammar *made = NULL;
  chat_error *error = NULL;
  const chat_status status = chat_grammar_builder_build(HANDLE(builder), &made, &error);
  return wrap(type, status, error, made);
}

static PyObject *grammar_of_matcher(PyObject *type, PyObject *arguments) {
  PyObject *matcher;
  unsigned dialect;
  if (!PyArg_ParseTuple(arguments, "O!I", matcher_type, &matcher, &dialect)) return NULL;
  chat_grammar *made = NULL;
  chat_error *error = NULL;
  const chat_status status = chat_matcher_grammar(HANDLE(matcher), dialect, &made, &error);
  return wrap(type, status, error, made);
}

static PyObject *grammar_of_stream(PyObject *type, PyObject *arguments) {
  PyObject *stream;
  unsigned dialect;
  if (!PyArg_ParseTuple(arguments, "O!I", stream_type, &stream, &dialect) || !opened(stream)) return NULL;
  chat_grammar *made = NULL;
  chat_error *error = NULL;
  const chat_status status = chat_stream_grammar(HANDLE(stream), dialect, &made, &error);
  return wrap(type, status, error, made);
}

/* The interpreter's lock stays with a matcher's calls, too. */
FREED_BY(matcher, chat_matcher_free)

static PyObject *matcher_of_params(PyObject *type, PyObject *arguments) {
  PyObject *params;
  if (!PyArg_ParseTuple(arguments, "O!", params_type, &params)) return NULL;
  chat_matcher *made = NULL;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_params_matcher(HANDLE(params), &made, &error));
  return wrap(type, status, error, made);
}

static PyObject *matcher_of_grammar(PyObject *type, PyObject *arguments) {
  Text grammar;
  if (!PyArg_ParseTuple(arguments, "O&", text_from, &grammar)) return NULL;
  chat_matcher *made = NULL;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_matcher_new(grammar.data, grammar.len, &made, &error));
  text_done(&grammar);
  return wrap(type, status, error, made);
}

static PyObject *matcher_of_matcher(PyObject *type, PyObject *arguments) {
  PyObject *matcher;
  if (!PyArg_ParseTuple(arguments, "O!", matcher_type, &matcher)) return NULL;
  chat_matcher *made = NULL;
  chat_error *error = NULL;
  const chat_status status = chat_matcher_clone(HANDLE(matcher), &made, &error);
  return wrap(type, status, error, made);
}

static PyObject *matcher_take(PyObject *self, PyObject *arguments) {
  Text bytes;
  if (!PyArg_ParseTuple(arguments, "O&", text_from, &bytes)) return NULL;
  size_t taken;
  chat_error *error = NULL;
  const chat_status status = chat_matcher_feed(HANDLE(self), bytes.data, bytes.len, &taken, &error);
  text_done(&bytes);
  return status == CHAT_STATUS_OK ? PyLong_FromSize_t(taken) : fail(status, error);
}

static PyObject *matcher_allows(PyObject *self, PyObject *arguments) {
  Text bytes;
  if (!PyArg_ParseTuple(arguments, "O&", text_from, &bytes)) return NULL;
  const bool can = chat_matcher_can(HANDLE(self), bytes.data, bytes.len);
  text_done(&bytes);
  return PyBool_FromLong(can);
}

static PyObject *matcher_get_allowed(PyObject *self, PyObject *none) {
  chat_byte_set set;
  chat_error *error = NULL;
  (void)none;
  const chat_status status = chat_matcher_allowed(HANDLE(self), &set, &error);
  if (status != CHAT_STATUS_OK) return fail(status, error);
  char bytes[256];
  Py_ssize_t count = 0;
  for (unsigned byte = 0; byte < 256; byte++)
    if (set.words[byte / 64] >> (byte % 64) & 1) bytes[count++] = (char)byte;
  return PyBytes_FromStringAndSize(bytes, count);
}

static PyObject *matcher_get_forced(PyObject *self, PyObject *none) {
  (void)none;
  const size_t len = chat_matcher_forced(HANDLE(self), NULL, 0);
  PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)len);
  if (bytes) chat_matcher_forced(HANDLE(self), PyBytes_AsString(bytes), len);
  return bytes;
}

static PyObject *matcher_get_ends(PyObject *self, PyObject *none) {
  (void)none;
  return PyLong_FromLong(chat_matcher_may_end(HANDLE(self)) + chat_matcher_ended(HANDLE(self)));
}

static PyMethodDef matcher_methods[] = {
  MAKES(matcher, of_params),
  MAKES(matcher, of_grammar),
  MAKES(matcher, of_matcher),
  ARGUMENTS(matcher, take),
  ARGUMENTS(matcher, allows),
  NO_ARGUMENTS(matcher, get_allowed),
  NO_ARGUMENTS(matcher, get_forced),
  NO_ARGUMENTS(matcher, get_ends),
  {NULL, NULL, 0, NULL},
};

static PyMethodDef builder_methods[] = {
  MAKES(builder, begin),
  {"put_rule", builder_add_rule, METH_VARARGS, NULL},
  {"put_literal", builder_add_literal, METH_VARARGS, NULL},
  {"put_schema", builder_add_schema, METH_VARARGS, NULL},
  {"put_parser", builder_add_parser, METH_VARARGS, NULL},
  {NULL, NULL, 0, NULL},
};

static PyMethodDef grammar_methods[] = {
  MAKES(grammar, of_params),
  MAKES(grammar, of_matcher),
  MAKES(grammar, of_stream),
  MAKES(grammar, of_parser),
  MAKES(grammar, of_schema),
  MAKES(grammar, in_dialect),
  MAKES(grammar, of_builder),
  {"get_text", grammar_text, METH_NOARGS, NULL},
  NO_ARGUMENTS(grammar, get_report),
  {"check_text", grammar_check_text, METH_VARARGS | METH_STATIC, NULL},
  {NULL, NULL, 0, NULL},
};

int add_grammar(PyObject *module) {
  if (add_type(module, "chatparse._native.Grammar", &grammar_type, grammar_dealloc, grammar_methods) < 0) return -1;
  if (add_type(module, "chatparse._native.Matcher", &matcher_type, matcher_dealloc, matcher_methods) < 0) return -1;
  return add_type(module, "chatparse._native.GrammarBuilder", &builder_type, builder_dealloc, builder_methods);
}
