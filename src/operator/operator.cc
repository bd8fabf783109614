#include "operator/operator.h"

#include <limits>

#include "api/v1alpha2/names.h"
#include "operator/passes/trims.h"
#include "operator/snapshot/snapshot_metrics.h"

namespace etcdop {

using namespace std::chrono_literals;

namespace {
constexpr auto kStopLimit = 8s;       // The kubelet waits 10 s.
constexpr auto kSyncedEvery = 50ms;   // Between looks at the caches, until they are full.
constexpr auto kInstalledEvery = 1s;  // The same, for a kind that may not be installed.
}  // namespace

std::vector<kube::Permission> operator_permissions() {
  std::vector<kube::Permission> out{std::begin(kSecretPermissions), std::end(kSecretPermissions)};
  for (const auto& more :
       {cluster::Api::permissions(), member::Api::permissions(), defrag::Api::permissions(),
        snapshot::Api::permissions(), snapshot_schedule::Api::permissions(),
        restore::Api::permissions(), runtime::event_permissions()})
    out.insert(out.end(), more.begin(), more.end());
  return out;
}

Operator::Operator(Collaborators with, Options options)
    : with_(with),
      options_(std::move(options)),
      credentials_(with.executor, with.api, with.clock, with.etcd),
      election_(with.lease_api, with.executor, with.clock, with.random, with.log,
                {.ns = options_.lease_namespace, .identity = options_.identity}),
      events_(with.api, with.executor, with.clock, with.random, with.log, options_.identity),
      clusters_({collaborators<cluster::Api>(), with.etcd, with.handshake, credentials_,
                 options_.cluster_domain, &cluster_metrics_, options_.pod_policy,
                 with.receives_snapshot}),
      members_({collaborators<member::Api>(), with.etcd, credentials_}, options_.images),
      defrags_({collaborators<defrag::Api>(), with.etcd, credentials_}),
      snapshots_({collaborators<snapshot::Api>(), credentials_.secrets},
                 {options_.images.operator_image, options_.images.etcd_repository}),
      schedules_({collaborators<snapshot_schedule::Api>(), &schedule_metrics_},
                 options_.images.operator_image),
      restores_(collaborators<restore::Api>(),
                {options_.images.operator_image, options_.images.etcd_repository}),
      cluster_controller_(with.executor, with.random, with.log, controller("etcdcluster"),
                          pass_over(clusters_)),
      member_controller_(with.executor, with.random, with.log, controller("etcdmember"),
                         pass_over(members_)),
      defrag_controller_(with.executor, with.random, with.log,
                         controller("etcddefrag", defrag::kPassLimit), pass_over(defrags_)),
      snapshot_controller_(with.executor, with.random, with.log, controller("etcdsnapshot"),
                           pass_over(snapshots_)),
      schedule_controller_(with.executor, with.random, with.log, controller("etcdsnapshotschedule"),
                           pass_over(schedules_)),
      restore_controller_(with.executor, with.random, with.log, controller("etcdrestore"),
                          pass_over(restores_)) {
  if (with.metrics) cluster_metrics_.show_in(*with.metrics);
  if (with.metrics) schedule_metrics_.show_in(*with.metrics);
  if (with.metrics)
    with.metrics->gauges("etcd_operator_unreadable_objects",
                         "Objects that the operator cannot read and does not serve, by kind.",
                         [this](const runtime::Metrics::Line& line) {
                           for (const auto& [kind, keys] : unreadable_)
                             line({{"kind", kind}}, static_cast<double>(keys.size()));
                         });
  cluster::connect(stores_, cluster_controller_.queue());
  member::connect(stores_, member_controller_.queue());
  defrag::connect(stores_, defrag_controller_.queue());
  snapshot::connect(stores_, snapshot_controller_.queue());
  snapshot_schedule::connect(stores_, schedule_controller_.queue());
  restore::connect(stores_, restore_controller_.queue());
}

template <class Api>
etcdop::Collaborators<Api> Operator::collaborators() {
  return {with_.executor, with_.api, stores_, with_.clock, with_.log, &events_, with_.flight};
}

template <class Reconciler>
runtime::Controller::Reconcile Operator::pass_over(Reconciler& reconciler) {
  return PassBoundary{with_.clock, with_.log, with_.flight, &events_, with_.metrics}.around(
      reconciler.api(), reconciler.store(),
      [&reconciler](const auto& key) { return reconciler.reconcile(key); });
}

runtime::Controller::Options Operator::controller(const char* name, Duration pass_limit) const {
  runtime::Controller::Options out;
  out.name = name;
  out.pass_limit = pass_limit;
  return options_.measured ? options_.measured(std::move(out)) : out;
}

Result<Done> Operator::run() {
  watch_all();
  working_ = with_.executor.spawn([this] { work(); });
  (void)working_->join();
  Shield orderly(with_.executor, kStopLimit);
  for (const auto& stop : stop_watching_) stop();
  return ended_;
}

void Operator::stop() {
  if (working_) working_->cancel();
}

std::vector<std::string> Operator::unfilled() const {
  std::vector<std::string> out;
  const auto look = [&]<class T>(const kube::Store<T>& store) {
    if (!store.synced()) out.emplace_back(T::resource.kind);
  };
  look(stores_.clusters);
  look(stores_.members);
  look(stores_.pods);
  look(stores_.volumes);
  look(stores_.services);
  look(stores_.budgets);
  return out;
}

/// trim() bounds an EtcdCluster, and we write the EtcdMembers: an earlier release may have let both
/// be larger.
template <class T>
constexpr std::size_t kBytesMax = kObjectBytesMax;
template <>
constexpr std::size_t kBytesMax<api::v1alpha2::EtcdCluster> =
    std::numeric_limits<std::size_t>::max();
template <>
constexpr std::size_t kBytesMax<api::v1alpha2::EtcdMember> =
    std::numeric_limits<std::size_t>::max();

/// Watches with the permissions of one controller. A kind that two controllers read is watched
/// once.
template <class Controller, class T>
void Operator::watch(kube::Store<T>& store, const std::string& selector, Installed installed) {
  std::vector<std::string> namespaces = options_.watch_namespaces;
  if (namespaces.empty()) namespaces.emplace_back();
  kube::Api& api = Controller(with_.api).template to_mirror<T>();
  for (const std::string& ns : namespaces) {
    auto reflector = std::make_shared<kube::Reflector<T>>(
        with_.executor, with_.random, with_.log, api, store,
        typename kube::Reflector<T>::Options{
            ns, selector, installed == Installed::Perhaps,
            [this](const kube::Identity& which, const std::string& why) {
              note_unreadable(T::resource, which, why);
            },
            kBytesMax<T>});
    reflector->start();
    stop_watching_.push_back([reflector] { reflector->stop(); });
  }
}

/// The operator does not serve the object: an Event tells its user, a metric the administrator.
void Operator::note_unreadable(const api::Resource& kind, const kube::Identity& which,
                               const std::string& why) {
  if (why.empty()) {
    unreadable_[kind.kind].erase(which.key);
    return;
  }
  unreadable_[kind.kind].insert(which.key);
  events_.record({.regarding = {kind, which.key, which.uid},
                  .related = std::nullopt,
                  .warning = true,
                  .reason = api::v1alpha2::kUnreadable,
                  .action = "Watch",
                  .note = "the operator cannot read this object, and does not serve it: " + why});
}

void Operator::watch_all() {
  watch<cluster::Api>(stores_.clusters, "");
  watch<cluster::Api>(stores_.members, "");
  watch<cluster::Api>(stores_.pods, api::v1alpha2::kClusterLabel);
  watch<member::Api>(stores_.volumes, api::v1alpha2::kClusterLabel);
  watch<cluster::Api>(stores_.services, api::v1alpha2::kClusterLabel);
  watch<cluster::Api>(stores_.budgets, api::v1alpha2::kClusterLabel);
  watch<defrag::Api>(stores_.defrags, "", Installed::Perhaps);
  watch<snapshot::Api>(stores_.snapshots, "", Installed::Perhaps);
  watch<snapshot_schedule::Api>(stores_.schedules, "", Installed::Perhaps);
  watch<cluster::Api>(stores_.restores, "", Installed::Perhaps);
  watch<snapshot::Api>(stores_.jobs, api::v1alpha2::kClusterLabel, Installed::Perhaps);
  watch<snapshot::Api>(stores_.agents, api::v1alpha2::kSnapshotLabel);
  watch<cluster::Api>(stores_.certificates, api::v1alpha2::kClusterLabel, Installed::Perhaps);
}

/// Leads, with leader election, as long as the controllers run.
void Operator::work() {
  if (!options_.leader_elect) return control();
  if (!election_.acquire()) return;
  const auto leading = with_.executor.spawn([this] {
    const Error why = election_.lead();
    if (why.code == Code::Cancelled) return;
    with_.log.error("no longer the leader", {{"error", why.message}});
    ended_ = why;  // Another process may lead now: write nothing more.
    stop();
  });
  control();
  Shield orderly(with_.executor, kStopLimit);
  leading->cancel();
  (void)leading->join();
  if (!stuck_) election_.release();
}

void Operator::start_in_turn(runtime::Controller& controller) {
  if (await_turns()) controller.start();
}

/// Waits for full caches: an object missing from them would be created again, or deleted.
void Operator::control_schedules() {
  if (!await_turns()) return;
  while (!stores_.schedules.synced() || !stores_.restores.synced())
    if (with_.executor.sleep(kInstalledEvery) != Woken::Ready) return;
  schedule_controller_.start();
}

void Operator::control_restores() {
  while (!stores_.restores.synced() || !stores_.jobs.synced())
    if (with_.executor.sleep(kInstalledEvery) != Woken::Ready) return;
  restore_controller_.start();
}

/// Runs and snapshots wait for each other (passes/turns.h), so neither begins before the caches
/// have both. False: the operator stops first.
bool Operator::await_turns() {
  while (!stores_.defrags.synced() || !stores_.snapshots.synced() || !stores_.jobs.synced() ||
         !stores_.agents.synced())
    if (with_.executor.sleep(kInstalledEvery) != Woken::Ready) return false;
  return true;
}

/// Queues the clusters that may wait for cert-manager, once its kinds are installed.
void Operator::await_cert_manager() {
  while (!stores_.certificates.synced())
    if (with_.executor.sleep(kInstalledEvery) != Woken::Ready) return;
  for (const auto& cluster : stores_.clusters.all())
    if (cluster->spec.tls) cluster_controller_.queue().add(cluster->metadata.key());
}

/// The controllers start after the caches are full.
void Operator::control() {
  while (!synced())
    if (with_.executor.sleep(kSyncedEvery) != Woken::Ready) return;
  with_.log.info("caches are full",
                 {{"clusters", stores_.clusters.size()}, {"members", stores_.members.size()}});
  events_.start();
  if (with_.metrics) snapshot::show_in(*with_.metrics, stores_.snapshots);  // In the leader only.
  cluster_controller_.start();
  member_controller_.start();
  const std::vector<std::shared_ptr<Fiber>> later = {
      with_.executor.spawn([this] { start_in_turn(defrag_controller_); }),
      with_.executor.spawn([this] { start_in_turn(snapshot_controller_); }),
      with_.executor.spawn([this] { control_schedules(); }),
      with_.executor.spawn([this] { control_restores(); }),
      with_.executor.spawn([this] { await_cert_manager(); })};
  Wait forever(with_.executor);
  (void)forever.until();
  Shield orderly(with_.executor, kStopLimit);
  for (const auto& fiber : later) fiber->cancel();
  for (const auto& fiber : later) (void)fiber->join();
  for (runtime::Controller* const controller :
       {&cluster_controller_, &member_controller_, &defrag_controller_, &snapshot_controller_,
        &schedule_controller_, &restore_controller_})
    if (!controller->stop()) stuck_ = true;
  events_.stop();
}

}  // namespace etcdop
