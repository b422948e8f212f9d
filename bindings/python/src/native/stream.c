/* A parse in progress. All of its calls keep the interpreter's lock, so they never meet in two threads; each costs about a microsecond for
 * a piece of some bytes, of which releasing the lock would be a good part. */
#include "native.h"

PyTypeObject *stream_type;

FREED_BY(stream, chat_stream_free)

chat_stream *opened(PyObject *self) {
  if (!HANDLE(self)) PyErr_SetString(PyExc_ValueError, "the stream is closed");
  return HANDLE(self);
}

/* The deltas of the last call, which are views into the stream. */
static PyObject *one_delta(PyObject *self, size_t index) {
  return delta_of(&chat_stream_view(HANDLE(self))->deltas.data[index]);
}

static PyObject *deltas(PyObject *self, chat_status status, chat_error *error) {
  if (status != CHAT_STATUS_OK) return fail(status, error);
  return list_of(self, chat_stream_view(HANDLE(self))->deltas.len, one_delta);
}

static PyObject *done(chat_status status, chat_error *error) {
  if (status != CHAT_STATUS_OK) return fail(status, error);
  Py_RETURN_NONE;
}

static PyObject *stream_begin(PyObject *type, PyObject *arguments) {
  PyObject *by;
  if (!PyArg_ParseTuple(arguments, "O", &by)) return NULL;
  chat_stream *made = NULL;
  chat_error *error = NULL;
  chat_status status;
  if (PyObject_TypeCheck(by, params_type)) {
    status = chat_stream_new(HANDLE(by), &made, &error);
  } else if (PyObject_TypeCheck(by, parser_type)) {
    status = chat_stream_from_parser(HANDLE(by), &made, &error);
  } else {
    return PyErr_SetString(PyExc_TypeError, "a stream is of params or of a parser"), NULL;
  }
  return wrap(type, status, error, made);
}

static PyObject *stream_clone(PyObject *self, PyObject *none) {
  chat_stream *made = NULL;
  chat_error *error = NULL;
  (void)none;
  if (!opened(self)) return NULL;
  const chat_status status = chat_stream_clone(HANDLE(self), &made, &error);
  return wrap((PyObject *)Py_TYPE(self), status, error, made);
}

static PyObject *stream_feed(PyObject *self, PyObject *piece) {
  Text text;
  if (!opened(self) || !text_from(piece, &text)) return NULL;
  chat_error *error = NULL;
  const chat_status status = chat_stream_feed(HANDLE(self), text.data, text.len, &error);
  text_done(&text);
  return deltas(self, status, error);
}

/* Pairs of numbers, of whatever can be walked through; NULL with an exception where they are none. */
static chat_span *spans_from(PyObject *pairs, size_t *count) {
  /* A list of our own, as the length that an object tells need not be true. */
  PyObject *list = PySequence_List(pairs);
  if (!list) return NULL;
  *count = (size_t)PyList_Size(list);
  chat_span *spans = PyMem_Malloc((*count ? *count : 1) * sizeof *spans);
  if (!spans) PyErr_NoMemory();
  for (size_t i = 0; spans && i < *count; i++) {
    PyObject *pair = PySequence_Tuple(PyList_GetItem(list, (Py_ssize_t)i));
    Py_ssize_t begin = 0, end = 0;
    const int fine = pair && PyArg_ParseTuple(pair, "nn;a span is its begin and its end", &begin, &end);
    Py_XDECREF(pair);
    if (fine && begin >= 0 && end >= 0) {
      spans[i] = (chat_span){(size_t)begin, (size_t)end};
      continue;
    }
    if (fine) PyErr_SetString(PyExc_ValueError, "a span begins or ends before the piece");
    PyMem_Free(spans);
    spans = NULL;
  }
  Py_DECREF(list);
  return spans;
}

static PyObject *stream_feed_marked(PyObject *self, PyObject *arguments) {
  Text piece;
  PyObject *pairs;
  if (!opened(self) || !PyArg_ParseTuple(arguments, "O&O", text_from, &piece, &pairs)) return NULL;
  size_t count = 0;
  chat_span *spans = spans_from(pairs, &count);
  if (!spans) {
    text_done(&piece);
    return NULL;
  }
  chat_error *error = NULL;
  /* Walking through the pairs ran code, which may have closed the stream: then the library refuses. */
  const chat_status status = chat_stream_feed_marked(HANDLE(self), piece.data, piece.len, spans, count, &error);
  PyMem_Free(spans);
  text_done(&piece);
  return deltas(self, status, error);
}

static PyObject *stream_put_special_tokens(PyObject *self, PyObject *arguments) {
  PyObject *list;
  if (!opened(self) || !PyArg_ParseTuple(arguments, "O!", &PyTuple_Type, &list)) return NULL;
  chat_str *tokens = strs_from(list);
  if (!tokens) return NULL;
  chat_error *error = NULL;
  const chat_status status = chat_stream_set_special_tokens(HANDLE(self), tokens, (size_t)PyTuple_Size(list), &error);
  PyMem_Free(tokens);
  return done(status, error);
}

