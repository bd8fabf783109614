// JSON to C++ and back, and the OpenAPI schema of a type: one Codec for each kind of type.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field.h"
#include "base/json.h"
#include "base/result.h"

namespace etcdop::api {

/// Why a value could not be decoded; `where` is the path below the decoded value.
struct Fault {
  std::string where, what;
};
using Verdict = std::optional<Fault>;

/// "expected a list, got string".
Fault expected(const char* wanted, const Json& got);

// Steps of the codecs that do not depend on a type. They stand in codec.cc: what stands in a
// template is compiled once for each field of each struct.

/// The field's value; null if it is absent or null, and then with a fault if it is required.
const Json* given(const json::object& from, const char* field, Presence, Verdict& bad);
/// Puts ".field", "[index]" or "[key]" before the path of a fault.
void at_field(const char* field, Verdict& bad);
void at_index(std::size_t index, Verdict& bad);
void at_key(std::string_view key, Verdict& bad);
/// "expected one of ..."
Fault expected_one_of(const std::vector<const char*>& texts, const Json& got);
/// out[field] = value
void put(json::object& out, const char* field, Json value);
/// The schema of a field: that of its type, with the field's prose and constraints.
json::object property(json::object of_type, const char* doc, const json::object& extra);

/// Codec<T>: `encode` makes JSON; `decode` fills `out`, a fresh object, and reports a fault;
/// `schema` is OpenAPI v3 in the form that CustomResourceDefinitions need.
template <>
struct Codec<std::string> {
  static Json encode(const std::string& text) { return Json(text); }
  static Verdict decode(const Json& in, std::string& out);
  static json::object schema() { return {{"type", "string"}}; }
};

template <>
struct Codec<bool> {
  static Json encode(bool value) { return value; }
  static Verdict decode(const Json& in, bool& out);
  static json::object schema() { return {{"type", "boolean"}}; }
};

template <class T>
concept Integer = std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>;

template <Integer T>
struct Codec<T> {
  static constexpr bool kWide = sizeof(T) == 8;
  static Json encode(T value) { return value; }
  static Verdict decode(const Json& in, T& out) {
    const char* wanted = kWide ? "an integer of 64 bits" : "an integer of 32 bits";
    if (!in.is_number()) return expected(wanted, in);
    boost::system::error_code inexact;
    out = in.to_number<T>(inexact);
    if (inexact) return Fault{"", std::string("expected ") + wanted + ", got " + serialize(in)};
    return {};
  }
  static json::object schema() {
    return {{"type", "integer"}, {"format", kWide ? "int64" : "int32"}};
  }
};

/// A resource.Quantity kept as text ("1Gi"): on the wire a string or a number.
struct Quantity {
  static Json encode(const std::string& text) { return Json(text); }
  static Verdict decode(const Json& in, std::string& out);
  static json::object schema();
};

/// Passed through unparsed; the field's `extra` has its schema.
template <>
struct Codec<Json> {
  static Json encode(const Json& value) { return value; }
  static Verdict decode(const Json& in, Json& out) {
    out = in;
    return {};
  }
  static json::object schema() { return {}; }
};

template <class T>
struct Codec<std::optional<T>> {
  static Json encode(const std::optional<T>& value) {
    return value ? Codec<T>::encode(*value) : Json(nullptr);
  }
  static Verdict decode(const Json& in, std::optional<T>& out) {
    return Codec<T>::decode(in, out.emplace());
  }
  static json::object schema() { return Codec<T>::schema(); }
};

template <class T>
struct Codec<std::vector<T>> {
  static Json encode(const std::vector<T>& list) {
    json::array out;
    for (const T& element : list) out.push_back(Codec<T>::encode(element));
    return out;
  }
  static Verdict decode(const Json& in, std::vector<T>& out) {
    if (!in.is_array()) return expected("a list", in);
    out.reserve(in.as_array().size());
    for (const Json& element : in.as_array()) {
      T decoded{};
      if (Verdict bad = Codec<T>::decode(element, decoded)) {
        at_index(out.size(), bad);
        return bad;
      }
      out.push_back(std::move(decoded));
    }
    return {};
  }
  static json::object schema() { return {{"type", "array"}, {"items", Codec<T>::schema()}}; }
};

template <class T>
struct Codec<std::map<std::string, T>> {
  static Json encode(const std::map<std::string, T>& map) {
    json::object out;
    for (const auto& [key, value] : map) out[key] = Codec<T>::encode(value);
    return out;
  }
  static Verdict decode(const Json& in, std::map<std::string, T>& out) {
    if (!in.is_object()) return expected("an object", in);
    for (const auto& [key, value] : in.as_object())
      if (Verdict bad = Codec<T>::decode(value, out[key])) {
        at_key(key, bad);
        return bad;
      }
    return {};
  }
  static json::object schema() {
    return {{"type", "object"}, {"additionalProperties", Codec<T>::schema()}};
  }
};

template <Named E>
struct Codec<E> {
  static Json encode(E value) {
    for (const auto& [enumerator, text] : names(value))
      if (enumerator == value) return text;
    check(false, "every enumerator has a name");
    return nullptr;
  }
  static Verdict decode(const Json& in, E& out) {
    if (!in.is_string()) return expected("a string", in);
    std::vector<const char*> texts;
    for (const auto& [enumerator, text] : names(E{})) {
      if (in.as_string() == text) {
        out = enumerator;
        return {};
      }
      texts.push_back(text);
    }
    return expected_one_of(texts, in);
  }
  static json::object schema() {
    json::array texts;
    for (const auto& [enumerator, text] : names(E{})) texts.emplace_back(text);
    return {{"type", "string"}, {"enum", std::move(texts)}};
  }
};

/// Its members are not inline: the kinds' codecs are instantiated once, in a file codecs.cc, which
/// saves every other file the work (`extern template` beside the kind).
template <Described T>
struct Codec<T> {
  static Json encode(const T& value);
  static Verdict decode(const Json& in, T& out);
  /// A template, so that the operator leaves it out: only generators, the simulated API server and
  /// tests need it.
  template <class = void>
  static json::object schema();
};

/// A T as its initialisers make it, created once.
template <Described T>
const T& initial() {
  static const T made{};
  return made;
}

template <Described T>
Json Codec<T>::encode(const T& value) {
  json::object out;
  if constexpr (requires { T::resource; }) {
    out["apiVersion"] = api_version(T::resource);
    out["kind"] = T::resource.kind;
  }
  for_each_field<T>([&]<class F>(const F& field) {
    const auto& member = value.*field.at;
    if (field.presence == Presence::Sparse && member == initial<T>().*field.at) return;
    if constexpr (requires { member.has_value(); })
      if (!member.has_value()) return;
    put(out, field.name, F::FieldCodec::encode(member));
  });
  return out;
}

/// Decodes into a fresh `out`. Not inline: one for each type of field is enough.
template <class C, class M>
[[gnu::noinline]] Verdict decode_new(const Json& in, M& out) {
  out = M{};
  return C::decode(in, out);
}

template <Described T>
Verdict Codec<T>::decode(const Json& in, T& out) {
  if (!in.is_object()) return expected("an object", in);
  const json::object& from = in.as_object();
  Verdict bad;
  for_each_field<T>([&]<class F>(const F& field) {
    if (bad) return;
    if (const Json* value = given(from, field.name, field.presence, bad)) {
      bad = decode_new<typename F::FieldCodec>(*value, out.*field.at);
      at_field(field.name, bad);
    }
  });
  return bad;
}

template <Described T>
template <class>
json::object Codec<T>::schema() {
  const auto& described = description<T>();
  json::object properties;
  json::array required;
  for_each_field<T>([&]<class F>(const F& field) {
    json::object one = property(F::FieldCodec::schema(), field.doc, field.extra);
    if (field.presence == Presence::Defaulted)
      one["default"] = F::FieldCodec::encode(initial<T>().*field.at);
    put(properties, field.name, std::move(one));
    if (field.presence == Presence::Required) required.emplace_back(field.name);
  });
  json::object out{{"description", described.doc}, {"type", "object"}};
  if (!required.empty()) out["required"] = std::move(required);
  out["properties"] = std::move(properties);
  for (const auto& [key, value] : described.extra) out[key] = value;
  for (const auto& [key, value] : rules(described.rules)) out[key] = value;
  return out;
}

template <class T>
Json encode(const T& value) {
  return Codec<T>::encode(value);
}

/// Replaces `out` by the content of `in`; an absent or null field has the struct's initialiser.
/// Unknown fields are ignored. Invalid names the field: "EtcdCluster.spec.replicas: expected ...".
/// `out` is then half filled.
template <class T>
Result<Done> decode(const Json& in, T& out, const std::string& path) {
  out = T{};
  if (const Verdict bad = Codec<T>::decode(in, out))
    return Error{Code::Invalid, path + bad->where + ": " + bad->what};
  return Done{};
}

/// OpenAPI v3. `$ref` stands for a part of core/v1 (crdgen inserts it).
template <class T>
Json schema() {
  return Codec<T>::schema();
}

}  // namespace etcdop::api
