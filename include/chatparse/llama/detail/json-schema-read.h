// A JSON schema as a tree.
#pragma once

#include <algorithm>
#include <climits>
#include <cmath>
#include <functional>
#include <stdexcept>

namespace chatparse_llama {

// A step of a JSON pointer as a key.
inline std::string pointer_key(const std::string & step) {
    std::string key;
    for (size_t i = 0; i < step.size(); i++) {
        const bool escaped = step[i] == '~' && i + 1 < step.size() && (step[i + 1] == '0' || step[i + 1] == '1');
        key += !escaped ? step[i] : step[++i] == '0' ? '~' : '/';
    }
    return key;
}

class schema_reader {
    // A list of types makes a node of each, with all that is below: without a bound, short schemas would become huge trees.
    static constexpr size_t MOST_NODES = 100000;
    static constexpr size_t DEEPEST    = 500;

    struct target {
        std::string         ref;
        const common_json * schema;
    };

    const common_json &                 root_;
    std::vector<std::string>            path_;
    size_t                              nodes_ = 0;
    std::vector<target>                 targets_;  // each once, in the order in which they were found
    std::map<std::string, size_t>       known_;
    std::vector<common_chat_schema_ref *> refs_;

    [[noreturn]] void fail(const std::string & why) const {
        std::string place;
        for (const auto & step : path_) {
            place += step;
        }
        throw std::runtime_error("JSON schema error at " + place + ": " + why);
    }

    common_chat_schema_ptr below(std::string step, const std::function<common_chat_schema_ptr()> & read) {
        path_.push_back(std::move(step));
        auto node = read();
        path_.pop_back();
        return node;
    }

    common_chat_schema_ptr schema_below(std::string step, const common_json & schema) {
        return below(std::move(step), [&]() { return schema_at(schema); });
    }

    int count(const common_json & schema, const char * key, int otherwise) const {
        if (!schema.contains(key)) {
            return otherwise;
        }
        const auto & value = schema.at(key);
        if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() > INT_MAX) {
            fail(std::string(key) + " must be a non-negative integer");
        }
        return static_cast<int>(value.get<int64_t>());
    }

    // A fraction is rounded to an integer inside of the bound; one beyond all integers is none.
    int64_t bound(const common_json & schema, const char * key, bool up, int64_t none) const {
        const auto & value = schema.at(key);
        if (value.is_number_integer()) {
            return value.get<int64_t>();
        }
        if (!value.is_number()) {
            fail(std::string(key) + " must be a number");
        }
        const double number = up ? std::ceil(value.get<double>()) : std::floor(value.get<double>());
        return std::fabs(number) < 9.2e18 ? static_cast<int64_t>(number) : none;
    }

    common_chat_schema::string_format format(const common_json & schema) const {
        if (!schema.contains("format")) {
            return common_chat_schema::FORMAT_NONE;
        }
        if (!schema.at("format").is_string()) {
            fail("format must be a string");
        }
        const auto name    = schema.at("format").get<std::string>();
        const bool is_uuid = name == "uuid" || (name.size() == 5 && name.compare(0, 4, "uuid") == 0 && name[4] >= '1' && name[4] <= '5');
        return is_uuid              ? common_chat_schema::FORMAT_UUID :
               name == "date"      ? common_chat_schema::FORMAT_DATE :
               name == "time"      ? common_chat_schema::FORMAT_TIME :
               name == "date-time" ? common_chat_schema::FORMAT_DATE_TIME :
                                     common_chat_schema::FORMAT_NONE;
    }

    // Where a reference leads.
    const common_json & resolve(const std::string & ref) const {
        const auto *      at   = &root_;
        const std::string lost = "cannot resolve $ref " + ref + ", ";
        for (size_t begin = 2; begin <= ref.size();) {
            const size_t      end  = std::min(ref.find('/', begin), ref.size());
            const std::string step = pointer_key(ref.substr(begin, end - begin));
            if (at->is_array()) {
                const bool   is_number = !step.empty() && step.size() < 10 && step.find_first_not_of("0123456789") == std::string::npos;
                const size_t index     = is_number ? std::stoul(step) : at->size();
                if (index >= at->size()) {
                    fail(lost + step + " is out of range");
                }
                at = &at->at(index);
            } else if (at->is_object() && at->contains(step)) {
                at = &at->at(step);
            } else {
                fail(lost + step + " not found");
            }
            begin = end + 1;
        }
        return *at;
    }

