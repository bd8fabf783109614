#include "test/contract/kube_story.h"

#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdmember.h"
#include "kube/core_types.h"

namespace etcdop::contract {
namespace {

using api::Resource;
using kube::Call;
using kube::PatchType;
using kube::Verb;

class Teller {
 public:
  explicit Teller(std::uint64_t seed) : random_(seed) {}

  Story story() {
    Story out;
    while (out.size() < kStepsMax) out.push_back({step()});
    return out;
  }
  Story of_evictions() {
    Story out;
    alone_ = one_in(4);
    while (out.size() < kStepsMax) {
      out.push_back({eviction_step()});
      for (const char* name : {"p", "q"}) {
        out.push_back({.call = {}, .settles = true});
        Call& look = out.back().call;
        look.verb = Verb::Get;
        look.resource = kBudgets;
        look.name = name;
      }
    }
    return out;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class... T>
  std::string one_of(T... words) {
    const char* all[] = {words...};
    return all[below(sizeof...(T))];
  }

  Call step() {
    Call call;
    call.resource = kinds_[below(kinds_.size())];
    call.name = one_of("a", "b", "c");
    switch (below(20)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4: create(call); break;
      case 5: call.verb = Verb::Get; break;
      case 6: list(call); break;
      case 7:
      case 8: remove(call); break;
      case 9:
      case 10: json_patch(call); break;
      case 11:
      case 12: apply(call); break;
      case 13:
      case 14:
      case 15: status(call); break;
      default: merge_patch(call); break;
    }
    return call;
  }

  Call eviction_step() {
    Call call;
    call.resource = kube::Pod::resource;
    call.name = one_of("a", "b", "c", "d");
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
      case 3: pod(call); break;
      case 4:
      case 5: report(call); break;
      case 6: remove(call); break;
      case 7: budget(call); break;
      case 8: change_budget(call); break;
      default: evict(call); break;
    }
    return call;
  }
  void pod(Call& call) {
    create(call);
    call.body.at("metadata").as_object().erase("finalizers");
  }
  void report(Call& call) {
    call.verb = Verb::Patch;
    call.patch = PatchType::Merge;
    call.subresource = "status";
    call.body = {
        {"status",
         {{"phase", one_in(6) ? one_of("Pending", "Succeeded", "Failed") : "Running"},
          {"conditions", {{{"type", "Ready"}, {"status", one_in(3) ? "False" : "True"}}}}}}};
  }
  void evict(Call& call) {
    call.verb = Verb::Create;
    call.subresource = "eviction";
    call.body = {{"apiVersion", "policy/v1"},
                 {"kind", "Eviction"},
                 {"metadata", {{"name", one_in(20) ? "other" : call.name}}}};
    if (one_in(6)) call.body.as_object()["deleteOptions"] = json::object{{"gracePeriodSeconds", 0}};
  }
  void budget(Call& call) {
    call.resource = kBudgets;
    call.name = alone_ ? "p" : one_of("p", "q");
    if (one_in(3)) {
      call.verb = Verb::Delete;
      return;
    }
    call.verb = Verb::Create;
    json::object spec{{"selector", json::object{}}};
    if (!alone_) spec["selector"] = {{"matchLabels", {{"l", call.name == "p" ? "1" : "2"}}}};
    spec[one_in(4) ? "maxUnavailable" : "minAvailable"] = int(below(4));
    if (one_in(4)) spec["unhealthyPodEvictionPolicy"] = one_of("AlwaysAllow", "IfHealthyBudget");
    call.body = {{"apiVersion", api::api_version(kBudgets)},
                 {"kind", kBudgets.kind},
                 {"metadata", {{"name", std::exchange(call.name, "")}}},
                 {"spec", std::move(spec)}};
  }
  void change_budget(Call& call) {
    call.resource = kBudgets;
    call.name = alone_ ? "p" : one_of("p", "q");
    call.verb = Verb::Patch;
    call.patch = PatchType::Merge;
    call.body = {{"spec", {{"maxUnavailable", nullptr}, {"minAvailable", int(below(4))}}}};
  }

