#include "operator/replay.h"

#include "operator/cluster/plan.h"
#include "operator/defrag/plan.h"
#include "operator/member/plan.h"
#include "operator/restore/plan.h"
#include "operator/snapshot/plan.h"
#include "operator/snapshot_schedule/plan.h"

namespace etcdop {
namespace {

/// Keyed by type or name, so that a new condition does not make all later ones differ.
Json by_name(const Json& value) {
  const json::array* list = value.if_array();
  if (!list || list->empty()) return value;
  json::object out;
  for (const Json& element : *list) {
    const json::object* fields = element.if_object();
    const Json* name = fields ? fields->if_contains("type") : nullptr;
    if (fields && !name) name = fields->if_contains("name");
    if (!name || !name->is_string() || out.contains(name->as_string())) return value;
    out[name->as_string()] = element;
  }
  return out;
}

/// One line for each value that differs: "plan.step: was X, is Y".
void compare(const std::string& path, const Json& old_value, const Json& new_value,
             std::vector<std::string>& out) {
  const Json was = by_name(old_value), is = by_name(new_value);
  if (was == is) return;
  if (!was.is_object() || !is.is_object()) {
    out.push_back(path + ": was " + serialize(was) + ", is " + serialize(is));
    return;
  }
  for (const auto& [key, value] : was.as_object()) {
    const Json* now = is.as_object().if_contains(key);
    const std::string field = path + "." + std::string(key);
    if (now) compare(field, value, *now, out);
    else out.push_back(field + ": was " + serialize(value) + ", is not set");
  }
  for (const auto& [key, value] : is.as_object())
    if (!was.as_object().contains(key))
      out.push_back(path + "." + std::string(key) + ": was not set, is " + serialize(value));
}

template <class Observation, class Plan>
Result<Replayed> run(const FlightReader::Pair& pair, Plan (*plan)(const Observation&)) {
  Observation seen;
  if (auto read = api::decode(pair.observation, seen, "observation"); !read) return read.error();
  const Plan today = plan(seen);
  Replayed out{to_string(today.step), {}};
  compare("plan", pair.plan, api::encode(today), out.differences);
  return out;
}

}  // namespace

Result<Replayed> replay(const FlightReader::Pair& pair) {
  if (pair.kind == api::v1alpha2::EtcdCluster::resource.kind) return run(pair, cluster::plan);
  if (pair.kind == api::v1alpha2::EtcdMember::resource.kind) return run(pair, member::plan);
  if (pair.kind == api::v1alpha2::EtcdDefrag::resource.kind) return run(pair, defrag::plan);
  if (pair.kind == api::v1alpha2::EtcdSnapshot::resource.kind) return run(pair, snapshot::plan);
  if (pair.kind == api::v1alpha2::EtcdSnapshotSchedule::resource.kind)
    return run(pair, snapshot_schedule::plan);
  if (pair.kind == api::v1alpha2::EtcdRestore::resource.kind) return run(pair, restore::plan);
  return Error{Code::Invalid, "kind: \"" + pair.kind + "\" has no plan"};
}

}  // namespace etcdop
