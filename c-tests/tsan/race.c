// Breaks the rule of threads: one feeds a stream while another asks it. ThreadSanitizer must say so, or it does not look.
#include <pthread.h>

#include "../support.h"

static void *ask(void *stream) {
  uint64_t work = 0;
  for (int i = 0; i < 1000; i++) work += chat_stream_view(stream)->work;
  return work == 0 ? stream : NULL;
}

int main(void) {
  chat_params *params = builtin_params("chatml", HI_REQUEST);
  chat_stream *stream = NULL;
  pthread_t thread;
  OK(chat_stream_new(params, &stream, &error));
  CHECK(pthread_create(&thread, NULL, ask, stream) == 0);
  for (int i = 0; i < 1000; i++) OK(chat_stream_feed(stream, "x", 1, &error));
  CHECK(pthread_join(thread, NULL) == 0);
  chat_stream_free(stream);
  chat_params_free(params);
  return 0;
}
