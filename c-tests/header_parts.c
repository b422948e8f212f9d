// Each of the header's parts may be included by itself, in any order.
#include <chatparse/server.h>

#include <chatparse/unstable.h>

typedef chat_grammar_builder header_has_builders;
typedef chat_event header_has_events;
typedef chat_delta header_has_streams;
