// Things that an upgrade may mix: CRDs, operators and webhooks of other releases and other people.
#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/etcdrestore.h"
#include "api/v1alpha2/names.h"
#include "kube/core_types.h"
#include "sim/api/objects.h"
#include "sim/world/newer_fields.h"
#include "sim/world/parts.h"
#include "sim/world/world.h"

namespace etcdop::sim {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

namespace {

/// As policies do, at each create and update: a label and an annotation of its own, defaults of the
/// spec, another value of a label that we set, too, and a budget by its own rule.
void rewrite(const api::Resource& r, json::object& object) {
  const bool looks = r == kube::Pod::resource || r == kube::Service::resource ||
                     r == kube::PersistentVolumeClaim::resource ||
                     r == kube::PodDisruptionBudget::resource;
  if (!looks || cluster_of(object).empty()) return;
  json::object& metadata = part(object, "metadata");
  part(metadata, "labels")["policy.example.com/checked"] = "true";
  part(metadata, "labels")[v1::kAppManagedByLabel] = "platform";
  part(metadata, "annotations")["policy.example.com/by"] = "platform";
  json::object& spec = part(object, "spec");
  if (r == kube::Service::resource) spec["internalTrafficPolicy"] = "Cluster";
  if (r == kube::PersistentVolumeClaim::resource) spec["volumeMode"] = "Filesystem";
  if (r == kube::PodDisruptionBudget::resource) spec["minAvailable"] = 1;
  if (r == kube::Pod::resource) spec["enableServiceLinks"] = false;
}

}  // namespace

/// A server prunes when it reads, too. Here each object is pruned once, when the CRDs change.
void World::install_old_crds(bool old) {
  trace_.add("user", old ? "installs the CRDs of an earlier release" : "installs today's CRDs");
  old_crds_ = old;
  for (const api::Resource& r :
       {v1::EtcdCluster::resource, v1::EtcdMember::resource, v1::EtcdRestore::resource})
    for (const auto& object : server_.look_all(r))
      (void)server_.change(r, key_of(*object), [](json::object&) {});
}

void World::rewrite_what_is_stored() {
  server_.on_store([this](const api::Resource& r, json::object& object) {
    if (faults_.on(Fault::WebhookRewrites)) rewrite(r, object);
    if (!old_crds_) return;
    Json whole(std::move(object));
    forget_newer(r, whole);
    object = std::move(whole.as_object());
  });
}

void World::upgrades() {
  every(Fault::OldCrds, 20s, 100s, [this] {
    install_old_crds(true);
    (void)time_.sleep(dice_.between(5s, 200s));
    install_old_crds(false);
  });
  every(Fault::OldBuild, 10s, 60s, [this] {
    if (Life* life = any_life()) {
      trace_.add("fault", life->name() + " is replaced by another build");
      kill(*life, dice_.between(100ms, 10s));
    }
  });
}

void World::slow_webhook(const api::Resource& r, Duration takes, Instant until) {
  trace_.add("fault", std::string("a webhook for ") + r.plural + " is slow");
  slow_for_ = r.plural;
  slow_takes_ = takes;
  slow_until_ = until;
}

void World::slow_webhooks() {
  every(Fault::WebhookSlow, 10s, 100s, [this] {
    const api::Resource kinds[] = {kube::Pod::resource, kube::PersistentVolumeClaim::resource,
                                   kube::Service::resource, v1::EtcdMember::resource};
    const api::Resource& kind = kinds[dice_.below(std::size(kinds))];
    const Duration takes = dice_.between(12s, 30s);
    const Duration lasts = dice_.between(10s, 120s);
    slow_webhook(kind, takes, time_.now() + lasts);
  });
}

}  // namespace etcdop::sim
