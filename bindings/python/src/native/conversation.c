/* Conversations in token ids. What a tokenizer is asked for is Python, so it takes the interpreter's lock; all else of a call goes without. */
#include "native.h"

#include <stdlib.h>

static PyTypeObject *conversation_type;

/* What a handle points to: a conversation has one user at a time, and its calls do not keep the lock. */
typedef struct {
  chat_conversation *one;
  int busy;
} Held;

#define HELD(object) ((Held *)HANDLE(object))

/* The functions of a tokenizer. */
typedef struct {
  PyObject *encode, *token_bytes;
} Asked;

static void conversation_dealloc(PyObject *self) {
  if (HELD(self)) chat_conversation_free(HELD(self)->one);
  PyMem_Free(HELD(self));
  release(self);
}

/* The conversation, for the caller alone until `done`; NULL with an exception where another call is at it. */
static chat_conversation *taken(PyObject *self) {
  if (HELD(self)->busy) {
    PyErr_SetString(PyExc_RuntimeError, "the conversation is in use: threads need a fork each");
    return NULL;
  }
  HELD(self)->busy = 1;
  return HELD(self)->one;
}

static void give_back(PyObject *self) { HELD(self)->busy = 0; }

static PyObject *wrapped(PyObject *type, chat_status status, chat_error *error, chat_conversation *one) {
  /* A function of the tokenizer may have raised. */
  if (status != CHAT_STATUS_OK || PyErr_Occurred()) return fail(status, error);
  Held *held = PyMem_Calloc(1, sizeof *held);
  if (held) held->one = one;
  PyObject *made = held ? wrap(type, status, error, held) : PyErr_NoMemory();
  if (!made) {
    chat_conversation_free(one);
    PyMem_Free(held);
  }
  return made;
}

static int put_ids(PyObject *list, chat_token_sink *sink) {
  PyObject *walked = PySequence_List(list);
  if (!walked) return 0;
  const Py_ssize_t count = PyList_Size(walked);
  int fine = 1;
  for (Py_ssize_t i = 0; fine && i < count; i++) {
    const unsigned long id = PyLong_AsUnsignedLong(PyList_GetItem(walked, i));
    if (id == (unsigned long)-1 && PyErr_Occurred()) fine = 0;
    const uint32_t one = (uint32_t)id;
    if (fine && one != id) fine = 0, PyErr_SetString(PyExc_ValueError, "a token id is too large");
    if (fine) chat_token_sink_ids(sink, &one, 1);
  }
  Py_DECREF(walked);
  return fine;
}

static bool encode(void *user, const char *text, size_t len, chat_token_sink *sink) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *answer = PyErr_Occurred() ? NULL : PyObject_CallFunction(((Asked *)user)->encode, "s#", text, (Py_ssize_t)len);
  const bool fine = answer && put_ids(answer, sink);
  Py_XDECREF(answer);
  PyGILState_Release(state);
  return fine;
}

static bool token_bytes(void *user, uint32_t id, chat_token_sink *sink) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *answer = PyErr_Occurred() ? NULL : PyObject_CallFunction(((Asked *)user)->token_bytes, "k", (unsigned long)id);
  char *data = NULL;
  Py_ssize_t len = 0;
  const bool fine = answer && PyBytes_AsStringAndSize(answer, &data, &len) == 0;
  if (fine) chat_token_sink_bytes(sink, data, (size_t)len);
  Py_XDECREF(answer);
  PyGILState_Release(state);
  return fine;
}

static void let_go(void *user) {
  const PyGILState_STATE state = PyGILState_Ensure();
  Asked *asked = user;
  Py_XDECREF(asked->encode);
  Py_XDECREF(asked->token_bytes);
  PyMem_Free(asked);
  PyGILState_Release(state);
}

