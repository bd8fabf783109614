// Shared by the contract tests of the API server: a namespace for each test, and objects for it.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/v1alpha2/etcdcluster.h"
#include "kube/core_types.h"
#include "kube/reflector.h"
#include "kube/typed.h"
#include "test/contract/kube_servers.h"

namespace etcdop::kube {
struct Namespace {
  static constexpr Resource resource{"", "v1", "namespaces", "Namespace"};
  ObjectMeta metadata;
  template <class S = Namespace>
  static auto describe() {
    return api::value(api::required("metadata", &S::metadata));
  }
};

struct ConfigMap {
  static constexpr Resource resource{"", "v1", "configmaps", "ConfigMap"};
  ObjectMeta metadata;
  std::map<std::string, std::string> data;
  template <class S = ConfigMap>
  static auto describe() {
    return api::value(api::required("metadata", &S::metadata), api::sparse("data", &S::data));
  }
};

template <class T>
void expect_error(const Result<T>& result, Code code, const std::string& text) {
  ASSERT_FALSE(result) << "expected: " << text;
  EXPECT_EQ(int(result.error().code), int(code)) << result.error().message;
  EXPECT_NE(result.error().message.find(text), std::string::npos) << result.error().message;
}

class KubeContract : public ::testing::Test {
 protected:
  /// Runs `body` on a fiber with a namespace of its own, which is deleted afterwards.
  void run(const std::function<void(Api&)>& body) {
    server->run([&] {
      Api& api = server->api();
      auto made = create<Namespace>(api, "", {{"metadata", {{"generateName", "contract-"}}}});
      ASSERT_TRUE(made) << made.error().message;
      ns = made->metadata.name;
      body(api);
      EXPECT_TRUE(remove<Namespace>(api, {"", ns}, made->metadata.uid));
    });
  }
  Executor& loop() { return server->executor(); }

  ObjectKey key(const std::string& name) const { return {ns, name}; }
  static Json config_map(const std::string& name, const char* value = "1") {
    return {{"metadata", {{"name", name}, {"labels", {{"app", "etcd"}}}}},
            {"data", {{"v", value}}}};
  }
  ConfigMap made(Api& api, const std::string& name) {
    auto object = create<ConfigMap>(api, ns, config_map(name));
    check(bool(object), object ? "" : object.error().message.c_str());
    return *object;
  }
  /// A merge patch of data.v.
  Result<ConfigMap> set(Api& api, const std::string& name, const char* value, Json metadata = {}) {
    Json patch{{"data", {{"v", value}}}};
    if (metadata.is_object()) patch.as_object()["metadata"] = std::move(metadata);
    return merge_patch<ConfigMap>(api, key(name), "", std::move(patch));
  }
  Json cluster(const std::string& name, int replicas) const {
    return {
        {"metadata", {{"name", name}}},
        {"spec", {{"replicas", replicas}, {"version", "3.6.16"}, {"storage", {{"size", "1Gi"}}}}}};
  }
  Call call(Verb verb, const Resource& resource) const {
    Call out;
    out.verb = verb;
    out.resource = resource;
    out.ns = ns;
    return out;
  }
  /// The current version.
  std::string version_now(Api& api) {
    auto version =
        list_pages(api, call(Verb::List, ConfigMap::resource), [] {}, [](const Json&) {});
    check(bool(version), "a list");
    return *version;
  }
  /// Watches our namespace until `enough` events have come, as "+name", "~name", "-name", "."
  /// (bookmark), or until the server closes after a few seconds.
  Result<Done> watch(Api& api, const std::string& version, std::size_t enough,
                     std::vector<std::string>& seen, const std::string& selector = "") {
    Call watching = call(Verb::Watch, ConfigMap::resource);
    watching.query = {{"resourceVersion", version}, {"timeoutSeconds", "4"}};
    if (!selector.empty()) watching.query["labelSelector"] = selector;
    return api.watch(watching, [&](const WatchEvent& event) {
      constexpr const char* kMarks[] = {"+", "~", "-", "."};
      const std::string name = identity_of(event.object).key.name;
      if (name == "kube-root-ca.crt") return true;  // A controller creates it in each namespace.
      seen.push_back(kMarks[int(event.type)] + name);
      return seen.size() < enough;
    });
  }

  std::unique_ptr<contract::KubeServer> server = contract::make_kube();
  contract::QuietLog log;
  std::string ns;
};

}  // namespace etcdop::kube
