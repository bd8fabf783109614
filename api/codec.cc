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
