/* The module `chatparse._native`: the C library as Python objects. It decides nothing; the package beside it says what is what. */
#include "native.h"

static PyObject *version(PyObject *module, PyObject *none) {
  (void)module, (void)none;
  return PyUnicode_FromString(chat_version());
}

static PyObject *schema_allows_string(PyObject *module, PyObject *arguments) {
  Text schema;
  (void)module;
  if (!PyArg_ParseTuple(arguments, "O&", text_from, &schema)) return NULL;
  bool allows = false;
  chat_error *error = NULL;
  const chat_status status = chat_schema_allows_string(schema.data, schema.len, &allows, &error);
  text_done(&schema);
  return status == CHAT_STATUS_OK ? PyBool_FromLong(allows) : fail(status, error);
}

static PyMethodDef functions[] = {
  {"version", version, METH_NOARGS, NULL},
  {"schema_allows_string", schema_allows_string, METH_VARARGS, NULL},
  {NULL, NULL, 0, NULL},
};

/* Its types are those of one interpreter, which -1 says. */
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "chatparse._native", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) {
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  if (take_classes() < 0 || add_template(module) < 0 || add_params(module) < 0 || add_grammar(module) < 0 || add_message(module) < 0 ||
      add_stream(module) < 0 || add_answer(module) < 0 || add_conversation(module) < 0) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
