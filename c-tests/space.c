#include "space.h"

static bool is_space(uint32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

static bool continues(char byte) { return ((unsigned char)byte & 0xc0) == 0x80; }

// The bytes of the character that begins at a byte. No white space has more than three.
static size_t length_at(chat_str text, size_t at) {
  size_t end = at + 1;
  while (end < text.len && continues(text.data[end])) end++;
  return end - at;
}

static bool space_at(chat_str text, size_t at) {
  const unsigned char *bytes = (const unsigned char *)text.data + at;
  switch (length_at(text, at)) {
    case 1: return is_space(bytes[0]);
    case 2: return is_space((uint32_t)(bytes[0] & 0x1f) << 6 | (bytes[1] & 0x3f));
    case 3: return is_space((uint32_t)(bytes[0] & 0x0f) << 12 | (uint32_t)(bytes[1] & 0x3f) << 6 | (bytes[2] & 0x3f));
    default: return false;
  }
}

chat_str without_space_around(chat_str text) {
  size_t begin = text.len, end = text.len;
  for (size_t at = 0; at < text.len; at += length_at(text, at)) {
    if (space_at(text, at)) continue;
    if (begin == text.len) begin = at;
    end = at + length_at(text, at);
  }
  return begin == text.len ? (chat_str){NULL, 0} : (chat_str){text.data + begin, end - begin};
}

size_t count_without_space(chat_str text) {
  size_t count = 0;
  for (size_t at = 0; at < text.len; at += length_at(text, at)) count += !space_at(text, at);
  return count;
}