static PyObject *stream_end(PyObject *self, PyObject *arguments) {
  unsigned flags;
  if (!opened(self) || !PyArg_ParseTuple(arguments, "I", &flags)) return NULL;
  chat_error *error = NULL;
  const chat_status status = chat_stream_finish(HANDLE(self), flags, &error);
  return deltas(self, status, error);
}

static PyObject *stream_put_checkpoint(PyObject *self, PyObject *none) {
  chat_error *error = NULL;
  (void)none;
  if (!opened(self)) return NULL;
  const chat_status status = chat_stream_checkpoint(HANDLE(self), &error);
  return done(status, error);
}

static PyObject *stream_go_back(PyObject *self, PyObject *arguments) {
  Py_ssize_t length;
  if (!opened(self) || !PyArg_ParseTuple(arguments, "n", &length)) return NULL;
  chat_error *error = NULL;
  const chat_status status = chat_stream_rollback(HANDLE(self), (size_t)length, &error);
  return deltas(self, status, error);
}

static PyObject *stream_put_budget(PyObject *self, PyObject *arguments) {
  unsigned long long base, per_byte;
  if (!opened(self) || !PyArg_ParseTuple(arguments, "KK", &base, &per_byte)) return NULL;
  chat_error *error = NULL;
  const chat_status status = chat_stream_set_budget(HANDLE(self), base, per_byte, &error);
  return done(status, error);
}

static PyObject *stream_begin_again(PyObject *self, PyObject *none) {
  chat_error *error = NULL;
  (void)none;
  if (!opened(self)) return NULL;
  const chat_status status = chat_stream_reset(HANDLE(self), &error);
  return done(status, error);
}

static PyObject *stream_get_work(PyObject *self, PyObject *none) {
  (void)none;
  return opened(self) ? PyLong_FromUnsignedLongLong(chat_stream_view(HANDLE(self))->work) : NULL;
}

static PyObject *stream_get_outcome(PyObject *self, PyObject *none) {
  (void)none;
  return opened(self) ? PyLong_FromUnsignedLong(chat_stream_view(HANDLE(self))->outcome) : NULL;
}

static PyObject *stream_get_pending(PyObject *self, PyObject *none) {
  (void)none;
  if (!opened(self)) return NULL;
  const chat_str bytes = chat_stream_view(HANDLE(self))->pending;
  return PyBytes_FromStringAndSize(bytes.data, (Py_ssize_t)bytes.len);
}

static PyObject *said(PyObject *self, chat_status (*say)(chat_stream *, chat_str *, chat_error **)) {
  chat_str text;
  chat_error *error = NULL;
  if (!opened(self)) return NULL;
  const chat_status status = say(HANDLE(self), &text, &error);
  return status == CHAT_STATUS_OK ? str_of(text) : fail(status, error);
}

static PyObject *stream_chunk_json(PyObject *self, PyObject *none) {
  (void)none;
  return said(self, chat_stream_chunk_json);
}

static PyObject *stream_state_json(PyObject *self, PyObject *none) {
  (void)none;
  return said(self, chat_stream_state_json);
}

static PyObject *stream_schema_json(PyObject *self, PyObject *none) {
  (void)none;
  return said(self, chat_stream_schema_json);
}

static PyObject *stream_close_json(PyObject *self, PyObject *none) {
  (void)none;
  return said(self, chat_stream_close_json);
}

static PyObject *stream_free_now(PyObject *self, PyObject *none) {
  (void)none;
  chat_stream_free(HANDLE(self));
  HANDLE(self) = NULL;
  Py_RETURN_NONE;
}

static PyMethodDef stream_methods[] = {
  MAKES(stream, begin),
  {"feed", stream_feed, METH_O,
   "feed(piece, /)\n--\n\nTakes the next piece of the output, str or bytes; bytes may be cut anywhere, also inside a character. Returns a\n"
   "list of what it adds to the message. What a model writes is never an error."},
  {"feed_marked", stream_feed_marked, METH_VARARGS,
   "feed_marked(piece, spans, /)\n--\n\nAs `feed`, where it is known which bytes came from special tokens: `spans`, pairs of positions in the\n"
   "piece (as UTF-8). A marker that is a special token counts only where it came as one. `set_special_tokens` comes first."},
  {"clone", stream_clone, METH_NOARGS, "clone()\n--\n\nA second stream in the same state; the two then go their own ways."},
  NO_ARGUMENTS(stream, put_checkpoint),
  NO_ARGUMENTS(stream, begin_again),
  NO_ARGUMENTS(stream, get_work),
  NO_ARGUMENTS(stream, get_outcome),
  NO_ARGUMENTS(stream, get_pending),
  NO_ARGUMENTS(stream, chunk_json),
  NO_ARGUMENTS(stream, state_json),
  NO_ARGUMENTS(stream, schema_json),
  NO_ARGUMENTS(stream, close_json),
  NO_ARGUMENTS(stream, free_now),
  ARGUMENTS(stream, put_special_tokens),
  ARGUMENTS(stream, end),
  ARGUMENTS(stream, go_back),
  ARGUMENTS(stream, put_budget),
  {NULL, NULL, 0, NULL},
};

int add_stream(PyObject *module) {
  return add_type(module, "chatparse._native.Stream", &stream_type, stream_dealloc, stream_methods);
}
