/* What a model said. */
#include "native.h"

PyTypeObject *message_type;

FREED_BY(message, chat_message_free)
MADE_TEXT(message, json)
MADE_TEXT(message, report_json)
MADE_TEXT(message, tree_json)
VIEW(message, content)
VIEW(message, reasoning)

static PyObject *message_of_stream(PyObject *type, PyObject *arguments) {
  PyObject *stream;
  if (!PyArg_ParseTuple(arguments, "O!", stream_type, &stream)) return NULL;
  if (!opened(stream)) return NULL;
  chat_message *made = NULL;
  chat_error *error = NULL;
  /* With the interpreter's lock, as nobody may feed the stream meanwhile. */
  const chat_status status = chat_stream_message(HANDLE(stream), &made, &error);
  return wrap(type, status, error, made);
}

/* Of the tagged parts of a text, by a parser. */
static PyObject *message_of_tags(PyObject *type, PyObject *arguments) {
  PyObject *parser;
  Text text;
  Py_ssize_t begin;
  unsigned flags;
  if (!PyArg_ParseTuple(arguments, "O!O&nI", parser_type, &parser, text_from, &text, &begin, &flags)) return NULL;
  chat_message *made = NULL;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_parser_tagged(HANDLE(parser), text.data, text.len, (size_t)begin, flags, &made, &error));
  text_done(&text);
  return wrap(type, status, error, made);
}

/* Of an output that is there, by params or by a parser. */
static PyObject *message_parse(PyObject *type, PyObject *arguments) {
  PyObject *by;
  Text output;
  unsigned flags;
  if (!PyArg_ParseTuple(arguments, "OO&I", &by, text_from, &output, &flags)) return NULL;
  const int by_params = PyObject_TypeCheck(by, params_type);
  if (!by_params && !PyObject_TypeCheck(by, parser_type)) {
    text_done(&output);
    return PyErr_SetString(PyExc_TypeError, "only params and parsers parse"), NULL;
  }
  chat_message *made = NULL;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(by_params ? chat_parse_partial(HANDLE(by), output.data, output.len, flags, &made, &error)
                     : chat_parser_parse(HANDLE(by), output.data, output.len, flags, &made, &error));
  text_done(&output);
  return wrap(type, status, error, made);
}

static PyObject *message_get_outcome(PyObject *self, PyObject *none) {
  (void)none;
  return PyLong_FromUnsignedLong(chat_message_outcome(HANDLE(self)));
}

static PyObject *message_one_tool_call(PyObject *self, size_t index) {
  const chat_message *message = HANDLE(self);
  return Py_BuildValue(
    "(NNNNNNI)", str_of(chat_message_tool_call_id(message, index)), str_of(chat_message_tool_call_name(message, index)),
    str_of(chat_message_tool_call_arguments(message, index)), PyBool_FromLong(chat_message_tool_call_complete(message, index)),
    PyBool_FromLong(chat_message_tool_call_known(message, index)), PyBool_FromLong(chat_message_tool_call_valid(message, index)),
    (unsigned)chat_message_tool_call_origin(message, index));
}
LISTED(message, tool_call)

static PyObject *message_one_diagnostic(PyObject *self, size_t index) {
  chat_diagnostic found;
  chat_error *error = NULL;
  const chat_status status = chat_message_diagnostic(HANDLE(self), index, &found, &error);
  if (status != CHAT_STATUS_OK) return fail(status, error);
  PyObject *call = found.call == SIZE_MAX ? Py_BuildValue("") : PyLong_FromSize_t(found.call);
  return Py_BuildValue(
    "(INnnN)", (unsigned)found.kind, call, (Py_ssize_t)found.span_begin, (Py_ssize_t)found.span_end, str_of(found.message));
}
LISTED(message, diagnostic)

static PyObject *message_one_part(PyObject *self, size_t index) {
  chat_part part;
  chat_error *error = NULL;
  const chat_status status = chat_message_part(HANDLE(self), index, &part, &error);
  if (status != CHAT_STATUS_OK) return fail(status, error);
  return Py_BuildValue(
    "(InNnn)", (unsigned)part.kind, (Py_ssize_t)part.call, str_of(part.text), (Py_ssize_t)part.span_begin, (Py_ssize_t)part.span_end);
}
LISTED(message, part)

static PyObject *message_get_spans(PyObject *self, PyObject *arguments) {
  unsigned field;
  Py_ssize_t call;
  if (!PyArg_ParseTuple(arguments, "In", &field, &call)) return NULL;
  const size_t count = chat_message_span_count(HANDLE(self), field, (size_t)call);
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list && i < count; i++) {
    chat_span span;
    chat_error *error = NULL;
    const chat_status status = chat_message_span(HANDLE(self), field, (size_t)call, i, &span, &error);
    PyObject *made = status == CHAT_STATUS_OK ? Py_BuildValue("(nn)", (Py_ssize_t)span.begin, (Py_ssize_t)span.end)
                                              : fail(status, error);
    if (!made || PyList_SetItem(list, (Py_ssize_t)i, made) < 0) Py_CLEAR(list);
  }
  return list;
}

static PyMethodDef message_methods[] = {
  MAKES(message, of_stream),
  MAKES(message, of_tags),
  MAKES(message, parse),
  {"get_content", message_content, METH_NOARGS, NULL},
  {"get_reasoning", message_reasoning, METH_NOARGS, NULL},
  {"get_tool_calls", message_tool_calls, METH_NOARGS, NULL},
  {"get_diagnostics", message_diagnostics, METH_NOARGS, NULL},
  {"get_parts", message_parts, METH_NOARGS, NULL},
  NO_ARGUMENTS(message, get_outcome),
  {"json", message_json, METH_NOARGS, "json()\n--\n\nAll of it as JSON text."},
  NO_ARGUMENTS(message, report_json),
  NO_ARGUMENTS(message, tree_json),
  ARGUMENTS(message, get_spans),
  {NULL, NULL, 0, NULL},
};

int add_message(PyObject *module) {
  return add_type(module, "chatparse._native.Message", &message_type, message_dealloc, message_methods);
}
