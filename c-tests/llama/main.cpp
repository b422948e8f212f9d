// The headers that stand in for llama.cpp's chat layer, compiled with those that llama.cpp keeps: they show what its programs use,
// and it does what they expect. CHATPARSE_STRICT may be defined.
#include "check.h"

int main() {
    test_messages();
    test_templates();
    test_parse();
    test_session();
    test_peg();
    test_schemas();
    test_json_schema();
    std::puts("ok");
}
