// Secrets on a fake API server, as users write them.
#pragma once
#include <map>
#include <string>
#include <utility>

#include "api/v1alpha2/names.h"
#include "base/base64.h"
#include "kube/secret_object.h"
#include "sys/x509.h"
#include "test/support/fake_api.h"

namespace etcdop::testing {

/// The Secrets of namespace prod.
class SecretShelf {
 public:
  using Texts = std::map<std::string, std::string>;  ///< By the Secret's keys.
  /// The API outlives this.
  explicit SecretShelf(FakeApi& api) : api_(api) {
    api.serve({.resource = kube::SecretObject::resource});
  }
  /// Replaces the Secret. `owner`: a UID; empty: the user's own Secret.
  void put(const std::string& name, const Texts& texts, const std::string& owner = "") {
    json::object data, meta{{"name", name}, {"namespace", "prod"}};
    for (const auto& [key, text] : texts) data[key] = to_base64(text);
    if (!owner.empty())
      meta["ownerReferences"] = json::array{
          json::object{{"apiVersion", "v1"}, {"kind", "K"}, {"name", "n"}, {"uid", owner}}};
    const ObjectKey key{"prod", name};
    if (api_.find(kube::SecretObject::resource, key))
      api_.change(kube::SecretObject::resource, key,
                  [&](json::object& object) { object["data"] = data; });
    else api_.put(kube::SecretObject::resource, {{"metadata", meta}, {"data", data}});
  }
  void put(const std::string& name, const Identity& identity, const std::string& ca,
           const std::string& owner = "") {
    put(name,
        {{"tls.crt", identity.certificate}, {"tls.key", identity.key.reveal()}, {"ca.crt", ca}},
        owner);
  }
  /// As a user who takes its owner away. It keeps the label with the UID of its EtcdCluster.
  void disown(const std::string& name, const std::string& cluster_uid) {
    api_.change(kube::SecretObject::resource, {"prod", name}, [&](json::object& object) {
      json::object& meta = object.at("metadata").as_object();
      meta.erase("ownerReferences");
      meta["labels"].emplace_object()[api::v1alpha2::kClusterUidLabel] = cluster_uid;
    });
  }
  void erase(const std::string& name) { api_.erase(kube::SecretObject::resource, {"prod", name}); }
  /// How often the Secret was read.
  std::ptrdiff_t reads(const std::string& name) const {
    return api_.requests("get secrets prod/" + name);
  }

 private:
  FakeApi& api_;
};

}  // namespace etcdop::testing
