// Kubernetes' own kinds, trimmed to the fields that we read. For reading only: we write patches and
// manifests, never one of these (a PUT would delete the fields that are missing here). The Lease is
// complete, so it is the exception.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/describe.h"
#include "api/meta.h"

namespace etcdop::kube {

using api::ObjectMeta;
using api::Resource;

// Fields that Kubernetes may leave out are `sparse`: an absent field keeps its initialiser.

/// A condition of a Pod.
struct PodCondition {
  std::string type;    ///< "Ready", "PodScheduled"...
  std::string status;  ///< "True", "False" or "Unknown".
  std::string reason, message;
  std::string last_transition_time = {};  ///< RFC 3339, by the clock of its node.
  bool operator==(const PodCondition&) const = default;

  template <class S = PodCondition>
  static auto describe() {
    return api::value(api::required("type", &S::type), api::required("status", &S::status),
                      api::sparse("reason", &S::reason), api::sparse("message", &S::message),
                      api::sparse("lastTransitionTime", &S::last_transition_time));
  }
};

struct ContainerWaiting {
  std::string reason;  ///< "ImagePullBackOff", "CrashLoopBackOff", "ContainerCreating"...
  std::string message;
  bool operator==(const ContainerWaiting&) const = default;

  template <class S = ContainerWaiting>
  static auto describe() {
    return api::value(api::sparse("reason", &S::reason), api::sparse("message", &S::message));
  }
};

struct ContainerTerminated {
  std::int32_t exit_code = 0;  ///< A container that ends with 0 restarts, too.
  std::string reason;          ///< "Completed", "Error", "OOMKilled"...
  std::string message;
  std::string started_at = {};  ///< RFC 3339, by the clock of its node.
  bool operator==(const ContainerTerminated&) const = default;

  template <class S = ContainerTerminated>
  static auto describe() {
    return api::value(api::required("exitCode", &S::exit_code), api::sparse("reason", &S::reason),
                      api::sparse("message", &S::message),
                      api::sparse("startedAt", &S::started_at));
  }
};

struct ContainerRunning {
  std::string started_at;  ///< RFC 3339, by the clock of its node.
  bool operator==(const ContainerRunning&) const = default;

  template <class S = ContainerRunning>
  static auto describe() {
    return api::value(api::sparse("startedAt", &S::started_at));
  }
};

/// At most one is set. None: its state is unknown; it may run.
struct ContainerState {
  std::optional<ContainerWaiting> waiting;
  std::optional<ContainerRunning> running;
  std::optional<ContainerTerminated> terminated;
  bool operator==(const ContainerState&) const = default;

  template <class S = ContainerState>
  static auto describe() {
    return api::value(api::optional("waiting", &S::waiting), api::optional("running", &S::running),
                      api::optional("terminated", &S::terminated));
  }
};

struct ContainerStatus {
  std::string name;
  bool ready = false;
  std::int32_t restart_count = 0;
  ContainerState state;
  ContainerState last_state;  ///< How its previous run ended.
  bool operator==(const ContainerStatus&) const = default;

  template <class S = ContainerStatus>
  static auto describe() {
    return api::value(api::required("name", &S::name), api::sparse("ready", &S::ready),
                      api::sparse("restartCount", &S::restart_count),
                      api::sparse("state", &S::state), api::sparse("lastState", &S::last_state));
  }
};

struct HttpGet {
  std::string path;
  bool operator==(const HttpGet&) const = default;

  template <class S = HttpGet>
  static auto describe() {
    return api::value(api::sparse("path", &S::path));
  }
};

struct Probe {
  std::optional<HttpGet> http_get;  ///< Absent: another kind of probe.
  std::int32_t period_seconds = 0, failure_threshold = 0;
  bool operator==(const Probe&) const = default;

  template <class S = Probe>
  static auto describe() {
    return api::value(api::optional("httpGet", &S::http_get),
                      api::sparse("periodSeconds", &S::period_seconds),
                      api::sparse("failureThreshold", &S::failure_threshold));
  }
};

struct Container {
  std::string name;
  std::vector<std::string> command;
  std::string image = {};
  std::optional<Probe> liveness_probe = {};
  bool operator==(const Container&) const = default;

