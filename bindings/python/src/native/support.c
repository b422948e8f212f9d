/* Texts, errors and handles, between Python and the library. */
#include "native.h"

static PyObject *errors;      /* Status, a number, to its class. */
static PyObject *delta_class; /* A NamedTuple. */
static PyObject *kinds[13];   /* Of deltas: what later versions add, the texts and ends, and those withdrawn. */

static PyObject *kind_of(chat_delta_kind kind) {
  if (kind <= CHAT_DELTA_KIND_TOOL_END) return kinds[kind];
  if (kind >= CHAT_DELTA_KIND_REASONING_WITHDRAWN && kind <= CHAT_DELTA_KIND_TOOL_END_WITHDRAWN)
    return kinds[kind - CHAT_DELTA_KIND_REASONING_WITHDRAWN + CHAT_DELTA_KIND_TOOL_END + 1];
  return kinds[0];
}

int take_classes(void) {
  PyObject *types = PyImport_ImportModule("chatparse._types");
  if (!types) return -1;
  PyObject *kind_class = PyObject_GetAttrString(types, "DeltaKind");
  errors = PyObject_GetAttrString(types, "ERRORS");
  delta_class = PyObject_GetAttrString(types, "Delta");
  Py_DECREF(types);
  if (!kind_class || !errors || !delta_class) {
    Py_XDECREF(kind_class);
    return -1;
  }
  for (int i = 0; i < 13; i++) {
    const int number = i <= CHAT_DELTA_KIND_TOOL_END ? i : i - CHAT_DELTA_KIND_TOOL_END - 1 + CHAT_DELTA_KIND_REASONING_WITHDRAWN;
    kinds[i] = PyObject_CallFunction(kind_class, "i", number);
    if (!kinds[i]) break;
  }
  Py_DECREF(kind_class);
  return kinds[12] ? 0 : -1;
}

PyObject *delta_of(const chat_delta *delta) {
  PyObject *fields = Py_BuildValue(
    "(OnNnn)", kind_of(delta->kind), (Py_ssize_t)delta->call, str_of(delta->text), (Py_ssize_t)delta->span_begin,
    (Py_ssize_t)delta->span_end);
  if (!fields) return NULL;
  /* As the class would, but for its function in Python. */
  PyObject *arguments = PyTuple_Pack(1, fields);
  Py_DECREF(fields);
  if (!arguments) return NULL;
  const newfunc make = (newfunc)PyType_GetSlot(&PyTuple_Type, Py_tp_new);
  PyObject *made = make((PyTypeObject *)delta_class, arguments, NULL);
  Py_DECREF(arguments);
  return made;
}

int add_type(PyObject *module, const char *name, PyTypeObject **place, destructor dealloc, PyMethodDef *methods) {
  PyType_Slot slots[] = {{Py_tp_dealloc, (void *)dealloc}, {Py_tp_methods, methods}, {0, NULL}};
  PyType_Spec spec = {name, sizeof(Handle), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  PyObject *type = PyType_FromSpec(&spec);
  if (!type) return -1;
  *place = (PyTypeObject *)type;
  return PyModule_AddType(module, *place);
}

void release(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyObject *wrap(PyObject *type, chat_status status, chat_error *error, void *handle) {
  if (status != CHAT_STATUS_OK) return fail(status, error);
  PyObject *made = ((allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc))((PyTypeObject *)type, 0);
  if (made) HANDLE(made) = handle;
  return made;
}

/* What an HTTP server answers with: the code, and the body in the form of each API. */
static int set_http(PyObject *raised, const chat_error *error) {
  PyObject *code = PyLong_FromUnsignedLong(chat_error_http_status(error));
  PyObject *bodies = Py_BuildValue(
    "(NNN)", str_of(chat_error_body(error, CHAT_API_CHAT_COMPLETIONS)), str_of(chat_error_body(error, CHAT_API_RESPONSES)),
    str_of(chat_error_body(error, CHAT_API_MESSAGES)));
  const int set = code && bodies && PyObject_SetAttrString(raised, "http_status", code) == 0 &&
                  PyObject_SetAttrString(raised, "_bodies", bodies) == 0;
  Py_XDECREF(code);
  Py_XDECREF(bodies);
  return set;
}

PyObject *fail(chat_status status, chat_error *error) {
  /* One that a later version has counts as the first of its hundred, as the header says. */
  PyObject *number = PyLong_FromUnsignedLong(status / 100 * 100);
  PyObject *class = number ? PyDict_GetItemWithError(errors, number) : NULL;
  Py_XDECREF(number);
  if (!class) class = PyExc_RuntimeError;
  PyObject *raised = PyErr_Occurred() ? NULL : PyObject_CallFunction(class, "N", str_of(chat_error_message(error)));
  if (raised && set_http(raised, error)) PyErr_SetObject(class, raised);
  Py_XDECREF(raised);
  chat_error_free(error);
  return NULL;
}

PyObject *str_of(chat_str text) { return PyUnicode_FromStringAndSize(text.data, (Py_ssize_t)text.len); }

PyObject *list_of(PyObject *self, size_t count, PyObject *(*element)(PyObject *self, size_t index)) {
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list && i < count; i++) {
    PyObject *made = element(self, i);
    if (!made || PyList_SetItem(list, (Py_ssize_t)i, made) < 0) {
      Py_DECREF(list);
      return NULL;
    }
  }
  return list;
}

int text_from(PyObject *object, void *out) {
  Text *text = out;
  if (!object) {
    text_done(text);
    return 1;
  }
  Py_ssize_t len = 0;
  text->owner = NULL;
  if (PyUnicode_Check(object)) {
    text->data = PyUnicode_AsUTF8AndSize(object, &len);
  } else {
    char *data = NULL;
    if (PyBytes_Check(object)) {
      PyBytes_AsStringAndSize(object, &data, &len);
    } else if (PyObject_TypeCheck(object, &PyByteArray_Type) || PyObject_TypeCheck(object, &PyMemoryView_Type)) {
      /* A copy, as somebody may change it. */
      text->owner = PyBytes_FromObject(object);
      if (text->owner) PyBytes_AsStringAndSize(text->owner, &data, &len);
    } else {
      PyErr_SetString(PyExc_TypeError, "a text must be str or bytes");
    }
    text->data = data;
  }
  text->len = (size_t)len;
  return text->data ? Py_CLEANUP_SUPPORTED : 0;
}

void text_done(Text *text) { Py_CLEAR(text->owner); }

chat_str *strs_from(PyObject *tuple) {
  const Py_ssize_t count = PyTuple_Size(tuple);
  chat_str *texts = PyMem_Calloc((size_t)count + 1, sizeof *texts);
  if (!texts) PyErr_NoMemory();
  for (Py_ssize_t i = 0; texts && i < count; i++) {
    Py_ssize_t len = 0;
    texts[i].data = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, i), &len);
    texts[i].len = (size_t)len;
    if (texts[i].data) continue;
    PyMem_Free(texts);
    return NULL;
  }
  return texts;
}
