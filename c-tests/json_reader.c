// What the tests read with: JSON, and the regular expressions of triggers.
#include "json.h"
#include "pattern.h"
#include "support.h"

static const char *const right[] = {
    "0", "-0", "10.5e+3", "1E9", " true ", "null", "\"\"", "[]", "[ ]", "{}", "{ }", "[1 , 2]", "{\"a\" : [{}] , \"\" : \"b\"}",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e5\\uD83C\\udfbf\"", "\"\x7f\xc2\x80\xe0\xa0\x80\xed\x9f\xbf\xf4\x8f\xbf\xbf\"",
};

static const char *const wrong[] = {
    // Numbers and words
    "", " ", "01", "-", "1.", ".5", "1e", "+1", "tru", "truely", "nul",
    // Texts
    "'a'", "\"a", "\"\\\"", "\"\\x\"", "\"\\u12g4\"", "\"\\u12", "\"\n\"", "\"\\ud83c\"", "\"\\ud83c\\u0041\"", "\"\\udfbf\"",
    // Bytes that are not UTF-8
    "\"\x80\"", "\"\xc0\x80\"", "\"\xe0\x9f\xbf\"", "\"\xed\xa0\x80\"", "\"\xf0\x8f\xbf\xbf\"", "\"\xf4\x90\x80\x80\"",
    "\"\xf5\x80\x80\x80\"", "\"\xe2\x82", "\"\xe2\x82\"",
    // Lists
    "[", "[1", "[1,]", "[,1]", "[1 2]", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}", "{a:1}", "{1:1}", "{\"a\" 1}", "]",
    // More than one value
    "1 2", "{} x", "\xef\xbb\xbf{}",
};

static json read_text(const char *text) { return json_read(text, strlen(text)); }

static void takes_json_only(void) {
  for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
    if (read_text(right[i]).len == 0) fprintf(stderr, "refused: %s\n", right[i]);
    CHECK(read_text(right[i]).len > 0);
  }
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    // In a piece of memory that ends where the text does: reading on would be seen.
    const size_t len = strlen(wrong[i]);
    char *copy = malloc(len + (len == 0));
    CHECK(copy != NULL);
    memcpy(copy, wrong[i], len);
    if (json_read(copy, len).len > 0) fprintf(stderr, "taken: %s\n", wrong[i]);
    CHECK(json_read(copy, len).len == 0);
    free(copy);
  }
  CHECK(json_read(NULL, 0).len == 0);
  CHECK(json_read("1\0", 2).len == 0 && json_read("\"\0\"", 3).len == 0 && json_read("\"\\\0\"", 4).len == 0);
}

static void has_a_bottom(void) {
  char text[256];
  memset(text, '[', 128);
  memset(text + 128, ']', 128);
  CHECK(json_read(text, 256).len == 0);
  CHECK(json_read(text + 1, 254).len == 254);
}

static void finds_parts(void) {
  const json whole = read_text(" {\"a\": {\"b\": 1}, \"b\" :[ 7 , \"x,]\", [2], null ] , "
                               "\"n\\u0061me\": \" y \", \"twice\": 1, \"twice\": 2} ");
  CHECK(json_is(json_member(whole, "a"), "{\"b\": 1}") && json_is(json_member(json_member(whole, "a"), "b"), "1"));
  CHECK(json_is(json_member(whole, "name"), "\" y \"") && json_is(json_member(whole, "twice"), "2"));
  CHECK(json_member(whole, "c").len == 0 && json_member(whole, "").len == 0 && json_member(read_text("{}"), "a").len == 0);
  CHECK(json_member(json_member(whole, "b"), "a").len == 0 && json_member((json){0}, "a").len == 0);

  static const char *const items[] = {"7", "\"x,]\"", "[2]", "null"};
  json item = {0};
  size_t count = 0;
  while (json_next(json_member(whole, "b"), &item)) CHECK(count < 4 && json_is(item, items[count++]));
  CHECK(count == 4);
  item = (json){0};
  CHECK(!json_next(whole, &item) && !json_next(read_text("[ ]"), &item) && !json_next((json){0}, &item));
}

static void counts(void) {
  CHECK(json_count(read_text("0"), 5) == 0 && json_count(read_text("120"), 5) == 120);
  CHECK(json_count(read_text("-1"), 5) == 5 && json_count(read_text("1.0"), 5) == 5 && json_count(read_text("\"1\""), 5) == 5);
  CHECK(json_count(read_text("99999999999999999999999"), 5) == 5 && json_count((json){0}, 5) == 5);
}

