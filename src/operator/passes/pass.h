// One pass over an object, the same for every controller: observe, plan, report, act. A controller
// adds its own parts as virtual functions, and has no other loop.
#pragma once
#include <algorithm>
#include <chrono>
#include <concepts>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "operator/passes/claim.h"
#include "operator/passes/look_again.h"
#include "operator/passes/recorded_plan.h"
#include "operator/passes/refusals.h"
#include "operator/passes/status_patch.h"
#include "operator/passes/step.h"
#include "operator/passes/stores.h"
#include "runtime/controller.h"
#include "runtime/events.h"

namespace etcdop {

/// The collaborators of every controller. They must outlive it.
template <class Api>
struct Collaborators {
  Executor& executor;
  Api api;
  Stores& stores;
  WallClock& clock;
  Log& log;
  runtime::EventRecorder* events = nullptr;  ///< Null: no Events.
  FlightRecorder* flight = nullptr;          ///< Null: passes are not recorded.
};

/// How long an observation may be acted on. No pass begins a write when its last one took longer.
inline constexpr std::chrono::seconds kSeenHolds{10};
/// Reason of an Event: the API server did not store a field of a status.
inline constexpr const char* kFieldsDropped = "FieldsDropped";
/// When such a field is written again.
inline constexpr std::chrono::seconds kDroppedAgain{60};

/// For controllers whose passes need only the observation.
struct NoContext {};

/// The outcome of a step.
struct Outcome {
  /// Implicit, so that a step's result is returned as it is.
  template <class R>
    requires std::constructible_from<Result<Done>, R>
  Outcome(R&& result, bool by_api_server = true)  // NOLINT(google-explicit-constructor)
      : done(std::forward<R>(result)), by_api(by_api_server) {}

  Result<Done> done;
  bool by_api;  ///< The API server's answer; false: etcd's.
  /// The API server refused it: reported in the status, and tried again as Refusals says.
  bool is_refused() const { return by_api && refused(done); }
};

/// Kind is a table of types and members:
///   Object, Observation, Plan, Collaborators, Context: the types that the controller works with;
///   store: the member of Stores that has the objects;
///   object: the member of the observation that is the object;
///   word: its name in the log, such as "snapshot".
///
/// A pass drops no answer: a refused status, a refused step and a failed step are each tried again
/// by one policy. A write that the API server refused waits as Refusals says. Another failure is
/// returned, and the queue doubles its delay (runtime/queue.h). If it lasts, the next pass reports
/// it, too.
///
/// A write may take half a minute (an admission webhook that is slow). A step is not carried out on
/// an observation that has become older than kSeenHolds meanwhile: the pass ends, and the next one
/// observes again. A pass may end between any two writes, so this loses nothing.
template <class Kind>
class Pass {
 public:
  using Object = typename Kind::Object;
  using Observation = typename Kind::Observation;
  using Plan = typename Kind::Plan;
  using Context = typename Kind::Context;
  using Collaborators = typename Kind::Collaborators;

  explicit Pass(Collaborators with) : with_(std::move(with)) {}
  virtual ~Pass() = default;
  Pass(const Pass&) = delete;

  /// Safe to call at any time, any number of times; at most one step is carried out per call.
  /// Suspends.
  Result<runtime::Requeue> reconcile(const api::ObjectKey& key) {
    forget_deleted();
    const auto object = store().get(key);
    if (!object || !concerns(*object)) {
      forget_all_of(key);
      return runtime::Requeue{};
    }
    remember(*object);
    const Claim running(running_, key);
    Context context;
    if (const auto later = not_yet(*object, context)) return runtime::Requeue{later};
    auto seen = observe(*object, context);
    if (!seen) return seen.error();
    const Instant looked = with_.executor.now();
    Plan todo = recorded_plan(with_.flight, Object::resource.kind, key, *seen);
    planned(*seen, todo, log_plan(key, todo));
    if (auto end = report(*seen, todo, looked)) return std::move(*end);
    return carry_out(*seen, context, todo, looked);
  }

  kube::Store<Object>& store() const { return with_.stores.*Kind::store; }
  auto api() const { return with_.api; }