  template <class S = Container>
  static auto describe() {
    return api::value(api::required("name", &S::name), api::sparse("command", &S::command),
                      api::sparse("image", &S::image),
                      api::optional("livenessProbe", &S::liveness_probe));
  }
};

struct SchedulingGate {
  std::string name;
  bool operator==(const SchedulingGate&) const = default;

  template <class S = SchedulingGate>
  static auto describe() {
    return api::value(api::required("name", &S::name));
  }
};

struct PodSpec {
  std::string node_name;                         ///< Empty until it is scheduled.
  std::vector<SchedulingGate> scheduling_gates;  ///< Not scheduled until this is empty.
  std::vector<Container> containers, init_containers;
  bool operator==(const PodSpec&) const = default;

  template <class S = PodSpec>
  static auto describe() {
    return api::value(api::sparse("nodeName", &S::node_name),
                      api::sparse("schedulingGates", &S::scheduling_gates),
                      api::sparse("containers", &S::containers),
                      api::sparse("initContainers", &S::init_containers));
  }
};

struct PodStatus {
  std::string phase;    ///< "Pending", "Running", "Succeeded", "Failed" or "Unknown".
  std::string pod_ip;   ///< Empty until it has one.
  std::string reason;   ///< "Evicted", "NodeLost"...
  std::string message;  ///< The kubelet's words for that reason.
  std::vector<PodCondition> conditions;
  std::vector<ContainerStatus> container_statuses, init_container_statuses;
  bool operator==(const PodStatus&) const = default;

  template <class S = PodStatus>
  static auto describe() {
    return api::value(api::sparse("phase", &S::phase), api::sparse("podIP", &S::pod_ip),
                      api::sparse("reason", &S::reason), api::sparse("message", &S::message),
                      api::sparse("conditions", &S::conditions),
                      api::sparse("containerStatuses", &S::container_statuses),
                      api::sparse("initContainerStatuses", &S::init_container_statuses));
  }
};

struct Pod {
  static constexpr Resource resource{"", "v1", "pods", "Pod"};
  ObjectMeta metadata;
  PodSpec spec;
  PodStatus status;
  bool operator==(const Pod&) const = default;

  /// Null if no condition has that type (yet).
  const PodCondition* condition(const std::string& type) const {
    for (const PodCondition& c : status.conditions)
      if (c.type == type) return &c;
    return nullptr;
  }
  bool ready() const {
    const PodCondition* const c = condition("Ready");
    return c && c->status == "True";
  }
  /// Null if the kubelet has not reported it (yet).
  const ContainerStatus* container(const std::string& name) const {
    return find(status.container_statuses, name);
  }
  const ContainerStatus* init_container(const std::string& name) const {
    return find(status.init_container_statuses, name);
  }

  template <class S = Pod>
  static auto describe() {
    return api::value(api::required("metadata", &S::metadata), api::sparse("spec", &S::spec),
                      api::sparse("status", &S::status));
  }

 private:
  static const ContainerStatus* find(const std::vector<ContainerStatus>& among,
                                     const std::string& name) {
    for (const ContainerStatus& c : among)
      if (c.name == name) return &c;
    return nullptr;
  }
};

/// A condition of a Job.
struct JobCondition {
  std::string type;    ///< "Complete" or "Failed", once it has ended...
  std::string status;  ///< "True".
  std::string reason;  ///< "DeadlineExceeded", "BackoffLimitExceeded", "PodFailurePolicy"...
  std::string message;
  std::string last_transition_time;  ///< RFC 3339
  bool operator==(const JobCondition&) const = default;

  template <class S = JobCondition>
  static auto describe() {
    return api::value(api::required("type", &S::type), api::required("status", &S::status),
                      api::sparse("reason", &S::reason), api::sparse("message", &S::message),
                      api::sparse("lastTransitionTime", &S::last_transition_time));
  }
};

struct JobStatus {
  std::vector<JobCondition> conditions;
  bool operator==(const JobStatus&) const = default;

  /// Null if the condition is not true (yet).
  const JobCondition* is(const std::string& type) const {
    for (const JobCondition& c : conditions)
      if (c.type == type && c.status == "True") return &c;
    return nullptr;
  }

