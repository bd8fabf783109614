// The functions with which a struct describes itself once: name, member, prose and constraints of
// each field. Codec, schema and walks are derived from that (codec.h, leaves.h).
#pragma once
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json.h"

namespace etcdop::api {

template <class T>
struct Codec;

enum class Presence {
  Required,   ///< In the schema's `required`; decoding fails without it.
  Defaulted,  ///< The API server fills in the struct's initialiser; always encoded.
  Optional,   ///< std::optional: encoded if it has a value.
  Sparse,     ///< Encoded if it differs from the struct's initialiser.
  Always,  ///< Always encoded, and not required by the schema: for a status that shows its zeros.
};

/// One field of S, of type M, read and written by C. `extra` is merged into the field's schema.
template <class S, class M, class C>
struct Field {
  using Struct = S;
  using Member = M;
  using FieldCodec = C;
  const char* name;
  M S::* at;
  const char* doc;  ///< Empty: the type's own prose, or none.
  Presence presence;
  json::object extra;
};

/// The field's own codec, or that of its type.
template <class C, class M>
using CodecOr = std::conditional_t<std::is_void_v<C>, Codec<M>, C>;

template <class C = void, class S, class M>
Field<S, M, CodecOr<C, M>> required(const char* name, M S::* at, const char* doc = "",
                                    json::object extra = {}) {
  return {name, at, doc, Presence::Required, std::move(extra)};
}
template <class C = void, class S, class M>
Field<S, M, CodecOr<C, M>> defaulted(const char* name, M S::* at, const char* doc,
                                     json::object extra = {}) {
  return {name, at, doc, Presence::Defaulted, std::move(extra)};
}
template <class C = void, class S, class M>
Field<S, std::optional<M>, CodecOr<C, std::optional<M>>> optional(const char* name,
                                                                  std::optional<M> S::* at,
                                                                  const char* doc = "",
                                                                  json::object extra = {}) {
  return {name, at, doc, Presence::Optional, std::move(extra)};
}
template <class C = void, class S, class M>
Field<S, M, CodecOr<C, M>> sparse(const char* name, M S::* at, const char* doc = "",
                                  json::object extra = {}) {
  return {name, at, doc, Presence::Sparse, std::move(extra)};
}
template <class C = void, class S, class M>
Field<S, M, CodecOr<C, M>> always(const char* name, M S::* at, const char* doc,
                                  json::object extra = {}) {
  return {name, at, doc, Presence::Always, std::move(extra)};
}

/// A check of the API server, in CEL, and its message. The message names the field.
struct Rule {
  const char* cel;
  const char* message;
};

/// One field of a list; its place distinguishes it from others of its type.
template <std::size_t, class F>
struct FieldAt {
  F field;
};
template <class Places, class... F>
struct FieldsAt;
template <std::size_t... Place, class... F>
struct FieldsAt<std::index_sequence<Place...>, F...> : FieldAt<Place, F>... {
  template <class Visitor>
  void visit(Visitor& visitor) const {
    (visitor(static_cast<const FieldAt<Place, F>&>(*this).field), ...);
  }
};
/// The fields of a struct, in order. A std::tuple costs a compiler several times as much.
template <class... F>
struct Fields : FieldsAt<std::index_sequence_for<F...>, F...> {
  explicit Fields(F... fields)
      : FieldsAt<std::index_sequence_for<F...>, F...>{{std::move(fields)}...} {}
};

/// The fields of a base, then the fields of the struct.
template <class... B, std::size_t... I, class... F, std::size_t... J>
Fields<B..., F...> joined(Fields<B...> base, Fields<F...> own, std::index_sequence<I...>,
                          std::index_sequence<J...>) {
  return Fields<B..., F...>{std::move(static_cast<FieldAt<I, B>&>(base).field)...,
                            std::move(static_cast<FieldAt<J, F>&>(own).field)...};
}
template <class... B, class... F>
Fields<B..., F...> joined(Fields<B...> base, Fields<F...> own) {
  return joined(std::move(base), std::move(own), std::index_sequence_for<B...>{},
                std::index_sequence_for<F...>{});
}

template <class... F>
struct Object {
  const char* doc;
  Fields<F...> fields;
  std::vector<Rule> rules;
  json::object extra;
};

/// Converts to any member type of an aggregate; used only to test whether it can.
struct AnyMember {
  template <class M>
  [[noreturn]] operator M() const {
    std::abort();
  }
};
template <std::size_t>
using AnyMemberAt = AnyMember;
template <class S, std::size_t... I>
constexpr bool takes_members(std::index_sequence<I...>) {
  return requires { S{AnyMemberAt<I>{}...}; };
}
/// Whether S is an aggregate of N members. A count by Boost.PFR costs a compiler ten times as much.
template <class S, std::size_t N>
concept HasMembers = takes_members<S>(std::make_index_sequence<N>()) &&
                     !takes_members<S>(std::make_index_sequence<N + 1>());

/// A struct's description. Does not compile if the number of fields differs from the struct's.
template <class First, class... F>
Object<First, F...> object(const char* doc, Fields<First, F...> fields,
                           std::vector<Rule> rules = {}, json::object extra = {}) {
  static_assert(HasMembers<typename First::Struct, 1 + sizeof...(F)>,
                "every field of the struct is described, once");
  return {doc, std::move(fields), std::move(rules), std::move(extra)};
}

/// The description of a struct that no schema describes: only its JSON counts, so neither it nor
/// its fields have prose.
template <class... F>
auto value(F... fields) {
  return object("", Fields{std::move(fields)...});
}

/// The same of a struct with a base: the base's fields, then its own.
template <class FirstOfBase, class... B, class First, class... F>
Object<FirstOfBase, B..., First, F...> object(const char* doc, Fields<FirstOfBase, B...> base,
                                              Fields<First, F...> own, std::vector<Rule> rules = {},
                                              json::object extra = {}) {
  static_assert(HasMembers<typename FirstOfBase::Struct, 1 + sizeof...(B)> &&
                    HasMembers<typename First::Struct, 2 + sizeof...(F)>,
                "every field of the struct and of its base is described, once");
  return {doc, joined(std::move(base), std::move(own)), std::move(rules), std::move(extra)};
}

/// The `extra` of a field with rules of its own.
json::object rules(const std::vector<Rule>& of_field);

/// A struct that describes itself: `template <class S = This> static auto describe()`. It names its
/// fields through S, so that the compiler processes it only where it is used: otherwise each file
/// that sees a struct would process these functions, which take most of the compile time. (For the
/// same reason this concept must not check for them.)
template <class T>
concept Described = std::is_class_v<T> && std::is_aggregate_v<T> && !std::is_empty_v<T>;

/// An enum with `names(E)`: pairs of enumerator and wire text, found by ADL.
template <class T>
concept Named = std::is_enum_v<T> && requires { names(T{}); };

/// T's description, created once.
template <Described T>
const auto& description() {
  static const auto made = T::describe();
  return made;
}

/// Calls f(field) for each field of T, in the order of the description.
template <Described T, class F>
void for_each_field(F&& f) {
  description<T>().fields.visit(f);
}

}  // namespace etcdop::api
