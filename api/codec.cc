#include "api/codec.h"

namespace etcdop::api {

json::object rules(const std::vector<Rule>& of_field) {
  if (of_field.empty()) return {};
  json::array out;
  for (const Rule& rule : of_field)
    out.push_back(json::object{{"rule", rule.cel}, {"message", rule.message}});
  return {{"x-kubernetes-validations", std::move(out)}};
}

Fault expected(const char* wanted, const Json& got) {
  return {"", std::string("expected ") + wanted + ", got " + json::to_string(got.kind()).data()};
}

const Json* given(const json::object& from, const char* field, Presence presence, Verdict& bad) {
  const Json* value = from.if_contains(field);
  if (value && !value->is_null()) return value;
  if (presence == Presence::Required) bad = Fault{std::string(".") + field, "is required"};
  return nullptr;
}

void at_field(const char* field, Verdict& bad) {
  if (bad) bad->where = std::string(".") + field + bad->where;
}
void at_index(std::size_t index, Verdict& bad) {
  if (bad) bad->where = "[" + std::to_string(index) + "]" + bad->where;
}
void at_key(std::string_view key, Verdict& bad) {
  if (bad) bad->where = "[" + std::string(key) + "]" + bad->where;
}

Fault expected_one_of(const std::vector<const char*>& texts, const Json& got) {
  std::string out = "expected one of ";
  for (const char* text : texts) out += "\"" + std::string(text) + "\", ";
  return {"", out + "got " + serialize(got)};
}

void put(json::object& out, const char* field, Json value) { out[field] = std::move(value); }

json::object property(json::object of_type, const char* doc, const json::object& extra) {
  json::object out;
  if (*doc != '\0') out["description"] = doc;
  for (auto& [key, value] : of_type) out.emplace(key, std::move(value));
  for (const auto& [key, value] : extra) out[key] = value;
  return out;
}

Verdict Codec<std::string>::decode(const Json& in, std::string& out) {
  if (!in.is_string()) return expected("a string", in);
  out.assign(in.as_string().data(), in.as_string().size());
  return {};
}

Verdict Codec<bool>::decode(const Json& in, bool& out) {
  if (!in.is_bool()) return expected("true or false", in);
  out = in.as_bool();
  return {};
}

Verdict Quantity::decode(const Json& in, std::string& out) {
  if (in.is_int64() || in.is_uint64()) {
    out = serialize(in);
    return {};
  }
  if (!in.is_string()) return expected("a quantity such as \"1Gi\"", in);
  return Codec<std::string>::decode(in, out);
}

json::object Quantity::schema() {
  return {
      {"anyOf", json::array{{{"type", "integer"}}, {{"type", "string"}}}},
      {"pattern", R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+)))"
                  R"((([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)"},
      {"x-kubernetes-int-or-string", true}};
}

}  // namespace etcdop::api
