// What a tree says of values, and a tree as a JSON schema.
#pragma once

#include <set>

namespace chatparse_llama {

using schema_types = common_chat_schema::type_set;

inline common_chat_schema::value_type type_of(const common_json & value) {
    return value.is_null()           ? common_chat_schema::TYPE_NULL :
           value.is_boolean()        ? common_chat_schema::TYPE_BOOLEAN :
           value.is_number_integer() ? common_chat_schema::TYPE_INTEGER :
           value.is_number()         ? common_chat_schema::TYPE_NUMBER :
           value.is_string()         ? common_chat_schema::TYPE_STRING :
           value.is_array()          ? common_chat_schema::TYPE_ARRAY :
                                       common_chat_schema::TYPE_OBJECT;
}

// Each pass looks at what a reference leads to once, and takes what the pass before has found where references go in circles.
class schema_types_of {
    static constexpr int DEEPEST = 1000;
    static constexpr int PASSES  = 10;

    std::map<const common_chat_schema *, schema_types> found_;
    std::set<const common_chat_schema *>               seen_;
    bool                                               changed_ = false;

    template <typename Node> static const Node & as(const common_chat_schema & schema) { return static_cast<const Node &>(schema); }

    schema_types target(const common_chat_schema * schema, int depth) {
        if (schema && seen_.insert(schema).second) {
            const auto types = of(*schema, depth + 1);
            changed_         = changed_ || found_[schema] != types;
            found_[schema]   = types;
        }
        return schema ? found_[schema] : schema_types();
    }

    schema_types of(const common_chat_schema & schema, int depth) {
        if (depth > DEEPEST) {
            return schema_types::all();
        }
        schema_types types;
        switch (schema.kind()) {
            case common_chat_schema::KIND_ANY:     return schema_types::all();
            case common_chat_schema::KIND_REF:     return target(as<common_chat_schema_ref>(schema).target, depth);
            case common_chat_schema::KIND_CONST:   return { type_of(as<common_chat_schema_const>(schema).value) };
            case common_chat_schema::KIND_NULL:    return { common_chat_schema::TYPE_NULL };
            case common_chat_schema::KIND_BOOLEAN: return { common_chat_schema::TYPE_BOOLEAN };
            case common_chat_schema::KIND_NUMBER:  return { common_chat_schema::TYPE_NUMBER, common_chat_schema::TYPE_INTEGER };
            case common_chat_schema::KIND_INTEGER: return { common_chat_schema::TYPE_INTEGER };
            case common_chat_schema::KIND_STRING:  return { common_chat_schema::TYPE_STRING };
            case common_chat_schema::KIND_ARRAY:
            case common_chat_schema::KIND_TUPLE:   return { common_chat_schema::TYPE_ARRAY };
            case common_chat_schema::KIND_OBJECT:  return { common_chat_schema::TYPE_OBJECT };
            case common_chat_schema::KIND_ENUM:
                for (const auto & value : as<common_chat_schema_enum>(schema).values) {
                    types.add(type_of(value));
                }
                return types;
            case common_chat_schema::KIND_ANY_OF:
                for (const auto & child : as<common_chat_schema_any_of>(schema).children) {
                    types |= of(*child, depth + 1);
                }
                return types;
            case common_chat_schema::KIND_ALL_OF:
                types = schema_types::all();
                for (const auto & child : as<common_chat_schema_all_of>(schema).children) {
                    types &= of(*child, depth + 1);
                }
                return types;
        }
        return types;
    }

  public:
    schema_types find(const common_chat_schema & schema) {
        for (int pass = 0; pass < PASSES; pass++) {
            seen_.clear();
            changed_         = false;
            const auto types = of(schema, 0);
            if (!changed_) {
                return types;
            }
        }
        return schema_types::all();
    }
};

// References that lead to definitions keep their text, as rules are named after it; others become definitions.
class schema_writer {
    std::map<std::string, const common_chat_schema *> targets_;  // by reference
    std::vector<std::string>                          waiting_;

    static std::string defined(const std::string & ref) {
        for (const std::string folder : { "#/$defs/", "#/definitions/" }) {
            if (ref.compare(0, folder.size(), folder) == 0 && ref.find('/', folder.size()) == std::string::npos) {
                return ref;
            }
        }
        std::string text = "#/$defs/";
        for (const char c : ref) {
            text += c == '/' ? "~1" : c == '~' ? "~0" : std::string(1, c);
        }
        return text;
    }

    common_json list(const std::vector<common_chat_schema_ptr> & schemas) {
        auto out = common_json::array();
        for (const auto & schema : schemas) {
            out.push_back(node(*schema));
        }
        return out;
    }

    common_json reference(const common_chat_schema_ref & ref) {
        const std::string text = defined(ref.ref);
        if (ref.target && targets_.emplace(text, ref.target).second) {
            waiting_.push_back(text);
        }
        auto out    = common_json::object();
        out["$ref"] = text;
        return out;
    }

