#include "sim/world/newer_fields.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/etcdrestore.h"

namespace etcdop::sim {

namespace v1 = api::v1alpha2;

namespace {

json::object* part(json::object& of, const char* key) {
  Json* const found = of.if_contains(key);
  return found ? found->if_object() : nullptr;
}

void erase(json::object* from, std::initializer_list<const char*> fields) {
  for (const char* field : fields)
    if (from) from->erase(field);
}

void forget_in_pending(json::object* status) {
  Json* const pending = status ? status->if_contains("pendingMembers") : nullptr;
  if (!pending || !pending->is_array()) return;
  for (Json& one : pending->as_array())
    if (one.is_object()) one.as_object().erase("madeAs");
}

/// The objects of a JSON patch name fields by their path.
bool is_newer(const api::Resource& r, std::string_view path) {
  const auto starts = [&](std::initializer_list<std::string_view> all) {
    return std::ranges::any_of(all, [&](auto one) { return path.starts_with(one); });
  };
  if (r == v1::EtcdCluster::resource)
    return starts({"/status/maxLearners", "/status/oldLog", "/status/restores"});
  return r == v1::EtcdMember::resource &&
         starts({"/status/removed", "/status/joinedIn", "/status/elsewhere"});
}

}  // namespace

void forget_newer(const api::Resource& r, Json& object) {
  json::object* const fields = object.if_object();
  if (!fields) return;
  if (Json* const items = fields->if_contains("items"); items && items->is_array())
    for (Json& item : items->as_array()) forget_newer(r, item);
  json::object* const status = part(*fields, "status");
  if (r == v1::EtcdCluster::resource) {
    json::object* const restore = status ? part(*status, "restore") : nullptr;
    erase(status, {"maxLearners", "oldLog", "restores"});
    erase(restore, {"runId"});
    forget_in_pending(status);
    forget_in_pending(restore);
  }
  if (r == v1::EtcdMember::resource) erase(status, {"removed", "joinedIn", "elsewhere"});
  if (r == v1::EtcdRestore::resource) erase(part(*fields, "spec"), {"runId"});
}

kube::Call without_newer(const kube::Call& call) {
  kube::Call out = call;
  forget_newer(call.resource, out.body);
  if (json::array* const steps = out.body.if_array()) {
    json::array kept;
    for (Json& step : *steps)
      if (!is_newer(call.resource, std::string_view(step.at("path").as_string())))
        kept.push_back(std::move(step));
    *steps = std::move(kept);
  }
  return out;
}

}  // namespace etcdop::sim