  bool is(const Call& call, const char* kind) const {
    return std::string_view(call.resource.kind) == kind;
  }
  bool custom(const Call& call) const { return is(call, "EtcdCluster") || is(call, "EtcdMember"); }

  json::object metadata() {
    json::object out;
    if (one_in(2)) out["labels"] = json::object{{"l", one_of("1", "2")}};
    if (one_in(5)) out["annotations"] = json::object{{one_of("x", "y"), one_of("1", "2")}};
    if (one_in(4)) out["finalizers"] = finalizers();
    if (one_in(6)) out["ownerReferences"] = owners();
    return out;
  }
  Json finalizers() {
    json::array out;
    if (one_in(2)) out.emplace_back("example.io/one");
    if (one_in(2)) out.emplace_back("example.io/two");
    if (out.empty() && one_in(2)) return nullptr;
    return out;
  }
  Json owners() {
    json::array out;
    for (const char* owner : {"one", "two"})
      if (one_in(2)) {
        out.push_back({{"apiVersion", "v1"},
                       {"kind", "ConfigMap"},
                       {"name", owner},
                       {"uid", std::string("@owner-") + owner}});
        if (one_in(3)) out.back().as_object()["blockOwnerDeletion"] = one_in(2);
      }
    return out;
  }
  /// Adds a valid spec or data.
  void content(const Call& call, json::object& object) {
    if (is(call, "Lease")) {
      object["spec"] = json::object{{"holderIdentity", one_of("x", "y")}};
      if (one_in(2)) object["spec"].as_object()["leaseDurationSeconds"] = 15;
    } else if (is(call, "Service")) {
      object["spec"] = {{"clusterIP", "None"}, {"ports", {{{"port", 2379}}}}};
    } else if (is(call, "Pod")) {
      object["spec"] = {{"automountServiceAccountToken", false},
                        {"containers", {{{"name", "c"}, {"image", "i"}}}}};
      if (one_in(2)) object["spec"].as_object()["nodeName"] = "nowhere";
    } else if (!custom(call)) {
      json::object data;
      for (const char* key : {"k", "m"})
        if (one_in(2)) data[key] = one_of("1", "2", "");
      object["data"] = std::move(data);
    } else if (call.resource == kinds_[1]) {
      json::object spec{{"version", "3.6.16"}, {"storage", {{"size", "1Gi"}}}};
      if (one_in(2)) spec["replicas"] = int(below(4)) + 1;
      if (one_in(8)) spec["progressDeadlineSeconds"] = 700;
      object["spec"] = std::move(spec);
    } else {
      json::object spec{{"clusterName", "c"},
                        {"version", "3.6.16"},
                        {"storage", {{"size", "1Gi"}}},
                        {"clusterToken", "t"},
                        {"initialCluster", one_of("", "a=b")}};
      if (one_in(3)) spec["dormant"] = true;
      object["spec"] = std::move(spec);
    }
  }

  void create(Call& call) {
    call.verb = Verb::Create;
    json::object object{{"apiVersion", api::api_version(call.resource)},
                        {"kind", call.resource.kind}};
    content(call, object);
    json::object meta = metadata();
    meta["name"] = call.name;
    if (one_in(25)) meta["name"] = one_of("A_b", "", "-x", is(call, "ConfigMap") ? "x.y" : "-y");
    if (one_in(25)) meta["resourceVersion"] = "@rv0";
    if (one_in(25)) meta["namespace"] = "elsewhere";
    if (one_in(25)) meta["uid"] = "@uid0";
    if (custom(call) && one_in(25)) object["nonsense"] = 1;
    if (custom(call) && one_in(25)) object["status"] = json::object{{"version", "3.6.16"}};
    object["metadata"] = std::move(meta);
    call.name.clear();
    call.body = std::move(object);
  }

