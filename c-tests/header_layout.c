// Structs have this layout for good, in machine words: new facts get new functions or fields.
#include <chatparse.h>
#include <chatparse/unstable.h>

#if __STDC_VERSION__ >= 201112L
#define AT(type, member, words) _Static_assert(offsetof(type, member) == (words) * sizeof(size_t), #type "." #member)
#define SIZE(type, words) _Static_assert(sizeof(type) == (words) * sizeof(size_t), #type)

AT(chat_str, data, 0);
AT(chat_str, len, 1);
SIZE(chat_str, 2);

AT(chat_span, begin, 0);
AT(chat_span, end, 1);
SIZE(chat_span, 2);

#if UINTPTR_MAX > 0xFFFFFFFF
AT(chat_byte_set, words, 0);
SIZE(chat_byte_set, 4);
#endif

AT(chat_media, kind, 0);
AT(chat_media, text, 2);
AT(chat_media, source, 4);
AT(chat_media, message, 6);
AT(chat_media, part, 7);
AT(chat_media, native, 8);
SIZE(chat_media, 9);

AT(chat_trigger, kind, 0);
AT(chat_trigger, value, 1);
SIZE(chat_trigger, 3);

AT(chat_diagnostic, kind, 0);
AT(chat_diagnostic, call, 1);
AT(chat_diagnostic, span_begin, 2);
AT(chat_diagnostic, span_end, 3);
AT(chat_diagnostic, message, 4);
SIZE(chat_diagnostic, 6);

AT(chat_part, kind, 0);
AT(chat_part, call, 1);
AT(chat_part, text, 2);
AT(chat_part, span_begin, 4);
AT(chat_part, span_end, 5);
SIZE(chat_part, 6);

AT(chat_delta, kind, 0);
AT(chat_delta, call, 1);
AT(chat_delta, text, 2);
AT(chat_delta, span_begin, 4);
AT(chat_delta, span_end, 5);
SIZE(chat_delta, 6);

AT(chat_tool_call, name, 0);
AT(chat_tool_call, id, 2);
AT(chat_tool_call, arguments, 4);
SIZE(chat_tool_call, 6);

AT(chat_delimiter, role, 0);
AT(chat_delimiter, text, 2);
SIZE(chat_delimiter, 4);

_Static_assert(offsetof(chat_call_report, complete) == 4 && sizeof(chat_call_report) == 8, "chat_call_report");

// Structs of fields may get more at their end.
AT(chat_params_fields, prompt, 0);
AT(chat_params_fields, preserved_tokens, 6);
AT(chat_params_fields, grammar_triggers, 16);
AT(chat_params_fields, grammar_lazy, 18);
AT(chat_turn_fields, kept, 0);
AT(chat_turn_fields, reason, 5);
AT(chat_turn_fields, message, 8);
AT(chat_message_fields, content, 1);
AT(chat_message_fields, calls, 5);
AT(chat_message_fields, parts, 7);
AT(chat_report_fields, diagnostics, 2);
AT(chat_stream_fields, deltas, 0);
AT(chat_stream_fields, outcome, 2);
AT(chat_stream_fields, pending, 3);
AT(chat_segments_fields, segments, 2);
AT(chat_segments_fields, limit, 4);
AT(chat_grammar_fields, report, 2);
AT(chat_answer_fields, events, 4);
SIZE(chat_params_fields, 19);
SIZE(chat_turn_fields, 9);
SIZE(chat_message_fields, 9);
SIZE(chat_report_fields, 4);
SIZE(chat_segments_fields, 6);
SIZE(chat_grammar_fields, 4);
SIZE(chat_answer_fields, 6);

#if UINTPTR_MAX > 0xFFFFFFFF
AT(chat_stream_fields, work, 5);
SIZE(chat_stream_fields, 6);
#endif

AT(chat_segment, begin, 0);
AT(chat_segment, end, 1);
AT(chat_segment, origin, 2);
AT(chat_segment, index, 3);
AT(chat_segment, path, 4);
SIZE(chat_segment, 6);

AT(chat_segment_token, origin, 0);
AT(chat_segment_token, message, 1);
AT(chat_segment_token, sampled, 2);
SIZE(chat_segment_token, 3);

AT(chat_fidelity, kind, 0);
AT(chat_fidelity, schema, 1);
AT(chat_fidelity, pointer, 3);
AT(chat_fidelity, message, 5);
SIZE(chat_fidelity, 7);

AT(chat_event, name, 0);
AT(chat_event, data, 2);
SIZE(chat_event, 4);

AT(chat_special_token, text, 0);
AT(chat_special_token, id, 2);
SIZE(chat_special_token, sizeof(size_t) == 8 ? 3 : 4);

AT(chat_tokenizer, user, 0);
AT(chat_tokenizer, encode, 1);
AT(chat_tokenizer, token_bytes, 2);
AT(chat_tokenizer, release, 3);
AT(chat_tokenizer, special, 4);
AT(chat_tokenizer, special_count, 5);
SIZE(chat_tokenizer, 6);

AT(chat_extended, kept, 0);
AT(chat_extended, token, 1);
AT(chat_extended, at, 2);
AT(chat_extended, message, 3);
AT(chat_extended, reason, 4);
AT(chat_extended, words, 6);
SIZE(chat_extended, 8);

AT(chat_id_list, data, 0);
AT(chat_id_list, len, 1);
SIZE(chat_id_list, 2);

AT(chat_conversation_fields, prompt_count, 2);
AT(chat_conversation_fields, deltas, 7);
SIZE(chat_conversation_fields, 10);

AT(chat_id_token, end, 0);
AT(chat_id_token, call, 1);
AT(chat_id_token, argument, 2);
AT(chat_id_token, field, 4);
SIZE(chat_id_token, sizeof(size_t) == 8 ? 6 : 7);
#endif

typedef chat_str header_has_structs;
