/* What the files of this extension share. It is written to the limited API of CPython 3.10, so one build serves all later versions. */
#ifndef CHATPARSE_NATIVE_H
#define CHATPARSE_NATIVE_H

#define Py_LIMITED_API 0x030A0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <chatparse.h>
#include <chatparse/unstable.h>

/* An object of the library, freed with the Python object. Immutable ones are used without the interpreter's lock; streams and builders
 * only with it, so that they have one user at a time. */
typedef struct {
  PyObject_HEAD
  void *handle;
} Handle;

#define HANDLE(object) (((Handle *)(object))->handle)

extern PyTypeObject *template_type, *params_type, *parser_type, *segments_type, *grammar_type, *builder_type, *matcher_type, *message_type, *stream_type,
  *answer_type;

/* Make the types of a file, and put them into the module; -1 with an exception set where that fails. */
int add_template(PyObject *module);
int add_params(PyObject *module);
int add_grammar(PyObject *module);
int add_message(PyObject *module);
int add_stream(PyObject *module);
int add_answer(PyObject *module);
int add_conversation(PyObject *module);

/* Takes the classes of chatparse._types that errors and deltas are made of. */
int take_classes(void);

/* A class with these methods; also kept in `*place`. */
int add_type(PyObject *module, const char *name, PyTypeObject **place, destructor dealloc, PyMethodDef *methods);

/* Frees the memory of a Python object whose handle is freed. */
void release(PyObject *self);

/* A new object of a class, for a handle that a call has made; or the exception for the call's failure. */
PyObject *wrap(PyObject *type, chat_status status, chat_error *error, void *handle);

/* Raises what a call says that failed. Returns NULL. */
PyObject *fail(chat_status status, chat_error *error);

/* A text of the library, copied. */
PyObject *str_of(chat_str text);

/* A list with each of `count` things as a tuple or text of Python. */
PyObject *list_of(PyObject *self, size_t count, PyObject *(*element)(PyObject *self, size_t index));

/* The parse of a stream; NULL with an exception where it was closed. */
chat_stream *opened(PyObject *stream);

/* The kind of a delta as an enum, and a delta. */
PyObject *delta_of(const chat_delta *delta);

/* A text that came in, for "O&" with `text_from`: str as UTF-8, or bytes, bytearray or memoryview. */
typedef struct {
  const char *data;
  size_t len;
  PyObject *owner;
} Text;

int text_from(PyObject *object, void *text);
void text_done(Text *text);

/* The texts of a tuple; NULL with an exception where one is no str. They are the tuple's own. */
chat_str *strs_from(PyObject *tuple);

/* A call that takes long, without the interpreter's lock. */
#define UNLOCKED(call)     \
  do {                     \
    Py_BEGIN_ALLOW_THREADS \
    status = call;         \
    Py_END_ALLOW_THREADS   \
  } while (0)

#define FREED_BY(noun, free)                \
  static void noun##_dealloc(PyObject *self) { \
    free(HANDLE(self));                     \
    release(self);                          \
  }

/* Methods of an immutable object without arguments: a text that a call may have to make, and one that is there. */
#define MADE_TEXT(noun, name)                                             \
  static PyObject *noun##_##name(PyObject *self, PyObject *none) {        \
    chat_str text;                                                        \
    chat_error *error = NULL;                                             \
    chat_status status;                                                   \
    (void)none;                                                           \
    UNLOCKED(chat_##noun##_##name(HANDLE(self), &text, &error));          \
    return status == CHAT_STATUS_OK ? str_of(text) : fail(status, error); \
  }

#define VIEW(noun, name, text)                                     \
  static PyObject *noun##_##name(PyObject *self, PyObject *none) { \
    (void)none;                                                    \
    return str_of(text);                                           \
  }

/* A list, by what C has and a function `noun_one_name`. */
#define LISTED(noun, name, list)                                      \
  static PyObject *noun##_##name##s(PyObject *self, PyObject *none) { \
    (void)none;                                                       \
    return list_of(self, (list).len, noun##_one_##name);              \
  }

/* A list of texts. */
#define TEXTS(noun, name, list)                                      \
  static PyObject *noun##_one_##name(PyObject *self, size_t index) { \
    return str_of((list).data[index]);                               \
  }                                                                  \
  LISTED(noun, name, list)

#define NO_ARGUMENTS(noun, name) {#name, noun##_##name, METH_NOARGS, NULL}
#define ARGUMENTS(noun, name) {#name, noun##_##name, METH_VARARGS, NULL}
#define MAKES(noun, name) {#name, noun##_##name, METH_VARARGS | METH_CLASS, NULL}

#endif
