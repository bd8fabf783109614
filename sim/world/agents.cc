#include "sim/world/agents.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "api/describe.h"
#include "kube/core_types.h"
#include "kube/secret_object.h"
#include "sim/api/objects.h"
#include "sim/api/paths.h"
#include "sim/world/checker.h"

namespace etcdop::sim {

using namespace std::chrono_literals;

namespace {

constexpr auto kContainers =
    std::to_array<std::string_view>({"snapshot-agent", "delete-agent", "verify-agent"});
constexpr int kKilled = 137;
constexpr Duration kLookEvery = 2s, kPodsEvictedAfter = 5min, kSecretAgain = 10s;
constexpr std::size_t kWordsMax = 4096;  // A kubelet keeps this much of a termination message.

const Json& container_of(const Json& pod) {
  return pod.at("spec").at("containers").as_array().at(0);
}

/// As a kubelet expands $(NAME), and $$ to $.
std::string expanded(std::string_view text, const Agent::Texts& known) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find(')');
    const bool escaped = text.starts_with("$$");
    const bool reference = text.starts_with("$(") && end != text.npos;
    const auto found = reference ? known.find(std::string(text.substr(2, end - 2))) : known.end();
    if (found != known.end()) out += found->second;
    else out += reference ? text.substr(0, end + 1) : text.substr(0, 1);
    text.remove_prefix(reference ? end + 1 : escaped ? 2 : 1);
  }
  return out;
}

Json condition(const char* type, const char* status, const char* reason) {
  json::object out{{"type", type}, {"status", status}};
  if (*reason) out["reason"] = reason;
  return out;
}

void add_condition(json::object& status, Json one) {
  Json& all = status["conditions"];
  if (!all.is_array()) all = json::array();
  all.as_array().push_back(std::move(one));
}

}  // namespace

/// One Pod, from its creation to its end.
struct Agents::Run {
  api::ObjectKey key;
  std::string uid, node;
  Json spec;
  Agent* agent = nullptr;  // While it runs.
  bool deleted = false, gone = false, over = false;
  Instant node_lost = Instant::max();
  Wait* waiting = nullptr;
  std::string container() const {
    return text_at(spec.at("containers").as_array().at(0), {"name"});
  }
  void wake() {
    if (waiting) (void)waiting->notify();
  }
};

Agents::Agents(Scheduler& world, const WallClock& clock, ApiServer& server, EtcdNet& net,
               Nodes& nodes, ObjectStore& store, const Faults& faults, Trace& trace,
               Checker& checker, Dice dice)
    : world_(world),
      server_(server),
      nodes_(nodes),
      faults_(faults),
      trace_(trace),
      dice_(std::move(dice)),
      needs_{world, clock, net, nodes, store, user_, faults, trace, checker, trouble_} {
  server_.on_change([this](const api::Resource& r, const ApiServer::Object& before,
                           const ApiServer::Object& after) {
    if (r == kube::Pod::resource) changed(before, after);
  });
  nodes_.on_down([this](const std::string& node) {
    for (auto& [uid, run] : runs_)
      if (run->node == node && run->agent) {
        run->node_lost = world_.now();
        kill(*run->agent);
      }
  });
}

Agents::~Agents() = default;

void Agents::stop() {
  stopping_ = true;
  for (auto& [uid, run] : runs_) {
    run->gone = true;
    run->agent = nullptr;
    run->wake();
  }
  restores_.clear();
  running_.clear();
}

void Agents::changed(const ApiServer::Object& before, const ApiServer::Object& after) {
  if (stopping_) return;
  const auto is_agent = [](const std::string& container) {
    return std::ranges::find(kContainers, container) != kContainers.end();
  };
  if (!before && is_agent(text_at(container_of(*after), {"name"}))) {
    auto run = std::make_shared<Run>();
    run->key = key_of(*after);
    run->uid = uid_of(*after);
    run->spec = after->at("spec");
    runs_.emplace(run->uid, run);
    (void)world_.spawn([this, run] { run_pod(run); });
    return;
  }
  const auto found = before ? runs_.find(uid_of(*before)) : runs_.end();
  if (found == runs_.end()) return;
  if (!after) found->second->gone = true;
  else if (terminating(*after)) found->second->deleted = true;
  else return;
  found->second->wake();
}

/// False once the Pod must end.
bool Agents::wait(Run& run, Duration d) {
  if (run.gone || run.deleted) return false;
  Wait wait(world_);
  run.waiting = &wait;
  (void)wait.until(d == Duration::max() ? Instant::max() : world_.now() + d);
  run.waiting = nullptr;
  return !run.gone && !run.deleted;
}

void Agents::run_pod(const std::shared_ptr<Run>& run) {
  bool alive = wait(*run, dice_.between(10ms, 300ms));
  while (alive && !schedule(*run)) alive = wait(*run, 1s);
  if (alive) {
    tell_waiting(*run, "ContainerCreating");
    const bool slow = faults_.on(Fault::SlowStart) && dice_.one_in(2);
    alive = wait(*run, slow ? dice_.between(2s, 40s) : dice_.between(100ms, 2s));
  }
  while (alive && !start(*run)) alive = wait(*run, kSecretAgain);
  if (alive) watch_over(*run);
  end(*run);
  runs_.erase(run->uid);
}