  void list(Call& call) {
    call.verb = Verb::List;
    if (one_in(3)) call.query["labelSelector"] = one_of("l=1", "l!=1", "l", "!l", "l in (1,2)");
    if (one_in(6)) call.query["fieldSelector"] = "metadata.name=" + call.name;
    if (one_in(2)) call.query["limit"] = one_of("1", "2");
    if (one_in(4)) {
      call.query["resourceVersion"] = "@rv" + std::to_string(below(3)) + ":" + call.name;
      call.query["resourceVersionMatch"] = "Exact";
    }
    call.name.clear();
  }

  void remove(Call& call) {
    call.verb = Verb::Delete;
    json::object options, conditions;
    if (one_in(2)) conditions["uid"] = one_of("@uid0", "@uid0", "@uid1");
    if (one_in(3)) conditions["resourceVersion"] = one_of("@rv0", "@rv1");
    if (!conditions.empty()) options["preconditions"] = std::move(conditions);
    if (one_in(2)) options["propagationPolicy"] = "Background";
    if (is(call, "Pod") && one_in(2)) options["gracePeriodSeconds"] = 0;
    if (!options.empty()) call.body = std::move(options);
  }

  void merge_patch(Call& call) {
    call.verb = Verb::Patch;
    call.patch = PatchType::Merge;
    json::object object, meta = metadata();
    if (one_in(3)) meta["resourceVersion"] = one_of("@rv0", "@rv0", "@rv1");
    if (one_in(3)) meta["uid"] = one_of("@uid0", "@uid0", "@uid1");
    if (one_in(40)) meta["name"] = one_of("a", "x");
    if (one_in(40)) meta["namespace"] = "elsewhere";
    if (one_in(30)) meta["generation"] = 7;
    if (one_in(30)) meta["resourceVersion"] = nullptr;
    if (one_in(30)) meta["resourceVersion"] = "xyz";
    if (one_in(30)) meta["uid"] = nullptr;
    if (one_in(30)) meta["nonsense"] = 1;
    if (one_in(30)) meta["labels"] = nullptr;
    if (!meta.empty()) object["metadata"] = std::move(meta);
    if (one_in(2)) change(call, object);
    if (custom(call) && one_in(8)) object["status"] = json::object{{"version", "3.6.15"}};
    call.query = writer();
    call.body = std::move(object);
  }
  void change(const Call& call, json::object& object) {
    if (is(call, "Lease")) {
      object["spec"] =
          json::object{{"holderIdentity", one_in(4) ? Json() : Json(one_of("x", "y"))}};
    } else if (is(call, "Service")) {
      object["spec"] = json::object{{"publishNotReadyAddresses", one_in(2) ? Json() : Json(true)}};
    } else if (is(call, "Pod")) {
      return;  // A spec is immutable.
    } else if (!custom(call)) {
      object["data"] =
          json::object{{one_of("k", "m"), one_in(4) ? Json() : Json(one_of("1", "2"))}};
      if (one_in(10)) object["data"] = nullptr;
    } else if (call.resource == kinds_[1]) {
      object["spec"] = json::object{{"replicas", one_in(10)  ? Json(-1)
                                                 : one_in(6) ? Json()
                                                             : Json(int(below(4)) + 1)}};
      if (one_in(20)) object["spec"].as_object()["nonsense"] = 1;
    } else {
      object["spec"] = json::object{{"dormant", one_in(3) ? Json() : Json(one_in(2))}};
    }
  }

