// The header may be included twice.
#include <chatparse.h>
#include <chatparse.h>

typedef chat_delta header_defines_its_types;
