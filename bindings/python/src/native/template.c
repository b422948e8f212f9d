/* Templates, and segments of what they render. */
#include "native.h"

PyTypeObject *template_type, *segments_type;

FREED_BY(template, chat_template_free)
MADE_TEXT(template, reader)
VIEW(template, source, chat_template_source(HANDLE(self)))

static PyObject *template_compile(PyObject *type, PyObject *arguments) {
  Text source, options;
  if (!PyArg_ParseTuple(arguments, "O&O&", text_from, &source, text_from, &options)) return NULL;
  chat_template *made = NULL;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_template_with_options(source.data, source.len, options.data, options.len, &made, &error));
  text_done(&source);
  text_done(&options);
  return wrap(type, status, error, made);
}

static PyObject *template_from_builtin(PyObject *type, PyObject *arguments) {
  Text name;
  if (!PyArg_ParseTuple(arguments, "O&", text_from, &name)) return NULL;
  chat_template *made = NULL;
  chat_error *error = NULL;
  const chat_status status = chat_template_builtin(name.data, name.len, &made, &error);
  text_done(&name);
  return wrap(type, status, error, made);
}

static PyObject *template_load(PyObject *type, PyObject *arguments) {
  const char *data;
  Py_ssize_t len;
  if (!PyArg_ParseTuple(arguments, "y#", &data, &len)) return NULL;
  chat_template *made = NULL;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_template_from_bytes(data, (size_t)len, &made, &error));
  return wrap(type, status, error, made);
}

static PyObject *template_store(PyObject *self, PyObject *none) {
  (void)none;
  chat_str bytes;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_template_to_bytes(HANDLE(self), &bytes, &error));
  return status == CHAT_STATUS_OK ? PyBytes_FromStringAndSize(bytes.data, (Py_ssize_t)bytes.len) : fail(status, error);
}

static PyObject *builtin_name(PyObject *module, size_t index) {
  (void)module;
  return str_of(chat_template_builtins().data[index]);
}

static PyObject *template_builtin_names(PyObject *none, PyObject *nothing) {
  (void)nothing;
  return list_of(none, chat_template_builtins().len, builtin_name);
}

static PyObject *template_report(PyObject *self, PyObject *arguments) {
  unsigned int what;
  if (!PyArg_ParseTuple(arguments, "I", &what)) return NULL;
  chat_str text;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_template_report(HANDLE(self), what, &text, &error));
  return status == CHAT_STATUS_OK ? str_of(text) : fail(status, error);
}

static PyMethodDef template_methods[] = {
  MAKES(template, compile),
  MAKES(template, from_builtin),
  MAKES(template, load),
  NO_ARGUMENTS(template, store),
  {"builtin_names", template_builtin_names, METH_NOARGS | METH_STATIC, NULL},
  {"get_source", template_source, METH_NOARGS, NULL},
  {"get_reader", template_reader, METH_NOARGS, NULL},
  ARGUMENTS(template, report),
  {NULL, NULL, 0, NULL},
};

FREED_BY(segments, chat_segments_free)

static PyObject *segments_trace(PyObject *type, PyObject *arguments) {
  PyObject *template;
  Text request, options;
  if (!PyArg_ParseTuple(arguments, "O!O&O&", template_type, &template, text_from, &request, text_from, &options)) return NULL;
  chat_segments *made = NULL;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_segments_from_template(HANDLE(template), request.data, request.len, options.data, options.len, &made, &error));
  text_done(&request);
  text_done(&options);
  return wrap(type, status, error, made);
}

static PyObject *segments_trace_all(PyObject *type, PyObject *arguments) {
  PyObject *template, *requests;
  Text options;
  Py_ssize_t threads;
  if (!PyArg_ParseTuple(arguments, "O!O!O&n", template_type, &template, &PyTuple_Type, &requests, text_from, &options, &threads)) return NULL;
  const size_t count = (size_t)PyTuple_Size(requests);
  chat_str *texts = strs_from(requests);
  chat_segments **made = texts ? PyMem_Calloc(count + 1, sizeof *made) : NULL;
  PyObject *list = NULL;
  if (texts && !made) PyErr_NoMemory();
  if (made) {
    chat_error *error = NULL;
    chat_status status;
    UNLOCKED(chat_segments_batch(HANDLE(template), texts, count, options.data, options.len, (size_t)threads, made, &error));
    list = status == CHAT_STATUS_OK ? PyList_New((Py_ssize_t)count) : fail(status, error);
  }
  for (size_t i = 0; made && i < count; i++) {
    PyObject *one = list ? wrap(type, CHAT_STATUS_OK, NULL, made[i]) : NULL;
    if (!one) chat_segments_free(made[i]);
    if (list && (!one || PyList_SetItem(list, (Py_ssize_t)i, one) < 0)) Py_CLEAR(list);
  }
  PyMem_Free(made);
  PyMem_Free(texts);
  text_done(&options);
  return list;
}

