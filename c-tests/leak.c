// An object that nobody frees: what looks for leaks must find it. No test by itself.
#include "support.h"

int main(void) {
  chat_template *lost = NULL;
  OK(chat_template_new(TEXT(TOOL_TEMPLATE), TEXT(""), TEXT("<|end|>"), &lost, NULL));
  lost = NULL;
  return 0;
}
