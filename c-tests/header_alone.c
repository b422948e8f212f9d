// The header needs nothing before it.
#include <chatparse.h>

typedef chat_str header_defines_its_types;
