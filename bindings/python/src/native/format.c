/* Formats of one's own, put together from expressions, and trees of what they match. */
#include "native.h"

#include <string.h>

PyTypeObject *expr_builder_type, *tree_type;

/* The interpreter's lock stays with a builder's calls: it has one user at a time. */
FREED_BY(expr_builder, chat_expr_builder_free)

static PyObject *expr_builder_begin(PyObject *type, PyObject *none) {
  chat_expr_builder *made = NULL;
  chat_error *error = NULL;
  (void)none;
  const chat_status status = chat_expr_builder_new(&made, &error);
  return wrap(type, status, error, made);
}

/* The most texts or numbers that an expression has which does not say how many it has. */
enum { FIXED = 3 };

/* Adds the expression of this kind; 0 without an exception where the library refuses it, which building reports. */
static chat_expr added(chat_expr_builder *to, const char *kind, const chat_str *texts, size_t text_count, const uint32_t *numbers,
                       size_t number_count) {
#define ADDS(name, ...) \
  if (strcmp(kind, #name) == 0) return chat_expr_##name(to, __VA_ARGS__)
#define TEXT(i) texts[i].data, texts[i].len
  if (strcmp(kind, "space") == 0) return chat_expr_space(to);
  if (strcmp(kind, "start") == 0) return chat_expr_start(to);
  if (strcmp(kind, "end") == 0) return chat_expr_end(to);
  ADDS(literal, TEXT(0));
  ADDS(class, TEXT(0));
  ADDS(reference, TEXT(0));
  ADDS(until, texts, text_count);
  ADDS(json, TEXT(0), TEXT(1));
  ADDS(calls, TEXT(0), TEXT(1));
  ADDS(string_body, (char)numbers[0]);
  ADDS(value, numbers[0]);
  ADDS(sequence, numbers, number_count);
  ADDS(choice, numbers, number_count);
  ADDS(atomic, numbers[0]);
  ADDS(repeat, numbers[0], numbers[1], numbers[2]);
  ADDS(lookahead, numbers[0], numbers[1]);
  ADDS(tag, numbers[1], numbers[0]);
  ADDS(label, TEXT(0), numbers[0]);
  ADDS(rule, TEXT(0), numbers[0], numbers[1]);
  ADDS(gbnf, numbers[0], TEXT(0));
  ADDS(schema, numbers[0], TEXT(0), TEXT(1), numbers[1]);
  ADDS(excluding, numbers[0], texts, text_count);
#undef TEXT
#undef ADDS
  PyErr_Format(PyExc_ValueError, "no expression is called %s", kind);
  return CHAT_EXPR_NONE;
}

/* The numbers of a tuple, and zeros behind them; NULL with an exception where one is none. */
static uint32_t *numbers_from(PyObject *tuple, size_t count) {
  uint32_t *numbers = PyMem_Calloc(count + FIXED, sizeof *numbers);
  if (!numbers) PyErr_NoMemory();
  for (size_t i = 0; numbers && i < count; i++) {
    const unsigned long number = PyLong_AsUnsignedLong(PyTuple_GetItem(tuple, (Py_ssize_t)i));
    if (!PyErr_Occurred() && number > UINT32_MAX) PyErr_SetString(PyExc_OverflowError, "a number of an expression has up to 32 bits");
    numbers[i] = (uint32_t)number;
    if (!PyErr_Occurred()) continue;
    PyMem_Free(numbers);
    return NULL;
  }
  return numbers;
}

/* `kind`, its texts, and its numbers: expressions that were added before stand first. */
static PyObject *expr_builder_put(PyObject *self, PyObject *arguments) {
  const char *kind;
  PyObject *text_tuple, *number_tuple;
  if (!PyArg_ParseTuple(arguments, "sO!O!", &kind, &PyTuple_Type, &text_tuple, &PyTuple_Type, &number_tuple)) return NULL;
  const size_t text_count = (size_t)PyTuple_Size(text_tuple), number_count = (size_t)PyTuple_Size(number_tuple);
  chat_str *texts = strs_from(text_tuple, FIXED);
  uint32_t *numbers = texts ? numbers_from(number_tuple, number_count) : NULL;
  PyObject *made = NULL;
  if (numbers) {
    const chat_expr number = added(HANDLE(self), kind, texts, text_count, numbers, number_count);
    if (!PyErr_Occurred()) made = PyLong_FromUnsignedLong(number);
  }
  PyMem_Free(numbers);
  PyMem_Free(texts);
  return made;
}

/* A character of the ranges, each of which is the numbers of its first and its last character. */
static PyObject *expr_builder_put_character(PyObject *self, PyObject *arguments) {
  PyObject *tuple;
  int negated;
  if (!PyArg_ParseTuple(arguments, "O!p", &PyTuple_Type, &tuple, &negated)) return NULL;
  const size_t count = (size_t)PyTuple_Size(tuple);
  uint32_t *numbers = numbers_from(tuple, count);
  chat_char_range *ranges = numbers ? PyMem_Calloc(count / 2 + 1, sizeof *ranges) : NULL;
  if (numbers && !ranges) PyErr_NoMemory();
  PyObject *made = NULL;
  if (ranges) {
    for (size_t i = 0; i < count / 2; i++) ranges[i] = (chat_char_range){numbers[2 * i], numbers[2 * i + 1]};
    made = PyLong_FromUnsignedLong(chat_expr_character(HANDLE(self), ranges, count / 2, negated));
  }
  PyMem_Free(ranges);
  PyMem_Free(numbers);
  return made;
}

PyObject *parser_of_expr(PyObject *type, PyObject *arguments) {
  PyObject *builder;
  unsigned root;
  Text prefill;
  if (!PyArg_ParseTuple(arguments, "O!IO&", expr_builder_type, &builder, &root, text_from, &prefill)) return NULL;
  chat_parser *made = NULL;
  chat_error *error = NULL;
  const chat_status status = chat_expr_build(HANDLE(builder), root, prefill.data, prefill.len, &made, &error);
  text_done(&prefill);
  return wrap(type, status, error, made);
}

static PyMethodDef expr_builder_methods[] = {
  {"begin", expr_builder_begin, METH_NOARGS | METH_CLASS, NULL},
  ARGUMENTS(expr_builder, put),
  ARGUMENTS(expr_builder, put_character),
  {NULL, NULL, 0, NULL},
};

FREED_BY(tree, chat_tree_free)

static PyObject *tree_of_parser(PyObject *type, PyObject *arguments) {
  PyObject *parser;
  Text text;
  Py_ssize_t begin;
  unsigned flags;
  if (!PyArg_ParseTuple(arguments, "O!O&nI", parser_type, &parser, text_from, &text, &begin, &flags)) return NULL;
  chat_tree *made = NULL;
  chat_error *error = NULL;
  chat_status status;
  UNLOCKED(chat_parser_tree(HANDLE(parser), text.data, text.len, (size_t)begin, flags, &made, &error));
  text_done(&text);
  return wrap(type, status, error, made);
}

static PyObject *tree_get_outcome(PyObject *self, PyObject *none) {
  (void)none;
  return PyLong_FromUnsignedLong(chat_tree_outcome(HANDLE(self)));
}

static PyObject *tree_get_end(PyObject *self, PyObject *none) {
  (void)none;
  return PyLong_FromSize_t(chat_tree_end(HANDLE(self)));
}

/* The number of the node around it is its own where there is none. */
static PyObject *tree_one_node(PyObject *self, size_t index) {
  chat_node node;
  chat_error *error = NULL;
  const chat_status status = chat_tree_node(HANDLE(self), index, &node, &error);
  if (status != CHAT_STATUS_OK) return fail(status, error);
  return Py_BuildValue(
    "(NNnnnN)", str_of(node.rule), str_of(node.tag), (Py_ssize_t)node.begin, (Py_ssize_t)node.end, (Py_ssize_t)node.parent,
    PyBool_FromLong(node.partial));
}
LISTED(tree, node)

static PyMethodDef tree_methods[] = {
  MAKES(tree, of_parser),
  NO_ARGUMENTS(tree, get_outcome),
  NO_ARGUMENTS(tree, get_end),
  {"get_nodes", tree_nodes, METH_NOARGS, NULL},
  {NULL, NULL, 0, NULL},
};

int add_format(PyObject *module) {
  if (add_type(module, "chatparse._native.ExprBuilder", &expr_builder_type, expr_builder_dealloc, expr_builder_methods) < 0) return -1;
  return add_type(module, "chatparse._native.Tree", &tree_type, tree_dealloc, tree_methods);
}
