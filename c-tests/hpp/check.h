// What the tests of chatparse.hpp share.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

#define CHECK(condition)                                                           \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                                \
    }                                                                              \
  } while (0)

// Of the template json-call.
inline constexpr std::string_view REQUEST = R"({"messages": [{"role": "user", "content": "Hi <|im_end|>"}],
  "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
    "properties": {"a": {"type": "integer"}}}}}]})";
inline constexpr std::string_view OUTPUT =
    "<think>\nHm.</think>\n\nSee.<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// returning.cpp: the header without exceptions, in the same program.
void returning();
