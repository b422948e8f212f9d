/* Templates, and segments of what they render. */
#include "native.h"

PyTypeObject *template_type, *segments_type;

FREED_BY(template, chat_template_free)
MADE_TEXT(template, reader)
VIEW(template, source)

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

static PyObject *builtin_name(PyObject *module, size_t index) {
  (void)module;
  return str_of(chat_template_builtin_name(index));
}

static PyObject *template_builtin_names(PyObject *none, PyObject *nothing) {
  (void)nothing;
  return list_of(none, chat_template_builtin_count(), builtin_name);
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

static PyObject *segments_get_prompt(PyObject *self, PyObject *none) {
  (void)none;
  const chat_str prompt = chat_segments_prompt(HANDLE(self));
  return PyBytes_FromStringAndSize(prompt.data, (Py_ssize_t)prompt.len);
}

static PyObject *one_segment(PyObject *self, size_t index) {
  chat_segment segment;
  chat_error *error = NULL;
  const chat_status status = chat_segments_at(HANDLE(self), index, &segment, &error);
  if (status != CHAT_STATUS_OK) return fail(status, error);
  return Py_BuildValue(
    "(nnInN)", (Py_ssize_t)segment.begin, (Py_ssize_t)segment.end, (unsigned)segment.origin, (Py_ssize_t)segment.index,
    str_of(segment.path));
}

static PyObject *segments_all(PyObject *self, PyObject *none) {
  (void)none;
  return list_of(self, chat_segments_count(HANDLE(self)), one_segment);
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
  NO_ARGUMENTS(segments, get_prompt),
  NO_ARGUMENTS(segments, all),
  ARGUMENTS(segments, get_mask),
  {NULL, NULL, 0, NULL},
};

int add_template(PyObject *module) {
  if (add_type(module, "chatparse._native.Template", &template_type, template_dealloc, template_methods) < 0) return -1;
  return add_type(module, "chatparse._native.Segments", &segments_type, segments_dealloc, segments_methods);
}
