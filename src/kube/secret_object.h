// A Kubernetes Secret. It can be decoded but not encoded, so no recording contains it.
#pragma once
#include <map>
#include <string>

#include "api/describe.h"
#include "api/meta.h"
#include "base/base64.h"
#include "base/secret.h"

namespace etcdop::api {

template <>
struct Codec<Secret> {
  static Verdict decode(const Json& in, Secret& out) {
    auto bytes = in.is_string() ? from_base64(in.as_string()) : std::nullopt;
    if (!bytes) return Fault{"", "expected base64"};
    out = Secret(std::move(*bytes));
    return {};
  }
};

}  // namespace etcdop::api

namespace etcdop::kube {

/// v1.Secret; for the value itself see base/secret.h.
struct SecretObject {
  static constexpr api::Resource resource{"", "v1", "secrets", "Secret"};
  api::ObjectMeta metadata;
  std::map<std::string, Secret> data;
  bool operator==(const SecretObject&) const = default;

  /// Empty if the key is missing.
  Secret value(const std::string& key) const {
    const auto found = data.find(key);
    return found == data.end() ? Secret() : found->second;
  }

  template <class S = SecretObject>
  static auto describe() {
    return api::value(api::required("metadata", &S::metadata), api::sparse("data", &S::data));
  }
};

}  // namespace etcdop::kube
