#include "pattern.h"

#include "support.h"

enum { MAX_GROUPS = 10 };

// A piece of the pattern.
typedef struct {
  const char *at, *end;
} part;

typedef struct {
  const buffer *pattern, *text;
  // Of each group that takes part; both are equal where it does not.
  size_t begins[MAX_GROUPS], ends[MAX_GROUPS];
} matcher;

// What follows behind the group that is being matched.
typedef struct rest {
  part left;
  // The group's number, and where it begins; 0 if it is only a pair of brackets.
  size_t group, begin;
  const struct rest *then;
} rest;

static bool alternatives(matcher *m, part all, size_t pos, const rest *then);

// The end of the first item: a character, a set or a group.
static const char *item_end(part all) {
  const char *at = all.at;
  if (*at == '[') {
    while (at < all.end && *at != ']') at += *at == '\\' ? 2 : 1;
  } else if (*at == '(') {
    part inner = {at + 1, all.end};
    while (inner.at < inner.end && *inner.at != ')') inner.at = item_end(inner);
    at = inner.at;
  } else if (*at == '\\') {
    at++;
  }
  CHECK(at < all.end);
  return at + 1;
}

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Whether an item of one character is that character.
static bool fits(part item, char c) {
  if (*item.at == '.') return c != '\n';
  if (*item.at == '[') {
    const bool negated = item.at[1] == '^';
    bool found = false;
    for (part one = {item.at + 1 + negated, item.end - 1}; one.at < one.end && !found;) {
      const char *next = item_end(one);
      CHECK(next == one.end || *next != '-');
      found = fits((part){one.at, next}, c);
      one.at = next;
    }
    return found != negated;
  }
  if (*item.at != '\\') return *item.at == c;
  const char name = item.at[1];
  if (name == 's') return is_blank(c);
  if (name == 'n') return c == '\n';
  CHECK(strchr("|()[]{}<>^$.*+?\\/-", name) != NULL);
  return name == c;
}

// The number of the group whose bracket stands there.
static size_t group_number(const matcher *m, const char *bracket) {
  size_t number = 0;
  const char *at = m->pattern->data;
  while (at <= bracket) {
    if (*at == '(' && at[1] != '?') number++;
    at = *at == '(' || *at == ')' ? at + 1 : item_end((part){at, m->pattern->data + m->pattern->len});
  }
  CHECK(number < MAX_GROUPS);
  return number;
}

static bool sequence(matcher *m, part all, size_t pos, const rest *then);

static bool leave(matcher *m, size_t pos, const rest *then) {
  if (then == NULL) return true;
  const size_t begin = m->begins[then->group], end = m->ends[then->group];
  m->begins[then->group] = then->begin;
  m->ends[then->group] = then->group > 0 ? pos : then->begin;
  if (sequence(m, then->left, pos, then->then)) return true;
  m->begins[then->group] = begin;
  m->ends[then->group] = end;
  return false;
}

static bool group(matcher *m, part item, part left, size_t pos, const rest *then) {
  part inner = {item.at + 1, item.end - 1};
  if (*inner.at != '?') return alternatives(m, inner, pos, &(rest){left, group_number(m, item.at), pos, then});
  CHECK(inner.at[1] == ':' || inner.at[1] == '!');
  const bool forbids = inner.at[1] == '!';
  inner.at += 2;
  if (!forbids) return alternatives(m, inner, pos, &(rest){left, 0, pos, then});
  matcher ahead = *m;
  return !alternatives(&ahead, inner, pos, NULL) && sequence(m, left, pos, then);
}

// One item, as often as it may come: more of it first, or less if it is lazy.
static bool repeated(matcher *m, part item, part left, size_t pos, const rest *then) {
  const char kind = *left.at++;
  const bool lazy = left.at < left.end && *left.at == '?';
  if (lazy) left.at++;
  const size_t least = kind == '+' ? 1 : 0, most = kind == '?' ? 1 : m->text->len;
  size_t count = 0;
  while (count < most && pos + count < m->text->len && fits(item, m->text->data[pos + count])) count++;
  for (size_t tried = least; tried <= count; tried++)
    if (sequence(m, left, pos + (lazy ? tried : count + least - tried), then)) return true;
  return false;
}

static bool sequence(matcher *m, part all, size_t pos, const rest *then) {
  if (all.at == all.end) return leave(m, pos, then);
  const size_t len = m->text->len;
  const part item = {all.at, item_end(all)}, left = {item.end, all.end};
  const bool repeats = left.at < left.end && strchr("*+?{", *left.at) != NULL;
  CHECK(!repeats || (*left.at != '{' && strchr("(^$", *item.at) == NULL));
  if (repeats) return repeated(m, item, left, pos, then);
  switch (*item.at) {
    case '(': return group(m, item, left, pos, then);
    case '^': return pos == 0 && sequence(m, left, pos, then);
    case '$': return (pos == len || (pos + 1 == len && m->text->data[pos] == '\n')) && sequence(m, left, pos, then);
  }
  return pos < len && fits(item, m->text->data[pos]) && sequence(m, left, pos + 1, then);
}

static bool alternatives(matcher *m, part all, size_t pos, const rest *then) {
  part one = {all.at, all.at};
  while (one.end < all.end) {
    if (*one.end != '|') {
      one.end = item_end((part){one.end, all.end});
      continue;
    }
    if (sequence(m, one, pos, then)) return true;
    one.at = ++one.end;
  }
  return sequence(m, one, pos, then);
}

bool pattern_find(const buffer *pattern, const buffer *text, size_t *at) {
  for (size_t begin = 0; begin <= text->len; begin++) {
    matcher m = {pattern, text, {0}, {0}};
    if (!alternatives(&m, (part){pattern->data, pattern->data + pattern->len}, begin, NULL)) continue;
    *at = begin;
    for (size_t i = MAX_GROUPS; i-- > 1;)
      if (m.ends[i] > m.begins[i]) *at = m.begins[i];
    return true;
  }
  return false;
}
