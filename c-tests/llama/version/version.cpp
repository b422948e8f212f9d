// Which version the headers take it for.
#include "detail/version.h"

#if CHATPARSE_LLAMA == CHATPARSE_LLAMA_0_8_0
#    pragma message("known")
#endif
