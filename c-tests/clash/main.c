// A program of two static libraries, both Rust's.
#include "../support.h"

uint32_t other_answer(uint32_t n);

int main(void) {
  CHECK(other_answer(5) == 17);
  chat_template *chat = NULL;
  OK(chat_template_new(TEXT(TOOL_TEMPLATE), TEXT(""), TEXT("<|end|>"), &chat, &error));
  BAD(chat_template_new(NULL, 1, TEXT(""), TEXT(""), &chat, &error));
  chat_template_free(chat);
  CHECK(other_answer(7) == 37);
  printf("both work\n");
  return 0;
}