 protected:
  /// False: nothing is left to do for the object, and all that is remembered about it is dropped.
  virtual bool concerns(const Object& object) const { return !object.metadata.terminating(); }
  /// How long to wait before the next pass, instead of a pass now; nullopt: a pass now.
  virtual std::optional<Duration> not_yet(const Object&, Context&) { return std::nullopt; }
  virtual Result<Observation> observe(const Object&, Context&) = 0;
  /// Called with each plan, before anything is done. `news`: the log does not have it yet.
  virtual void planned(const Observation&, Plan&, bool /*news*/) {}
  /// The key that no other pass may hold while this status is written, and the set of held keys.
  using Claimed = std::optional<std::pair<std::set<api::ObjectKey>*, api::ObjectKey>>;
  virtual Claimed claims(const Observation&, const Plan&) { return std::nullopt; }
  /// Whether the status is written if no more than this patch of it is left.
  virtual bool is_worth_a_write(const json::object&) const { return true; }
  /// Called after the status was written: records Events.
  virtual void tell(const Observation&, const Plan&) {}
  /// Writes the status of other objects that belongs to this report.
  virtual Result<Done> report_more(const Observation&, Plan&) { return Done{}; }
  /// Writes what the step relies on, but that is no step. Called right before it.
  virtual Result<Done> prepare(const Observation&, Plan&) { return Done{}; }
  /// Carries out the plan's step.
  virtual Outcome act(const Observation&, const Context&, Plan&) = 0;
  /// The words of the plan: it is logged again only when they change.
  virtual std::string says(const Plan& plan) const { return to_string(plan.step); }
  /// The words of the write. A refusal holds up only a write with the same words.
  virtual std::string writes(const Plan& plan) const { return to_string(plan.step); }
  /// How long to hold up the step for a reason other than a refusal.
  virtual Duration holds_up(const Observation&, const Plan&) { return Duration(0); }
  /// Called with the outcome of the step.
  virtual void acted(const Observation&, const Plan&, const Outcome&) {}
  /// When to try a failed step again; an error: by the queue's back-off.
  virtual Result<runtime::Requeue> retry(const Observation&, const Plan&, const Error& error) {
    return error;
  }
  /// When to look again after a successful step. Without a time in the plan: when a watch reports a
  /// change.
  virtual runtime::Requeue again(const Plan& plan) const {
    if (plan.again.count() == 0) return runtime::Requeue{};
    return runtime::Requeue{plan.again};
  }
  /// The object is deleted, or another one has its name, or nothing is left to do for it.
  virtual void forget(const api::ObjectKey&) {}

  static const Object& subject(const Observation& seen) { return seen.*Kind::object; }
  static runtime::Event::Object regarding(const Observation& seen) {
    const api::ObjectMeta& meta = subject(seen).metadata;
    return {Object::resource, meta.key(), meta.uid};
  }
  /// Records an Event that regards the object.
  void record(const Observation& seen, bool warning, std::string reason, std::string action,
              std::string note) const {
    if (with_.events)
      with_.events->record({.regarding = regarding(seen),
                            .related = std::nullopt,
                            .warning = warning,
                            .reason = std::move(reason),
                            .action = std::move(action),
                            .note = std::move(note)});
  }
  /// False: the object was deleted meanwhile, or another one has its name.
  bool is_known(const Object& object) const {
    const auto known = known_.find(object.metadata.key());
    return known != known_.end() && known->second.uid == object.metadata.uid;
  }
  /// Why the last step was refused, or fails again and again; empty: it does not.
  std::string refusal(const api::ObjectKey& key) const { return steps_.why(key); }
  /// The write that was refused or failed last, as writes() has it; empty: none.
  std::string failing(const api::ObjectKey& key) const { return steps_.failing(key); }

  Collaborators with_;

 private:
  struct Known {
    std::string uid, planned;  ///< The plan that was logged last.
  };
  /// How the pass ends; nullopt: it goes on.
  using End = std::optional<Result<runtime::Requeue>>;

  void remember(const Object& object) {
    const api::ObjectKey key = object.metadata.key();
    if (const auto known = known_.find(key);
        known != known_.end() && known->second.uid != object.metadata.uid)
      forget_all_of(key);
    known_[key].uid = object.metadata.uid;
  }
  void forget_all_of(const api::ObjectKey& key) {
    known_.erase(key);
    dropped_.erase(key);
    statuses_.forget(key);
    steps_.forget(key);
    if (with_.flight) with_.flight->gone(Object::resource.kind, key);
    forget(key);
  }
  /// A queue may not hear of a deleted object again. An object of a running pass stays until it
  /// ends.
  void forget_deleted() {
    if (known_.size() <= store().size()) return;
    std::vector<api::ObjectKey> deleted;
    for (const auto& [key, known] : known_)
      if (!running_.contains(key) && !store().get(key)) deleted.push_back(key);
    for (const api::ObjectKey& key : deleted) forget_all_of(key);
  }

  /// Whether the plan differs from the last one.
  bool log_plan(const api::ObjectKey& key, const Plan& plan) {
    const std::string now = says(plan);
    if (std::exchange(known_[key].planned, now) == now) return false;
    if (acts(plan.step))
      with_.log.info("planned", {{Kind::word, to_string(key)}, {"step", to_string(plan.step)}});
    return true;
  }

  /// Whether what was observed then is too old to act on.
  bool is_old(Instant looked) const { return with_.executor.now() - looked > kSeenHolds; }