static void reads_and_writes_texts(void) {
  static const char written[] = "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f/\x7f\xc3\xa5\xf0\x9f\x8e\xbf\"";
  static const char escaped[] = "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001F\\/\\u007f\\u00E5\\ud83c\\udfbf\"";
  static const char meant[] = "\"\\\b\f\n\r\t\0\x1f/\x7f\xc3\xa5\xf0\x9f\x8e\xbf";
  const char *const texts[] = {written, escaped};
  for (size_t i = 0; i < 2; i++) {
    buffer text = {0}, again = {0};
    CHECK(json_text(read_text(texts[i]), &text) && text.len == sizeof meant - 1 && memcmp(text.data, meant, text.len) == 0);
    json_quote(&again, text.data, text.len);
    CHECK(again.len == strlen(written) && memcmp(again.data, written, again.len) == 0);
    buffer_free(&again);
    buffer_free(&text);
  }
  buffer text = {0};
  CHECK(json_text(read_text("\"\\u20ac\\u0800\""), &text) && is((chat_str){text.data, text.len}, "\xe2\x82\xac\xe0\xa0\x80"));
  CHECK(!json_text(read_text("1"), &text) && !json_text((json){0}, &text) && text.len == 6);
  buffer_free(&text);
}

static bool same(const char *a, const char *b, bool sorted) {
  buffer one = {0}, other = {0};
  CHECK(json_canon(read_text(a), sorted, &one) && json_canon(read_text(b), sorted, &other));
  const bool same = one.len == other.len && memcmp(one.data, other.data, one.len) == 0;
  buffer_free(&one);
  buffer_free(&other);
  return same;
}

static void compares(void) {
  CHECK(same(" [1.50, 1e2, -0, \"\\u0061\\n\", {}, [ ]] ", "[15e-1,100.0,0,\"a\\n\",{},[]]", false));
  CHECK(same("{\"a\": 1, \"b\": 2, \"a\": 3}", "{\"a\":3,\"b\":2}", false) && same("{\"a\":1,\"aa\":2}", "{\"aa\":2,\"a\":1}", true));
  CHECK(!same("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", false) && !same("{\"a\":1}", "{\"a\":1,\"b\":1}", true));
  CHECK(!same("1", "1.0", true) && !same("[true]", "[false]", true) && !same("[1,2]", "[2,1]", true) && !same("\"1\"", "1", true));
  CHECK(same("123456789012345678901", "123456789012345678901", true) && !same("9007199254740993", "9007199254740992", true));
  buffer none = {0};
  CHECK(!json_canon((json){0}, true, &none) && none.data == NULL);
}

enum { NONE = 99 };

static size_t found(const char *pattern, const char *text) {
  buffer what = {0}, where = {0};
  size_t at = NONE;
  buffer_print(&what, pattern);
  buffer_print(&where, text);
  if (!pattern_find(&what, &where, &at)) at = NONE;
  buffer_free(&what);
  buffer_free(&where);
  return at;
}

static void finds_patterns(void) {
  CHECK(found("b", "abc") == 1 && found("d", "abc") == NONE && found(">>>(?!all)", ">>>all>>>f") == 6);
  CHECK(found("^\\s+to$", " \n to") == 0 && found("^\\s+to$", "to") == NONE && found("^\\s+to$", " to to") == NONE);
  CHECK(found("<\\|a\\|>(\\s+to)", "x <|a|> to") == 7 && found("<\\|a\\|>(\\s+to)", "<|a|>to") == NONE);
  CHECK(found("(?:^|<s>)( to=(?!me!)[^<]*?!)", " to=me!<s> to=f!") == 10 && found("(?:^|<s>)( to=(?!me!)[^<]*?!)", "x to=f!") == NONE);
  CHECK(found("x(a*?)(b*)c", "xbbc") == 1 && found("x[^a\\]]?(z|y)", "x]zxby") == 5 && found("a.c", "a\nca.c") == 3);
}

int main(void) {
  takes_json_only();
  has_a_bottom();
  finds_parts();
  counts();
  reads_and_writes_texts();
  compares();
  finds_patterns();
  return 0;
}