  template <class S = JobStatus>
  static auto describe() {
    return api::value(api::sparse("conditions", &S::conditions));
  }
};

struct Job {
  static constexpr Resource resource{"batch", "v1", "jobs", "Job"};
  ObjectMeta metadata;
  JobStatus status;
  bool operator==(const Job&) const = default;

  template <class S = Job>
  static auto describe() {
    return api::value(api::required("metadata", &S::metadata), api::sparse("status", &S::status));
  }
};

struct VolumeResources {
  std::map<std::string, std::string> requests;  ///< "storage": a quantity.
  bool operator==(const VolumeResources&) const = default;

  template <class S = VolumeResources>
  static auto describe() {
    return api::value(api::sparse("requests", &S::requests));
  }
};

struct PersistentVolumeClaimSpec {
  std::optional<std::string> storage_class_name;  ///< "": none; absent: the default class.
  std::string volume_name = {};                   ///< Empty until it is bound.
  VolumeResources resources = {};
  bool operator==(const PersistentVolumeClaimSpec&) const = default;

  template <class S = PersistentVolumeClaimSpec>
  static auto describe() {
    return api::value(api::optional("storageClassName", &S::storage_class_name),
                      api::sparse("volumeName", &S::volume_name),
                      api::sparse("resources", &S::resources));
  }
};

struct PersistentVolumeClaimStatus {
  std::string phase;  ///< "Pending", "Bound" or "Lost".
  bool operator==(const PersistentVolumeClaimStatus&) const = default;

  template <class S = PersistentVolumeClaimStatus>
  static auto describe() {
    return api::value(api::sparse("phase", &S::phase));
  }
};

struct PersistentVolumeClaim {
  static constexpr Resource resource{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"};
  ObjectMeta metadata;
  PersistentVolumeClaimSpec spec;
  PersistentVolumeClaimStatus status;
  bool operator==(const PersistentVolumeClaim&) const = default;

  template <class S = PersistentVolumeClaim>
  static auto describe() {
    return api::value(api::required("metadata", &S::metadata), api::sparse("spec", &S::spec),
                      api::sparse("status", &S::status));
  }
};

/// Complete: a list of ports is written back.
struct ServicePort {
  std::string name;
  std::int32_t port = 0;
  Json target_port;  ///< A number or a container port's name.
  std::string protocol = "TCP";
  std::optional<std::int32_t> node_port;
  std::optional<std::string> app_protocol;
  bool operator==(const ServicePort&) const = default;

  template <class S = ServicePort>
  static auto describe() {
    return api::value(
        api::sparse("name", &S::name), api::required("port", &S::port),
        api::sparse("targetPort", &S::target_port), api::sparse("protocol", &S::protocol),
        api::optional("nodePort", &S::node_port), api::optional("appProtocol", &S::app_protocol));
  }
};

struct ServiceSpec {
  std::string cluster_ip;  ///< "None": headless.
  std::map<std::string, std::string> selector;
  std::vector<ServicePort> ports;
  bool publish_not_ready_addresses = false;
  bool operator==(const ServiceSpec&) const = default;

  template <class S = ServiceSpec>
  static auto describe() {
    return api::value(api::sparse("clusterIP", &S::cluster_ip),
                      api::sparse("selector", &S::selector), api::sparse("ports", &S::ports),
                      api::sparse("publishNotReadyAddresses", &S::publish_not_ready_addresses));
  }
};

struct Service {
  static constexpr Resource resource{"", "v1", "services", "Service"};
  ObjectMeta metadata;
  ServiceSpec spec;
  bool operator==(const Service&) const = default;

  template <class S = Service>
  static auto describe() {
    return api::value(api::required("metadata", &S::metadata), api::sparse("spec", &S::spec));
  }
};

struct LabelSelector {
  std::map<std::string, std::string> match_labels;
  bool operator==(const LabelSelector&) const = default;

  template <class S = LabelSelector>
  static auto describe() {
    return api::value(api::sparse("matchLabels", &S::match_labels));
  }
};

struct PodDisruptionBudgetSpec {
  std::optional<Json> min_available, max_unavailable;  ///< A number or "30%".
  LabelSelector selector;
  std::string unhealthy_pod_eviction_policy;  ///< Absent: IfHealthyBudget.
  bool operator==(const PodDisruptionBudgetSpec&) const = default;

