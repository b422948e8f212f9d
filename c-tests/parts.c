#include "parts.h"

#include "support.h"

static call_parts *call_of(parts *parts, size_t call) {
  for (; parts->count <= call; parts->count++) {
    parts->calls = realloc(parts->calls, (parts->count + 1) * sizeof *parts->calls);
    CHECK(parts->calls != NULL);
    parts->calls[parts->count] = (call_parts){{0}, {0}, {0}};
  }
  return &parts->calls[call];
}

static buffer *part_of(parts *parts, chat_delta_kind kind, size_t call) {
  switch (kind) {
    case CHAT_DELTA_KIND_CONTENT: return &parts->content;
    case CHAT_DELTA_KIND_REASONING: return &parts->reasoning;
    case CHAT_DELTA_KIND_TOOL_NAME: return &call_of(parts, call)->name;
    case CHAT_DELTA_KIND_TOOL_ID: return &call_of(parts, call)->id;
    default: CHECK(kind == CHAT_DELTA_KIND_TOOL_ARGUMENTS);
  }
  return &call_of(parts, call)->arguments;
}

void parts_add(parts *parts, chat_delta_kind kind, size_t call, chat_str text) { buffer_add(part_of(parts, kind, call), text); }

void parts_free(parts *parts) {
  buffer_free(&parts->content);
  buffer_free(&parts->reasoning);
  for (size_t i = 0; i < parts->count; i++) {
    buffer_free(&parts->calls[i].name);
    buffer_free(&parts->calls[i].id);
    buffer_free(&parts->calls[i].arguments);
  }
  free(parts->calls);
}