bool Agents::schedule(Run& run) {
  const auto node = nodes_.any_up(dice_);
  if (!node) return false;
  run.node = *node;
  (void)server_.change(kube::Pod::resource, run.key, [&](json::object& pod) {
    pod["spec"].as_object()["nodeName"] = run.node;
    add_condition(pod["status"].as_object(), condition("PodScheduled", "True", ""));
  });
  return true;
}

std::optional<std::string> Agents::secret_value(const std::string& ns, const std::string& secret,
                                                const std::string& key) const {
  const auto object = server_.read<kube::SecretObject>({ns, secret});
  if (!object || !object->data.contains(key)) return std::nullopt;
  return object->value(key).reveal();
}

/// nullopt: a Secret, or a wanted key of it, is missing.
std::optional<Agent::Texts> Agents::environment(const std::string& ns,
                                                const Json& container) const {
  Agent::Texts out;
  for (const Json& variable : list_at(container, {"env"})) {
    const std::string name = text_at(variable, {"name"});
    const Json* const reference = at(variable, {"valueFrom", "secretKeyRef"});
    if (!reference) {
      out[name] = expanded(text_at(variable, {"value"}), out);
      continue;
    }
    const Json* const optional = at(*reference, {"optional"});
    const auto value =
        secret_value(ns, text_at(*reference, {"name"}), text_at(*reference, {"key"}));
    if (value) out[name] = *value;
    else if (!optional || *optional != true) return std::nullopt;
  }
  return out;
}

/// The same for mounted files.
std::optional<Agent::Texts> Agents::files(const Run& run) const {
  Agent::Texts out;
  for (const Json& volume : list_at(run.spec, {"volumes"})) {
    const std::string secret = text_at(volume, {"secret", "secretName"});
    if (secret.empty()) continue;
    const auto object = server_.look(kube::SecretObject::resource, {run.key.ns, secret});
    if (!object) return std::nullopt;
    for (const Json& mount :
         list_at(run.spec.at("containers").as_array().at(0), {"volumeMounts"})) {
      if (text_at(mount, {"name"}) != text_at(volume, {"name"})) continue;
      for (const char* key : {"ca.crt", "tls.crt", "tls.key"})
        if (const auto value = secret_value(run.key.ns, secret, key))
          out[text_at(mount, {"mountPath"}) + "/" + key] = *value;
    }
  }
  return out;
}

/// True once its container runs.
bool Agents::start(Run& run) {
  if (nodes_.is_down(run.node)) return false;
  auto variables = environment(run.key.ns, run.spec.at("containers").as_array().at(0));
  auto mounted = files(run);
  if (!variables || !mounted) {
    tell_waiting(run, mounted ? "CreateContainerConfigError" : "ContainerCreating");
    return false;
  }
  running_.push_back(std::make_unique<Agent>(
      needs_, Agent::Start{run.key.name, run.uid, std::move(*variables), std::move(*mounted)},
      dice_.next()));
  run.agent = running_.back().get();
  trace_.add(run.key.name, "starts on " + run.node);
  set_status(run, [&](json::object& status) {
    status["phase"] = "Running";
    status["containerStatuses"] =
        json::array{json::object{{"name", run.container()},
                                 {"ready", true},
                                 {"restartCount", 0},
                                 {"state", {{"running", json::object()}}}}};
  });
  if (started_) started_(*run.agent);
  return true;
}

void Agents::watch_over(Run& run) {
  while (wait(run, run.over ? Duration::max() : Duration(kLookEvery)) && outlives_node(run)) {}
}

/// False once the Pod must end because its node does not come back.
bool Agents::outlives_node(Run& run) {
  if (run.over) return true;
  if (nodes_.is_down(run.node)) {
    if (world_.now() - run.node_lost < kPodsEvictedAfter) return true;
    set_status(run, [](json::object& status) {
      add_condition(status, condition("DisruptionTarget", "True", "DeletionByTaintManager"));
    });
    (void)server_.remove(kube::Pod::resource, run.key);
    return false;
  }
  // The kubelet is back and does not know the container any more.
  if (run.node_lost != Instant::max()) finish(run, {kKilled, ""});
  return true;
}

/// Its container has ended, and so has the Pod.
void Agents::finish(Run& run, const Agent::End& how) {
  run.over = true;
  run.agent = nullptr;
  trace_.add(run.key.name, "exits " + std::to_string(how.code));
  set_status(run, [&](json::object& status) {
    json::object state{{"exitCode", how.code},
                       {"reason", how.code == 0         ? "Completed"
                                  : how.code == kKilled ? "OOMKilled"
                                                        : "Error"}};
    if (!how.words.empty()) state["message"] = how.words.substr(0, kWordsMax);
    status["phase"] = how.code == 0 ? "Succeeded" : "Failed";
    status["containerStatuses"] =
        json::array{json::object{{"name", run.container()},
                                 {"ready", false},
                                 {"restartCount", 0},
                                 {"state", {{"terminated", std::move(state)}}}}};
  });
  run.wake();
}