    common_chat_schema_ptr reference(const common_json & value) {
        if (!value.is_string()) {
            fail("$ref must be a string");
        }
        const auto ref = value.get<std::string>();
        if (ref.compare(0, 2, "#/") != 0) {
            fail("unsupported $ref " + ref + ", only references into the same document are supported");
        }
        if (known_.emplace(ref, targets_.size()).second) {
            targets_.push_back({ ref, &resolve(ref) });
        }
        auto node = std::make_unique<common_chat_schema_ref>(ref);
        refs_.push_back(node.get());
        return node;
    }

    template <typename Node> common_chat_schema_ptr alternatives(const common_json & schema, const char * key) {
        return below("/" + std::string(key), [&]() -> common_chat_schema_ptr {
            const auto & list = schema.at(key);
            if (!list.is_array()) {
                fail("must be an array of schemas");
            }
            if (list.empty()) {
                fail("must not be empty");
            }
            auto node = std::make_unique<Node>();
            for (const auto & one : list) {
                node->children.push_back(schema_below("/" + std::to_string(node->children.size()), one));
            }
            return node;
        });
    }

    common_chat_schema_ptr object(const common_json & schema) {
        auto                        node = std::make_unique<common_chat_schema_object>();
        std::map<std::string, bool> required;
        if (schema.contains("required") && schema.at("required").is_array()) {
            for (const auto & name : schema.at("required")) {
                if (name.is_string()) {
                    required[name.get<std::string>()] = true;
                }
            }
        }
        const bool listed = schema.contains("properties");
        if (listed) {
            if (!schema.at("properties").is_object()) {
                fail("properties must be an object");
            }
            for (const auto & property : schema.at("properties").items()) {
                node->properties.push_back({ property.key(), schema_below("/properties/" + property.key(), property.value()),
                                             required.count(property.key()) > 0 });
            }
        }
        if (!schema.contains("additionalProperties")) {
            if (!listed) {
                node->additional_properties = std::make_unique<common_chat_schema_any>();
            }
            return node;
        }
        const auto & others = schema.at("additionalProperties");
        if (others.is_object()) {
            node->additional_properties = schema_below("/additionalProperties", others);
        } else if (!others.is_boolean()) {
            fail("additionalProperties must be a boolean or a schema");
        } else if (others.get<bool>()) {
            node->additional_properties = std::make_unique<common_chat_schema_any>();
        }
        return node;
    }

    common_chat_schema_ptr array(const common_json & schema) {
        const char * key = schema.contains("items") ? "items" : "prefixItems";
        if (schema.contains(key) && schema.at(key).is_array()) {
            auto node = std::make_unique<common_chat_schema_tuple>();
            for (const auto & item : schema.at(key)) {
                node->items.push_back(schema_below("/" + std::string(key) + "/" + std::to_string(node->items.size()), item));
            }
            return node;
        }
        auto node   = std::make_unique<common_chat_schema_array>();
        node->items = std::make_unique<common_chat_schema_any>();
        if (schema.contains(key)) {
            node->items = schema_below("/" + std::string(key), schema.at(key));
        }
        node->min_items = count(schema, "minItems", 0);
        node->max_items = count(schema, "maxItems", -1);
        return node;
    }

    common_chat_schema_ptr string(const common_json & schema) {
        auto node = std::make_unique<common_chat_schema_string>();
        if (schema.contains("pattern")) {
            if (!schema.at("pattern").is_string()) {
                fail("pattern must be a string");
            }
            node->pattern = schema.at("pattern").get<std::string>();
        }
        node->format     = format(schema);
        node->min_length = count(schema, "minLength", 0);
        node->max_length = count(schema, "maxLength", -1);
        return node;
    }

    common_chat_schema_ptr integer(const common_json & schema) {
        auto node = std::make_unique<common_chat_schema_integer>();
        if (schema.contains("minimum")) {
            node->minimum = bound(schema, "minimum", true, INT64_MIN);
        } else if (schema.contains("exclusiveMinimum")) {
            const int64_t under = bound(schema, "exclusiveMinimum", false, INT64_MIN);
            node->minimum       = under == INT64_MIN || under == INT64_MAX ? under : under + 1;
        }
        if (schema.contains("maximum")) {
            node->maximum = bound(schema, "maximum", false, INT64_MAX);
        } else if (schema.contains("exclusiveMaximum")) {
            const int64_t over = bound(schema, "exclusiveMaximum", true, INT64_MAX);
            node->maximum      = over == INT64_MIN || over == INT64_MAX ? over : over - 1;
        }
        return node;
    }