/* The special tokens: a tuple of (text, id, strips_left, strips_right). */
static chat_special_token *special_of(PyObject *tuple) {
  const Py_ssize_t count = PyTuple_Size(tuple);
  chat_special_token *tokens = PyMem_Calloc((size_t)count + 1, sizeof *tokens);
  if (!tokens) PyErr_NoMemory();
  for (Py_ssize_t i = 0; tokens && i < count; i++) {
    unsigned int id;
    int left, right;
    Py_ssize_t len;
    if (!PyArg_ParseTuple(PyTuple_GetItem(tuple, i), "s#Ipp", &tokens[i].text.data, &len, &id, &left, &right)) {
      PyMem_Free(tokens);
      return NULL;
    }
    tokens[i].text.len = (size_t)len;
    tokens[i].id = id, tokens[i].strips_left = left, tokens[i].strips_right = right;
  }
  return tokens;
}

static PyObject *conversation_open(PyObject *type, PyObject *arguments) {
  PyObject *template, *encoder, *bytes, *special;
  Text request = {0}, options = {0};
  if (!PyArg_ParseTuple(
        arguments, "O!OOO!O&O&", template_type, &template, &encoder, &bytes, &PyTuple_Type, &special, text_from, &request, text_from, &options))
    return NULL;
  chat_conversation *made = NULL;
  chat_error *error = NULL;
  chat_status status = CHAT_STATUS_INTERNAL;
  chat_special_token *tokens = special_of(special);
  Asked *asked = tokens ? PyMem_Calloc(1, sizeof *asked) : NULL;
  if (asked) {
    asked->encode = Py_NewRef(encoder);
    asked->token_bytes = Py_NewRef(bytes);
    const chat_tokenizer tokenizer = {asked, encode, token_bytes, let_go, tokens, (size_t)PyTuple_Size(special)};
    UNLOCKED(chat_conversation_new(HANDLE(template), &tokenizer, request.data, request.len, options.data, options.len, &made, &error));
  } else if (!PyErr_Occurred()) {
    PyErr_NoMemory();
  }
  PyMem_Free(tokens);
  text_done(&request);
  text_done(&options);
  return wrapped(type, status, error, made);
}

static PyObject *conversation_fork(PyObject *self, PyObject *none) {
  chat_conversation *made = NULL, *one = taken(self);
  chat_error *error = NULL;
  (void)none;
  if (!one) return NULL;
  /* With the lock, so that several threads may fork the same one. */
  const chat_status status = chat_conversation_clone(one, &made, &error);
  give_back(self);
  return wrapped((PyObject *)Py_TYPE(self), status, error, made);
}

static PyObject *ids_of(const chat_conversation *one, size_t from) {
  const chat_id_list ids = chat_conversation_view(one)->ids;
  if (from > ids.len) from = ids.len;
  PyObject *list = PyList_New((Py_ssize_t)(ids.len - from));
  for (size_t i = from; list && i < ids.len; i++) {
    PyObject *id = PyLong_FromUnsignedLong(ids.data[i]);
    if (!id || PyList_SetItem(list, (Py_ssize_t)(i - from), id) < 0) Py_CLEAR(list);
  }
  return list;
}

/* What a call gives: ends the use of the conversation, and raises what the tokenizer or the library says. */
static PyObject *told(PyObject *self, chat_status status, chat_error *error, PyObject *(*tell)(PyObject *self)) {
  give_back(self);
  if (status != CHAT_STATUS_OK || PyErr_Occurred()) return fail(status, error);
  return tell(self);
}

static PyObject *tell_ids(PyObject *self) { return ids_of(HELD(self)->one, 0); }

static PyObject *conversation_put_prompt(PyObject *self, PyObject *messages) {
  Text text;
  if (!text_from(messages, &text)) return NULL;
  chat_conversation *one = taken(self);
  chat_error *error = NULL;
  chat_status status = CHAT_STATUS_OK;
  if (one) UNLOCKED(chat_conversation_prompt(one, text.data, text.len, &error));
  text_done(&text);
  return one ? told(self, status, error, tell_ids) : NULL;
}

static PyObject *one_delta(PyObject *self, size_t index) {
  return delta_of(&chat_conversation_view(HELD(self)->one)->deltas.data[index]);
}

static PyObject *tell_deltas(PyObject *self) {
  PyObject *deltas = list_of(self, chat_conversation_view(HELD(self)->one)->deltas.len, one_delta);
  return deltas ? Py_BuildValue("(NN)", deltas, PyBool_FromLong(chat_conversation_view(HELD(self)->one)->ended)) : NULL;
}

