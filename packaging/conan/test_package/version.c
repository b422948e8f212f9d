#include <chatparse.h>
#include <stdio.h>
#include <string.h>

// The library is of the header's version.
int main(void) {
  char header[64];
  snprintf(header, sizeof header, "%d.%d.%d", CHAT_VERSION_MAJOR, CHAT_VERSION_MINOR, CHAT_VERSION_PATCH);
  printf("chatparse %s, header %s\n", chat_version(), header);
  return strcmp(chat_version(), header) != 0;
}
