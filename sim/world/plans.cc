#include "sim/world/plans.h"

#include "api/describe.h"
#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/etcdrestore.h"
#include "api/v1alpha2/etcdsnapshotschedule.h"
#include "kube/core_types.h"
#include "operator/credentials/passwords.h"

namespace etcdop::sim {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

namespace {

const api::ObjectKey kKey{"prod", "db"}, kAuth{"prod", "db-operator-auth"}, kBack{"prod", "back"};
constexpr Duration kConvergeMax = 15min;
constexpr Duration kFrozenFor = 20s;
constexpr Duration kPausedFor = 25s;  // Longer than a Lease: another one leads by then.

std::string phase_of(World& world, const api::ObjectKey& restore) {
  const auto out = world.server().read<v1::EtcdRestore>(restore);
  return out ? out->status.phase : "";
}

/// Catches the n-th write after the flow begins, by the operators that run then, and later ones.
class Catcher {
 public:
  Catcher(World& world, const std::optional<Plan>& plan) : world_(world), plan_(plan) {}

  void attach(Life& life) {
    life.passage().before_write = [this, &life](const std::string& what) {
      return before(life, what);
    };
    life.passage().after_write = [this, &life](const std::string&) { return after(life); };
  }
  /// The flow begins.
  void begin(Life& first) {
    counting_ = true;
    if (plan_ && plan_->blow == Blow::Frozen && plan_->write == 1) freeze_caches(first);
  }
  std::string caught;
  std::uint64_t seen() const { return seen_; }

 private:
  bool here() const {
    return plan_ && (seen_ == plan_->write || (plan_->twice && seen_ == plan_->write + 1));
  }
  bool before(Life& life, const std::string& what) {
    if (!counting_) return true;
    ++seen_;
    if (!here()) return true;
    if (caught.empty()) caught = what;
    if (plan_->point != Point::Before) return true;
    strike(life);
    return plan_->blow == Blow::Pause;
  }
  bool after(Life& life) {
    if (!counting_) return true;
    if (plan_ && plan_->blow == Blow::Frozen && seen_ + 1 == plan_->write) freeze_caches(life);
    if (!here()) return true;
    if (plan_->point == Point::Lost) {
      strike(life);
      return false;
    }
    if (plan_->point == Point::After && plan_->blow == Blow::Crash)
      world_.soon(5ms, [this, name = life.name()] {
        for (std::size_t i = 0; i < world_.operators(); ++i)
          if (world_.life(i).name() == name) world_.kill(world_.life(i), 1s);
      });
    if (plan_->point == Point::After && plan_->blow == Blow::Pause)
      world_.soon(5ms, [this, name = life.name()] {
        for (std::size_t i = 0; i < world_.operators(); ++i)
          if (world_.life(i).name() == name)
            world_.life(i).process().freeze_until(world_.time().now() + kPausedFor);
      });
    return true;
  }
  void strike(Life& life) {
    if (plan_->blow == Blow::Crash) world_.kill(life, 1s);
    if (plan_->blow != Blow::Pause) return;
    life.process().freeze_until(world_.time().now() + kPausedFor);
    (void)life.passage().travel(1us);  // Returns when the process resumes.
  }
  void freeze_caches(Life& life) {
    for (const std::string& kind : life.api().watched())
      life.api().line(kind).silent_until(world_.time().now() + kFrozenFor);
  }

