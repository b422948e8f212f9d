// The header in C++: functions have C names, enums are types, and a handle fits a smart pointer.
#include <chatparse.h>
#include <chatparse.h>
#include <chatparse/unstable.h>

#include <memory>
#include <type_traits>

// A format that is described in a text.
static bool builds() {
  static const char text[] = R"({"format": {"root": {"sequence": [{"tag": ["content", {"until": ["[weather]"]}]}, "end"]}}})";
  chat_parser *parser = nullptr;
  const bool built = chat_parser_from_json(text, sizeof text - 1, &parser, nullptr) == CHAT_STATUS_OK;
  chat_parser_free(parser);
  return built;
}

struct free_template {
  void operator()(chat_template *handle) const { chat_template_free(handle); }
};

int main() {
  static_assert(std::is_enum<chat_status>::value && sizeof(chat_status) == 4, "as in C");
  chat_template *handle = nullptr;
  if (chat_template_builtin("chatml", 6, &handle, nullptr) != CHAT_STATUS_OK) return 1;
  const std::unique_ptr<chat_template, free_template> owner(handle);
  return builds() && chat_template_source(owner.get()).len > 0 ? 0 : 1;
}
