#include "sim/api/schema.h"

#include <algorithm>
#include <array>
#include <regex>
#include <string_view>
#include <utility>

namespace etcdop::sim {
namespace {

/// Fields that every kind has.
constexpr std::array<const char*, 3> kNotOfTheSchema{"apiVersion", "kind", "metadata"};
bool not_of_the_schema(std::string_view field) {
  return std::ranges::find(kNotOfTheSchema, field) != kNotOfTheSchema.end();
}

const json::object* object_at(const json::object& schema, std::string_view key) {
  const Json* const found = schema.if_contains(key);
  return found ? found->if_object() : nullptr;
}

std::string type_of(const json::object& schema) {
  const Json* const type = schema.if_contains("type");
  return type && type->is_string() ? std::string(type->get_string()) : std::string();
}

bool keeps_unknown(const json::object& schema) {
  return schema.contains("$ref") || schema.contains("x-kubernetes-preserve-unknown-fields") ||
         type_of(schema) != "object";
}

void complete(Json& value, const json::object& schema);

void complete_fields(json::object& object, const json::object& properties) {
  for (const auto& [key, property] : properties) {
    const json::object& about = property.as_object();
    Json* there = object.if_contains(key);
    if (there && there->is_null() && about.contains("default")) object.erase(key), there = nullptr;
    if (!there && about.contains("default")) there = &(object[key] = about.at("default"));
    if (there) complete(*there, about);
  }
}

void complete(Json& value, const json::object& schema) {
  if (auto* list = value.if_array()) {
    if (const json::object* items = object_at(schema, "items"))
      for (Json& item : *list) complete(item, *items);
    return;
  }
  auto* object = value.if_object();
  if (!object) return;
  const json::object* const properties = object_at(schema, "properties");
  if (const json::object* values = object_at(schema, "additionalProperties")) {
    for (auto& field : *object) complete(field.value(), *values);
    return;
  }
  if (!keeps_unknown(schema))
    for (auto at = object->begin(); at != object->end();)
      at = properties && properties->contains(at->key()) ? at + 1 : object->stable_erase(at);
  if (properties) complete_fields(*object, *properties);
}

bool fits(const Json& value, const std::string& type) {
  if (type.empty()) return true;
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "integer") return value.is_int64() || value.is_uint64();
  return value.is_number();
}

const char* kind_of(const Json& value) {
  switch (value.kind()) {
    case json::kind::null: return "null";
    case json::kind::bool_: return "boolean";
    case json::kind::int64:
    case json::kind::uint64: return "integer";
    case json::kind::double_: return "number";
    case json::kind::string: return "string";
    case json::kind::array: return "array";
    case json::kind::object: return "object";
  }
  return "?";
}

std::size_t characters(const std::string& utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(
      utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

class Check {
 public:
  std::vector<std::string> found;

  void value(const Json& v, const json::object& schema, const std::string& path) {
    const std::string type = type_of(schema);
    if (!fits(v, type))
      return wrong(path, "\"" + std::string(kind_of(v)) + "\"",
                   path + " in body must be of type " + type + ": \"" + kind_of(v) + "\"");
    if (v.is_object()) fields(v.get_object(), schema, path);
    else if (v.is_array()) items(v.get_array(), schema, path);
    else scalar(v, schema, path);
  }

 private:
  void wrong(const std::string& path, const std::string& value, const std::string& why) {
    found.push_back(path + ": Invalid value: " + value + ": " + why);
  }
  void fields(const json::object& object, const json::object& schema, const std::string& path) {
    const std::string inside = path.empty() ? "" : path + ".";
    if (const Json* required = schema.if_contains("required"))
      for (const Json& name : required->as_array())
        if (!object.contains(name.as_string()))
          found.push_back(inside + std::string(name.as_string()) + ": Required value");
    if (const json::object* properties = object_at(schema, "properties"))
      for (const auto& [key, property] : *properties)
        if (const Json* there = object.if_contains(key))
          value(*there, property.as_object(), inside + std::string(key));
    if (const json::object* values = object_at(schema, "additionalProperties"))
      for (const auto& [key, there] : object) value(there, *values, inside + std::string(key));
  }
  void items(const json::array& list, const json::object& schema, const std::string& path) {
    if (const Json* least = schema.if_contains("minItems");
        least && list.size() < least->to_number<std::size_t>())
      wrong(path, std::to_string(list.size()), path + " in body should have more items");
    const json::object* const each = object_at(schema, "items");
    for (std::size_t i = 0; each && i < list.size(); ++i)
      value(list[i], *each, path + "[" + std::to_string(i) + "]");
  }
  void scalar(const Json& v, const json::object& schema, const std::string& path) {
    const std::string shown = json::serialize(v), body = path + " in body should ";
    if (const Json* allowed = schema.if_contains("enum")) {
      bool known = false;
      for (const Json& one : allowed->as_array()) known = known || one == v;
      if (!known) found.push_back(path + ": Unsupported value: " + shown);
    }
    if (v.is_number()) {
      if (const Json* least = schema.if_contains("minimum");
          least && v.to_number<double>() < least->to_number<double>())
        wrong(path, shown, body + "be greater than or equal to " + json::serialize(*least));
      if (const Json* most = schema.if_contains("maximum");
          most && v.to_number<double>() > most->to_number<double>())
        wrong(path, shown, body + "be less than or equal to " + json::serialize(*most));
    }
    if (v.is_string()) {
      const std::string text(v.get_string());
      if (const Json* least = schema.if_contains("minLength");
          least && text.size() < least->to_number<std::size_t>())
        wrong(path, shown, body + "be at least " + json::serialize(*least) + " chars long");
      if (const Json* most = schema.if_contains("maxLength");
          most && characters(text) > most->to_number<std::size_t>())
        found.push_back(path + ": Too long: may not be more than " + json::serialize(*most) +
                        " bytes");  // It counts characters.
      if (const Json* pattern = schema.if_contains("pattern"))
        if (!std::regex_search(text, std::regex(std::string(pattern->as_string()))))
          wrong(path, shown, body + "match '" + std::string(pattern->as_string()) + "'");
    }
  }
};

}  // namespace

Schema::Schema(Json openapi) : root_(std::move(openapi)) {
  json::object& root = root_.as_object();
  if (Json* properties = root.if_contains("properties"))
    for (const char* ours : kNotOfTheSchema) properties->as_object().erase(ours);
  if (Json* required = root.if_contains("required")) {
    json::array names;
    for (const Json& name : required->as_array())
      if (!not_of_the_schema(name.as_string())) names.push_back(name);
    *required = std::move(names);
  }
}

void Schema::complete(json::object& object) const {
  const json::object* const properties = object_at(root_.as_object(), "properties");
  if (!properties) return;
  for (auto at = object.begin(); at != object.end();)
    at = not_of_the_schema(at->key()) || properties->contains(at->key()) ? at + 1
                                                                         : object.stable_erase(at);
  complete_fields(object, *properties);
}

std::vector<std::string> Schema::errors(const Json& object) const {
  Check check;
  Json apart = object;
  for (const char* ours : kNotOfTheSchema) apart.as_object().erase(ours);
  check.value(apart, root_.as_object(), "");
  return std::move(check.found);
}

}  // namespace etcdop::sim