/* Numbers of whatever can be walked through: `count` of them in `*ids`, or in `*floats` if that is given. */
static int numbers_from(PyObject *object, size_t *count, uint32_t **ids, float **floats) {
  PyObject *list = PySequence_List(object);
  if (!list) return 0;
  *count = (size_t)PyList_Size(list);
  void *room = PyMem_Malloc((*count + 1) * sizeof(uint32_t));
  int fine = room != NULL;
  if (!room) PyErr_NoMemory();
  for (size_t i = 0; fine && i < *count; i++) {
    PyObject *one = PyList_GetItem(list, (Py_ssize_t)i);
    if (floats) {
      ((float *)room)[i] = (float)PyFloat_AsDouble(one);
    } else {
      const unsigned long id = PyLong_AsUnsignedLong(one);
      ((uint32_t *)room)[i] = (uint32_t)id;
      if (!PyErr_Occurred() && (uint32_t)id != id) PyErr_SetString(PyExc_ValueError, "a token id is too large");
    }
    fine = !PyErr_Occurred();
  }
  Py_DECREF(list);
  if (!fine) PyMem_Free(room);
  if (fine && floats) *floats = room;
  if (fine && !floats) *ids = room;
  return fine;
}

static PyObject *conversation_take(PyObject *self, PyObject *arguments) {
  PyObject *given, *logprobs;
  if (!PyArg_ParseTuple(arguments, "OO", &given, &logprobs)) return NULL;
  uint32_t *ids = NULL;
  float *floats = NULL;
  size_t count = 0, told_of = 0;
  chat_conversation *one = NULL;
  chat_error *error = NULL;
  chat_status status = CHAT_STATUS_OK;
  if (!numbers_from(given, &count, &ids, NULL)) return NULL;
  if (logprobs == Py_None || numbers_from(logprobs, &told_of, NULL, &floats)) {
    if (floats && told_of != count)
      PyErr_SetString(PyExc_ValueError, "logprobs must be as many as ids");
    else
      one = taken(self);
  }
  if (one) UNLOCKED(chat_conversation_observe(one, ids, floats, count, &error));
  PyMem_Free(ids);
  PyMem_Free(floats);
  return one ? told(self, status, error, tell_deltas) : NULL;
}

static PyObject *conversation_end(PyObject *self, PyObject *arguments) {
  unsigned flags;
  chat_error *error = NULL;
  if (!PyArg_ParseTuple(arguments, "I", &flags)) return NULL;
  chat_conversation *one = taken(self);
  return one ? told(self, chat_conversation_finish(one, flags, &error), error, tell_deltas) : NULL;
}

static PyObject *conversation_go_on(PyObject *self, PyObject *messages) {
  Text text;
  if (!text_from(messages, &text)) return NULL;
  chat_conversation *one = taken(self);
  chat_extended next;
  chat_error *error = NULL;
  chat_status status = CHAT_STATUS_OK;
  if (one) UNLOCKED(chat_conversation_extend(one, text.data, text.len, &next, &error));
  text_done(&text);
  if (!one) return NULL;
  give_back(self);
  if (status != CHAT_STATUS_OK || PyErr_Occurred()) return fail(status, error);
  PyObject *ids = ids_of(one, next.kept);
  if (!ids) return NULL;
  if (next.token == SIZE_MAX) return Py_BuildValue("(nNO)", (Py_ssize_t)next.kept, ids, Py_None);
  PyObject *message = next.message == SIZE_MAX ? Py_NewRef(Py_None) : PyLong_FromSize_t(next.message);
  return Py_BuildValue(
    "(nN(nnNNN))", (Py_ssize_t)next.kept, ids, (Py_ssize_t)next.token, (Py_ssize_t)next.at, message, str_of(next.reason), str_of(next.words));
}

static PyObject *tell_nothing(PyObject *self) {
  (void)self;
  Py_RETURN_NONE;
}

static PyObject *conversation_go_back(PyObject *self, PyObject *arguments) {
  Py_ssize_t length;
  chat_error *error = NULL;
  chat_status status;
  if (!PyArg_ParseTuple(arguments, "n", &length)) return NULL;
  chat_conversation *one = taken(self);
  if (!one) return NULL;
  UNLOCKED(chat_conversation_rewind(one, (size_t)length, &error));
  return told(self, status, error, tell_nothing);
}