void Agents::kill(Agent& agent) {
  if (!std::exchange(agent.passage().dead, true)) trace_.add(agent.name(), "is killed");
}

void Agents::reap() {
  for (std::size_t i = 0; i < running_.size();) {
    Agent& agent = *running_[i];
    const auto ended = agent.ended();
    if (!ended && !agent.passage().dead) {
      ++i;
      continue;
    }
    if (reap_restore(agent, ended)) {
      i = 0;
      continue;
    }
    const auto found = runs_.find(agent.uid());
    const std::shared_ptr<Run> run = found == runs_.end() ? nullptr : found->second;
    const auto out = std::move(running_[i]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    if (!run || run->agent != out.get()) continue;
    run->agent = nullptr;
    if (!nodes_.is_down(run->node)) finish(*run, ended.value_or(Agent::End{kKilled, ""}));
  }
}

// --- restores ------------------------------------------------------------------------------------

bool Agents::start(const Nodes::Restores::Wanted& wanted) {
  auto variables = environment(wanted.pod.ns, wanted.container);
  if (!variables) return false;
  running_.push_back(std::make_unique<Agent>(needs_,
                                             Agent::Start{.name = wanted.pod.name,
                                                          .uid = wanted.uid,
                                                          .environment = std::move(*variables),
                                                          .files = {},
                                                          .dir = wanted.dir,
                                                          .scratch = wanted.scratch},
                                             dice_.next()));
  restores_.insert_or_assign(wanted.uid, Restoring{running_.back().get(), wanted});
  trace_.add(wanted.pod.name, "restore starts");
  if (started_) started_(*running_.back());
  return true;
}

void Agents::kill(const std::string& pod_uid) {
  const auto found = restores_.find(pod_uid);
  if (found == restores_.end()) return;
  Agent& agent = *found->second.agent;
  restores_.erase(found);
  kill(agent);
}

/// False: not a restore. An agent that ends by itself leaves nothing behind, unless it was killed
/// before.
bool Agents::reap_restore(const Agent& agent, const std::optional<Agent::End>& ended) {
  if (!agent.restores()) return false;
  const auto found = restores_.find(agent.uid());
  std::optional<Nodes::Restores::Wanted> wanted;
  if (found != restores_.end() && found->second.agent == &agent) {
    wanted = std::move(found->second.wanted);
    restores_.erase(found);
  }
  std::erase_if(running_, [&](const auto& one) { return one.get() == &agent; });
  if (!wanted) return true;
  const Agent::End how = ended.value_or(Agent::End{kKilled, ""});
  trace_.add(wanted->pod.name, "restore exits " + std::to_string(how.code) + ": " + how.words);
  if (ended && !wanted->scratch->is_clean())
    needs_.checker.violated("restore", wanted->pod.name + " has left something behind");
  wanted->ended(how.code, how.words.substr(0, kWordsMax));
  return true;
}

void Agents::evict(const api::ObjectKey& pod) {
  for (auto& [uid, run] : runs_) {
    if (run->key != pod || run->deleted || run->gone || run->over || !run->agent) continue;
    kill(*run->agent);
    run->agent = nullptr;
    run->over = true;
    set_status(*run, [](json::object& status) {
      status["phase"] = "Failed";
      status["reason"] = "Evicted";
      status.erase("containerStatuses");
      add_condition(status, condition("DisruptionTarget", "True", "TerminationByKubelet"));
    });
    run->wake();
  }
}

/// The Pod ends: its process, then the object.
void Agents::end(Run& run) {
  while (nodes_.is_down(run.node) && !run.gone && !stopping_)  // No kubelet can end it.
    (void)world_.sleep(1s);
  if (run.agent) kill(*std::exchange(run.agent, nullptr));
  if (stopping_) return;
  if (!run.gone) (void)world_.sleep(dice_.between(20ms, 1500ms));
  if (!run.over && !run.gone)
    set_status(run, [](json::object& status) { status["phase"] = "Failed"; });
  const auto pod = server_.look(kube::Pod::resource, run.key);
  if (pod && uid_of(*pod) == run.uid) (void)server_.erase(kube::Pod::resource, run.key);
}

void Agents::set_status(const Run& run, const std::function<void(json::object&)>& edit) {
  const auto pod = server_.look(kube::Pod::resource, run.key);
  if (!pod || uid_of(*pod) != run.uid || stopping_) return;
  (void)server_.change(kube::Pod::resource, run.key, [&](json::object& object) {
    Json& status = object["status"];
    if (!status.is_object()) status = json::object();
    edit(status.as_object());
  });
}

void Agents::tell_waiting(const Run& run, const char* reason) {
  set_status(run, [&](json::object& status) {
    status["containerStatuses"] =
        json::array{json::object{{"name", run.container()},
                                 {"ready", false},
                                 {"restartCount", 0},
                                 {"state", {{"waiting", {{"reason", reason}}}}}}};
  });
}

}  // namespace etcdop::sim
