// Structs have this layout for good, in machine words: new facts get new functions.
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

AT(chat_rewrite, reason, 0);
AT(chat_rewrite, words, 1);
AT(chat_rewrite, message, 3);
SIZE(chat_rewrite, 4);

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

AT(chat_ids, data, 0);
AT(chat_ids, len, 1);
SIZE(chat_ids, 2);

AT(chat_id_token, end, 0);
AT(chat_id_token, call, 1);
AT(chat_id_token, argument, 2);
AT(chat_id_token, field, 4);
SIZE(chat_id_token, sizeof(size_t) == 8 ? 6 : 7);
#endif

typedef chat_str header_has_structs;
