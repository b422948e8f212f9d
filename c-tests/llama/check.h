// What the tests of the headers that stand in for llama.cpp's share.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <typeinfo>

#define CHECK(...)                                                                  \
    do {                                                                            \
        if (!(__VA_ARGS__)) {                                                       \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
            std::exit(1);                                                           \
        }                                                                           \
    } while (0)

// The expression throws exactly this type, and says this.
#define THROWS(type, part, ...)                                                                                  \
    do {                                                                                                         \
        bool thrown = false;                                                                                     \
        try {                                                                                                    \
            (void) (__VA_ARGS__);                                                                                \
        } catch (const std::exception & error) {                                                                 \
            thrown = true;                                                                                       \
            if (typeid(error) != typeid(type) || std::string(error.what()).find(part) == std::string::npos) {    \
                std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, typeid(error).name(), error.what()); \
                std::exit(1);                                                                                    \
            }                                                                                                    \
        }                                                                                                        \
        CHECK(thrown && #__VA_ARGS__);                                                                           \
    } while (0)

// One of the project's own templates.
inline std::string read_template(const std::string & name) {
    std::ifstream file(TEMPLATES "/" + name + ".jinja", std::ios::binary);
    CHECK(file.good());
    return { std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>() };
}

void test_json_schema();
void test_messages();
void test_parse();
void test_peg();
void test_schemas();
void test_session();
void test_templates();