  template <class S = PodDisruptionBudgetSpec>
  static auto describe() {
    return api::value(api::optional("minAvailable", &S::min_available),
                      api::optional("maxUnavailable", &S::max_unavailable),
                      api::sparse("selector", &S::selector),
                      api::sparse("unhealthyPodEvictionPolicy", &S::unhealthy_pod_eviction_policy));
  }
};

/// Kubernetes counts the allowed evictions in a status that we do not read.
struct PodDisruptionBudget {
  static constexpr Resource resource{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"};
  ObjectMeta metadata;
  PodDisruptionBudgetSpec spec;
  bool operator==(const PodDisruptionBudget&) const = default;

  template <class S = PodDisruptionBudget>
  static auto describe() {
    return api::value(api::required("metadata", &S::metadata), api::sparse("spec", &S::spec));
  }
};

struct ServiceAccount {
  static constexpr Resource resource{"", "v1", "serviceaccounts", "ServiceAccount"};
  ObjectMeta metadata;
  bool operator==(const ServiceAccount&) const = default;

  template <class S = ServiceAccount>
  static auto describe() {
    return api::value(api::required("metadata", &S::metadata));
  }
};

/// Complete. Times are RFC 3339 with microseconds.
struct LeaseSpec {
  std::optional<std::string> holder_identity;  ///< Empty: released.
  std::optional<std::int32_t> lease_duration_seconds;
  std::optional<std::string> acquire_time, renew_time;
  std::optional<std::int32_t> lease_transitions;
  std::optional<std::string> strategy, preferred_holder;
  bool operator==(const LeaseSpec&) const = default;

  template <class S = LeaseSpec>
  static auto describe() {
    return api::value(api::optional("holderIdentity", &S::holder_identity),
                      api::optional("leaseDurationSeconds", &S::lease_duration_seconds),
                      api::optional("acquireTime", &S::acquire_time),
                      api::optional("renewTime", &S::renew_time),
                      api::optional("leaseTransitions", &S::lease_transitions),
                      api::optional("strategy", &S::strategy),
                      api::optional("preferredHolder", &S::preferred_holder));
  }
};

struct Lease {
  static constexpr Resource resource{"coordination.k8s.io", "v1", "leases", "Lease"};
  ObjectMeta metadata;
  LeaseSpec spec;
  bool operator==(const Lease&) const = default;

  template <class S = Lease>
  static auto describe() {
    return api::value(api::required("metadata", &S::metadata), api::sparse("spec", &S::spec));
  }
};

/// How often an Event occurred, and when last.
struct EventSeries {
  std::int32_t count = 0;          ///< At least 2.
  std::string last_observed_time;  ///< As Event::event_time.
  bool operator==(const EventSeries&) const = default;

  template <class S = EventSeries>
  static auto describe() {
    return api::value(api::required("count", &S::count),
                      api::required("lastObservedTime", &S::last_observed_time));
  }
};

/// The fields for its subject and related object are only written.
struct Event {
  static constexpr Resource resource{"events.k8s.io", "v1", "events", "Event"};
  ObjectMeta metadata;
  std::string event_time;  ///< Time of the first occurrence; RFC 3339 with microseconds.
  std::string type;        ///< "Normal" or "Warning".
  std::string reason, action, note, reporting_controller, reporting_instance;
  std::optional<EventSeries> series;
  bool operator==(const Event&) const = default;

  template <class S = Event>
  static auto describe() {
    return api::value(api::required("metadata", &S::metadata),
                      api::sparse("eventTime", &S::event_time), api::sparse("type", &S::type),
                      api::sparse("reason", &S::reason), api::sparse("action", &S::action),
                      api::sparse("note", &S::note),
                      api::sparse("reportingController", &S::reporting_controller),
                      api::sparse("reportingInstance", &S::reporting_instance),
                      api::optional("series", &S::series));
  }
};

}  // namespace etcdop::kube

namespace etcdop::api {
extern template struct Codec<kube::Pod>;
extern template struct Codec<kube::Job>;
extern template struct Codec<kube::PersistentVolumeClaim>;
extern template struct Codec<kube::Service>;
extern template struct Codec<kube::PodDisruptionBudget>;
extern template struct Codec<kube::Lease>;
extern template struct Codec<kube::Event>;
}  // namespace etcdop::api
