// The header in C++: functions have C names, enums are types, and a handle fits a smart pointer.
#include <chatparse.h>
#include <chatparse.h>
#include <chatparse/unstable.h>

#include <memory>
#include <type_traits>

// Expressions, nested in braces.
static bool builds() {
  chat_expr_builder *b = nullptr;
  chat_parser *parser = nullptr;
  if (chat_expr_builder_new(&b, nullptr) != CHAT_STATUS_OK) return false;
  const chat_str call[] = {{"[weather]", 9}};
  const chat_expr parts[] = {chat_expr_tag(b, CHAT_TAG_CONTENT, chat_expr_until(b, call, 1)), chat_expr_end(b)};
  const bool built = chat_expr_build(b, chat_expr_sequence(b, parts, 2), "", 0, &parser, nullptr) == CHAT_STATUS_OK;
  chat_expr_builder_free(b);
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
