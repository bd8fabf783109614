#include "sim/world/nodes.h"

#include <algorithm>
#include <utility>

#include "api/describe.h"
#include "api/v1alpha2/names.h"
#include "base/quantity.h"
#include "kube/secret_object.h"
#include "sim/api/paths.h"
#include "sim/world/parts.h"
#include "sim/world/volume_site.h"

namespace etcdop::sim {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

namespace {

constexpr const char* kProtection = "kubernetes.io/pvc-protection";
constexpr Duration kProbeEvery = 2s, kNodeLostAfter = 40s, kPodsEvictedAfter = 5min;
constexpr std::int64_t kVolumeMost = std::int64_t{1} << 50;  // Bytes.
constexpr int kZones = 3;
constexpr std::int64_t kGraceDefault = 30;  // Seconds.
constexpr Duration kSecretLagMax = 90s, kMountAgain = 2s;
constexpr Duration kBackoffMin = 10s, kBackoffMax = 5min, kBackoffReset = 10min;

api::ObjectKey key_of(const Json& object) {
  return {text_at(object, {"metadata", "namespace"}), text_at(object, {"metadata", "name"})};
}
bool terminating(const Json& object) {
  return object.at("metadata").as_object().contains("deletionTimestamp");
}

/// The claim with a Pod's data; empty: none.
std::string claim_of(const Json& pod) {
  const Json* volumes = pod.at("spec").as_object().if_contains("volumes");
  if (!volumes) return "";
  for (const Json& volume : volumes->as_array())
    if (const std::string claim = text_at(volume, {"persistentVolumeClaim", "claimName"});
        !claim.empty())
      return claim;
  return "";
}

bool is_in_memory(const Json& pod) {
  const Json* volumes = pod.at("spec").as_object().if_contains("volumes");
  return volumes && std::ranges::any_of(volumes->as_array(), [](const Json& volume) {
           return text_at(volume, {"emptyDir", "medium"}) == "Memory";
         });
}

/// The only variable that a container here may have: the etcd flag with that name, and the
/// annotation with its value.
struct FromAnnotation {
  std::string flag, annotation;
};
std::optional<FromAnnotation> variable_of(const Json& container) {
  const Json* env = container.as_object().if_contains("env");
  if (!env) return std::nullopt;
  const Json& variable = env->as_array().at(0);
  std::string flag = text_at(variable, {"name"});
  check(flag.starts_with("ETCD_") && env->as_array().size() == 1, "one variable, for etcd");
  flag = "--" + flag.substr(5) + "=";
  for (char& c : flag) c = c == '_' ? '-' : static_cast<char>(std::tolower(c));
  const std::string path = text_at(variable, {"valueFrom", "fieldRef", "fieldPath"});
  const std::size_t begin = path.find('\'') + 1;
  return FromAnnotation{std::move(flag), path.substr(begin, path.rfind('\'') - begin)};
}

std::string host_of(const Json& pod) {
  return text_at(pod, {"spec", "hostname"}) + "." + text_at(pod, {"spec", "subdomain"}) + "." +
         text_at(pod, {"metadata", "namespace"}) + ".svc";
}

Json condition(const char* type, const char* status, const char* reason, const char* message) {
  json::object out{{"type", type}, {"status", status}};
  if (*reason) out["reason"] = reason;
  if (*message) out["message"] = message;
  return out;
}

std::int64_t number_at(const Json& object, std::initializer_list<const char*> path,
                       std::int64_t otherwise) {
  const Json* const found = at(object, path);
  return found ? found->to_number<std::int64_t>() : otherwise;
}

/// Only an object that is being created has no version yet.
bool is_new(const json::object& object) {
  return !object.at("metadata").as_object().contains("resourceVersion");
}

}  // namespace

/// One Pod, from its creation to its end.
struct Nodes::Run {
  api::ObjectKey key;
  std::string uid, host, claim, node, address, version;
  std::vector<std::string> command;
  std::shared_ptr<DataDir> dir;
  std::string claim_uid;
  bool deleted = false;  // Marked for deletion.
  bool gone = false;     // The object is deleted.
  bool failed = false;   // In its last phase.
  bool runs = false;     // Its process runs.
  bool ready = false;
  std::optional<int> exited;
  Json last_state = json::object();  // The container's last end, as in its status.
  Json status = json::object();      // As the kubelet knows it; the API server may lag.
  bool publishing = false;           // The newest status will be written in a moment.
  bool tells_words = false;          // terminationMessagePolicy: FallbackToLogsOnError
  bool has_sidecar = false;          // Admission added another container.
  bool in_memory = false;            // Its data is in a tmpfs that ends with it.
  std::optional<FromAnnotation> variable;
  Mounts mounts;
  int restarts = 0;

  /// The liveness probe; period 0: none. Not modelled: its timeout, and that a startup probe gives
  /// up.
  struct Liveness {
    bool http = false, after_startup = false;
    std::int64_t period = 0, delay = 0, failures = 0;
    explicit Liveness(const Json& container)
        : http(at(container, {"livenessProbe", "httpGet"})),
          after_startup(at(container, {"startupProbe"})) {
      if (!at(container, {"livenessProbe"})) return;
      period = number_at(container, {"livenessProbe", "periodSeconds"}, 10);
      delay = number_at(container, {"livenessProbe", "initialDelaySeconds"}, 0);
      failures = number_at(container, {"livenessProbe", "failureThreshold"}, 3);
    }
  };
  std::optional<Liveness> liveness;
  bool lived = false;   // Since its start.
  Instant live_at{};    // The next probe.
  int live_failed = 0;  // In a row.
  std::chrono::seconds grace{kGraceDefault};

