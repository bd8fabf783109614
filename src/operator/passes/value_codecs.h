// JSON of the small values in observations and plans, in addition to those of the API
// (api/codec.h).
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

#include "api/describe.h"
#include "base/wall_time.h"
#include "etcd/member.h"

namespace etcdop::api {

template <>
struct Codec<std::uint64_t> {
  static Json encode(std::uint64_t value) { return value; }
  static Verdict decode(const Json& in, std::uint64_t& out) {
    boost::system::error_code inexact;
    if (in.is_number()) out = in.to_number<std::uint64_t>(inexact);
    if (!in.is_number() || inexact) return expected("a whole number of 64 bits, not negative", in);
    return {};
  }
};

/// RFC 3339.
template <>
struct Codec<WallTime> {
  static Json encode(WallTime time) { return Json(to_rfc3339(time)); }
  static Verdict decode(const Json& in, WallTime& out) {
    const auto time = in.is_string() ? from_rfc3339(in.as_string()) : std::nullopt;
    if (!time) return expected("a time such as \"2026-11-21T03:56:18Z\"", in);
    out = *time;
    return {};
  }
};

template <>
struct Codec<std::chrono::milliseconds> {
  static Json encode(std::chrono::milliseconds span) { return std::int64_t{span.count()}; }
  static Verdict decode(const Json& in, std::chrono::milliseconds& out) {
    std::int64_t count = 0;
    if (Verdict bad = Codec<std::int64_t>::decode(in, count)) return bad;
    out = std::chrono::milliseconds(count);
    return {};
  }
};

/// 16 hex digits.
template <class Tag>
struct Codec<etcd::Id<Tag>> {
  static Json encode(etcd::Id<Tag> id) { return Json(to_hex(id)); }
  static Verdict decode(const Json& in, etcd::Id<Tag>& out) {
    const auto value = in.is_string() ? etcd::from_hex(in.as_string()) : std::nullopt;
    if (!value) return expected("an id in hex digits", in);
    out.value = *value;
    return {};
  }
};

/// {"add-learner": {...}}: the key is `traits.word` of an alternative, which is described or has no
/// fields.
template <class... T>
struct Codec<std::variant<T...>> {
  static Json encode(const std::variant<T...>& value) {
    return std::visit(
        []<class S>(const S& alternative) -> Json {
          json::object out;
          if constexpr (std::is_empty_v<S>) out[S::traits.word] = json::object();
          else out[S::traits.word] = Codec<S>::encode(alternative);
          return out;
        },
        value);
  }
  static Verdict decode(const Json& in, std::variant<T...>& out) {
    if (!in.is_object() || in.as_object().size() != 1)
      return expected("an object with one field", in);
    const auto& [word, fields] = *in.as_object().begin();
    Verdict bad = Fault{"", "\"" + std::string(word) + "\" is none of those that there are"};
    (void)((word == T::traits.word && (bad = read<T>(fields, out), true)) || ...);
    return bad;
  }

 private:
  template <class S>
  static Verdict read(const Json& fields, std::variant<T...>& out) {
    S alternative{};
    Verdict bad;
    if constexpr (!std::is_empty_v<S>) bad = Codec<S>::decode(fields, alternative);
    if (bad) bad->where = std::string(".") + S::traits.word + bad->where;
    out = std::move(alternative);
    return bad;
  }
};

}  // namespace etcdop::api
