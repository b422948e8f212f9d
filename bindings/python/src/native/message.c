/* What a model said. */
#include "native.h"

PyTypeObject *message_type;

FREED_BY(message, chat_message_free)
MADE_TEXT(message, json)
MADE_TEXT(message, report_json)
MADE_TEXT(message, tree_json)
VIEW(message, content, chat_message_view(HANDLE(self))->content)
VIEW(message, reasoning, chat_message_view(HANDLE(self))->reasoning)

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
  return PyLong_FromUnsignedLong(chat_message_view(HANDLE(self))->outcome);
}

static PyObject *message_one_tool_call(PyObject *self, size_t index) {
  const chat_tool_call call = chat_message_view(HANDLE(self))->calls.data[index];
  const chat_call_report report = chat_message_report(HANDLE(self))->calls.data[index];
  return Py_BuildValue(
    "(NNNNNNI)", str_of(call.id), str_of(call.name), str_of(call.arguments), PyBool_FromLong(report.complete),
    PyBool_FromLong(report.known), PyBool_FromLong(report.valid), (unsigned)report.origin);
}
LISTED(message, tool_call, chat_message_view(HANDLE(self))->calls)

static PyObject *message_one_diagnostic(PyObject *self, size_t index) {
  const chat_diagnostic found = chat_message_report(HANDLE(self))->diagnostics.data[index];
  PyObject *call = found.call == SIZE_MAX ? Py_BuildValue("") : PyLong_FromSize_t(found.call);
  return Py_BuildValue(
    "(INnnN)", (unsigned)found.kind, call, (Py_ssize_t)found.span_begin, (Py_ssize_t)found.span_end, str_of(found.message));
}
LISTED(message, diagnostic, chat_message_report(HANDLE(self))->diagnostics)

static PyObject *message_one_part(PyObject *self, size_t index) {
  const chat_part part = chat_message_view(HANDLE(self))->parts.data[index];
  return Py_BuildValue(
    "(InNnn)", (unsigned)part.kind, (Py_ssize_t)part.call, str_of(part.text), (Py_ssize_t)part.span_begin, (Py_ssize_t)part.span_end);
}
LISTED(message, part, chat_message_view(HANDLE(self))->parts)

static PyObject *message_get_spans(PyObject *self, PyObject *arguments) {
  unsigned field;
  Py_ssize_t call;
  if (!PyArg_ParseTuple(arguments, "In", &field, &call)) return NULL;
  const size_t count = chat_message_spans(HANDLE(self), field, (size_t)call, NULL, 0);
  chat_span *spans = PyMem_Malloc((count + 1) * sizeof *spans);
  if (!spans) return PyErr_NoMemory();
  chat_message_spans(HANDLE(self), field, (size_t)call, spans, count);
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list && i < count; i++) {
    PyObject *made = Py_BuildValue("(nn)", (Py_ssize_t)spans[i].begin, (Py_ssize_t)spans[i].end);
    if (!made || PyList_SetItem(list, (Py_ssize_t)i, made) < 0) Py_CLEAR(list);
  }
  PyMem_Free(spans);
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