  // Init containers.
  struct Init {
    Json container;
    Json state = json::object{{"waiting", {{"reason", "PodInitializing"}}}};
    Json last_state = json::object();
    int restarts = 0;
    bool done = false;
    std::string name() const { return text_at(container, {"name"}); }
  };
  std::vector<Init> inits;
  std::shared_ptr<Scratch> scratch;
  bool has_tools = false, initialising = false, init_runs = false;
  Instant init_at{};  // The next one's start.
  bool initialised() const { return std::ranges::all_of(inits, &Init::done); }
  Init& next_init() { return *std::ranges::find(inits, false, &Init::done); }
  Json init_statuses() const {
    json::array out;
    for (const Init& init : inits)
      out.push_back(json::object{{"name", init.name()},
                                 {"ready", init.done},
                                 {"restartCount", init.restarts},
                                 {"state", init.state},
                                 {"lastState", init.last_state}});
    return out;
  }
  Instant started{};
  Instant node_lost = Instant::max();
  Wait* waiting = nullptr;
  void wake() {
    if (waiting) (void)waiting->notify();
  }
  std::string container() const { return "containerd://" + uid + "-" + std::to_string(restarts); }
  std::string began;  // When its container started: RFC 3339.
  void has_ended(int code, const std::string& words, const std::string& now,
                 const char* reason = "Error") {
    json::object state{{"exitCode", code},
                       {"reason", code == 0 ? "Completed" : reason},
                       {"startedAt", began},
                       {"finishedAt", now},
                       {"containerID", container()}};
    if (tells_words && code != 0) state["message"] = words;
    last_state = json::object{{"terminated", std::move(state)}};
  }
  Json container_status(Json state, bool with_last) const {
    json::object out{{"name", v1::kEtcdContainer},
                     {"ready", false},
                     {"restartCount", restarts},
                     {"state", std::move(state)}};
    if (with_last) out["lastState"] = last_state;
    if (!began.empty()) out["containerID"] = container();
    if (!has_sidecar) return json::array{std::move(out)};
    return json::array{sidecar_status(), std::move(out)};
  }
  /// It is ready, and has had trouble of its own.
  Json sidecar_status() const {
    const std::string since = began.empty() ? "2026-01-01T00:00:00Z" : began;
    json::object running{{"running", {{"startedAt", since}}}};
    json::object last{{"terminated",
                       {{"exitCode", 137},
                        {"reason", "OOMKilled"},
                        {"startedAt", since},
                        {"finishedAt", since}}}};
    return {{"name", kSidecar},
            {"ready", true},
            {"restartCount", 7},
            {"state", std::move(running)},
            {"lastState", std::move(last)}};
  }
};

Nodes::Nodes(Scheduler& world, const WallClock& clock, ApiServer& server, EtcdNet& net,
             const Faults& faults, Dice dice, Trace& trace, int count)
    : world_(world),
      clock_(clock),
      server_(server),
      net_(net),
      faults_(faults),
      dice_(std::move(dice)),
      lags_(Dice(dice_).split()),
      trace_(trace),
      handshakes_(clock) {
  for (int i = 0; i < count; ++i)
    nodes_.push_back({{"node-" + std::to_string(i), "zone-" + std::to_string(i % kZones)}});
  local_volumes_ = dice_.one_in(2);
  tells_zones_ = Dice(lags_).split().one_in(2);
  server_.on_change([this](const api::Resource& r, const ApiServer::Object& before,
                           const ApiServer::Object& after) { changed(r, before, after); });
}

Nodes::~Nodes() = default;

void Nodes::stop() {
  stopping_ = true;
  for (auto& [uid, run] : runs_) {
    run->gone = true;
    run->wake();
  }
}

std::vector<ApiKind> Nodes::kinds() {
  const auto protect = [](json::object& claim) {
    if (!is_new(claim)) return;
    claim.at("metadata").as_object()["finalizers"] = json::array{kProtection};
    claim["status"] = json::object{{"phase", "Pending"}};
  };
  const auto pending = [](json::object& pod) {
    if (is_new(pod)) pod["status"] = json::object{{"phase", "Pending"}};
  };
  return {{.resource = kube::Pod::resource, .status = true, .graceful = true, .fill_in = pending},
          {.resource = kube::PersistentVolumeClaim::resource, .status = true, .fill_in = protect}};
}

Nodes::Node* Nodes::node(const std::string& name) {
  const auto found = std::ranges::find(nodes_, name, &Node::name);
  return found == nodes_.end() ? nullptr : &*found;
}

Nodes::Run* Nodes::run_of(const api::ObjectKey& pod) const {
  for (const auto& [uid, run] : runs_)
    if (run->key == pod && !run->gone) return run.get();
  return nullptr;
}

void Nodes::changed(const api::Resource& r, const ApiServer::Object& before,
                    const ApiServer::Object& after) {
  if (stopping_) return;
  if (r == kube::PersistentVolumeClaim::resource) {
    if (!after) volumes_.erase(uid_of(*before));
    else if (terminating(*after) && (!before || !terminating(*before))) unprotect(key_of(*after));
    return;
  }
  if (r == kube::SecretObject::resource) {
    if (!after) return;  // A kubelet keeps the mounted version.
    const api::ObjectKey key = key_of(*after);
    for (auto& [uid, run] : runs_)
      if (run->key.ns == key.ns && std::ranges::count(run->mounts.names(), key.name) > 0)
        run->mounts.bring(key.name, version_of(key, after),
                          world_.now() + dice_.between(0s, kSecretLagMax));
    return;
  }
  if (!(r == kube::Pod::resource)) return;
  if (!before) {
    const Json& container = etcd_container_of(after->at("spec").as_object());
    if (text_at(container, {"name"}) != v1::kEtcdContainer) return;
    auto run = std::make_shared<Run>();
    run->key = key_of(*after);
    run->uid = uid_of(*after);
    run->host = host_of(*after);
    run->claim = claim_of(*after);
    for (const Json& word : container.at("command").as_array())
      run->command.emplace_back(word.as_string());
    const std::string image = text_at(container, {"image"});
    run->version = image.substr(image.rfind(":v") + 2);
    run->in_memory = is_in_memory(*after);
    run->has_sidecar = after->at("spec").at("containers").as_array().size() > 1;
    if (const Json* const inits = after->at("spec").as_object().if_contains("initContainers"))
      for (const Json& init : inits->as_array()) run->inits.push_back({.container = init});
    run->mounts = Mounts(*after);
    run->variable = variable_of(container);
    run->liveness.emplace(container);
    run->grace = std::chrono::seconds(
        number_at(*after, {"spec", "terminationGracePeriodSeconds"}, kGraceDefault));
    run->tells_words = text_at(container, {"terminationMessagePolicy"}) == "FallbackToLogsOnError";
    runs_.emplace(run->uid, run);
    world_.spawn([this, run] { run_pod(run); });
    return;
  }
  const auto found = runs_.find(uid_of(*before));
  if (found == runs_.end()) return;
  if (!after) found->second->gone = true;
  else if (terminating(*after)) found->second->deleted = true;
  else return;
  found->second->wake();
}

/// False once the Pod must end.
bool Nodes::wait(Run& run, Duration d) {
  if (run.gone || run.deleted || run.failed) return false;
  Wait wait(world_);
  run.waiting = &wait;
  (void)wait.until(world_.now() + d);
  run.waiting = nullptr;
  return !run.gone && !run.deleted && !run.failed;
}

void Nodes::run_pod(const std::shared_ptr<Run>& run) {
  bool alive = wait(*run, dice_.between(10ms, 300ms));
  while (alive && !schedule(*run)) alive = wait(*run, 1s);
  if (alive && !refuse(*run) && pull(*run)) {
    set_up(*run);
    watch_over(*run);
  }
  while (run->failed && !run->gone && !run->deleted) {  // It stays until it is deleted.
    Wait deleted(world_);
    run->waiting = &deleted;
    (void)deleted.until();
    run->waiting = nullptr;
  }
  end(*run);
  runs_.erase(run->uid);
}

/// A kubelet's view of its Pod. It reaches the API server a moment later.
void Nodes::set_status(Run& run, const Edit& edit) {
  edit(run.status.as_object());
  publish(run);
}

/// Another component's: the scheduler's, or the node controller's.
void Nodes::set_status_at_once(Run& run, const Edit& edit) {
  edit(run.status.as_object());
  const auto pod = server_.look(kube::Pod::resource, run.key);
  if (!pod || uid_of(*pod) != run.uid || stopping_) return;
  (void)server_.change(kube::Pod::resource, run.key, [&](json::object& object) {
    Json& status = object["status"];
    if (!status.is_object()) status = json::object();
    edit(status.as_object());
  });
}

/// A kubelet looks at its containers each second, starts one that ended, and reports that at its
/// next look; its status manager writes the newest state of one Pod after the other (PLEG and
/// status_manager.go). So an etcd may serve before the API server has heard that it runs.
void Nodes::publish(Run& run) {
  if (run.publishing) return;
  if (!faults_.on(Fault::KubeletLag)) return write_status(run);
  run.publishing = true;
  world_.spawn([this, uid = run.uid, lag = lags_.between(100ms, kKubeletLagMax)] {
    (void)world_.sleep(lag);
    const auto found = runs_.find(uid);
    if (found == runs_.end()) return;
    found->second->publishing = false;
    write_status(*found->second);
  });
}

void Nodes::write_status(Run& run) {
  const auto pod = server_.look(kube::Pod::resource, run.key);
  if (!pod || uid_of(*pod) != run.uid || stopping_) return;
  const Node* const on = node(run.node);
  if (on && on->down) return;  // It is written again when the node is back.
  (void)server_.change(kube::Pod::resource, run.key, [&](json::object& object) {
    Json& status = object["status"];
    if (!status.is_object()) status = json::object();
    for (const auto& [field, value] : run.status.as_object()) status.as_object()[field] = value;
    for (const char* field : {"containerStatuses", "initContainerStatuses"})
      if (!run.status.as_object().contains(field)) status.as_object().erase(field);
  });
}

/// True once it has a node with its volume.
bool Nodes::schedule(Run& run) {
  const auto refuse = [&](const char* why) {
    set_status_at_once(run, [&](json::object& status) {
      status["conditions"] = json::array{condition("PodScheduled", "False", "Unschedulable", why)};
    });
    return false;
  };
  if (run.claim.empty()) return schedule_in_memory(run);
  const auto claim = server_.look(kube::PersistentVolumeClaim::resource, {run.key.ns, run.claim});
  if (!claim) return refuse("persistentvolumeclaim not found");
  if (terminating(*claim)) return refuse("persistentvolumeclaim is being deleted");
  run.claim_uid = uid_of(*claim);
  Volume& volume = volumes_[run.claim_uid];
  if (!volume.attached.empty() && volume.attached != run.uid)
    return refuse("the volume is attached to another Pod");
  // Where volumes are made once a Pod needs them, one that no node has room for stays unbound.
  const auto size = bytes_of(text_at(*claim, {"spec", "resources", "requests", "storage"}));
  if (!volume.dir && size.value_or(0) > kVolumeMost)
    return refuse("0/3 nodes are available: 3 node(s) did not have enough free storage.");
  std::vector<Node*> fitting = fit(run);
  if (local_volumes_ && !volume.node.empty())
    std::erase_if(fitting, [&](const Node* n) { return n->name != volume.node; });
  if (fitting.empty()) return refuse("0 nodes are available: no node fits");
  volume.attached = run.uid;
  if (!volume.dir) {
    volume.dir = empty_data_dir();
    volume.scratch = std::make_shared<Scratch>();
  }
  run.dir = volume.dir;
  run.scratch = volume.scratch;
  if (text_at(*claim, {"status", "phase"}) != "Bound")
    (void)server_.change(kube::PersistentVolumeClaim::resource, {run.key.ns, run.claim},
                         [](json::object& c) { c["status"] = json::object{{"phase", "Bound"}}; });
  bind(run, fitting);
  volume.node = run.node;
  return true;
}

/// The nodes that take the Pod now.
std::vector<Nodes::Node*> Nodes::fit(const Run& run) {
  const auto pod = server_.look(kube::Pod::resource, run.key);
  if (!pod) return {};
  std::vector<Place> all;
  for (const Node& n : nodes_) all.push_back(n);
  const auto others = server_.look_all(kube::Pod::resource);
  std::vector<Node*> out;
  for (Node& n : nodes_)
    if (!n.down && !n.cordoned && may_be_placed(*pod, n, all, others)) out.push_back(&n);
  return out;
}

/// Binds the Pod to one of these nodes. Since Kubernetes 1.35 it gets the labels of the node's
/// topology.
void Nodes::bind(Run& run, const std::vector<Node*>& fitting) {
  const Node& chosen = *fitting[dice_.below(fitting.size())];
  run.node = chosen.name;
  (void)server_.change(kube::Pod::resource, run.key, [&](json::object& pod) {
    pod["spec"].as_object()["nodeName"] = run.node;
    if (tells_zones_) part(part(pod, "metadata"), "labels")[kZoneLabel] = chosen.zone;
    pod["status"].as_object()["conditions"] =
        json::array{condition("PodScheduled", "True", "", "")};
  });
  run.status.as_object()["conditions"] = json::array{condition("PodScheduled", "True", "", "")};
}

/// True once no scheduling gate is left and it has a node.
bool Nodes::schedule_in_memory(Run& run) {
  const auto pod = server_.look(kube::Pod::resource, run.key);
  if (!pod || uid_of(*pod) != run.uid) return false;
  const Json* gates = pod->at("spec").as_object().if_contains("schedulingGates");
  if (gates && !gates->as_array().empty()) return false;
  const std::vector<Node*> fitting = fit(run);
  if (fitting.empty()) {
    set_status_at_once(run, [&](json::object& status) {
      status["conditions"] =
          json::array{condition("PodScheduled", "False", "Unschedulable", "no node fits")};
    });
    return false;
  }
  bind(run, fitting);
  run.dir = empty_data_dir();
  return true;
}

/// Whether its kubelet does not admit it: the Pod fails, and stays.
bool Nodes::refuse(Run& run) {
  if (world_.now() >= node(run.node)->refuses_until) return false;
  trace_.add("fault", run.node + " refuses " + run.key.name);
  fail(run, kRefusal,
       "Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 110, "
       "capacity: 110");
  return true;
}

void Nodes::fail(Run& run, const char* reason, const std::string& message) {
  run.failed = true;
  run.ready = false;
  set_status(run, [&](json::object& status) {
    status["phase"] = "Failed";
    status["reason"] = reason;
    if (!message.empty()) status["message"] = message;
    status["conditions"] = json::array{condition("Ready", "False", "PodFailed", "")};
    status.erase("containerStatuses");
    status.erase("initContainerStatuses");
  });
  free_volume(run);
}

/// The command that its container starts with now: a variable follows its annotation.
std::vector<std::string> Nodes::command_of(const Run& run) const {
  std::vector<std::string> out = run.command;
  if (!run.variable) return out;
  const auto pod = server_.look(kube::Pod::resource, run.key);
  const Json* annotations =
      pod ? pod->at("metadata").as_object().if_contains("annotations") : nullptr;
  const Json* value =
      annotations ? annotations->as_object().if_contains(run.variable->annotation) : nullptr;
  if (value) out.push_back(run.variable->flag + std::string(value->as_string()));
  return out;
}

/// True once the image is pulled.
bool Nodes::pull(Run& run) {
  const auto waiting = [&](const char* reason) {
    set_status(run, [&](json::object& status) {
      if (!run.inits.empty()) {  // The first init container's image is pulled.
        run.inits[0].state = json::object{{"waiting", {{"reason", reason}}}};
        status["initContainerStatuses"] = run.init_statuses();
      }
      status["containerStatuses"] = run.container_status(
          {{"waiting", {{"reason", run.inits.empty() ? reason : "PodInitializing"}}}}, false);
    });
  };
  waiting("ContainerCreating");
  if (!mount(run)) return false;
  const bool slow = faults_.on(Fault::SlowStart) && dice_.one_in(2);
  if (!wait(run, slow ? dice_.between(2s, 40s) : dice_.between(100ms, 2s))) return false;
  bool complained = false;
  while (lacking_.contains(run.version) || (faults_.on(Fault::ImageErrors) && !dice_.one_in(3))) {
    if (!std::exchange(complained, true)) waiting("ImagePullBackOff");
    if (!wait(run, 10s)) return false;
  }
  return true;
}

/// True once its Secrets are mounted.
bool Nodes::mount(Run& run) {
  for (const std::string& name : run.mounts.names()) {
    const api::ObjectKey key{run.key.ns, name};
    ApiServer::Object secret = server_.look(kube::SecretObject::resource, key);
    for (; !secret; secret = server_.look(kube::SecretObject::resource, key))
      if (!wait(run, kMountAgain)) return false;
    run.mounts.bring(name, version_of(key, secret), world_.now());
  }
  return true;
}

/// The same object for all Pods that mount it.
SecretVersion Nodes::version_of(const api::ObjectKey& secret, const ApiServer::Object& now) {
  auto& [object, files] = secrets_[secret];
  if (object != now) {
    object = now;
    files = files_of(*now);
  }
  return files;
}

std::string Nodes::new_address() {
  if (!freed_.empty() && dice_.one_in(3)) {
    std::string address = freed_.front();
    freed_.pop_front();
    if (!net_.runs(address)) return address;
  }
  ++addresses_;
  return "10.0." + std::to_string(addresses_ / 250) + "." + std::to_string(addresses_ % 250 + 1);
}

std::optional<std::string> Nodes::freed_address() {
  while (!freed_.empty()) {
    std::string address = freed_.front();
    freed_.pop_front();
    if (!net_.runs(address)) return address;
  }
  return std::nullopt;
}

void Nodes::give_address(Run& run) {
  if (!run.address.empty()) return;
  run.address = new_address();
  const bool late = faults_.on(Fault::DnsLag) && dice_.one_in(2);
  const Duration lag = late ? dice_.between(1s, 60s) : dice_.between(1ms, 200ms);
  names_[run.host].push_back({run.address, world_.now() + lag});
}

/// The Pod gets a sandbox, for the first time or again: its init containers run first.
void Nodes::set_up(Run& run) {
  if (run.inits.empty()) return start(run);
  for (Run::Init& init : run.inits) init.done = false;
  run.initialising = true;
  run.init_at = world_.now();
  initialise(run);
}

/// The next step now.
void Nodes::initialise(Run& run) {
  while (!run.init_runs && world_.now() >= run.init_at) {
    if (!run.initialised()) {
      start_init(run);
      continue;
    }
    run.initialising = false;
    return start(run);
  }
}

void Nodes::start_init(Run& run) {
  Run::Init& init = run.next_init();
  const auto tell = [&](Json state) {
    init.state = std::move(state);
    set_status(run, [&](json::object& status) {
      status["podIP"] = run.address;
      status["initContainerStatuses"] = run.init_statuses();
    });
  };
  give_address(run);
  run.init_runs = true;
  if (init.name() == v1::kInstallToolsContainer) {
    tell(json::object{{"running", json::object()}});
    run.has_tools = true;
    world_.spawn([this, uid = run.uid, &init, takes = dice_.between(20ms, 500ms)] {
      (void)world_.sleep(takes);
      const auto found = runs_.find(uid);
      if (found == runs_.end() || !found->second->init_runs) return;
      if (!init.done) init_ended(*found->second, 0, "");
    });
    return;
  }
  check(init.name() == v1::kRestoreContainer && run.has_tools, "restore comes after its tools");
  check(restores_ && run.scratch, "a restore is to a volume");
  const bool started =
      restores_->start({run.key, run.uid, init.container, run.dir, run.scratch,
                        [this, uid = run.uid](int code, const std::string& words) {
                          if (const auto found = runs_.find(uid); found != runs_.end())
                            init_ended(*found->second, code, words);
                        }});
  if (started) {
    ++restores_begun_;
    return tell(json::object{{"running", json::object()}});
  }
  run.init_runs = false;
  run.init_at = world_.now() + kBackoffMin;
  tell(json::object{{"waiting", {{"reason", "CreateContainerConfigError"}}}});
}

void Nodes::init_ended(Run& run, int code, const std::string& words) {
  if (!std::exchange(run.init_runs, false)) return;
  Run::Init& init = run.next_init();
  json::object how{{"exitCode", code}, {"reason", code == 0 ? "Completed" : "Error"}};
  if (!words.empty()) how["message"] = words;
  init.state = json::object{{"terminated", how}};
  init.done = code == 0;
  if (code != 0) {
    init.last_state = init.state;
    const int doublings = std::clamp(init.restarts - 1, 0, 6);
    const Duration backoff = std::min(kBackoffMin * (1 << doublings), kBackoffMax);
    if (++init.restarts > 1) {
      run.init_at = world_.now() + backoff;
      init.state = json::object{{"waiting", {{"reason", "CrashLoopBackOff"}}}};
    }
  }
  set_status(run,
             [&](json::object& status) { status["initContainerStatuses"] = run.init_statuses(); });
  run.wake();
}

/// Kills all its processes, as SIGKILL.
void Nodes::stop_all(Run& run) {
  if (run.runs) net_.kill(run.address);
  if (run.init_runs && restores_) restores_->kill(run.uid);
  run.runs = run.init_runs = false;
}

void Nodes::start(Run& run) {
  give_address(run);
  run.exited.reset();
  run.started = world_.now();
  run.began = to_rfc3339(clock_.wall_now());
  run.runs = true;
  run.lived = false;
  run.live_failed = 0;
  run.live_at = world_.now() + std::chrono::seconds(run.liveness->delay);
  set_status(run, [&](json::object& status) {
    status["phase"] = "Running";
    status["podIP"] = run.address;
    status["containerStatuses"] =
        run.container_status({{"running", {{"startedAt", run.began}}}}, true);
  });
  if (const std::string words = run.mounts.start(world_.now()); !words.empty()) {
    trace_.add(run.key.name, "etcd exits 1: " + words);
    run.runs = false;
    run.exited = 1;
    run.has_ended(1, words, to_rfc3339(clock_.wall_now()));
    return;
  }
  if (is_full(run)) return die_of_full_disk(run);
  net_.start({run.address, run.version, command_of(run), run.dir,
              [this, uid = run.uid](int code, const std::string& words) {
                const auto found = runs_.find(uid);
                if (found == runs_.end()) return;
                Run& ended = *found->second;
                trace_.add(ended.key.name, "etcd exits " + std::to_string(code) + ": " + words);
                ended.runs = false;
                ended.exited = code;
                ended.has_ended(code, words, to_rfc3339(clock_.wall_now()));
                ended.wake();
              }});
}

bool Nodes::is_full(const Run& run) const {
  const auto volume = volumes_.find(run.claim_uid);
  return volume != volumes_.end() && world_.now() < volume->second.full_until;
}

/// etcd ends when it cannot write to its log. Source: server/etcdserver/raft.go.
void Nodes::die_of_full_disk(Run& run) {
  constexpr const char* kWords =
      "failed to save Raft hard state and entries: write /var/lib/etcd/member/wal/0.tmp: no space "
      "left on device";
  trace_.add(run.key.name, std::string("etcd exits 1: ") + kWords);
  if (run.runs) net_.kill(run.address);
  run.runs = false;
  run.exited = 1;
  run.has_ended(1, kWords, to_rfc3339(clock_.wall_now()));
}

void Nodes::fill_disk(const api::ObjectKey& pod, Instant until) {
  Run* const run = run_of(pod);
  const auto volume = run ? volumes_.find(run->claim_uid) : volumes_.end();
  if (volume == volumes_.end()) return;
  volume->second.full_until = until;
  if (!run->runs) return;
  die_of_full_disk(*run);
  run->wake();
}

void Nodes::empty_disks() {
  for (auto& [uid, volume] : volumes_) volume.full_until = {};
}

void Nodes::set_ready(Run& run, bool ready) {
  if (run.ready == ready) return;
  run.ready = ready;
  set_status(run, [&](json::object& status) {
    status["conditions"] = json::array{condition("PodScheduled", "True", "", ""),
                                       condition("Ready", ready ? "True" : "False", "", "")};
    if (Json* containers = status.if_contains("containerStatuses"))
      containers->as_array().back().as_object()["ready"] = ready;
  });
}

void Nodes::watch_over(Run& run) {
  Instant next_probe = world_.now() + kProbeEvery;
  do {
    const Node& on = *node(run.node);
    if (on.down) {
      stop_all(run);
      if (run.node_lost == Instant::max()) run.node_lost = world_.now();
      if (world_.now() - run.node_lost >= kNodeLostAfter && run.ready) {
        run.ready = false;  // The node controller says so; the kubelet cannot.
        set_status_at_once(run, [](json::object& status) {
          status["conditions"] = json::array{condition("PodScheduled", "True", "", ""),
                                             condition("Ready", "False", "NodeLost", "")};
        });
      }
      if (world_.now() - run.node_lost >= kPodsEvictedAfter)
        (void)server_.remove(kube::Pod::resource, run.key);
      continue;
    }
    if (std::exchange(run.node_lost, Instant::max()) != Instant::max()) {
      // A new sandbox has a new address.
      if (!run.address.empty()) freed_.push_back(std::exchange(run.address, ""));
      if (run.in_memory) run.dir = empty_data_dir();
      ++run.restarts;
      run.ready = true;
      set_ready(run, false);
      set_up(run);
    } else if (run.initialising) {
      initialise(run);
    } else if (run.exited) {
      restart(run);
    } else if (world_.now() >= next_probe) {
      next_probe = world_.now() + kProbeEvery;
      set_ready(run, net_.ready(run.address));
      check_liveness(run);
    }
  } while (wait(run, kProbeEvery));
}

/// Ends a container whose liveness probe has failed too often in a row. A failed startup probe
/// holds it back.
void Nodes::check_liveness(Run& run) {
  const auto& probe = *run.liveness;
  const bool lives = probe.http ? net_.alive(run.address) : net_.listens(run.address);
  run.lived |= lives || !probe.after_startup;
  if (probe.period == 0 || !run.lived || world_.now() < run.live_at) return;
  run.live_at = world_.now() + std::chrono::seconds(probe.period);
  run.live_failed = lives ? 0 : run.live_failed + 1;
  if (run.live_failed < probe.failures) return;
  trace_.add(run.key.name, "its liveness probe failed: it is killed");
  end_process(run);
  run.runs = false;
  run.exited = 137;
  run.has_ended(137, "", to_rfc3339(clock_.wall_now()));
}

/// SIGTERM, and SIGKILL for one that does not end within the Pod's grace.
void Nodes::end_process(Run& run) {
  const Instant until = world_.now() + run.grace;
  const auto waits = [&] { return net_.runs(run.address) && !net_.hears_sigterm(run.address); };
  while (waits() && world_.now() < until && !run.gone && !stopping_) (void)world_.sleep(1s);
  if (run.gone || waits()) net_.kill(run.address);
  else net_.terminate(run.address);
}

/// The container has ended: starts it again, with back-off.
void Nodes::restart(Run& run) {
  set_ready(run, false);
  if (faults_.on(Fault::KubeletLag)) {  // Its end is told before its next start.
    set_status(run, [&](json::object& status) {
      status["containerStatuses"] = run.container_status(run.last_state, false);
    });
    if (!std::exchange(run.publishing, true)) write_status(run);
    if (!wait(run, lags_.between(100ms, 1s)) || node(run.node)->down) return;
    run.publishing = false;
  }
  const bool ran_long = world_.now() - run.started > kBackoffReset;
  const int next = run.restarts + 1;
  const int doublings = std::clamp(next - 2, 0, 6);
  if (next > 1 && !ran_long) {
    set_status(run, [&](json::object& status) {
      status["containerStatuses"] =
          run.container_status({{"waiting", {{"reason", "CrashLoopBackOff"}}}}, true);
    });
    const Instant until = world_.now() + std::min(kBackoffMin * (1 << doublings), kBackoffMax);
    while (world_.now() < until)
      if (!wait(run, until - world_.now()) || node(run.node)->down) return;
  }
  if (run.gone || run.deleted || run.failed || node(run.node)->down) return;
  run.restarts = next;
  start(run);
}

/// The Pod ends: its process, then the object, then its resources.
void Nodes::end(Run& run) {
  Node* const on = node(run.node);
  if (on && on->down) stop_all(run);
  while (on && on->down && !run.gone && !stopping_)  // No kubelet can end it.
    (void)world_.sleep(1s);
  if (run.runs) {
    end_process(run);
    run.runs = false;
  }
  stop_all(run);
  if (stopping_) return;
  if (!run.gone) (void)world_.sleep(dice_.between(20ms, 1500ms));
  if (!run.address.empty()) {
    freed_.push_back(run.address);
    names_[run.host].push_back({"", world_.now()});
  }
  free_volume(run);
  const auto pod = server_.look(kube::Pod::resource, run.key);
  if (pod && uid_of(*pod) == run.uid) (void)server_.erase(kube::Pod::resource, run.key);
}

void Nodes::free_volume(Run& run) {
  const auto found = volumes_.find(run.claim_uid);
  if (found != volumes_.end() && found->second.attached == run.uid) found->second.attached.clear();
}

/// A deleted claim goes once no Pod uses it any more.
void Nodes::unprotect(const api::ObjectKey& claim) {
  world_.spawn([this, claim] {
    for (;;) {
      (void)world_.sleep(dice_.between(50ms, 1s));
      const auto there = server_.look(kube::PersistentVolumeClaim::resource, claim);
      if (stopping_ || !there || !terminating(*there)) return;
      const auto uses = [&](const ApiServer::Object& pod) {  // A Pod without a node does not count.
        return key_of(*pod).ns == claim.ns && claim_of(*pod) == claim.name &&
               !text_at(*pod, {"spec", "nodeName"}).empty();
      };
      if (std::ranges::any_of(server_.look_all(kube::Pod::resource), uses)) continue;
      (void)server_.change(kube::PersistentVolumeClaim::resource, claim, [](json::object& c) {
        c.at("metadata").as_object().erase("finalizers");
      });
      return;
    }
  });
}

bool leads_to(const kube::Service& service, const kube::Pod& pod) {
  const auto& selector = service.spec.selector;
  const auto has = [&](const auto& wanted) {
    const auto label = pod.metadata.labels.find(wanted.first);
    return label != pod.metadata.labels.end() && label->second == wanted.second;
  };
  const bool ended = pod.status.phase == "Failed" || pod.status.phase == "Succeeded";
  if (selector.empty() || !std::ranges::all_of(selector, has) || ended) return false;
  return service.spec.publish_not_ready_addresses || (pod.ready() && !pod.metadata.terminating());
}

std::optional<std::string> Nodes::resolve(const std::string& host) const {
  const std::size_t first = host.find('.');
  if (const auto other = misdirected_.find(host.substr(0, first));
      other != misdirected_.end() && !other->second.empty())
    return resolve(other->second + host.substr(first));
  const auto found = names_.find(host);
  if (found == names_.end()) return std::nullopt;
  const std::size_t second = host.find('.', first + 1);
  const std::size_t third = host.find('.', second + 1);
  const api::ObjectKey service{host.substr(second + 1, third - second - 1),
                               host.substr(first + 1, second - first - 1)};
  const auto governs = server_.read<kube::Service>(service);
  const Name* newest = nullptr;
  for (const Name& name : found->second)
    if (name.since <= world_.now()) newest = &name;
  if (!governs || !newest || newest->address.empty()) return std::nullopt;
  const auto pod = server_.read<kube::Pod>({service.ns, host.substr(0, first)});
  if (pod && address_of(pod->metadata.key()) == newest->address && !leads_to(*governs, *pod))
    return std::nullopt;
  return newest->address;
}

// --- TLS

/// Null for another tenant's etcd, which speaks plaintext.
Nodes::Run* Nodes::run_at(const std::string& address) const {
  for (const auto& [uid, run] : runs_)
    if (run->runs && run->address == address) return run.get();
  return nullptr;
}

std::optional<TlsPort> Nodes::port_at(const std::string& address, std::int32_t port) const {
  const Run* const run = run_at(address);
  if (!run) return std::nullopt;
  return port == v1::kPeerPort ? run->mounts.peer_port(world_.now())
                               : run->mounts.client_port(world_.now());
}

bool Nodes::has_tls(const std::string& address) const {
  return port_at(address, v1::kClientPort).has_value();
}

bool Nodes::knows_clients_by_certificate(const std::string& address) const {
  const auto port = port_at(address, v1::kClientPort);
  return port && port->asks_clients;
}

Result<CertificateFacts> Nodes::shake_hands(const std::string& address, std::int32_t port,
                                            const std::string& server_name,
                                            const std::shared_ptr<const TlsClient::Options>& with) {
  if (!net_.process_at(address)) return Error{Code::Unavailable, address + ": connection refused"};
  const auto there = port_at(address, port);
  if (!with) return Error{Code::Unavailable, "the connection ended"};
  if (!there) return Error{Code::Denied, "TLS with " + server_name + ": wrong version number"};
  return handshakes_.judge(*there, server_name, with);
}

bool Nodes::admits(const std::string& from, const std::string& to, bool https) {
  const Run* const one = run_at(from);
  const Run* const other = run_at(to);
  const auto with = one ? one->mounts.peer_port(world_.now()) : std::nullopt;
  const auto there = other ? other->mounts.peer_port(world_.now()) : std::nullopt;
  if (!https) return !there;
  return with && there && handshakes_.agree(*with, *there, other->host);
}

void Nodes::node_down(std::size_t index, bool down) {
  Node& n = nodes_.at(index);
  if (n.down == down) return;
  n.down = down;
  trace_.add(n.name, down ? "stops" : "is back");
  for (auto& [uid, run] : runs_)
    if (run->node == n.name) {
      if (!down) publish(*run);
      run->wake();
    }
  if (down && stops_) stops_(n.name);
}

bool Nodes::is_down(const std::string& name) const {
  const auto found = std::ranges::find(nodes_, name, &Node::name);
  return found != nodes_.end() && found->down;
}

std::optional<std::string> Nodes::any_up(Dice& dice) const {
  std::vector<const Node*> fit;
  for (const Node& n : nodes_)
    if (!n.down && !n.cordoned) fit.push_back(&n);
  if (fit.empty()) return std::nullopt;
  return fit[dice.below(fit.size())]->name;
}

void Nodes::kill_container(const api::ObjectKey& pod, const char* reason) {
  Run* const run = run_of(pod);
  if (!run || !run->runs) return;
  net_.kill(run->address);
  run->runs = false;
  run->exited = 137;
  run->has_ended(137, "", to_rfc3339(clock_.wall_now()), reason);
  run->wake();
}

void Nodes::kill_etcd(const api::ObjectKey& pod) { kill_container(pod, "Error"); }
void Nodes::kill_for_memory(const api::ObjectKey& pod) { kill_container(pod, kOutOfMemory); }

bool Nodes::died_of_memory(const api::ObjectKey& pod) const {
  const Run* const run = run_of(pod);
  if (run && is_down(run->node)) return false;  // No kubelet says so, and the node is the cause.
  const Json* const end = run ? run->last_state.as_object().if_contains("terminated") : nullptr;
  return end && end->at("reason") == kOutOfMemory;
}

void Nodes::evict(const api::ObjectKey& pod) {
  Run* const run = run_of(pod);
  if (!run || run->deleted || run->failed || run->node.empty() || is_down(run->node)) return;
  stop_all(*run);
  fail(*run, "Evicted", "");
  run->wake();
}

void Nodes::lose_volume(const api::ObjectKey& claim) {
  (void)server_.remove(kube::PersistentVolumeClaim::resource, claim);
  for (auto& [uid, run] : std::map(runs_))
    if (run->claim == claim.name && run->key.ns == claim.ns)
      (void)server_.remove(kube::Pod::resource, run->key);
}

void Nodes::corrupt_volume(const api::ObjectKey& claim) {
  const auto object = server_.look(kube::PersistentVolumeClaim::resource, claim);
  if (!object) return;
  const auto found = volumes_.find(uid_of(*object));
  if (found == volumes_.end() || !found->second.dir) return;
  if (!EtcdNet::owner_of(*found->second.dir)) return;  // No etcd has written there yet.
  corrupt(*found->second.dir);
  found->second.corrupt = true;
  for (auto& [uid, run] : runs_)
    if (run->claim == claim.name && run->key.ns == claim.ns) kill_etcd(run->key);
}

void Nodes::replace_data(const api::ObjectKey& claim, const DataDir& by) {
  const auto object = server_.look(kube::PersistentVolumeClaim::resource, claim);
  const auto found = object ? volumes_.find(uid_of(*object)) : volumes_.end();
  if (found == volumes_.end() || !found->second.dir) return;
  found->second.dir = copy(by);
  for (auto& [uid, run] : runs_) {
    if (run->claim != claim.name || run->key.ns != claim.ns) continue;
    run->dir = found->second.dir;
    kill_etcd(run->key);
  }
}

std::shared_ptr<DataDir> Nodes::data_of(const std::string& claim_uid) const {
  const auto found = volumes_.find(claim_uid);
  return found == volumes_.end() || found->second.corrupt ? nullptr : found->second.dir;
}

std::shared_ptr<const Scratch> Nodes::scratch_of(const std::string& claim_uid) const {
  const auto found = volumes_.find(claim_uid);
  return found == volumes_.end() ? nullptr : found->second.scratch;
}

std::shared_ptr<DataDir> Nodes::memory_of(const api::ObjectKey& pod) const {
  const Run* const run = run_of(pod);
  if (!run || !run->in_memory || run->failed) return nullptr;
  const auto on = std::ranges::find(nodes_, run->node, &Node::name);
  return on == nodes_.end() || on->down ? nullptr : run->dir;
}

std::shared_ptr<DataDir> Nodes::data_of_member(const api::ObjectKey& member) const {
  const auto claim =
      server_.look(kube::PersistentVolumeClaim::resource, {member.ns, "data-" + member.name});
  if (claim) return terminating(*claim) ? nullptr : data_of(uid_of(*claim));
  const auto pod = server_.look(kube::Pod::resource, member);
  return !pod || terminating(*pod) ? nullptr : memory_of(member);
}

std::vector<api::ObjectKey> Nodes::in_memory_on(std::size_t node) const {
  std::vector<api::ObjectKey> out;
  for (const auto& [uid, run] : runs_)
    if (run->in_memory && run->node == nodes_.at(node).name) out.push_back(run->key);
  return out;
}

std::string Nodes::address_of(const api::ObjectKey& pod) const {
  const Run* const run = run_of(pod);
  return run ? run->address : "";
}

}  // namespace etcdop::sim