  /// Writes the status before acting.
  End report(const Observation& seen, Plan& plan, Instant looked) {
    const api::ObjectMeta& meta = subject(seen).metadata;
    const api::ObjectKey key = meta.key();
    const Instant now = with_.executor.now();
    if (const Duration wait = statuses_.wait(key, Refusals::kStatus, now); wait > Duration(0))
      return runtime::Requeue{wait};
    const auto claim = claims(seen, plan);
    if (claim && claim->first->contains(claim->second)) return runtime::Requeue{kAgainSoon};
    std::optional<Claim> alone;
    if (claim) alone.emplace(*claim->first, claim->second);
    auto reported = write_status(seen, plan);
    alone.reset();
    if (reported && !is_old(looked)) reported = report_more(seen, plan);
    const bool gone = reported.failed_with(Code::NotFound);
    if (gone || leaves_doubt(reported)) look_again(with_.api, store(), key, meta.uid);
    if (gone && !store().get(key)) return runtime::Requeue{kAgainSoon};
    (void)statuses_.note(key, Refusals::kStatus, reported, with_.executor.now());
    if (!reported) return reported.error();
    if (is_old(looked)) return runtime::Requeue{kAgainSoon};
    return std::nullopt;
  }

  /// Writes with the resourceVersion of the plan: an operator with an older view is refused.
  Result<Done> write_status(const Observation& seen, const Plan& plan) {
    const api::ObjectMeta& meta = subject(seen).metadata;
    json::object status = status_patch(api::encode(subject(seen).status), api::encode(plan.status));
    const bool whole = !leave_out_dropped(meta.key(), status);
    if (status.empty()) return Done{};
    json::object patch{{"metadata", {{"resourceVersion", meta.resource_version}}}};
    patch["status"] = std::move(status);
    auto written =
        with_.api.template merge_patch<Object, kube::Part::Status>(meta.key(), std::move(patch));
    if (!written)
      return Error(written.error())
          .during(std::string("write the status of ") + Object::resource.kind + " " +
                  to_string(meta.key()));
    if (whole) check_kept(seen, plan, *written);
    store().wrote(std::move(*written));
    tell(seen, plan);
    return Done{};
  }

  /// An API server drops the fields that its CRD does not know, and answers as if all were well.
  void check_kept(const Observation& seen, const Plan& plan, const Object& written) {
    const api::ObjectKey key = written.metadata.key();
    const Json stored = api::encode(written.status);
    Dropped now{.note = "", .fields = {}, .at = with_.executor.now()};
    for (const auto& [field, value] : status_patch(stored, api::encode(plan.status))) {
      (now.note += now.note.empty() ? "status." : ", status.") += field;
      if (!stored.as_object().contains(field)) now.fields.insert(field);
    }
    if (now.note.empty()) {
      dropped_.erase(key);
      return;
    }
    now.note = "the API server does not keep " + now.note +
               ", as with a CRD of an earlier release: apply the CRDs of this one";
    record(seen, true, kFieldsDropped, "WriteStatus", now.note);
    Dropped& before = dropped_[key];
    if (before.note != now.note)
      with_.log.warn("fields dropped", {{Kind::word, to_string(key)}, {"note", now.note}});
    before = std::move(now);
  }

  /// A field that the server dropped a moment ago is not written again at each pass (I9), nor what
  /// is written because of it. True: something is left out.
  bool leave_out_dropped(const api::ObjectKey& key, json::object& status) const {
    const auto known = dropped_.find(key);
    if (known == dropped_.end() || with_.executor.now() - known->second.at >= kDroppedAgain)
      return false;
    bool any = false;
    for (const std::string& field : known->second.fields) any |= status.erase(field) > 0;
    if (any && !is_worth_a_write(status)) status.clear();
    return any;
  }

  Result<runtime::Requeue> carry_out(const Observation& seen, const Context& context, Plan& plan,
                                     Instant looked) {
    const api::ObjectKey key = subject(seen).metadata.key();
    const std::string words = writes(plan);
    const Instant now = with_.executor.now();
    if (const Duration wait = std::max(steps_.wait(key, words, now), holds_up(seen, plan));
        wait > Duration(0))
      return runtime::Requeue{wait};
    const Result<Done> prepared = prepare(seen, plan);
    if (prepared && is_old(looked)) return runtime::Requeue{kAgainSoon};
    const Outcome outcome = prepared ? act(seen, context, plan) : Outcome{prepared};
    acted(seen, plan, outcome);
    const Result<Done>& done = outcome.done;
    const bool told = !steps_.why(key).empty();
    if (steps_.note(key, words, outcome.by_api ? done : Done{}, with_.executor.now()) &&
        outcome.is_refused())  // The controller logs other failures.
      with_.log.warn("refused", {{Kind::word, to_string(key)}, {"error", done.error().message}});
    if (outcome.is_refused()) return runtime::Requeue{kAgainSoon};  // The next pass reports it.
    if (!done) return retry(seen, plan, done.error());
    if (told) return runtime::Requeue{kAgainSoon};  // The condition says that it fails.
    return again(plan);
  }

  std::map<api::ObjectKey, Known> known_;
  std::set<api::ObjectKey> running_;  ///< The keys of running passes.
  Refusals statuses_, steps_;
  /// Fields that the last complete write of a status lost.
  struct Dropped {
    std::string note;              ///< For users.
    std::set<std::string> fields;  ///< Nothing of them is stored.
    Instant at;
  };
  std::map<api::ObjectKey, Dropped> dropped_;
};

}  // namespace etcdop