static PyObject *segments_get_limit(PyObject *self, PyObject *none) {
  (void)none;
  return str_of(chat_segments_view(HANDLE(self))->limit);
}

/* The places of tokens, and behind them room for their labels; NULL with an exception where one is no pair of numbers. */
static chat_span *places_from(PyObject *list, size_t count) {
  chat_span *places = PyMem_Calloc(count + 1, sizeof *places + sizeof(chat_segment_token));
  if (!places) PyErr_NoMemory();
  for (size_t i = 0; places && i < count; i++) {
    PyObject *pair = PySequence_Tuple(PyList_GetItem(list, (Py_ssize_t)i));
    Py_ssize_t begin, end;
    const int read = pair && PyArg_ParseTuple(pair, "nn;a token's place is two numbers", &begin, &end);
    Py_XDECREF(pair);
    if (read) {
      places[i].begin = (size_t)begin;
      places[i].end = (size_t)end;
      continue;
    }
    PyMem_Free(places);
    return NULL;
  }
  return places;
}

static PyObject *segments_get_tokens(PyObject *self, PyObject *arguments) {
  PyObject *offsets;
  unsigned parts;
  int in_chars;
  if (!PyArg_ParseTuple(arguments, "OIp", &offsets, &parts, &in_chars)) return NULL;
  PyObject *list = PySequence_List(offsets);
  const size_t count = list ? (size_t)PyList_Size(list) : 0;
  chat_span *places = list ? places_from(list, count) : NULL;
  Py_XDECREF(list);
  if (!places) return NULL;
  chat_segment_token *tokens = (chat_segment_token *)(places + count);
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_segments_tokens(HANDLE(self), parts, places, count, in_chars != 0, tokens, &error));
  list = status == CHAT_STATUS_OK ? PyList_New((Py_ssize_t)count) : fail(status, error);
  for (size_t i = 0; list && i < count; i++) {
    PyObject *message = tokens[i].message == SIZE_MAX ? Py_BuildValue("") : PyLong_FromSize_t(tokens[i].message);
    PyObject *token = Py_BuildValue("(INN)", (unsigned)tokens[i].origin, message, PyBool_FromLong(tokens[i].sampled));
    if (!token || PyList_SetItem(list, (Py_ssize_t)i, token) < 0) Py_CLEAR(list);
  }
  PyMem_Free(places);
  return list;
}

static PyObject *segments_get_prompt(PyObject *self, PyObject *none) {
  (void)none;
  const chat_str prompt = chat_segments_view(HANDLE(self))->prompt;
  return PyBytes_FromStringAndSize(prompt.data, (Py_ssize_t)prompt.len);
}

static PyObject *one_segment(PyObject *self, size_t index) {
  const chat_segment segment = chat_segments_view(HANDLE(self))->segments.data[index];
  return Py_BuildValue(
    "(nnInN)", (Py_ssize_t)segment.begin, (Py_ssize_t)segment.end, (unsigned)segment.origin, (Py_ssize_t)segment.index,
    str_of(segment.path));
}

static PyObject *segments_all(PyObject *self, PyObject *none) {
  (void)none;
  return list_of(self, chat_segments_view(HANDLE(self))->segments.len, one_segment);
}

static PyObject *segments_get_mask(PyObject *self, PyObject *arguments) {
  unsigned parts;
  if (!PyArg_ParseTuple(arguments, "I", &parts)) return NULL;
  const size_t count = chat_segments_mask(HANDLE(self), parts, NULL, 0);
  chat_span *spans = PyMem_Malloc((count ? count : 1) * sizeof *spans);
  PyObject *list = spans ? PyList_New((Py_ssize_t)count) : PyErr_NoMemory();
  if (list) chat_segments_mask(HANDLE(self), parts, spans, count);
  for (size_t i = 0; list && i < count; i++) {
    PyObject *span = Py_BuildValue("(nn)", (Py_ssize_t)spans[i].begin, (Py_ssize_t)spans[i].end);
    if (!span || PyList_SetItem(list, (Py_ssize_t)i, span) < 0) Py_CLEAR(list);
  }
  PyMem_Free(spans);
  return list;
}

static PyMethodDef segments_methods[] = {
  MAKES(segments, trace),
  MAKES(segments, trace_all),
  NO_ARGUMENTS(segments, get_prompt),
  NO_ARGUMENTS(segments, all),
  ARGUMENTS(segments, get_mask),
  NO_ARGUMENTS(segments, get_limit),
  ARGUMENTS(segments, get_tokens),
  {NULL, NULL, 0, NULL},
};

int add_template(PyObject *module) {
  if (add_type(module, "chatparse._native.Template", &template_type, template_dealloc, template_methods) < 0) return -1;
  return add_type(module, "chatparse._native.Segments", &segments_type, segments_dealloc, segments_methods);
}