    common_json object(const common_chat_schema_object & schema) {
        auto out    = common_json::object();
        out["type"] = "object";
        if (!schema.properties.empty()) {
            auto properties = common_json::object();
            auto required   = common_json::array();
            for (const auto & property : schema.properties) {
                properties[property.name] = node(*property.schema);
                if (property.required) {
                    required.push_back(property.name);
                }
            }
            out["properties"] = properties;
            out["required"]   = required;
        }
        const auto * others = schema.additional_properties.get();
        if (!others) {
            out["additionalProperties"] = false;
        } else if (others->kind() != common_chat_schema::KIND_ANY) {
            out["additionalProperties"] = node(*others);
        } else if (!schema.properties.empty()) {
            out["additionalProperties"] = true;
        }
        return out;
    }

    static common_json string(const common_chat_schema_string & schema) {
        static const char * const formats[] = { "", "uuid", "date", "time", "date-time" };
        auto                      out       = common_json::object();
        out["type"]                         = "string";
        if (!schema.pattern.empty()) {
            out["pattern"] = schema.pattern;
        }
        if (schema.format != common_chat_schema::FORMAT_NONE) {
            out["format"] = formats[schema.format];
        }
        bounds(out, "minLength", schema.min_length, "maxLength", schema.max_length);
        return out;
    }

    static void bounds(common_json & out, const char * least_key, int least, const char * most_key, int most) {
        if (least > 0) {
            out[least_key] = least;
        }
        if (most >= 0) {
            out[most_key] = most;
        }
    }

    common_json node(const common_chat_schema & schema) {
        auto out = common_json::object();
        switch (schema.kind()) {
            case common_chat_schema::KIND_ANY:     break;
            case common_chat_schema::KIND_REF:     return reference(static_cast<const common_chat_schema_ref &>(schema));
            case common_chat_schema::KIND_OBJECT:  return object(static_cast<const common_chat_schema_object &>(schema));
            case common_chat_schema::KIND_STRING:  return string(static_cast<const common_chat_schema_string &>(schema));
            case common_chat_schema::KIND_ANY_OF:
                out["anyOf"] = list(static_cast<const common_chat_schema_any_of &>(schema).children);
                break;
            case common_chat_schema::KIND_ALL_OF:
                out["allOf"] = list(static_cast<const common_chat_schema_all_of &>(schema).children);
                break;
            case common_chat_schema::KIND_TUPLE:
                out["prefixItems"] = list(static_cast<const common_chat_schema_tuple &>(schema).items);
                break;
            case common_chat_schema::KIND_CONST:
                out["const"] = static_cast<const common_chat_schema_const &>(schema).value;
                break;
            case common_chat_schema::KIND_ENUM: {
                auto values = common_json::array();
                for (const auto & value : static_cast<const common_chat_schema_enum &>(schema).values) {
                    values.push_back(value);
                }
                out["enum"] = values;
                break;
            }
            case common_chat_schema::KIND_INTEGER: {
                const auto & integer = static_cast<const common_chat_schema_integer &>(schema);
                out["type"]          = "integer";
                if (integer.minimum != INT64_MIN) {
                    out["minimum"] = integer.minimum;
                }
                if (integer.maximum != INT64_MAX) {
                    out["maximum"] = integer.maximum;
                }
                break;
            }
            case common_chat_schema::KIND_ARRAY: {
                const auto & array = static_cast<const common_chat_schema_array &>(schema);
                out["type"]        = "array";
                out["items"]       = node(*array.items);
                bounds(out, "minItems", array.min_items, "maxItems", array.max_items);
                break;
            }
            case common_chat_schema::KIND_NULL:
            case common_chat_schema::KIND_BOOLEAN:
            case common_chat_schema::KIND_NUMBER:
                out["type"] = schema.kind() == common_chat_schema::KIND_NULL    ? "null" :
                              schema.kind() == common_chat_schema::KIND_BOOLEAN ? "boolean" :
                                                                                  "number";
                break;
        }
        return out;
    }

  public:
    common_json write(const common_chat_schema & schema) {
        auto out = node(schema);
        while (!waiting_.empty()) {
            const std::string ref   = waiting_.back();
            const size_t      slash = ref.rfind('/');
            waiting_.pop_back();
            auto target = node(*targets_.at(ref));
            out[ref.substr(2, slash - 2)][pointer_key(ref.substr(slash + 1))] = target;
        }
        return out;
    }
};

}  // namespace chatparse_llama

inline common_chat_schema::type_set common_chat_schema::value_types() const {
    return chatparse_llama::schema_types_of().find(*this);
}

inline const char * common_chat_schema::kind_name(node_kind kind) {
    static const char * const names[] = { "any",    "ref",     "anyOf",  "allOf", "const", "enum",  "null",
                                          "boolean", "number", "integer", "string", "array", "tuple", "object" };
    return names[kind];
}

inline const char * common_chat_schema::type_name(value_type type) {
    static const char * const names[] = { "null", "boolean", "number", "integer", "string", "array", "object" };
    return names[type];
}
