// llama.cpp's common/json-schema.h, on chatparse; not for ik_llama.cpp: a JSON schema as a tree of what llama.cpp's grammars follow.
// Grammars are made of schemas as JSON; a part of a tree is written as JSON for that. C++17.
#pragma once

#include "detail/version.h"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct common_chat_schema {
    enum node_kind {
        KIND_ANY,
        KIND_REF,
        KIND_ANY_OF,
        KIND_ALL_OF,
        KIND_CONST,
        KIND_ENUM,
        KIND_NULL,
        KIND_BOOLEAN,
        KIND_NUMBER,
        KIND_INTEGER,
        KIND_STRING,
        KIND_ARRAY,
        KIND_TUPLE,
        KIND_OBJECT,
    };

    enum value_type {
        TYPE_NULL,
        TYPE_BOOLEAN,
        TYPE_NUMBER,
        TYPE_INTEGER,
        TYPE_STRING,
        TYPE_ARRAY,
        TYPE_OBJECT,
    };

    enum string_format {
        FORMAT_NONE,
        FORMAT_UUID,
        FORMAT_DATE,
        FORMAT_TIME,
        FORMAT_DATE_TIME,
    };

    class type_set {
        uint32_t bits_ = 0;

      public:
        type_set() = default;
        type_set(std::initializer_list<value_type> types) {
            for (const auto type : types) {
                add(type);
            }
        }

        static type_set all() {
            type_set types;
            types.bits_ = (1u << (TYPE_OBJECT + 1)) - 1;
            return types;
        }

        void add(value_type type) { bits_ |= 1u << type; }

        bool has(value_type type) const { return (bits_ >> type & 1) != 0; }
        bool is_only(value_type type) const { return bits_ == 1u << type; }
        bool empty() const { return bits_ == 0; }

        type_set & operator|=(const type_set & other) {
            bits_ |= other.bits_;
            return *this;
        }
        type_set & operator&=(const type_set & other) {
            bits_ &= other.bits_;
            return *this;
        }

        bool operator==(const type_set & other) const { return bits_ == other.bits_; }
        bool operator!=(const type_set & other) const { return bits_ != other.bits_; }
    };

    virtual ~common_chat_schema() = default;
    virtual node_kind kind() const = 0;

    // The types that a value may have. Where references go in circles or a thousand deep, it may name too many.
    type_set value_types() const;

    bool may_be_string() const { return value_types().has(TYPE_STRING); }

    static const char * kind_name(node_kind kind);
    static const char * type_name(value_type type);
};

using common_chat_schema_ptr = std::unique_ptr<common_chat_schema>;

struct common_chat_schema_any : common_chat_schema {
    node_kind kind() const override { return KIND_ANY; }
};

struct common_chat_schema_ref : common_chat_schema {
    std::string                ref;               // "#/..."
    const common_chat_schema * target = nullptr;  // in the document's `refs`

    explicit common_chat_schema_ref(std::string ref) : ref(std::move(ref)) {}

    node_kind kind() const override { return KIND_REF; }
};

// Of anyOf and oneOf, and of a list of types.
struct common_chat_schema_any_of : common_chat_schema {
    std::vector<common_chat_schema_ptr> children;

    node_kind kind() const override { return KIND_ANY_OF; }
};

struct common_chat_schema_all_of : common_chat_schema {
    std::vector<common_chat_schema_ptr> children;

    node_kind kind() const override { return KIND_ALL_OF; }
};

struct common_chat_schema_const : common_chat_schema {
    common_json value;

    explicit common_chat_schema_const(common_json value) : value(std::move(value)) {}

    node_kind kind() const override { return KIND_CONST; }
};

struct common_chat_schema_enum : common_chat_schema {
    std::vector<common_json> values;

    node_kind kind() const override { return KIND_ENUM; }
};

struct common_chat_schema_null : common_chat_schema {
    node_kind kind() const override { return KIND_NULL; }
};

struct common_chat_schema_boolean : common_chat_schema {
    node_kind kind() const override { return KIND_BOOLEAN; }
};

struct common_chat_schema_number : common_chat_schema {
    node_kind kind() const override { return KIND_NUMBER; }
};

// Both bounds belong to it; INT64_MIN and INT64_MAX: no bound.
struct common_chat_schema_integer : common_chat_schema {
    int64_t minimum = INT64_MIN;
    int64_t maximum = INT64_MAX;

    node_kind kind() const override { return KIND_INTEGER; }
};

struct common_chat_schema_string : common_chat_schema {
    std::string   pattern;  // "": none
    string_format format     = FORMAT_NONE;
    int           min_length = 0;
    int           max_length = -1;  // -1: no bound

    node_kind kind() const override { return KIND_STRING; }
};

struct common_chat_schema_array : common_chat_schema {
    common_chat_schema_ptr items;  // always there
    int                    min_items = 0;
    int                    max_items = -1;  // -1: no bound

    node_kind kind() const override { return KIND_ARRAY; }
};

struct common_chat_schema_tuple : common_chat_schema {
    std::vector<common_chat_schema_ptr> items;

    node_kind kind() const override { return KIND_TUPLE; }
};

struct common_chat_schema_property {
    std::string            name;
    common_chat_schema_ptr schema;
    bool                   required = false;
};

struct common_chat_schema_object : common_chat_schema {
    std::vector<common_chat_schema_property> properties;             // in the schema's order
    common_chat_schema_ptr                   additional_properties;  // null: there are none

    node_kind kind() const override { return KIND_OBJECT; }
};

struct common_chat_schema_document {
    common_chat_schema_ptr                        root;
    std::map<std::string, common_chat_schema_ptr> refs;  // what references lead to, by their text
};

using common_chat_schema_document_ptr = std::shared_ptr<const common_chat_schema_document>;

// Throws std::runtime_error, with the place, for a schema that llama.cpp's grammars cannot follow.
common_chat_schema_document common_chat_schema_from_json(const common_json & schema);

#include "detail/json-schema-read.h"
#include "detail/json-schema-write.h"
