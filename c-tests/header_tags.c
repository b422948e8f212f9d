// By the names of handles, a program may have structs of its own.
struct chat_message {
  int own;
};

#include <chatparse.h>

#if __STDC_VERSION__ >= 201112L
_Static_assert(_Generic((chat_message *)0, struct chat_message *: 0, default: 1), "two types");
#endif