  World& world_;
  const std::optional<Plan>& plan_;
  bool counting_ = false;
  std::uint64_t seen_ = 0;
};

}  // namespace

std::vector<Flow> flows() {
  const auto cluster_of = [](int size) {
    return [size](World& w) { w.create_cluster(kKey, size); };
  };
  const auto secure_cluster = [](World& w) {
    w.create_cluster(kKey, {.client_tls = true, .peer_tls = true, .password = "first-pass-word"});
  };
  const auto stored_cluster_of = [](int size) {
    return [size](World& w) {
      w.create_cluster(kKey, size);
      w.run_until([&] { return w.missing().empty(); }, kConvergeMax);
      w.snapshot(kKey, "nightly");
    };
  };
  const auto restored_in_place = [](v1::RestoreDecision decision) {
    return [decision](World& w) {
      w.restore_in_place(kKey, "back", World::key_of_snapshot(kKey, "nightly"), decision);
    };
  };
  const auto scaled_to = [](int size) { return [size](World& w) { w.scale(kKey, size); }; };
  return {
      {"bootstrap", [](World&) {}, cluster_of(3)},
      {"grow", cluster_of(1), scaled_to(3)},
      {"shrink", cluster_of(3), scaled_to(1)},
      {"pause", cluster_of(2), scaled_to(0)},
      {"wake",
       [](World& w) {
         w.create_cluster(kKey, 1);
         w.run_until([&] { return w.missing().empty(); }, kConvergeMax);
         w.scale(kKey, 0);
       },
       scaled_to(2)},
      {"replace", cluster_of(3),
       [](World& w) { w.delete_object(v1::EtcdMember::resource, w.members_of(kKey).front()); }},
      {"pod-lost", cluster_of(3),
       [](World& w) { w.delete_object(kube::Pod::resource, w.members_of(kKey).back()); }},
      {"pod-failed", cluster_of(3), [](World& w) { w.nodes().evict(w.members_of(kKey).back()); }},
      {"delete", cluster_of(3), [](World& w) { w.delete_cluster(kKey); }},
      {"defrag", cluster_of(3),
       [](World& w) {
         w.fragment(kKey);
         w.run_for(5s);
         w.defragment(kKey, "nightly");
       }},
      {"snapshot", cluster_of(3), [](World& w) { w.snapshot(kKey, "nightly"); }},
      {"restore", stored_cluster_of(1),
       [](World& w) {
         w.create_cluster({"prod", "again"},
                          {.replicas = 1, .restore = World::key_of_snapshot(kKey, "nightly")});
       }},
      {"restore-commit", stored_cluster_of(2), restored_in_place(v1::RestoreDecision::Commit)},
      {"restore-rollback", stored_cluster_of(2),
       [restored_in_place](World& w) {
         restored_in_place(v1::RestoreDecision::Restore)(w);
         w.once([&w] { return phase_of(w, kBack) == v1::kRestoreReview; },
                [&w] { w.decide(kBack, v1::RestoreDecision::Rollback); });
       }},
      {"schedule", cluster_of(1),
       [](World& w) {
         w.back_up(kKey, "hourly", 1, 1);
         // One run, then none for an hour.
         (void)w.server().change(v1::EtcdSnapshotSchedule::resource, {"prod", "hourly"},
                                 [](json::object& schedule) {
                                   schedule["spec"].as_object()["schedule"] = "5 * * * *";
                                 });
       }},
      {"auth", [](World&) {}, secure_cluster},
      {"password", secure_cluster, [](World& w) { w.write_password(kKey, "second-pass-word"); }},
      {"passwords", secure_cluster,
       [](World& w) {
         w.write_password(kKey, "second-pass-word");
         w.once([&w] { return !w.secret_value(kAuth, kNextPasswordKey).empty(); },
                [&w] { w.write_password(kKey, "third-pass-word"); });
       }},
  };
}

PlanOutcome run(const Flow& flow, const std::optional<Plan>& plan, bool keep_trace) {
  World world({.seed = 7, .faults = {}, .keep_trace = keep_trace, .nodes = 3});
  Catcher catcher(world, plan);
  world.on_start([&](Life& life) { catcher.attach(life); });
  Life& first = world.start_operator();
  world.run_for(2s);
  (void)world.start_operator();
  flow.prepare(world);
  world.run_until([&] { return world.missing().empty(); }, kConvergeMax);
  world.run_for(10s);
  const std::uint64_t before = world.writes();
  world.start_clients(2);
  catcher.begin(first);
  flow.act(world);
  // Until it has begun, and a frozen operator has resumed.
  world.run_for(plan && plan->blow != Blow::Crash ? kPausedFor + 10s : Duration(3s));
  world.must_converge(kConvergeMax);
  world.judge_history();
  PlanOutcome out;
  out.what = catcher.caught;
  out.writes = plan ? world.writes() - before : catcher.seen();
  out.state = world.state();
  out.members = std::max<std::uint64_t>(3, world.members_of(kKey).size());
  if (const auto& violation = world.checker().violation())
    out.failure = violation->invariant + ": " + violation->what;
  out.hash = world.trace().hash();
  out.trace = world.trace().lines();
  return out;
}

std::vector<Plan> plans_of(const std::vector<Flow>& all, std::size_t flow) {
  const std::uint64_t writes = run(all.at(flow), std::nullopt).writes;
  std::vector<Plan> out;
  for (std::uint64_t n = 1; n <= writes; ++n)
    for (const Point point : {Point::Before, Point::Lost, Point::After})
      for (const Blow blow : {Blow::Crash, Blow::Pause, Blow::Frozen})
        out.push_back({flow, n, point, blow, false});
  return out;
}

std::string compare(const Plan& plan, const PlanOutcome& outcome, const PlanOutcome& undisturbed) {
  if (!outcome.failure.empty()) return outcome.failure;
  if (outcome.what.empty()) return "no write was caught";
  if (outcome.state != undisturbed.state)
    return "ends as\n" + outcome.state + "instead of\n" + undisturbed.state;
  // Waiting for 15 s, or for the second operator's Lease, is reported in conditions: two for each
  // member.
  const bool at_once = plan.blow == Blow::Crash && !plan.twice;
  const std::uint64_t told = at_once ? 0 : 2 * outcome.members;
  const std::uint64_t most = std::max(undisturbed.writes + 2, undisturbed.writes * 6 / 5) + told;
  if (outcome.writes > most)
    return std::to_string(outcome.writes) + " writes, undisturbed " +
           std::to_string(undisturbed.writes);
  return "";
}

std::string to_string(const Flow& flow, const Plan& plan) {
  constexpr const char* kPoints[] = {"before", "lost-answer", "after"};
  constexpr const char* kBlows[] = {"crash", "pause", "frozen-cache"};
  return flow.name + "/" + std::to_string(plan.write) + " " +
         kPoints[static_cast<int>(plan.point)] + " " + kBlows[static_cast<int>(plan.blow)] +
         (plan.twice ? " twice" : "");
}

}  // namespace etcdop::sim
