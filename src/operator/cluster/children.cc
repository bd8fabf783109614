#include "operator/cluster/children.h"

#include <algorithm>
#include <chrono>

#include "api/v1alpha2/names.h"
#include "operator/cluster/events.h"
#include "operator/cluster/give_owner.h"
#include "operator/cluster/issuing.h"
#include "operator/cluster/objects.h"
#include "operator/cluster/remains.h"
#include "operator/cluster/selectors.h"
#include "operator/passes/metadata.h"
#include "operator/passes/owner.h"

namespace etcdop::cluster {
namespace {

using api::v1alpha2::EtcdCluster;

constexpr const char* kCertificates[] = {"-server", "-operator-client", "-peer"};

constexpr std::chrono::milliseconds kConflictPause{1000};

template <class T>
bool is_kept(const T& stored, const Json& wanted) {
  return is_as_made(stored, wanted);
}
bool is_kept(const kube::PodDisruptionBudget& stored, const Json& wanted) {
  return is_as_made(stored, wanted) &&
         stored.spec.min_available == wanted.at("spec").at("minAvailable");
}

/// Whether an object still selects Pods as ours do. A user who changed that, too, has taken it
/// over.
bool selects_ours(const std::map<std::string, std::string>& selector, const EtcdCluster& cluster) {
  const auto found = selector.find(api::v1alpha2::kClusterLabel);
  return found != selector.end() && found->second == cluster.metadata.name;
}
bool does_as_ours(const kube::Service& service, const EtcdCluster& cluster) {
  return selects_ours(service.spec.selector, cluster);
}
bool does_as_ours(const kube::PodDisruptionBudget& budget, const EtcdCluster& cluster) {
  return selects_ours(budget.spec.selector.match_labels, cluster);
}
bool does_as_ours(const kube::Certificate&, const EtcdCluster&) { return true; }

void come_back(Plan& plan, Duration after) {
  plan.again = std::min(plan.again, std::chrono::ceil<std::chrono::milliseconds>(after));
}

}  // namespace

std::string Children::why(const api::ObjectKey& key) const {
  for (const char* const kind : kCertificates)
    if (std::string why = certificate_refusals_.why({key.ns, key.name + kind}); !why.empty())
      return why;
  for (const Refusals* services : {&headless_refusals_, &service_refusals_})
    if (std::string why = services->why(key); !why.empty()) return why;
  return budget_refusals_.why(key);
}

void Children::forget(const api::ObjectKey& key) {
  headless_refusals_.forget(key);
  service_refusals_.forget(key);
  budget_refusals_.forget(key);
  forget_certificates(key);
  contested_.forget(key);
}

void Children::forget_certificates(const api::ObjectKey& key) {
  for (const char* const kind : kCertificates)
    certificate_refusals_.forget({key.ns, key.name + kind});
}

Result<Done> Children::drop_budget(const api::ObjectKey& key) {
  const auto there = with_.stores.budgets.get(key);
  if (!there) return Done{};
  auto gone = with_.api.remove<kube::PodDisruptionBudget>(key, there->metadata.uid);
  if (!gone) return Error(gone.error()).during("delete PodDisruptionBudget " + key.name);
  if (*gone) with_.stores.budgets.wrote(std::move(**gone));
  else with_.stores.budgets.saw_deleted(key, there->metadata.uid);
  return Done{};
}

/// Reads the existing object. If it is ours but the watch missed it, it lacks the label that we
/// watch by: this adds the label. If only its owner is missing, a user took it away, and this gives
/// it back. But an EtcdCluster without a status may be another than the one that made it.
template <class T>
Result<T> Children::taken_back(const api::ObjectKey& key, const Observation& seen,
                               const Json& wanted) {
  auto there = with_.api.get<T>(key);
  if (!there) return there;
  const api::ObjectMeta& meta = there->metadata;
  if (!seen.cluster.status.cluster_id.empty() && lacks_only_owner(meta, seen.cluster) &&
      does_as_ours(*there, seen.cluster))
    return give_owner<T>(with_.executor, with_.api, seen.cluster, meta,
                         ownership(meta, seen.cluster));
  if (!is_ours(meta, seen.cluster.metadata.uid) || cluster_of(meta)) return there;
  return with_.api.merge_patch<T>(
      key, {{"metadata", {{"uid", meta.uid}, {"labels", wanted.at("metadata").at("labels")}}}});
}

template <class T>
Result<bool> Children::put_right(kube::Store<T>& store, const Observation& seen,
                                 const Json& wanted) {
  const std::string name(wanted.at("metadata").at("name").as_string());
  const api::ObjectKey key{seen.cluster.metadata.ns, name};
  const auto there = store.get(key);
  if (there && is_ours(there->metadata, seen.cluster.metadata.uid)) {
    auto written = with_.api.merge_patch<T>(
        key,
        {{"metadata",
          {{"uid", there->metadata.uid}, {"resourceVersion", there->metadata.resource_version}}},
         {"spec", mended(*there, wanted)}});
    if (written.failed_with(Code::Conflict))  // Our copy is stale; perhaps an answer was lost.
      if (auto now = with_.api.get<T>(key)) store.wrote(std::move(*now));
    if (written.failed_with(Code::NotFound)) store.saw_deleted(key, there->metadata.uid);
    if (!written)
      return Error(written.error()).during(std::string("repair ") + T::resource.kind + " " + name);
    const bool kept = is_kept(*written, wanted);
    store.wrote(std::move(*written));
    return kept;
  }
  auto made = with_.api.create<T>(key.ns, wanted);
  if (made.failed_with(Code::AlreadyExists)) made = taken_back<T>(key, seen, wanted);
  if (!made)
    return Error(made.error()).during(std::string("create ") + T::resource.kind + " " + name);
  if (!is_ours(made->metadata, seen.cluster.metadata.uid))
    return Error{Code::AlreadyExists,
                 std::string(T::resource.kind) + " " + name +
                     about_owner(seen.cluster, made->metadata.owner_references.empty())};
  store.wrote(std::move(*made));
  return true;  // The next pass repairs what admission changed.
}

/// How long to wait before this write, whatever became of the last one.
Duration Children::held_up(const std::string& what, const Round& round) const {
  if (is_late(round)) return kAgainSoon;
  return contested_.wait(round.key(), what, with_.executor.now());
}

/// If another client undoes a change again and again, the operator repeats it less and less often.
/// A webhook that undoes it in the same request is told like one that refuses it. It does not keep
/// a cluster from being founded.
template <class T>
Result<Done> Children::put(const Wanted<T>& child, Round& round) {
  const Instant now = with_.executor.now();
  if (const Duration wait = held_up(child.what, round); wait > Duration(0)) {
    come_back(round.plan, wait);
    return Done{};
  }
  auto kept = put_right(child.store, round.seen, child.object);
  if (!kept) return kept.error();
  contested_.did(round.key(), child.what, now);
  if (*kept || !round.is_founded()) return Done{};
  return not_kept(std::string(T::resource.kind) + " " +
                  std::string(child.object.at("metadata").at("name").as_string()));
}

/// A failure is reported but blocks nothing: members are still replaced. A write that took long has
/// delayed the step, so it is not tried again soon. Cancelled: the operator stops.
template <class T>
Result<Done> Children::try_to_put(Refusals& refusals, const api::ObjectKey& key,
                                  const Wanted<T>& child, Round& round) {
  const Instant began = with_.executor.now();
  // A write that is held up is no result: the last one still holds.
  if (const Duration wait =
          std::max(refusals.wait(key, child.what, began), held_up(child.what, round));
      wait > Duration(0)) {
    come_back(round.plan, wait);
    return Done{};
  }
  auto done = put(child, round);
  const Instant now = with_.executor.now();
  if (refusals.note(key, child.what, done, now))
    with_.log.warn(refused(done) ? "refused" : "cannot be written",
                   {{"cluster", to_string(round.key())}, {"error", done.error().message}});
  if (done || done.failed_with(Code::Cancelled)) return done;
  if (failed(done) && now - began > kSeenHolds) refusals.hold(key, now);
  // To report it. Another failure (a conflict) is not held up.
  come_back(round.plan, refused(done) || failed(done) ? kAgainSoon : kConflictPause);
  return Done{};
}

Result<Done> Children::make(const Observation& seen, Plan& plan) {
  EtcdCluster reported = seen.cluster;
  reported.status = plan.status;
  Round round{seen, plan, with_.executor.now(), std::move(reported)};
  auto done = make_certificates(round);
  if (done) done = make_services(round);
  if (done && plan.drop_budget) done = drop_budget(round.key());  // It is paused: no step.
  return done ? make_budget(round) : done;
}

/// The keys that all Pods of members show now, according to the API server: the cache may not know
/// a Pod that was just created.
Result<SelectorKeys> Children::shown_now(const Observation& seen) {
  const api::ObjectMeta& meta = seen.cluster.metadata;
  auto pods = with_.api.list<kube::Pod>(meta.ns, selector_of(meta.name));
  if (!pods) return Error(pods.error()).during("list the Pods of " + meta.name);
  // Pods of EtcdMembers of another owner do not count.
  std::erase_if(*pods, [&](const kube::Pod& pod) {
    const auto member = with_.stores.members.get(pod.metadata.key());
    return member && is_ours(pod.metadata, member->metadata.uid) &&
           !is_ours(member->metadata, meta.uid);
  });
  return shown_by_all(seen, *pods);
}

/// The planned keys, without those that would be added too early.
SelectorKeys Children::confirmed(const Service& planned, const Observation& seen) {
  SelectorKeys out = planned.by;
  if (!gains(out, planned.lacks) || has_no_pods(seen)) return out;
  auto shown = shown_now(seen);
  out.uid &= !planned.lacks.uid || (shown && shown->uid);
  out.role &= !planned.lacks.role || (shown && shown->role);
  return out;
}

/// The Service to write; nullopt: none now. A key that is still too early waits for the next pass:
/// the watch reports the Pod that lacks the label.
std::optional<Children::Wanted<kube::Service>> Children::service(const Service& planned,
                                                                 const Round& round) {
  const Duration wait = contested_.wait(round.key(), planned.what, with_.executor.now());
  const SelectorKeys keys = wait > Duration(0) ? planned.by : confirmed(planned, round.seen);
  if (planned.state == Child::AsMade && !gains(keys, planned.lacks)) return std::nullopt;
  return Wanted<kube::Service>{with_.stores.services, planned.what,
                               planned.manifest(round.reported, keys)};
}

Result<Done> Children::make_services(Round& round) {
  const Observation& seen = round.seen;
  const Plan& plan = round.plan;
  const auto make = [&](Refusals& refusals, const Service& planned) -> Result<Done> {
    const auto wanted = service(planned, round);
    if (!wanted) return Done{};
    if (!round.founds()) return try_to_put(refusals, round.key(), *wanted, round);
    refusals.forget(round.key());  // The step tells of a failure.
    return put(*wanted, round);
  };
  Result<Done> done = Done{};
  if (plan.make_headless_service)
    done = make(headless_refusals_, {"headless service", seen.headless_service, seen.headless_lacks,
                                     plan.headless_by, headless_service});
  else headless_refusals_.forget(round.key());
  if (!done) return done;
  if (plan.make_client_service)
    done = make(service_refusals_, {"client service", seen.client_service, seen.client_lacks,
                                    plan.client_by, client_service});
  else service_refusals_.forget(round.key());
  return done;
}

Result<Done> Children::make_certificates(Round& round) {
  const auto& wanted = round.plan.make_certificates;
  if (wanted.empty()) {
    forget_certificates(round.key());
    return Done{};
  }
  for (const Json& object : certificates(round.seen)) {
    const std::string name(object.at("metadata").at("name").as_string());
    const api::ObjectKey key{round.key().ns, name};
    if (std::ranges::find(wanted, name) == wanted.end()) {
      certificate_refusals_.forget(key);
      continue;
    }
    const Wanted<kube::Certificate> certificate{with_.stores.certificates, "certificate " + name,
                                                object};
    if (auto done = try_to_put(certificate_refusals_, key, certificate, round); !done) return done;
  }
  return Done{};
}

Result<Done> Children::make_budget(Round& round) {
  const api::ObjectKey key = round.key();
  if (!round.plan.budget) {
    budget_refusals_.forget(key);
    return Done{};
  }
  const std::int64_t min = *round.plan.budget;
  const Wanted<kube::PodDisruptionBudget> wanted{
      with_.stores.budgets, "budget " + std::to_string(min), budget(round.reported, min)};
  const bool news = contested_.wait(key, wanted.what, with_.executor.now()) == Duration(0);
  auto done = try_to_put(budget_refusals_, key, wanted, round);
  const auto now = with_.stores.budgets.get(key);
  const bool made = now && is_as_made(*now, wanted.object) && now->spec.min_available == Json(min);
  if (made && news && min == 0 && with_.events) with_.events->record(not_redundant(round.seen));
  return done;
}

}  // namespace etcdop::cluster
