// Walks over described structs: lists the fields, and those that a user has set.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/field.h"

namespace etcdop::api {

/// T without std::optional.
template <class T>
struct Inner {
  using Type = T;
};
template <class T>
struct Inner<std::optional<T>> {
  using Type = T;
};

/// Appends the path of each leaf below T. Lists, maps and pass-through JSON are leaves.
template <Described T>
void append_leaves(const std::string& prefix, std::vector<std::string>& out) {
  for_each_field<T>([&]<class F>(const F& field) {
    using M = typename Inner<typename F::Member>::Type;
    if constexpr (Described<M>) append_leaves<M>(prefix + field.name + ".", out);
    else out.push_back(prefix + field.name);
  });
}

/// Every leaf of T as a path of wire names: "tls.client.serverSecretRef.name".
template <Described T>
std::vector<std::string> leaves() {
  std::vector<std::string> out;
  append_leaves<T>("", out);
  return out;
}

/// Appends the path of each leaf where `value` differs from `initial`. A present optional object
/// without such a leaf counts by its own path.
template <Described T>
void append_differences(const T& value, const T& initial, const std::string& prefix,
                        std::vector<std::string>& out) {
  for_each_field<T>([&]<class F>(const F& field) {
    using M = typename F::Member;
    const M& member = value.*field.at;
    const std::string path = prefix + field.name;
    if constexpr (Described<M>) {
      append_differences(member, initial.*field.at, path + ".", out);
    } else if constexpr (Described<typename Inner<M>::Type>) {
      if (!member) return;
      const std::size_t before = out.size();
      append_differences(*member, typename Inner<M>::Type{}, path + ".", out);
      if (out.size() == before) out.push_back(path);
    } else {
      if (member != initial.*field.at) out.push_back(path);
    }
  });
}

/// The leaves of `value` that differ from the schema's defaults.
template <Described T>
std::vector<std::string> differs_from_default(const T& value) {
  std::vector<std::string> out;
  append_differences(value, T{}, "", out);
  return out;
}

}  // namespace etcdop::api
