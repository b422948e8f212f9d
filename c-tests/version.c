// Header, library and package say the same version; statuses and kinds of deltas have names.
#include "support.h"

#if CHAT_VERSION_NUMBER != CHAT_VERSION_MAJOR * 10000 + CHAT_VERSION_MINOR * 100 + CHAT_VERSION_PATCH
#error "the number is not that of the parts"
#endif

int main(void) {
  char header[64];
  snprintf(header, sizeof header, "%d.%d.%d", CHAT_VERSION_MAJOR, CHAT_VERSION_MINOR, CHAT_VERSION_PATCH);
  CHECK(strcmp(chat_version(), header) == 0);
  CHECK(strcmp(chat_version(), PACKAGE_VERSION) == 0);
  CHECK(chat_version_check(CHAT_VERSION_NUMBER, NULL) == CHAT_STATUS_OK);

  // A program that was compiled for a later library, or for another ABI.
  chat_error *error = NULL;
  CHECK(chat_version_check(CHAT_VERSION_NUMBER + 1, &error) == CHAT_STATUS_INVALID_ARGUMENT);
  char words[256];
  snprintf(words, sizeof words, "the program was compiled for chatparse %d.%d.%d, and the library is %s", CHAT_VERSION_MAJOR,
           CHAT_VERSION_MINOR, CHAT_VERSION_PATCH + 1, header);
  const chat_str message = chat_error_message(error);
  CHECK(message.len == strlen(words) && memcmp(message.data, words, message.len) == 0);
  chat_error_free(error);
  CHECK(chat_version_check(CHAT_VERSION_NUMBER + 10000, NULL) == CHAT_STATUS_INVALID_ARGUMENT);

  CHECK(strcmp(chat_status_name(CHAT_STATUS_OK), "ok") == 0);
  CHECK(strcmp(chat_status_name(CHAT_STATUS_INVALID_ARGUMENT), "invalid_argument") == 0);
  CHECK(strcmp(chat_status_name(CHAT_STATUS_INTERNAL), "internal") == 0);
  CHECK(strcmp(chat_status_name(0xffffffffu), "unknown") == 0);
  CHECK(strcmp(chat_delta_kind_name(CHAT_DELTA_KIND_TOOL_ID), "tool_id") == 0);
  CHECK(strcmp(chat_delta_kind_name(0), "unknown") == 0);
  return 0;
}