    // The types that a list names are read one by one, each as if it were the only one.
    common_chat_schema_ptr typed(const common_json & schema, const common_json & type) {
        if (++nodes_ > MOST_NODES) {
            fail("more than " + std::to_string(MOST_NODES) + " parts");
        }
        if (schema.contains("const")) {
            return std::make_unique<common_chat_schema_const>(schema.at("const"));
        }
        if (schema.contains("enum")) {
            const auto & values = schema.at("enum");
            if (!values.is_array() || values.empty()) {
                fail("enum must be a non-empty array");
            }
            auto node = std::make_unique<common_chat_schema_enum>();
            for (const auto & value : values) {
                node->values.push_back(value);
            }
            return node;
        }
        if (!type.is_null() && !type.is_string()) {
            fail("type must be a string or an array of strings");
        }
        return of_type(schema, type.is_string() ? type.get<std::string>() : "");
    }

    common_chat_schema_ptr of_type(const common_json & schema, const std::string & name) {
        const bool open   = !schema.contains("additionalProperties") ||
                            (schema.at("additionalProperties").is_boolean() && schema.at("additionalProperties").get<bool>());
        const bool listed = schema.contains("properties") || !open;
        const bool none   = name.empty();
        if ((none || name == "object") && listed) {
            return object(schema);
        }
        if ((none || name == "object" || name == "string") && schema.contains("allOf")) {
            return alternatives<common_chat_schema_all_of>(schema, "allOf");
        }
        if (name == "object") {
            return object(schema);
        }
        if (name == "array" || (none && (schema.contains("items") || schema.contains("prefixItems")))) {
            return array(schema);
        }
        if (name == "string" || (none && (schema.contains("pattern") || schema.contains("minLength") || schema.contains("maxLength") ||
                                          format(schema) != common_chat_schema::FORMAT_NONE))) {
            return string(schema);
        }
        if (none) {
            return std::make_unique<common_chat_schema_any>();
        }
        if (name == "integer") {
            return integer(schema);
        }
        if (name == "number") {
            return std::make_unique<common_chat_schema_number>();
        }
        if (name == "boolean") {
            return std::make_unique<common_chat_schema_boolean>();
        }
        if (name == "null") {
            return std::make_unique<common_chat_schema_null>();
        }
        fail("unrecognized type " + name);
    }

    common_chat_schema_ptr schema_at(const common_json & schema) {
        if (path_.size() > DEEPEST) {
            fail("deeper than " + std::to_string(DEEPEST));
        }
        if (!schema.is_object()) {
            fail("schema must be an object");
        }
        if (schema.contains("$ref")) {
            return reference(schema.at("$ref"));
        }
        for (const char * key : { "oneOf", "anyOf" }) {
            if (schema.contains(key)) {
                return alternatives<common_chat_schema_any_of>(schema, key);
            }
        }
        if (!schema.contains("type")) {
            return typed(schema, common_json());
        }
        const auto & type = schema.at("type");
        if (!type.is_array()) {
            return typed(schema, type);
        }
        if (type.empty()) {
            fail("type must not be empty");
        }
        auto node = std::make_unique<common_chat_schema_any_of>();
        for (const auto & one : type) {
            node->children.push_back(below("/type/" + std::to_string(node->children.size()), [&]() { return typed(schema, one); }));
        }
        return node;
    }

  public:
    explicit schema_reader(const common_json & root) : root_(root) {}

    common_chat_schema_document read() {
        common_chat_schema_document document;
        path_         = { "#" };
        document.root = schema_at(root_);
        // What a reference leads to is read for itself, so that chains of them are no recursion here.
        for (size_t i = 0; i < targets_.size(); i++) {
            path_                               = { targets_[i].ref };
            const common_json * const schema    = targets_[i].schema;
            document.refs[path_.front()]        = schema_at(*schema);
        }
        for (auto * ref : refs_) {
            ref->target = document.refs.at(ref->ref).get();
        }
        return document;
    }
};

}  // namespace chatparse_llama

inline common_chat_schema_document common_chat_schema_from_json(const common_json & schema) {
    return chatparse_llama::schema_reader(schema).read();
}