  void json_patch(Call& call) {
    call.verb = Verb::Patch;
    call.patch = PatchType::Json;
    json::array out;
    const auto operation = [&](const char* op, const char* path, const auto& value) {
      json::object o{{"op", op}, {"path", path}};
      if (std::string(op) != "remove") o["value"] = Json(value);
      out.push_back(std::move(o));
    };
    if (one_in(2)) operation("test", "/metadata/resourceVersion", one_of("@rv0", "@rv0", "@rv1"));
    if (one_in(3)) operation("test", "/metadata/uid", one_of("@uid0", "@uid0", "@uid1"));
    switch (below(7)) {
      case 0: operation("remove", "/metadata/finalizers", Json()); break;
      case 1: operation("add", "/metadata/finalizers", finalizers()); break;
      case 2: operation("add", "/metadata/finalizers/-", "example.io/three"); break;
      case 3: operation("remove", "/metadata/finalizers/0", Json()); break;
      case 4: operation("replace", "/metadata/labels/l", one_of("1", "2")); break;
      case 5: operation("remove", "/metadata/uid", Json()); break;
      default:
        if (custom(call)) operation("add", "/spec/version", one_of("3.6.16", "3.6.15"));
        else if (is(call, "Lease")) operation("add", "/spec/holderIdentity", one_of("x", "y"));
        else if (!is(call, "ConfigMap"))
          operation("add", "/metadata/labels", json::object{{"l", one_of("1", "2")}});
        else operation("add", "/data", json::object{{"k", one_of("1", "2")}});
    }
    call.query = writer();
    call.body = std::move(out);
  }

  void apply(Call& call) {
    call.verb = Verb::Patch;
    call.patch = PatchType::Apply;
    if (is(call, "Service") || is(call, "Pod")) call.resource = kinds_[0];  // Never applied.
    json::object object{{"apiVersion", api::api_version(call.resource)},
                        {"kind", call.resource.kind}};
    content(call, object);
    if (Json* data = object.if_contains("data"); data && data->as_object().empty())
      data->as_object()["k"] = "1";  // No fake knows which manager owns an empty map afterwards.
    json::object meta = metadata();
    if (const Json* finalizers = meta.if_contains("finalizers");
        finalizers && finalizers->is_null())
      meta.erase("finalizers");
    meta.erase("ownerReferences");  // Not modelled either.
    meta["name"] = call.name;
    if (one_in(25)) meta["uid"] = "@uid0";
    if (one_in(25)) meta["resourceVersion"] = "@rv0";
    object["metadata"] = std::move(meta);
    call.query = writer();
    if (one_in(3)) call.query["force"] = "false";
    call.body = std::move(object);
  }

  void status(Call& call) {
    if (is(call, "Pod")) return report(call);
    call.resource = kinds_[1 + below(2)];
    call.verb = Verb::Patch;
    call.patch = PatchType::Merge;
    call.subresource = "status";
    json::object object, meta = metadata();
    if (one_in(3)) meta["resourceVersion"] = one_of("@rv0", "@rv0", "@rv1");
    if (one_in(3)) meta["uid"] = one_of("@uid0", "@uid0", "@uid1");
    if (!meta.empty()) object["metadata"] = std::move(meta);
    if (one_in(5)) object["spec"] = json::object{{"version", "3.6.15"}};
    if (!one_in(5)) object["status"] = json::object{{"version", one_of("3.6.15", "3.6.16")}};
    if (one_in(10)) object["status"] = nullptr;
    if (one_in(10)) object["status"] = json::object{{"nonsense", 1}};
    call.query = writer();
    call.body = std::move(object);
  }
  std::map<std::string, std::string> writer() {
    if (!one_in(3)) return {};
    return {{"fieldManager", one_of("kubectl", "helm")}};
  }

  std::mt19937_64 random_;
  const std::vector<Resource>& kinds_ = story_kinds();
  /// One budget for all Pods. If two budgets select the same Pod, the controller counts either.
  bool alone_ = false;
};

}  // namespace

const std::vector<Resource>& story_kinds() {
  static const std::vector<Resource> kinds{{"", "v1", "configmaps", "ConfigMap"},
                                           api::v1alpha2::EtcdCluster::resource,
                                           api::v1alpha2::EtcdMember::resource,
                                           kube::Lease::resource,
                                           kube::Service::resource,
                                           kube::Pod::resource};
  return kinds;
}

Story tell(std::uint64_t seed) {
  Teller teller(seed);
  return seed % 4 == 0 ? teller.of_evictions() : teller.story();
}

}  // namespace etcdop::contract
