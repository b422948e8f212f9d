/* Answers as servers send them. The interpreter's lock stays with an answer's calls: it has one user at a time. */
#include "native.h"

PyTypeObject *answer_type;

FREED_BY(answer, chat_answer_free)

static PyObject *one_event(PyObject *self, size_t index) {
  const chat_event event = chat_answer_view(HANDLE(self))->events.data[index];
  return Py_BuildValue("(NN)", str_of(event.name), str_of(event.data));
}

/* The events that a call has made. */
static PyObject *events(PyObject *self, chat_status status, chat_error *error) {
  if (status != CHAT_STATUS_OK) return fail(status, error);
  return list_of(self, chat_answer_view(HANDLE(self))->events.len, one_event);
}

static PyObject *answer_of_request(PyObject *type, PyObject *arguments) {
  unsigned api;
  Text request, options;
  if (!PyArg_ParseTuple(arguments, "IO&O&", &api, text_from, &request, text_from, &options)) return NULL;
  chat_answer *made = NULL;
  chat_error *error = NULL;
  const chat_status status = chat_answer_new(api, request.data, request.len, options.data, options.len, &made, &error);
  text_done(&request);
  text_done(&options);
  return wrap(type, status, error, made);
}
VIEW(answer, request, chat_answer_view(HANDLE(self))->request)
VIEW(answer, stopped, chat_answer_view(HANDLE(self))->stopped)

static PyObject *answer_put_token(PyObject *self, PyObject *arguments) {
  Py_ssize_t begin, end;
  Text entry;
  if (!PyArg_ParseTuple(arguments, "nnO&", &begin, &end, text_from, &entry)) return NULL;
  chat_error *error = NULL;
  const chat_status status = chat_answer_token(HANDLE(self), (size_t)begin, (size_t)end, entry.data, entry.len, &error);
  text_done(&entry);
  if (status != CHAT_STATUS_OK) return fail(status, error);
  Py_RETURN_NONE;
}

static PyObject *answer_put_begin(PyObject *self, PyObject *arguments) {
  unsigned long long tokens;
  if (!PyArg_ParseTuple(arguments, "K", &tokens)) return NULL;
  chat_error *error = NULL;
  const chat_status status = chat_answer_begin(HANDLE(self), tokens, &error);
  return events(self, status, error);
}

static PyObject *answer_put_deltas(PyObject *self, PyObject *arguments) {
  PyObject *stream;
  if (!PyArg_ParseTuple(arguments, "O!", stream_type, &stream) || !opened(stream)) return NULL;
  chat_error *error = NULL;
  const chat_status status = chat_answer_deltas(HANDLE(self), HANDLE(stream), &error);
  return events(self, status, error);
}

static PyObject *answer_put_finish(PyObject *self, PyObject *arguments) {
  PyObject *message;
  Text end;
  if (!PyArg_ParseTuple(arguments, "O!O&", message_type, &message, text_from, &end)) return NULL;
  chat_error *error = NULL;
  const chat_status status = chat_answer_finish(HANDLE(self), HANDLE(message), end.data, end.len, &error);
  text_done(&end);
  return events(self, status, error);
}

static PyObject *answer_put_failure(PyObject *self, PyObject *arguments) {
  unsigned http_status;
  Text reason;
  if (!PyArg_ParseTuple(arguments, "IO&", &http_status, text_from, &reason)) return NULL;
  chat_error *error = NULL;
  const chat_status status = chat_answer_fail(HANDLE(self), http_status, reason.data, reason.len, &error);
  text_done(&reason);
  return events(self, status, error);
}

static PyObject *answer_put_ping(PyObject *self, PyObject *none) {
  chat_error *error = NULL;
  (void)none;
  const chat_status status = chat_answer_ping(HANDLE(self), &error);
  return events(self, status, error);
}

static PyObject *answer_sse_text(PyObject *self, PyObject *none) {
  chat_str text;
  chat_error *error = NULL;
  (void)none;
  const chat_status status = chat_answer_sse(HANDLE(self), &text, &error);
  return status == CHAT_STATUS_OK ? str_of(text) : fail(status, error);
}

static PyObject *answer_body_json(PyObject *self, PyObject *arguments) {
  PyObject *message;
  Text end;
  if (!PyArg_ParseTuple(arguments, "O!O&", message_type, &message, text_from, &end)) return NULL;
  chat_str body;
  chat_error *error = NULL;
  const chat_status status = chat_answer_body(HANDLE(self), HANDLE(message), end.data, end.len, &body, &error);
  text_done(&end);
  return status == CHAT_STATUS_OK ? str_of(body) : fail(status, error);
}

static PyMethodDef answer_methods[] = {
  MAKES(answer, of_request),
  {"get_request", answer_request, METH_NOARGS, NULL},
  {"get_stopped", answer_stopped, METH_NOARGS, NULL},
  ARGUMENTS(answer, put_token),
  ARGUMENTS(answer, put_begin),
  ARGUMENTS(answer, put_deltas),
  ARGUMENTS(answer, put_finish),
  ARGUMENTS(answer, put_failure),
  NO_ARGUMENTS(answer, put_ping),
  NO_ARGUMENTS(answer, sse_text),
  ARGUMENTS(answer, body_json),
  {NULL, NULL, 0, NULL},
};

int add_answer(PyObject *module) {
  return add_type(module, "chatparse._native.Answer", &answer_type, answer_dealloc, answer_methods);
}