/* What only looks, with the lock: no other call is at it. */
static PyObject *looked(PyObject *self, PyObject *(*look)(PyObject *self)) {
  if (!taken(self)) return NULL;
  give_back(self);
  return look(self);
}

static PyObject *conversation_get_ids(PyObject *self, PyObject *none) {
  (void)none;
  return looked(self, tell_ids);
}

static PyObject *tell_prompt_count(PyObject *self) { return PyLong_FromSize_t(chat_conversation_view(HELD(self)->one)->prompt_count); }

static PyObject *conversation_get_prompt_count(PyObject *self, PyObject *none) {
  (void)none;
  return looked(self, tell_prompt_count);
}

static PyObject *tell_text(PyObject *self) {
  const chat_conversation_fields *fields = chat_conversation_view(HELD(self)->one);
  return Py_BuildValue("(Ny#)", str_of(fields->text), fields->output.data, (Py_ssize_t)fields->output.len);
}

static PyObject *conversation_get_text(PyObject *self, PyObject *none) {
  (void)none;
  return looked(self, tell_text);
}

static PyObject *one_token(PyObject *self, size_t index) {
  const chat_id_token token = chat_conversation_tokens(HELD(self)->one).data[index];
  PyObject *call = token.call == SIZE_MAX ? Py_NewRef(Py_None) : PyLong_FromSize_t(token.call);
  PyObject *argument = token.argument.len ? str_of(token.argument) : Py_NewRef(Py_None);
  PyObject *logprob = token.logprob != token.logprob ? Py_NewRef(Py_None) : PyFloat_FromDouble(token.logprob);
  return Py_BuildValue(
    "(nINNNN)", (Py_ssize_t)token.end, (unsigned)token.field, PyBool_FromLong(token.sampled), call, argument, logprob);
}

static PyObject *tell_tokens(PyObject *self) { return list_of(self, chat_conversation_tokens(HELD(self)->one).len, one_token); }

static PyObject *conversation_get_tokens(PyObject *self, PyObject *none) {
  (void)none;
  return looked(self, tell_tokens);
}

static PyObject *tell_message(PyObject *self) {
  chat_str text;
  chat_error *error = NULL;
  const chat_status status = chat_conversation_message_json(HELD(self)->one, &text, &error);
  return status == CHAT_STATUS_OK ? str_of(text) : fail(status, error);
}

static PyObject *conversation_message_json(PyObject *self, PyObject *none) {
  (void)none;
  return looked(self, tell_message);
}

static PyObject *conversation_check_json(PyObject *self, PyObject *none) {
  chat_conversation *one = taken(self);
  chat_str text = {NULL, 0};
  chat_error *error = NULL;
  chat_status status = CHAT_STATUS_OK;
  (void)none;
  if (!one) return NULL;
  UNLOCKED(chat_conversation_check_json(one, &text, &error));
  PyObject *found = status == CHAT_STATUS_OK && !PyErr_Occurred() ? str_of(text) : fail(status, error);
  give_back(self);
  return found;
}

static PyMethodDef conversation_methods[] = {
  MAKES(conversation, open),
  NO_ARGUMENTS(conversation, fork),
  {"put_prompt", conversation_put_prompt, METH_O, NULL},
  {"go_on", conversation_go_on, METH_O, NULL},
  ARGUMENTS(conversation, take),
  ARGUMENTS(conversation, end),
  ARGUMENTS(conversation, go_back),
  NO_ARGUMENTS(conversation, get_ids),
  NO_ARGUMENTS(conversation, get_prompt_count),
  NO_ARGUMENTS(conversation, get_text),
  NO_ARGUMENTS(conversation, get_tokens),
  NO_ARGUMENTS(conversation, message_json),
  NO_ARGUMENTS(conversation, check_json),
  {NULL, NULL, 0, NULL},
};

int add_conversation(PyObject *module) {
  return add_type(module, "chatparse._native.Conversation", &conversation_type, conversation_dealloc, conversation_methods);
}
