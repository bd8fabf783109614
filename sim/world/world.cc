// How a world is set up, how its time passes, and what it must converge to.
#include "sim/world/world.h"

#include <algorithm>
#include <set>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcddefrag.h"
#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/etcdsnapshotschedule.h"
#include "api/v1alpha2/names.h"
#include "base/base64.h"
#include "kube/certificate.h"
#include "kube/secret_object.h"
#include "operator/credentials/passwords.h"
#include "operator/credentials/tls.h"
#include "operator/passes/owner.h"
#include "operator/pods/etcd_pod.h"
#include "runtime/conditions.h"
#include "runtime/events.h"
#include "sim/api/objects.h"
#include "sim/linearizability.h"
#include "sim/world/parts.h"
#include "sys/x509.h"

namespace etcdop::sim {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

namespace {
constexpr Duration kQuiet = 150s;  // How long a converged world is watched.
constexpr Duration kLookEvery = 1ms;

std::string text_of(v1::RestoreDecision decision) {
  return std::string(api::Codec<v1::RestoreDecision>::encode(decision).as_string());
}
}  // namespace

World::World(Options options)
    : options_(options),
      dice_(options_.seed),
      time_(dice_.next()),
      date_(time_),
      faults_(options_.faults),
      trace_(time_),
      server_(date_, [this](const std::string& how) { checker_.violated("misuse", how); }),
      net_(time_, date_, dice_.split(),
           {.resolve = [this](const std::string& host) { return nodes_.resolve(host); },
            .tell = [this](const std::string& who,
                           const std::string& what) { trace_.add(who, what); },
            .admits = [this](const std::string& from, const std::string& to,
                             bool https) { return nodes_.admits(from, to, https); },
            .membership_changed = [this](etcd::ClusterId id) { checker_.membership_changed(id); }}),
      checker_(time_, server_, net_, trace_),
      nodes_(time_, date_, server_, net_, faults_, dice_.split(), trace_, options_.nodes),
      clients_(time_, server_, net_, nodes_, history_, checker_),
      store_(time_, dice_.split(),
             [this](const std::string& how) { checker_.violated("misuse", how); }),
      jobs_(server_, date_),
      agents_(time_, date_, server_, net_, nodes_, store_, faults_, trace_, checker_,
              dice_.split()),
      snapshots_(time_, server_, store_, net_, history_, checker_),
      restores_(server_, store_, net_, nodes_, snapshots_, checker_),
      oracles_(time_, server_, net_, nodes_, clients_, faults_, checker_) {
  trace_.keep(options_.keep_trace);
  checker_.nodes(nodes_);
  nodes_.restored_by(agents_);
  store_.make_bucket(kBucket);
  serve_kinds();
  rewrite_what_is_stored();
  controllers();
}

World::~World() {
  ending_ = true;
  clients_.end();
  lives_.clear();
  for (const auto& fiber : fibers_) fiber->cancel();
  agents_.stop();
  nodes_.stop();
  net_.stop();
  time_.run();
  check(time_.alive() == 0, "nothing of a world outlives it");
}

void World::serve_kinds() {
  const auto serve_admitted = [this](ApiKind kind) {
    const api::Resource r = kind.resource;
    kind.validate = [this, r](const Json& next, const Json& before) -> Result<Done> {
      return before.is_null() ? let_in(r, next) : Done{};
    };
    kind.fill_in = [this, r, fills = std::move(kind.fill_in)](json::object& object) {
      admit(r, object);
      if (fills) fills(object);
    };
    server_.serve(std::move(kind));
  };
  for (ApiKind& kind : Nodes::kinds()) serve_admitted(std::move(kind));
  server_.serve({.resource = v1::EtcdCluster::resource, .status = true, .generation = true});
  server_.serve({.resource = v1::EtcdMember::resource, .status = true, .generation = true});
  server_.serve({.resource = v1::EtcdDefrag::resource, .status = true, .generation = true});
  server_.serve({.resource = v1::EtcdSnapshot::resource, .status = true, .generation = true});
  server_.serve(
      {.resource = v1::EtcdSnapshotSchedule::resource, .status = true, .generation = true});
  server_.serve({.resource = v1::EtcdRestore::resource, .status = true, .generation = true});
  server_.serve(job_kind());
  serve_admitted({.resource = kube::Service::resource, .status = true});
  serve_admitted(
      {.resource = kube::PodDisruptionBudget::resource, .status = true, .generation = true});
  server_.serve({.resource = kube::SecretObject::resource});
  if (options_.cert_manager) serve_cert_manager();
  else server_.lack(kube::Certificate::resource);
  server_.serve({.resource = kube::Lease::resource});
  server_.serve({.resource = kube::Event::resource});
  // An owner is deleted, or an object is created after its owner was deleted.
  server_.on_change([this](const api::Resource& r, const ApiServer::Object& before,
                           const ApiServer::Object& after) {
    garbage_ |= !before || !after;
    if (!before && r == kube::SecretObject::resource) deleted_authorities_.erase(key_of(*after));
  });
}

void World::serve_cert_manager() {
  server_.serve({.resource = kube::Certificate::resource, .status = true, .generation = true});
}

void World::jump_date(std::chrono::seconds by) {
  trace_.add("world", "it is " + std::to_string(by.count()) + " s later");
  date_error_ += by;
  date_.jump(by);
  for (const auto& life : lives_) life->date().jump(by);
}

void World::spawn(std::function<void()> body) { fibers_.push_back(time_.spawn(std::move(body))); }

/// Kubernetes' own controllers, and the checkers that look each second.
void World::controllers() {
  spawn([this] {
    while (time_.sleep(1s) == Woken::Ready) {
      if (std::exchange(garbage_, false)) (void)server_.collect_garbage();
      server_.update_budgets();
      jobs_.run();
      for (const auto& life : lives_)
        if (life->leading() && std::exchange(leader_, life->name()) != life->name())
          oracles_.led_by_another();
      const bool somebody = std::ranges::any_of(
          lives_, [](const auto& life) { return life->leading() && !life->process().frozen(); });
      if (!somebody || time_.now() < api_down_until_) {
        checker_.hindered();
        oracles_.hindered(Oracles::kStarts);
      }
      if (old_crds_) oracles_.pruned();
      const auto deaf = [this](const auto& life) {
        return life->etcd().is_deaf() || life->api().is_deaf(time_.now());
      };
      if (std::ranges::any_of(lives_, deaf)) oracles_.hindered(Oracles::kSettles);
      checker_.look();
      snapshots_.look();
      restores_.look();
      oracles_.look([this](const api::ObjectKey& cluster) { return missing(cluster); });
      if (trace_.keeps()) sample();
      for (const auto& life : lives_)
        if (life->ended() && !life->passage().dead) {
          trace_.add(life->name(), "has ended by itself");
          kill(*life, 1s);
        }
    }
  });
}

/// Records all states for the page of a run. Changes nothing.
void World::sample() {
  std::vector<Trace::Sample> all;
  for (const auto& life : lives_)
    if (!life->passage().dead)
      all.push_back({"operators", life->name(),
                     life->process().frozen() ? "frozen"
                     : life->leading()        ? "leading"
                                              : "waiting"});
  for (const auto& key : clusters())
    if (const auto id = etcd_of(key); id.value != 0)
      all.push_back({key.name, "quorum", net_.has_quorum(id) ? "quorum" : "no quorum"});
  for (const auto& process : net_.processes()) {
    const auto listed = net_.membership(process.cluster);
    const auto member = std::ranges::find(listed, process.member, &EtcdNet::Member::id);
    all.push_back({process.name.substr(0, process.name.rfind('-')), process.name,
                   !process.serves          ? "starting"
                   : member == listed.end() ? "removed"
                   : member->learner        ? "learner"
                   : process.leads          ? "leader"
                                            : "voter"});
  }
  trace_.sample(all);
}

// --- time ----------------------------------------------------------------------------------------

/// One step of the next process. False: none is due before `end`.
bool World::step(Instant end) {
  Instant best = time_.next();
  ProcessExecutor* who = nullptr;
  const auto ask = [&](ProcessExecutor& process) {
    const Instant at = process.next();
    if (at < best || (at == best && at != Instant::max() && dice_.one_in(2))) {
      best = at;
      who = &process;
    }
  };
  for (const auto& life : lives_) ask(life->process());
  for (const auto& agent : agents_.running()) ask(agent->process());
  if (best > end || best == Instant::max()) return false;
  time_.advance_to(best);
  if (who) who->step_next();
  else time_.step_next();
  if (!doomed_.empty()) reap();
  agents_.reap();
  return true;
}

void World::run_for(Duration d) {
  const Instant end = time_.now() + d;
  while (!checker_.violation() && step(end)) {}
  if (!checker_.violation()) time_.advance_to(end);
}

bool World::run_until(const std::function<bool()>& holds, Duration limit) {
  const Instant end = time_.now() + limit;
  while (!checker_.violation() && time_.now() < end) {
    if (holds()) return true;
    run_for(1s);
  }
  return !checker_.violation() && holds();
}

// --- operators -----------------------------------------------------------------------------------

Life& World::start_operator() {
  const std::string name = "op-" + std::to_string(++names_);
  trace_.add(name, "starts");
  lives_.push_back(
      std::make_unique<Life>(Life::Needs{time_, server_, net_, nodes_, faults_, trace_, checker_,
                                         api_down_until_, trace_.keeps(), options_.pod_policy},
                             name, dice_.next()));
  lives_.back()->date().jump(date_error_);
  lives_.back()->passage().webhook = [this](const kube::Call& call) { return webhook(call); };
  lives_.back()->passage().let_in_after = [this](const kube::Call& call) {
    const bool asked = time_.now() < slow_until_ && call.resource.plural == slow_for_ &&
                       call.subresource.empty() && call.verb != kube::Verb::Delete;
    return asked ? slow_takes_ : Duration(0);
  };
  if (faults_.on(Fault::OldBuild)) lives_.back()->passage().old_build = dice_.one_in(2);
  if (started_) started_(*lives_.back());
  return *lives_.back();
}

void World::soon(Duration d, std::function<void()> act) {
  spawn([this, d, act = std::move(act)] {
    if (time_.sleep(d) == Woken::Ready) act();
  });
}

void World::once(std::function<bool()> holds, std::function<void()> act) {
  spawn([this, holds = std::move(holds), act = std::move(act)] {
    while (!holds())
      if (time_.sleep(kLookEvery) != Woken::Ready) return;
    act();
  });
}

void World::kill(Life& life, std::optional<Duration> again) {
  if (std::exchange(life.passage().dead, true)) return;
  trace_.add(life.name(), "is killed");
  if (life.leading()) oracles_.led_by_another();
  doomed_.emplace_back(&life, again);
}

void World::reap() {
  for (const auto& [life, again] : std::exchange(doomed_, {})) {
    ended_writes_ += life->passage().writes;
    ended_calls_ += life->etcd().calls();
    keep_flight(*life);
    std::erase_if(lives_, [&, dead = life](const auto& l) { return l.get() == dead; });
    if (again)
      spawn([this, after = *again] {
        if (time_.sleep(after) == Woken::Ready && !ending_) (void)start_operator();
      });
  }
}

namespace {
/// With the operator's name in each line.
std::string flight_of(const Life& life) {
  std::string out = life.flight().text();
  const std::string head = "{\"operator\":\"" + life.name() + "\",";
  for (std::size_t at = 0; at < out.size(); at = out.find('\n', at) + 1) out.replace(at, 1, head);
  return out;
}
}  // namespace

void World::keep_flight(const Life& life) {
  constexpr std::size_t kDeadMax = 8;
  dead_flights_.push_back(flight_of(life));
  if (dead_flights_.size() > kDeadMax) dead_flights_.pop_front();
}

std::string World::flight() const {
  std::string out;
  for (const std::string& dead : dead_flights_) out += dead;
  for (const auto& life : lives_) out += flight_of(*life);
  return out;
}

std::uint64_t World::writes() const {
  std::uint64_t out = ended_writes_;
  for (const auto& life : lives_) out += life->passage().writes;
  return out;
}

std::uint64_t World::etcd_calls() const {
  std::uint64_t out = ended_calls_;
  for (const auto& life : lives_) out += life->etcd().calls();
  return out;
}

// --- users ---------------------------------------------------------------------------------------

void World::create_cluster(const api::ObjectKey& key, int replicas, const std::string& version,
                           int progress_deadline_s, bool in_memory) {
  create_cluster(key, {.replicas = replicas,
                       .version = version,
                       .progress_deadline_s = progress_deadline_s,
                       .in_memory = in_memory});
}

void World::create_cluster(const api::ObjectKey& key, const Wanted& wanted) {
  trace_.add("user", "creates EtcdCluster " + to_string(key) + " of " +
                         std::to_string(wanted.replicas) + ", version " + wanted.version +
                         (wanted.in_memory ? ", in memory" : "") +
                         (wanted.client_tls ? ", with TLS" : "") +
                         (wanted.peer_tls ? ", with peer TLS" : "") +
                         (wanted.password.empty() ? "" : ", with a password") +
                         (wanted.restore.empty() ? "" : ", restored from " + wanted.restore));
  v1::EtcdClusterSpec spec;
  spec.replicas = wanted.replicas;
  spec.version = wanted.version;
  spec.progress_deadline_seconds = wanted.progress_deadline_s;
  if (wanted.in_memory) spec.storage.medium = v1::Medium::Memory;
  if (wanted.client_tls) spec.tls.emplace().client.emplace().operator_managed.emplace();
  if (wanted.peer_tls) {
    if (!spec.tls) spec.tls.emplace();
    spec.tls->peer.emplace().operator_managed.emplace();
  }
  if (!wanted.password.empty()) {
    spec.auth = v1::AuthSpec{true, v1::LocalObjectReference{key.name + "-root"}};
    write_password(key, wanted.password);
  }
  if (!wanted.restore.empty()) {
    const api::ObjectKey secret = store_credentials(key.ns);
    v1::RestoreSpec& restore = spec.bootstrap.emplace().restore.emplace();
    restore.bump_revision = wanted.bump_revision;
    restore.source.s3 = v1::S3Location{.endpoint = kStoreEndpoint,
                                       .bucket = kBucket,
                                       .key = wanted.restore,
                                       .region = {},
                                       .credentials_secret_ref = {secret.name},
                                       .ca_secret_ref = {}};
  }
  if (spec.tls) checker_.guard("PRIVATE KEY");
  Json encoded = api::encode(spec);
  if (wanted.apart) {
    json::object labels;
    labels[v1::kClusterLabel] = key.name;
    json::object rule{{"topologyKey", "kubernetes.io/hostname"},
                      {"labelSelector", {{"matchLabels", std::move(labels)}}}};
    json::object required{
        {"requiredDuringSchedulingIgnoredDuringExecution", json::array{std::move(rule)}}};
    encoded.as_object()["podTemplate"] = {
        {"spec", {{"affinity", {{"podAntiAffinity", std::move(required)}}}}}};
  }
  (void)server_.put(
      v1::EtcdCluster::resource,
      {{"metadata", {{"name", key.name}, {"namespace", key.ns}}}, {"spec", std::move(encoded)}});
}

void World::write_secret(const api::ObjectKey& key,
                         const std::map<std::string, std::string>& values) {
  trace_.add("user", "writes Secret " + to_string(key));
  json::object data;
  for (const auto& [name, value] : values) data[name] = to_base64(value);
  if (!server_.look(kube::SecretObject::resource, key)) {
    (void)server_.put(kube::SecretObject::resource,
                      {{"metadata", {{"name", key.name}, {"namespace", key.ns}}}, {"data", data}});
    return;
  }
  (void)server_.change(kube::SecretObject::resource, key,
                       [&](json::object& secret) { secret["data"] = data; });
}

std::string World::secret_value(const api::ObjectKey& key, const std::string& name) const {
  const auto secret = read<kube::SecretObject>(key);
  return secret ? secret->value(name).reveal() : "";
}

void World::write_password(const api::ObjectKey& cluster, const std::string& password) {
  checker_.guard(password);
  passwords_.insert(password);
  write_secret({cluster.ns, cluster.name + "-root"},
               {{"username", "root"}, {kPasswordKey, password}});
}

void World::scale(const api::ObjectKey& key, int replicas) {
  const auto now = read<v1::EtcdCluster>(key);
  if (!now) return;
  // The API server's rule.
  if (replicas == 0 && now->spec.storage.medium == v1::Medium::Memory) return;
  trace_.add("user", "scales " + to_string(key) + " to " + std::to_string(replicas));
  (void)server_.change(v1::EtcdCluster::resource, key, [&](json::object& cluster) {
    Json& spec = cluster["spec"];
    if (spec.as_object().at("replicas") == replicas) return;
    spec.as_object()["replicas"] = replicas;
  });
}

void World::set_version(const api::ObjectKey& key, const std::string& version) {
  if (!server_.look(v1::EtcdCluster::resource, key)) return;
  trace_.add("user", "asks for version " + version + " of " + to_string(key));
  (void)server_.change(v1::EtcdCluster::resource, key, [&](json::object& cluster) {
    cluster["spec"].as_object()["version"] = version;
  });
}

void World::delete_object(const api::Resource& r, const api::ObjectKey& key) {
  const auto object = server_.look(r, key);
  if (!object) return;
  trace_.add("user", std::string("deletes ") + r.kind + " " + to_string(key));
  checker_.struck();
  checker_.user_deleted(std::string(object->at("metadata").at("uid").as_string()));
  (void)server_.remove(r, key);
}

Result<Done> World::evict(const api::ObjectKey& pod) {
  kube::Call call;
  call.verb = kube::Verb::Create;
  call.resource = kube::Pod::resource;
  call.ns = pod.ns;
  call.name = pod.name;
  call.subresource = "eviction";
  call.body = json::object{{"apiVersion", "policy/v1"},
                           {"kind", "Eviction"},
                           {"metadata", {{"name", pod.name}, {"namespace", pod.ns}}}};
  server_.update_budgets();
  auto done = server_.perform(call);
  if (!done) return done.error();
  trace_.add("user", "evicts Pod " + to_string(pod));
  checker_.struck();
  return Done{};
}

void World::delete_cluster(const api::ObjectKey& key) {
  if (const auto cluster = read<v1::EtcdCluster>(key))
    for (const ManagedSecret& secret : managed_secrets_of(*cluster)) {
      const auto there = read<kube::SecretObject>({key.ns, secret.name});
      const auto* owner = there ? there->metadata.controller() : nullptr;
      if (secret.kind == ManagedSecret::Kind::Authority && owner &&
          owner->uid == cluster->metadata.uid)
        deleted_authorities_.insert({key.ns, secret.name});
    }
  delete_object(v1::EtcdCluster::resource, key);
}

void World::fragment(const api::ObjectKey& cluster) {
  trace_.add("user", "writes to " + to_string(cluster) + " and compacts");
  spawn([this, id = etcd_of(cluster)] {
    constexpr std::uint8_t kPuts = 20;
    std::string at;
    for (const auto& process : net_.processes())
      if (process.cluster == id && process.serves) at = process.address;
    for (std::uint64_t i = 1; i <= kPuts; ++i)
      (void)net_.put(time_, at, to_hex(id) + "/compacted", i);
    const char revision[] = {0x08, kPuts};  // CompactionRequest.revision: higher ones exist by now.
    http::GrpcStatus status;
    (void)net_.unary(
        time_, at,
        {"/etcdserverpb.KV/Compact", {revision, sizeof revision}, Secret(EtcdNet::kMasterKey)},
        status);
  });
}

void World::defragment(const api::ObjectKey& cluster, const std::string& name) {
  trace_.add("user", "creates EtcdDefrag " + name + " of " + to_string(cluster));
  v1::EtcdDefragSpec spec;
  spec.cluster_ref.name = cluster.name;
  spec.rule.emplace().all = true;
  (void)server_.put(
      v1::EtcdDefrag::resource,
      {{"metadata", {{"name", name}, {"namespace", cluster.ns}}}, {"spec", api::encode(spec)}});
}

api::ObjectKey World::store_credentials(const std::string& ns) {
  const api::ObjectKey secret{ns, "backup-credentials"};
  checker_.guard(kStoreSecret);
  if (!server_.look(kube::SecretObject::resource, secret))
    write_secret(secret,
                 {{"AWS_ACCESS_KEY_ID", kStoreKeyId}, {"AWS_SECRET_ACCESS_KEY", kStoreSecret}});
  return secret;
}

void World::back_up(const api::ObjectKey& cluster, const std::string& name, int keep_last,
                    int verify_every) {
  const api::ObjectKey secret = store_credentials(cluster.ns);
  trace_.add("user", "creates EtcdSnapshotSchedule " + name + " of " + to_string(cluster));
  json::object s3{{"endpoint", kStoreEndpoint},
                  {"bucket", kBucket},
                  {"key", cluster.name},
                  {"credentialsSecretRef", {{"name", secret.name}}}};
  json::object spec{{"clusterRef", {{"name", cluster.name}}},
                    {"schedule", "* * * * *"},
                    {"retention", {{"keepLast", keep_last}}},
                    {"template", {{"destination", {{"s3", std::move(s3)}}}}}};
  if (verify_every > 0) spec["verify"] = {{"every", verify_every}};
  (void)server_.put(
      v1::EtcdSnapshotSchedule::resource,
      {{"metadata", {{"name", name}, {"namespace", cluster.ns}}}, {"spec", std::move(spec)}});
}

void World::snapshot(const api::ObjectKey& cluster, const std::string& name) {
  const api::ObjectKey secret = store_credentials(cluster.ns);
  trace_.add("user", "creates EtcdSnapshot " + name + " of " + to_string(cluster));
  (void)server_.put(v1::EtcdSnapshot::resource,
                    {{"metadata", {{"name", name}, {"namespace", cluster.ns}}},
                     {"spec",
                      {{"clusterRef", {{"name", cluster.name}}},
                       {"destination",
                        {{"s3",
                          {{"endpoint", kStoreEndpoint},
                           {"bucket", kBucket},
                           {"key", cluster.name},
                           {"credentialsSecretRef", {{"name", secret.name}}}}}}}}}});
}

void World::restore_in_place(const api::ObjectKey& cluster, const std::string& name,
                             const std::string& key, v1::RestoreDecision decision,
                             std::optional<std::int64_t> bump_revision) {
  v1::EtcdRestoreSpec spec;
  spec.cluster_ref.name = cluster.name;
  spec.decision = decision;
  spec.bump_revision = bump_revision;
  spec.source.s3 = v1::S3Location{.endpoint = kStoreEndpoint,
                                  .bucket = kBucket,
                                  .key = key,
                                  .region = {},
                                  .credentials_secret_ref = {store_credentials(cluster.ns).name},
                                  .ca_secret_ref = {}};
  Json encoded = api::encode(spec);
  trace_.add("user", "creates EtcdRestore " + name + " of " + to_string(cluster) + " from " + key +
                         ": " + text_of(decision));
  (void)server_.put(
      v1::EtcdRestore::resource,
      {{"metadata", {{"name", name}, {"namespace", cluster.ns}}}, {"spec", std::move(encoded)}});
}

void World::decide(const api::ObjectKey& restore, v1::RestoreDecision decision) {
  if (!server_.look(v1::EtcdRestore::resource, restore)) return;
  trace_.add("user", "lets EtcdRestore " + to_string(restore) + " go so far: " + text_of(decision));
  (void)server_.change(v1::EtcdRestore::resource, restore, [&](json::object& object) {
    object["spec"].as_object()["decision"] = text_of(decision);
  });
}

void World::let_clients_in(const api::ObjectKey& cluster) {
  trace_.add("user", "edits the selectors of " + to_string(cluster) + "'s Services");
  clients_.let_in_by_hand(cluster);
  for (const char* suffix : {"", "-client"})
    (void)server_.change(kube::Service::resource, {cluster.ns, cluster.name + suffix},
                         [&](json::object& service) {
                           json::object selector;
                           selector[v1::kClusterLabel] = cluster.name;
                           service["spec"].as_object()["selector"] = std::move(selector);
                         });
}

void World::write_object(const std::string& key, const std::string& bytes) {
  trace_.add("user", "writes " + key + " into the bucket");
  store_.put(kBucket, key, {.bytes = bytes});
  snapshots_.touched(key);
}

void World::spoil_object(const std::string& key) {
  const StoredObject* const object = store_.look(kBucket, key);
  if (!object) return;
  trace_.add("user", "spoils " + key + " in the bucket");
  StoredObject other = *object;
  other.bytes[other.bytes.size() / 2] ^= 1;
  store_.put(kBucket, key, std::move(other));
  snapshots_.touched(key);
}

void World::remove_object(const std::string& key) {
  trace_.add("user", "removes " + key + " from the bucket");
  store_.remove(kBucket, key);
  snapshots_.touched(key);
}

std::vector<api::ObjectKey> World::clusters() const {
  std::vector<api::ObjectKey> out;
  for (const auto& object : server_.look_all(v1::EtcdCluster::resource)) {
    const json::object& meta = object->at("metadata").as_object();
    out.push_back(
        {std::string(meta.at("namespace").as_string()), std::string(meta.at("name").as_string())});
  }
  return out;
}

std::vector<api::ObjectKey> World::members_of(const api::ObjectKey& cluster) const {
  std::vector<api::ObjectKey> out;
  for (const auto& object : server_.look_all(v1::EtcdMember::resource)) {
    const json::object& meta = object->at("metadata").as_object();
    if (meta.at("namespace") == cluster.ns.c_str() &&
        object->at("spec").at("clusterName") == cluster.name.c_str())
      out.push_back({cluster.ns, std::string(meta.at("name").as_string())});
  }
  return out;
}

etcd::ClusterId World::etcd_of(const api::ObjectKey& key) const {
  const auto cluster = read<v1::EtcdCluster>(key);
  return {cluster ? etcd::from_hex(cluster->status.cluster_id).value_or(0) : 0};
}

// --- verdicts ------------------------------------------------------------------------------------

/// I11: members that a healthy cluster's status does not report, or reports wrongly.
std::string World::unreported(const v1::EtcdCluster& cluster) const {
  const v1::EtcdClusterStatus& status = cluster.status;
  const auto id = etcd_of(cluster.metadata.key());
  const auto processes = net_.processes();
  if (status.phase != v1::kPhaseReady) return "is in phase " + status.phase;
  for (const EtcdNet::Member& member : net_.membership(id)) {
    const auto told = std::ranges::find(status.members, member.name, &v1::MemberReport::name);
    if (told == status.members.end()) return member.name + " is not in its status";
    const bool leads = std::ranges::any_of(processes, [&](const EtcdNet::Truth& p) {
      return p.cluster == id && p.member == member.id && p.leads;
    });
    if (told->role != (leads ? v1::kLeader : v1::kFollower) || told->lagging ||
        told->version.empty())
      return member.name + " is reported as " + told->role;
    if (leads && status.leader != member.name) return "is led by " + status.leader;
  }
  return "";
}

/// The serial of the first certificate in it; empty: unreadable. Each is parsed once.
std::string World::serial_of(const std::string& certificate) const {
  const auto [known, is_new] = serials_.try_emplace(certificate);
  if (is_new)
    if (auto leaf = read_certificate(certificate)) known->second = leaf->serial;
  return known->second;
}

/// Returns the part of a cluster's TLS or authentication that is still missing.
std::string World::insecure(const v1::EtcdCluster& cluster) const {
  const api::ObjectKey key = cluster.metadata.key();
  std::vector<std::string> made;
  for (const ManagedSecret& secret : managed_secrets_of(cluster)) made.push_back(secret.name);
  if (cluster.status.auth_enabled) made.push_back(auth_secret_name(key.name));
  for (const std::string& name : made) {
    const auto secret = read<kube::SecretObject>({key.ns, name});
    if (secret && !is_ours(secret->metadata, cluster.metadata.uid))
      return "does not own Secret " + name;
  }
  if (cluster.spec.tls) {
    const auto* told = runtime::find_condition(cluster.status.conditions, v1::kTlsReady);
    if (!told || told->status != "True")
      return "its TLS is not ready: " + (told ? told->message : "");
    const TlsSecrets names = tls_secrets_of(cluster);
    for (const std::string& name : {names.server, names.operator_client, names.peer}) {
      if (name.empty()) continue;
      const std::string serial = serial_of(secret_value({key.ns, name}, kCertificateKey));
      if (serial.empty() || told->message.find(serial) == std::string::npos)
        return "nothing is said of the certificate in Secret " + name;
    }
  }
  if (!cluster.spec.auth || !cluster.spec.auth->enabled) return "";
  if (!cluster.status.auth_enabled || !net_.asks_users(etcd_of(key)))
    return "its authentication is off";
  const std::string& secret = cluster.spec.auth->root_credentials_secret_ref->name;
  if (!net_.has_password(etcd_of(key), Secret(secret_value({key.ns, secret}, kPasswordKey))))
    return "etcd does not have the password of Secret " + secret;
  const Secret kept(secret_value({key.ns, auth_secret_name(key.name)}, kPasswordKey));
  return net_.has_password(etcd_of(key), kept) ? "" : "the operator's Secret is old";
}

std::string World::missing(const api::ObjectKey& key) const {
  const auto cluster = read<v1::EtcdCluster>(key);
  if (!cluster) return "";
  if (cluster->metadata.terminating()) return "is being deleted";
  if (const auto* restore = cluster->restoring())
    return "is being restored: " + to_string(restore->stage);
  const auto id = etcd_of(key);
  if (id.value == 0) return "has no etcd yet";
  const bool paused = cluster->spec.replicas == 0;
  const auto want = static_cast<std::size_t>(paused ? 1 : cluster->spec.replicas);
  const auto listed = net_.membership(id);
  const auto learners =
      std::ranges::count_if(listed, [](const EtcdNet::Member& m) { return m.learner; });
  if (learners > 0) return "has learners";
  if (listed.size() != want)
    return std::to_string(listed.size()) + " voters, wanted " + std::to_string(want);
  const auto members = members_of(key);
  if (members.size() != want) return std::to_string(members.size()) + " EtcdMembers";
  const auto says = [&](const char* type, const char* status, const char* reason) {
    const auto* c = runtime::find_condition(cluster->status.conditions, type);
    return c && c->status == status && c->reason == reason &&
           c->observed_generation == cluster->metadata.generation;
  };
  if (paused) {
    if (server_.look(kube::Pod::resource, members[0])) return "its Pod is still there";
    if (read<kube::PodDisruptionBudget>(key)) return "its budget is still there";
    for (const char* type : {v1::kAvailable, v1::kProgressing, v1::kDegraded})
      if (!says(type, "False", v1::kPaused)) return "is not Paused";
    return read<v1::EtcdMember>(members[0])->spec.dormant ? "" : "its member does not sleep";
  }
  if (faults_.has(Fault::OldCrds) && cluster->status.max_learners == 0)
    return "has lost fields of its status";  // They are written again once a minute.
  for (const api::ObjectKey& name : members) {
    const auto pod = read<kube::Pod>(name);
    if (!pod || !pod->ready()) return "Pod " + name.name + " is not ready";
    if (std::ranges::count(listed, name.name, &EtcdNet::Member::name) != 1)
      return name.name + " is not in etcd";
    const auto member = read<v1::EtcdMember>(name);
    if (member->metadata.terminating() || pod->metadata.terminating())
      return name.name + " is being deleted";
    const auto* ready = runtime::find_condition(member->status.conditions, v1::kReady);
    if (!ready || ready->status != "True") return "EtcdMember " + name.name + " is not Ready";
    if (!pod->metadata.labels.contains(v1::kRoleLabel)) return name.name + " has no role";
  }
  for (const char* suffix : {"", "-client"}) {
    if (!server_.look(kube::Service::resource, {key.ns, key.name + suffix}))
      return "no Service " + key.name + suffix;
    if (clients_.endpoints({key.ns, key.name + suffix}).size() != want)
      return "Service " + key.name + suffix + " does not lead to " + std::to_string(want);
  }
  const auto budget = read<kube::PodDisruptionBudget>(key);
  const bool memory = std::ranges::any_of(members_of(key), [&](const api::ObjectKey& name) {
    return read<v1::EtcdMember>(name)->spec.storage.medium == v1::Medium::Memory;
  });
  if (!budget || budget->spec.min_available != Json(want > 1 || memory ? want / 2 + 1 : 0))
    return "no budget that leaves a quorum";
  if (!says(v1::kAvailable, "True", v1::kQuorumHealthy)) return "is not Available";
  if (!says(v1::kProgressing, "False", v1::kReconciled)) return "is not Reconciled";
  if (!says(v1::kDegraded, "False", v1::kQuorumHealthy)) return "is Degraded";
  if (const std::string what = insecure(*cluster); !what.empty()) return what;
  return unreported(*cluster);
}

/// The Job's time to live deletes it.
bool World::is_of_job(const Json& object) {
  const Json* const owners = object.at("metadata").as_object().if_contains("ownerReferences");
  return owners && std::ranges::any_of(owners->as_array(), [](const Json& owner) {
           return owner.at("kind").as_string() == kJobs.kind;
         });
}

std::string World::missing() const {
  for (const api::ObjectKey& key : clusters())
    if (!checker_.fated(key.ns, key.name))
      if (const std::string what = missing(key); !what.empty()) return to_string(key) + " " + what;
  for (const auto& run : server_.read_all<v1::EtcdDefrag>())
    if (const api::ObjectKey of{run->metadata.ns, run->spec.cluster_ref.name};
        !run->status.finished() && server_.look(v1::EtcdCluster::resource, of) &&
        !checker_.fated(of.ns, of.name))
      return "EtcdDefrag " + to_string(run->metadata.key()) + " has not ended";
  for (const auto& one : server_.read_all<v1::EtcdSnapshot>())
    if (!one->settled()) return "EtcdSnapshot " + to_string(one->metadata.key()) + " has not ended";
  for (const auto& one : server_.read_all<v1::EtcdSnapshotSchedule>())
    if (!one->status.last_success || (one->spec.verify && !one->status.last_verified))
      return "EtcdSnapshotSchedule " + to_string(one->metadata.key()) + " has not had its run";
  if (const std::string restore = undecided(); !restore.empty()) return restore;
  // I7: no object without an owner.
  std::set<std::string> owners;
  std::set<std::string> names;
  for (const api::ObjectKey& key : clusters()) names.insert(key.name);
  const auto fated = [&](const Json& object) {
    const auto& meta = object.at("metadata").as_object();
    if (meta.at("namespace") == kOddNamespace) return true;
    const std::string name = cluster_of(object.as_object());
    return !name.empty() && checker_.fated(std::string(meta.at("namespace").as_string()), name);
  };
  // A user took the owner from a volume, or from a Pod that has ended since or lost its label, too,
  // and its EtcdMember went: it is the user's now. So is the volume that such a Pod uses.
  const auto has_no_owner = [](const Json& object) {
    return !object.at("metadata").as_object().contains("ownerReferences");
  };
  const auto pod_of_user = [&](const api::ObjectKey& member) {
    const auto pod = server_.look(kube::Pod::resource, member);
    return pod && has_no_owner(*pod) &&
           (has_ended(*server_.read<kube::Pod>(member)) ||
            !names.contains(cluster_of(pod->as_object())));
  };
  const auto kept_by_user = [&](const api::Resource& r, const Json& object) {
    if (r == v1::EtcdMember::resource) return false;
    api::ObjectKey member = key_of(object);
    if (r == kube::PersistentVolumeClaim::resource) member.name.erase(0, 5);
    if (server_.look(v1::EtcdMember::resource, member)) return false;
    return pod_of_user(member) ||
           (r == kube::PersistentVolumeClaim::resource && has_no_owner(object));
  };
  std::size_t members = 0, running = 0, claims = 0;  // A dormant member has no Pod.
  for (const api::ObjectKey& key : clusters())
    if (const auto c = read<v1::EtcdCluster>(key); !checker_.fated(key.ns, key.name)) {
      running += static_cast<std::size_t>(c->spec.replicas);
      const auto size = static_cast<std::size_t>(std::max(1, c->spec.replicas));
      members += size;
    }
  for (const auto& member : server_.read_all<v1::EtcdMember>())  // An adopted one may have another.
    claims += member->spec.storage.medium != v1::Medium::Memory &&
              !checker_.fated(member->metadata.ns, member->spec.cluster_name);
  for (const api::Resource& r :
       {v1::EtcdMember::resource, kube::Pod::resource, kube::PersistentVolumeClaim::resource}) {
    std::size_t there = 0;
    for (const auto& object : server_.look_all(r))
      there += !fated(*object) && !is_of_job(*object) && !kept_by_user(r, *object);
    const std::size_t wanted = r == kube::Pod::resource        ? running
                               : r == v1::EtcdMember::resource ? members
                                                               : claims;
    if (there != wanted)
      return std::to_string(there) + " " + r.plural + ", wanted " + std::to_string(wanted);
  }
  return "";
}

/// An EtcdRestore that has neither ended nor stopped where its user wants it to stay.
std::string World::undecided() const {
  for (const auto& one : server_.read_all<v1::EtcdRestore>()) {
    if (one->status.finished()) continue;
    const std::string name = "EtcdRestore " + to_string(one->metadata.key());
    if (one->metadata.terminating()) return name + " is being deleted";
    const api::ObjectKey cluster{one->metadata.ns, one->spec.cluster_ref.name};
    if (!server_.look(v1::EtcdCluster::resource, cluster)) continue;
    if (checker_.fated(cluster.ns, cluster.name)) continue;
    if (one->spec.decision != v1::RestoreDecision::Check || one->status.phase != v1::kRestoreReady)
      return name + " has not ended: " + one->status.phase;
  }
  return "";
}

std::string World::state() const {
  std::string out;
  for (const api::ObjectKey& key : clusters()) {
    const auto cluster = read<v1::EtcdCluster>(key);
    out += to_string(key) + ": " + std::to_string(net_.membership(etcd_of(key)).size()) +
           " members of etcd, " + std::to_string(cluster->status.pending_members.size()) +
           " pending\n";
    for (const api::Condition& c : cluster->status.conditions)
      out += "  " + c.type + "=" + c.status + "/" + c.reason + "\n";
  }
  for (const auto& run : server_.read_all<v1::EtcdDefrag>())
    out += "EtcdDefrag " + run->status.phase + ", " + std::to_string(run->status.defragmented) +
           " of " + std::to_string(run->status.members.size()) + " members\n";
  for (const auto& one : server_.read_all<v1::EtcdSnapshot>())
    out +=
        "EtcdSnapshot " + one->status.phase + (one->status.verification ? ", verified" : "") + "\n";
  for (const auto& one : server_.read_all<v1::EtcdRestore>())
    out += "EtcdRestore " + one->status.phase + "\n";
  for (const api::Resource& r :
       {v1::EtcdMember::resource, kube::Pod::resource, kube::PersistentVolumeClaim::resource,
        kube::Service::resource, kube::PodDisruptionBudget::resource, kube::SecretObject::resource})
    out += std::to_string(server_.look_all(r).size()) + " " + r.plural + "\n";
  return out;
}

/// All conditions at the end of a world that does not converge.
void World::trace_conditions() {
  const auto tell = [this](const auto& object) {
    for (const api::Condition& c : object.status.conditions)
      trace_.add("CHECK", to_string(object.metadata.key()) + " says " + c.type + "=" + c.status +
                              "/" + c.reason + ": " + c.message);
  };
  for (const auto& cluster : server_.read_all<v1::EtcdCluster>()) tell(*cluster);
  for (const auto& member : server_.read_all<v1::EtcdMember>()) tell(*member);
}

void World::must_converge(Duration limit) {
  const Instant from = time_.now();
  while (converges(from, limit) && !stays_at_rest() && time_.now() - from < limit) {}
}

bool World::converges(Instant from, Duration limit) {
  const auto complete = [this] { return missing().empty(); };
  // This may be brief, before all operators have heard of the last fault.
  for (bool stays = false; !stays;) {
    if (!run_until(complete, limit - (time_.now() - from))) {
      trace_conditions();
      checker_.violated("I8", "not converged after " + std::to_string((time_.now() - from) / 1s) +
                                  " s: " + missing());
      return false;
    }
    trace_.add("CHECK", "converged");
    // Late effects. An Event that the API server did not take comes half a minute late, and its
    // series another minute (seed 135954).
    stays = !run_until([&] { return !complete(); }, runtime::EventRecorder::kSeriesEvery + 30s);
  }
  return true;
}

/// I9. False: a user acted meanwhile or a moment before, as on a restore that waits for a decision,
/// or on a neighbour that stays broken. The operator's answer is no write at rest (seeds 2448,
/// 2554, 21651).
bool World::stays_at_rest() {
  const Instant lately = time_.now() - 10s;
  const std::uint64_t writes_before = writes(), calls_before = etcd_calls();
  std::uint64_t calls_allowed = 0;
  for (const api::ObjectKey& key : clusters())
    calls_allowed += 4 * (members_of(key).size() + 1);  // Two and a half intervals, and one more.
  run_for(kQuiet);
  const bool any_fated = std::ranges::any_of(
      clusters(), [&](const auto& key) { return checker_.fated(key.ns, key.name); });
  if (trace_.last_act() >= lately) return false;
  if (any_fated) return true;  // A broken cluster is polled more often.
  if (writes() != writes_before)
    checker_.violated("I9", std::to_string(writes() - writes_before) + " writes at rest");
  if (etcd_calls() - calls_before > calls_allowed)
    checker_.violated("I9", std::to_string(etcd_calls() - calls_before) + " calls of etcd at rest");
  if (const std::string what = missing(); !what.empty())
    checker_.violated("I8", "did not stay converged: " + what);
  return true;
}

void World::judge_history() {
  // Where more data was taken than a quorum has, writes may be lost.
  const History judged = history_.part([this](const std::string& one) {
    const api::ObjectKey cluster = clients_.cluster_of(one);
    return !checker_.fated(cluster.ns, cluster.name);
  });
  if (const auto wrong = check_linearizable(judged)) checker_.violated("I2", wrong->text);
}

}  // namespace etcdop::sim
