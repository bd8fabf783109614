// One pass over an EtcdCluster, from top to bottom.
#include "operator/cluster/reconciler.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "api/v1alpha2/names.h"
#include "operator/cluster/alarms.h"
#include "operator/cluster/census.h"
#include "operator/cluster/log_words.h"
#include "operator/cluster/objects.h"
#include "operator/cluster/spec.h"
#include "operator/shared/etcd_pod.h"
#include "operator/shared/finalizer.h"
#include "operator/shared/look_again.h"
#include "operator/shared/member_endpoint.h"
#include "operator/shared/owner.h"
#include "operator/shared/status_patch.h"
#include "runtime/conditions.h"
#include "runtime/transitions.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

constexpr std::chrono::milliseconds kAgainSoon{200};
constexpr auto kRefusalsExpected = 15s;       // For 5 s after each change; longer is worth telling.
constexpr auto kProofHolds = 3s;              // Its watch told nothing else meanwhile.
constexpr std::size_t kMembersAskedMax = 64;  // More than etcd can sensibly have.
constexpr auto kHashLimit = 20s;              // Some 6 GB; a pass has 60 s, and may ask twice.
constexpr auto kHashesAgain = 60s;            // Where not all voters have told.

Seat::Object object_of(const v1::EtcdMember& member) {
  Seat::Object out;
  out.uid = member.metadata.uid;
  out.terminating = member.metadata.terminating();
  out.seed = member.spec.bootstrap;
  out.dormant = member.spec.dormant;
  out.has_finalizer = has_our_finalizer(member.metadata);
  out.initial_cluster = member.spec.initial_cluster;
  out.member_id = member.status.member_id;
  out.voter = member.status.is_voter;
  out.version = member.status.version;
  out.spec_version = member.spec.version;
  out.made_as = template_of(member.spec);
  out.created = from_rfc3339(member.metadata.creation_timestamp).value_or(WallTime{});
  for (const api::Condition& c : member.status.conditions) {
    if (c.type != v1::kReady) continue;
    out.ready = c.status == "True";
    out.lost = !out.ready && (c.reason == v1::kDataLost || c.reason == v1::kDataCorrupt);
    const bool ordinary = c.reason == v1::kPodNotReady || c.reason == v1::kDiscoveringMemberId;
    if (!out.ready && !ordinary) out.trouble = c.message;
  }
  return out;
}

std::string url_of(const etcd::Member& member) {
  return member.peer_urls.empty() ? "" : member.peer_urls.front();
}

/// A seat for an entry of etcd's list that is nobody's: under its name, or else as its URL or its
/// id says.
Seat& ghost_seat(std::vector<Seat>& seats, const etcd::Member& member) {
  const std::string url = url_of(member);
  const std::size_t host = url.find("://");
  const std::string by_url =
      host == std::string::npos
          ? ""
          : url.substr(host + 3, url.find_first_of(".:", host + 3) - host - 3);
  Seat ghost;
  for (const std::string& name : {member.name, by_url, to_hex(member.id)})
    if (ghost.name.empty() && std::ranges::count(seats, name, &Seat::name) == 0) ghost.name = name;
  seats.push_back(std::move(ghost));
  return seats.back();
}

/// Gives each entry of etcd's list a seat of its own. Its URL tells whose it is, for that is what
/// we added; its name, where no seat has the URL. The name is written by whoever took the entry for
/// its own, which may be another joiner: etcd compares peer URLs by the addresses they lead to, and
/// DNS may give one address to two. Such an entry has not been started by whose it is.
void seat_all(std::vector<Seat>& seats, const std::vector<etcd::Member>& entries) {
  const auto free_seat = [&](const auto& fits) {
    const auto found =
        std::ranges::find_if(seats, [&](const Seat& s) { return !s.listed && fits(s); });
    return found == seats.end() ? nullptr : &*found;
  };
  const auto sit = [](Seat& seat, const etcd::Member& entry) {
    seat.peer_url = url_of(entry);
    seat.listed = Seat::Listed{entry.id, entry.learner, entry.name == seat.name};
  };
  std::vector<const etcd::Member*> others;
  for (const etcd::Member& entry : entries)
    if (Seat* seat = free_seat([&](const Seat& s) { return s.peer_url == url_of(entry); }))
      sit(*seat, entry);
    else others.push_back(&entry);
  for (const etcd::Member* entry : others) {
    Seat* seat = free_seat([&](const Seat& s) { return s.name == entry->name; });
    sit(seat ? *seat : ghost_seat(seats, *entry), *entry);
  }
}

/// Whether the member that gave this list is the one of that seat.
bool is_member_of(const etcd::MemberList& list, const Seat& seat) {
  return std::ranges::any_of(list.members, [&](const etcd::Member& m) {
    return m.id == list.header.member &&
           (m.name == seat.name || std::ranges::count(m.peer_urls, seat.peer_url) > 0);
  });
}

/// Whose EtcdMember a step writes; null: none's.
const Seat* seat_of(const Observation& seen, const Step& step) {
  const std::string name = std::visit(
      [](const auto& s) -> std::string {
        using S = std::decay_t<decltype(s)>;
        if constexpr (std::is_same_v<S, Publish> || std::is_same_v<S, DeleteMember> ||
                      std::is_same_v<S, PauseMember> || std::is_same_v<S, WakeMember> ||
                      std::is_same_v<S, ReleaseMember>)
          return s.name;
        else return "";
      },
      step);
  const auto seat = std::ranges::find(seen.seats, name, &Seat::name);
  return seat == seen.seats.end() || !seat->object ? nullptr : &*seat;
}

runtime::Happening::Object object_of(const Observation& seen) {
  return {v1::EtcdCluster::resource, seen.cluster.metadata.key(), seen.cluster.metadata.uid};
}

std::string progress_reason(const v1::EtcdClusterStatus& status) {
  const auto* c = runtime::find_condition(status.conditions, v1::kProgressing);
  return c ? c->reason : "";
}

/// What the new status tells that is some member's news: the first one is waited for; another one
/// leads.
std::vector<runtime::Happening> turns_of_members(const Observation& seen,
                                                 const v1::EtcdClusterStatus& now) {
  std::vector<runtime::Happening> out;
  const v1::EtcdClusterStatus& before = seen.cluster.status;
  const std::string& ns = seen.cluster.metadata.ns;
  const bool waits = progress_reason(now) == v1::kWaitingForSeed;
  const auto seed =
      std::ranges::find_if(seen.seats, [](const Seat& s) { return s.object.has_value(); });
  if (waits && progress_reason(before) != v1::kWaitingForSeed && seed != seen.seats.end())
    out.push_back({.regarding = {v1::EtcdMember::resource, {ns, seed->name}, seed->object->uid},
                   .related = object_of(seen),
                   .warning = false,
                   .reason = v1::kWaitingForSeed,
                   .action = "Reconcile",
                   .note = "the cluster waits for its first member to answer"});
  if (!before.leader.empty() && !now.leader.empty() && before.leader != now.leader)
    out.push_back(
        {.regarding = object_of(seen),
         .related = runtime::Happening::Object{v1::EtcdMember::resource, {ns, now.leader}, ""},
         .warning = false,
         .reason = v1::kLeaderChanged,
         .action = "Reconcile",
         .note = now.leader + " leads, as " + before.leader + " did"});
  return out;
}

/// Refused only for now (another change is too fresh, a learner lags): asked again at the plan's
/// pace.
bool for_now(const Result<Done>& acted) {
  return acted.failed_with(Code::Unavailable) || acted.failed_with(Code::Conflict);
}

}  // namespace

Result<runtime::Requeue> Reconciler::reconcile(const api::ObjectKey& key) {
  const auto cluster = with_.stores.clusters.get(key);
  if (!cluster ||
      cluster->metadata.terminating()) {  // Owner references clean up, members release themselves.
    memory_.erase(key);
    refusals_.forget(key);
    budget_refusals_.forget(key);
    service_refusals_.forget(key);
    contested_.forget(key);
    breaker_.forget(key);
    if (with_.flight) with_.flight->gone(v1::EtcdCluster::resource.kind, key);
    if (with_.metrics) with_.metrics->gone(key);
    return runtime::Requeue{};
  }
  Endpoints endpoints;
  const Observation seen = observe(*cluster, endpoints);
  Plan todo = plan(seen);
  if (with_.flight)
    with_.flight->record(v1::EtcdCluster::resource.kind, key, seen.now, api::encode(seen),
                         api::encode(todo));
  if (with_.metrics) with_.metrics->saw(seen, todo.status);
  // What had no effect that we can see is not done again at once.
  if (const bool news = log_plan(seen, todo); !news)
    todo.again = std::max(todo.again, pace(seen, todo.status));
  if (const Duration wait = refusals_.wait(key, Refusals::kStatus, with_.executor.now());
      wait > Duration(0))
    return runtime::Requeue{wait};
  const auto reported = report(seen, todo);
  if (leaves_doubt(reported))
    look_again(with_.api, with_.stores.clusters, key, cluster->metadata.uid);
  if (refused(reported))
    (void)refusals_.note(key, Refusals::kStatus, reported, with_.executor.now());
  if (!reported) return reported.error();
  return carry_out(seen, endpoints, todo);
}

/// Children and the step. What the API server refuses is told in the status by the next pass, which
/// comes soon, and then left for a minute.
Result<runtime::Requeue> Reconciler::carry_out(const Observation& seen, const Endpoints& endpoints,
                                               Plan& plan) {
  const api::ObjectKey key = seen.cluster.metadata.key();
  const bool children =
      plan.make_headless_service || plan.make_client_service || plan.budget || plan.drop_budget;
  const std::string doing = (children ? "children, " : "") + to_string(plan.step);
  const Instant now = with_.executor.now();
  if (const Duration wait = refusals_.wait(key, doing, now); wait > Duration(0))
    return runtime::Requeue{wait};
  auto done = make_children(seen, plan);
  const bool by_api = !done || std::holds_alternative<CreateMember>(plan.step);
  if (done) {
    done = act(seen, endpoints, plan);
    say(key, words_after(plan.step, done), plan.step);
  }
  if (leaves_doubt(done) || done.failed_with(Code::NotFound))
    if (const Seat* seat = seat_of(seen, plan.step))
      look_again(with_.api, with_.stores.members, {key.ns, seat->name}, seat->object->uid);
  if (refusals_.note(key, doing, by_api ? done : Done{}, now))
    with_.log.warn("refused", {{"cluster", to_string(key)}, {"error", done.error().message}});
  if (by_api && refused(done)) return runtime::Requeue{kAgainSoon};
  remember_delay(key, done);
  if (for_now(done)) return runtime::Requeue{pace(seen, plan.status)};
  if (!done) return done.error();
  return runtime::Requeue{plan.again};
}

Observation Reconciler::observe(const v1::EtcdCluster& cluster, Endpoints& endpoints) {
  const api::ObjectKey key = cluster.metadata.key();
  Observation seen;
  seen.now = with_.clock.wall_now();
  seen.cluster = cluster;
  for (const auto& member : with_.stores.members.in_group(key)) {
    seen.taken_names.push_back(member->metadata.name);
    if (!is_ours(member->metadata, cluster)) continue;
    Seat seat;
    seat.name = member->metadata.name;
    seat.peer_url = peer_url_of(*member);
    seat.object = object_of(*member);
    if (const auto pod = with_.stores.pods.get({key.ns, seat.name})) {
      seat.pod = Seat::Pod{pod->spec.node_name, takes_many_learners(*pod), founds_a_cluster(*pod),
                           may_join(*pod)};
      if (auto endpoint = endpoint_of(cluster, *member, *pod))
        endpoints.emplace(seat.name, std::move(*endpoint));
    }
    seen.seats.push_back(std::move(seat));
  }
  for (const auto& pod : with_.stores.pods.in_group(key))
    seen.taken_names.push_back(pod->metadata.name);
  for (const auto& volume : with_.stores.volumes.in_group(key))
    if (volume->metadata.name.starts_with("data-"))
      seen.taken_names.push_back(volume->metadata.name.substr(5));
  observe_children(seen);
  seen.rejected = refusals_.why(key);
  if (seen.rejected.empty()) seen.rejected = service_refusals_.why(key);
  if (seen.rejected.empty()) seen.rejected = budget_refusals_.why(key);
  const Memory& memory = memory_[key];
  if (!memory.put_off.empty() && with_.executor.now() - memory.put_off_since >= kRefusalsExpected)
    seen.rejected = memory.put_off;
  ask_unless_silent(seen, endpoints);
  note_away(seen);
  const auto goes = [&](const Seat& seat) { return lost(seat) || given_up(seen, seat); };
  if (std::ranges::any_of(seen.seats, goes) || suspicion_of(seen).who) observe_others(seen);
  std::ranges::sort(seen.seats, {}, &Seat::name);
  return seen;
}

/// Who has neither answered nor a ready Pod, and since when: it takes both, for the one is our
/// network's word and the other the API server's.
void Reconciler::note_away(Observation& seen) {
  const api::ObjectKey key = seen.cluster.metadata.key();
  Memory& memory = memory_[key];
  const AwayPolicy policy = away_policy(seen.cluster);
  seen.replace_away_s = policy.after_s;
  seen.policy_error = policy.error;
  if (std::exchange(memory.policy_error, policy.error) != policy.error && !policy.error.empty())
    with_.log.warn("ignored", {{"cluster", to_string(key)}, {"error", policy.error}});
  std::set<std::string> unseen;
  for (const Seat& seat : seen.seats) {
    if (policy.after_s == 0 || !seat.object || seat.answer) continue;
    const auto pod = with_.stores.pods.get({key.ns, seat.name});
    if (!pod || !pod->ready()) unseen.insert(seat.object->uid);
  }
  const Instant now = with_.executor.now();
  memory.away.note(unseen, now);
  for (Seat& seat : seen.seats)
    if (seat.object) seat.away_s = memory.away.seconds(seat.object->uid, now);
}

void Reconciler::observe_children(Observation& seen) const {
  const v1::EtcdCluster& cluster = seen.cluster;
  const api::ObjectKey key = cluster.metadata.key();
  const auto child = [&](const auto& found, const Json& wanted) {
    if (!found || !is_ours(found->metadata, cluster)) return Child::Missing;
    return is_as_made(*found, wanted) ? Child::AsMade : Child::Drifted;
  };
  const auto service = [&](const std::string& name) {
    return with_.stores.services.get({key.ns, name});
  };
  seen.headless_service = child(service(key.name), headless_service(cluster));
  seen.client_service = child(service(client_service_name(key.name)), client_service(cluster));
  const auto budget_now = with_.stores.budgets.get(key);
  seen.budget = child(budget_now, budget(cluster, 0));
  if (seen.budget == Child::AsMade) seen.budget_min = budget_now->spec.min_available->as_int64();
}

void Reconciler::observe_others(Observation& seen) const {
  for (const auto& other : with_.stores.clusters.all()) {
    if (other->status.cluster_id.empty() || other->metadata.uid == seen.cluster.metadata.uid)
      continue;
    ++seen.others;
    const auto* c = runtime::find_condition(other->status.conditions, v1::kAvailable);
    seen.others_away += c && c->status != "True" && c->reason != v1::kPaused;
  }
}

/// Whether the member at that address is ours by name, in an etcd cluster that is not ours: its
/// volume was filled by somebody. A stranger at an address that was given away is neither.
bool Reconciler::lives_elsewhere(etcd::Endpoint endpoint, const Seat& seat) {
  const auto ours = std::exchange(endpoint.cluster, std::nullopt);
  endpoint.member.reset();
  auto list = with_.etcd.at(endpoint)->member_list(false);
  return list && ours && list->header.cluster != *ours && is_member_of(*list, seat);
}

/// What costs each pass seconds of waiting, for nothing, is not asked in each pass.
void Reconciler::ask_unless_silent(Observation& seen, const Endpoints& endpoints) {
  const api::ObjectKey key = seen.cluster.metadata.key();
  std::string whom;
  for (const Seat& seat : seen.seats)
    if (const auto at = endpoints.find(seat.name); at != endpoints.end())
      whom += seat.name + " " + at->second.address + (seat.object->ready ? " ready\n" : "\n");
  const Instant began = with_.executor.now();
  if (!breaker_.lets_through(key, whom, began)) {
    seen.etcd_error = breaker_.why(key);
    return;
  }
  ask_etcd(seen, endpoints);
  const bool answered =
      endpoints.empty() || seen.split ||
      std::ranges::any_of(seen.seats, [](const Seat& s) { return s.answer.has_value(); });
  breaker_.note(key, whom, began, with_.executor.now(), answered ? "" : seen.etcd_error);
}

Reconciler::Answers Reconciler::ask_status(Observation& seen, const Endpoints& endpoints) {
  Answers answers;
  std::vector<std::shared_ptr<Fiber>> asking;
  for (Seat& seat : seen.seats)
    if (endpoints.contains(seat.name) && answers.size() < kMembersAskedMax)
      answers.emplace_back(&seat, Error{Code::Unavailable, "not asked"});
  for (auto& answer : answers)
    asking.push_back(
        with_.executor.spawn([&answer, client = with_.etcd.at(endpoints.at(answer.first->name))] {
          answer.second = client->status();
        }));
  {
    Shield until_all_answered(
        with_.executor);  // They write to our stack, and each has its own deadline.
    for (const auto& fiber : asking) (void)fiber->join();
  }
  return answers;
}

/// Status tells in words that a member knows of an alarm: then, and only then, one call more has
/// them all, agreed on by a quorum.
void Reconciler::list_alarms(Observation& seen, etcd::Client& source, Answers& answers) {
  const auto is_alarm = [](const std::string& error) {
    return error.find("alarm:") != std::string::npos;
  };
  bool told = false;
  for (auto& [seat, answer] : answers)
    told |= answer && std::ranges::any_of(answer->errors, is_alarm);
  if (!told) return;
  auto alarms = source.alarms();
  seen.alarms_hidden = !alarms;
  if (!alarms) return;
  for (const etcd::Alarm& alarm : *alarms)
    seen.alarms.push_back({alarm.member, alarm.kind == etcd::AlarmKind::Corrupt});
}

/// Of those who say it in time.
std::map<std::string, etcd::KeyHash> Reconciler::ask_hashes(const std::vector<std::string>& whom,
                                                            const Endpoints& endpoints,
                                                            std::int64_t revision) {
  std::vector<std::pair<std::string, Result<etcd::KeyHash>>> answers;
  for (const std::string& name : whom)
    answers.emplace_back(name, Error{Code::Unavailable, "not asked"});
  std::vector<std::shared_ptr<Fiber>> asking;
  for (auto& answer : answers)
    asking.push_back(with_.executor.spawn(
        [this, &answer, revision, client = with_.etcd.at(endpoints.at(answer.first))] {
          const Within limit(with_.executor, kHashLimit);
          answer.second = client->hash_kv(revision);
        }));
  {
    Shield until_all_answered(with_.executor);
    for (const auto& fiber : asking) (void)fiber->join();
  }
  std::map<std::string, etcd::KeyHash> out;
  for (auto& [name, answer] : answers)
    if (answer) out.emplace(name, *answer);
  return out;
}

/// What the voters have for data, at the newest revision that all of them know.
void Reconciler::compare_data(Observation& seen, const Endpoints& endpoints) {
  if (seen.alarms_hidden) return;
  Hashes& hashes = memory_[seen.cluster.metadata.key()].hashes;
  if (!has_alarm(seen, true)) {
    hashes = {};
    return;
  }
  std::vector<etcd::MemberId> voters;
  std::vector<std::string> whom;
  for (const Seat& seat : seen.seats) {
    if (!seat.listed || seat.listed->learner) continue;
    voters.push_back(seat.listed->id);
    if (seat.answer && endpoints.contains(seat.name)) whom.push_back(seat.name);
  }
  const Instant now = with_.executor.now();
  const bool news = hashes.alarms != seen.alarms || hashes.voters != voters;
  if (news || (hashes.known.size() < voters.size() && now - hashes.asked >= kHashesAgain)) {
    hashes = {seen.alarms, voters, {}, now};
    auto told = ask_hashes(whom, endpoints, 0);
    std::int64_t common = 0;
    for (const auto& [name, hash] : told)
      common = common == 0 ? hash.revision : std::min(common, hash.revision);
    std::vector<std::string> ahead;
    for (const auto& [name, hash] : told)
      if (hash.revision != common) ahead.push_back(name);
    for (const std::string& name : ahead) told.erase(name);
    told.merge(ask_hashes(ahead, endpoints, common));
    for (const Seat& seat : seen.seats)
      if (const auto hash = told.find(seat.name); hash != told.end())
        hashes.known[seat.listed->id] = {hash->second.hash, common, hash->second.compacted};
  }
  for (Seat& seat : seen.seats)  // Of who does not answer now it is of no use.
    if (const auto known = seat.listed ? hashes.known.find(seat.listed->id) : hashes.known.end();
        seat.answer && known != hashes.known.end())
      seat.hash = known->second;
}

/// Status of every member side by side, then one linearizable list from whoever leads, or else from
/// a voter.
void Reconciler::ask_etcd(Observation& seen, const Endpoints& endpoints) {
  Answers answers = ask_status(seen, endpoints);
  std::set<etcd::ClusterId> clusters;
  std::map<std::string, etcd::MemberId> ids;  // That they answered with.
  std::vector<const Seat*> sources;           // The leader first.
  for (auto& [seat, answer] : answers) {
    if (!answer) {
      seen.etcd_error = answer.error().message;
      if (answer.failed_with(Code::Corrupt) && lives_elsewhere(endpoints.at(seat->name), *seat))
        seen.split = true;
      continue;
    }
    clusters.insert(answer->header.cluster);
    ids.emplace(seat->name, answer->header.member);
    seat->answer = Seat::Answer{answer->version,    answer->leader,  answer->raft_applied_index,
                                answer->raft_index, answer->db_size, answer->db_size_in_use};
    if (answer->learner) continue;
    const bool leads = answer->leader == answer->header.member;
    sources.insert(leads ? sources.begin() : sources.end(), seat);
  }
  seen.split |= clusters.size() > 1;
  if (seen.split || sources.empty()) return;
  const auto client = with_.etcd.at(endpoints.at(sources.front()->name));
  auto list = client->member_list(true);
  if (!list) {
    seen.etcd_error = list.error().message;
    return;
  }
  if (list->header.cluster != *clusters.begin()) {
    seen.split = true;
    return;
  }
  if (!is_member_of(
          *list,
          *sources.front())) {  // Before the id is latched, this tells our etcd from a stranger's.
    seen.etcd_error = "the etcd at the address of " + sources.front()->name + " does not know it";
    return;
  }
  seen.linearizable = true;
  seen.cluster_id = list->header.cluster;
  seat_all(seen.seats, list->members);
  for (Seat& seat : seen.seats)  // At its address somebody else answers, who is not it.
    if (const auto id = ids.find(seat.name);
        id != ids.end() && seat.listed && id->second != seat.listed->id)
      seat.answer.reset();
  list_alarms(seen, *client, answers);
  compare_data(seen, endpoints);
}

/// Status before action, under the version that the plan was made from: an operator with an older
/// view is refused here.
Result<Done> Reconciler::report(const Observation& seen, Plan& plan) {
  const api::ObjectMeta& meta = seen.cluster.metadata;
  json::object status = status_patch(api::encode(seen.cluster.status), api::encode(plan.status));
  if (!status.empty()) {
    json::object patch{{"metadata", {{"resourceVersion", meta.resource_version}}}};
    patch["status"] = std::move(status);
    auto written =
        with_.api.merge_patch<v1::EtcdCluster, kube::Part::Status>(meta.key(), std::move(patch));
    if (!written)
      return Error(written.error()).during("write the status of " + to_string(meta.key()));
    with_.stores.clusters.wrote(std::move(*written));
    tell_transitions(seen, plan);
  }
  for (const MemberFacts& fact : plan.facts) {
    const api::ObjectKey key{meta.ns, fact.name};
    // Its version stands for the UID, which the server does not look at where a status is written.
    const auto member = with_.stores.members.get(key);
    if (!member || member->metadata.uid != fact.uid) continue;  // As if it were gone.
    if (with_.stores.status_writes.contains(key)) {  // Afterwards, if it is still to be told.
      plan.again = std::min(plan.again, kAgainSoon);
      continue;
    }
    const StatusWrite alone(with_.stores, key);
    auto written = with_.api.merge_patch<v1::EtcdMember, kube::Part::Status>(
        key,
        {{"metadata", {{"resourceVersion", member->metadata.resource_version}}},
         {"status",
          {{"memberID", fact.member_id}, {"isVoter", fact.voter}, {"version", fact.version}}}});
    if (written.failed_with(Code::NotFound))
      continue;  // Force-deleted meanwhile: the next pass sees it.
    if (leaves_doubt(written)) look_again(with_.api, with_.stores.members, key, fact.uid);
    if (!written) return Error(written.error()).during("write the status of " + to_string(key));
    with_.stores.members.wrote(std::move(*written));
  }
  return Done{};
}

/// Once for each: the status was written under the version that it was planned from.
void Reconciler::tell_transitions(const Observation& seen, const Plan& plan) {
  if (!with_.events) return;
  for (const auto& one : turns_of_members(seen, plan.status)) with_.events->record(one);
  for (const auto& one : runtime::transitions(object_of(seen), seen.cluster.status.conditions,
                                              plan.status.conditions))
    with_.events->record(one);
}

Result<Done> Reconciler::drop_budget(const api::ObjectKey& key) {
  const auto there = with_.stores.budgets.get(key);
  if (!there) return Done{};
  auto gone = with_.api.remove<kube::PodDisruptionBudget>(key, there->metadata.uid);
  if (!gone) return Error(gone.error()).during("delete PodDisruptionBudget " + key.name);
  if (*gone) with_.stores.budgets.wrote(std::move(**gone));
  else with_.stores.budgets.saw_deleted(key, there->metadata.uid);
  return Done{};
}

void Reconciler::tell_not_redundant(const Observation& seen) {
  if (with_.events)
    with_.events->record({.regarding = object_of(seen),
                          .related = std::nullopt,
                          .warning = false,
                          .reason = v1::kNotRedundant,
                          .action = "ProtectMembers",
                          .note = "the cluster has one member: a drain of its node restarts it"});
}

template <class T>
Result<Done> Reconciler::put_right(kube::Store<T>& store, const Observation& seen,
                                   const Json& wanted) {
  const std::string name(wanted.at("metadata").at("name").as_string());
  const api::ObjectKey key{seen.cluster.metadata.ns, name};
  const auto there = store.get(key);
  if (there && is_ours(there->metadata, seen.cluster)) {
    auto written = with_.api.merge_patch<T>(
        key,
        {{"metadata",
          {{"uid", there->metadata.uid}, {"resourceVersion", there->metadata.resource_version}}},
         {"spec", mended(*there, wanted)}});
    if (written.failed_with(Code::Conflict))  // Ours is old, perhaps by an answer that was lost.
      if (auto now = with_.api.get<T>(key)) store.wrote(std::move(*now));
    if (!written)
      return Error(written.error())
          .during(std::string("put right ") + T::resource.kind + " " + name);
    store.wrote(std::move(*written));
    return Done{};
  }
  auto made = with_.api.create<T>(key.ns, wanted);
  if (made.failed_with(Code::AlreadyExists)) made = with_.api.get<T>(key);
  if (!made)
    return Error(made.error()).during(std::string("create ") + T::resource.kind + " " + name);
  if (!is_ours(made->metadata, seen.cluster))
    return Error{Code::AlreadyExists, std::string(T::resource.kind) + " " + name +
                                          " belongs to somebody else: rename it or the cluster"};
  store.wrote(std::move(*made));
  return Done{};
}

/// Services and the budget. What somebody undoes again and again is done less and less often.
Result<Done> Reconciler::make_children(const Observation& seen, Plan& plan) {
  v1::EtcdCluster reported = seen.cluster;  // With the target that this pass may have adopted.
  reported.status = plan.status;
  const api::ObjectKey key = seen.cluster.metadata.key();
  const Instant now = with_.executor.now();
  const auto put = [&](auto& store, const std::string& what, const Json& wanted) -> Result<Done> {
    if (const Duration wait = contested_.wait(key, what, now); wait > Duration(0)) {
      plan.again = std::min(plan.again, std::chrono::ceil<std::chrono::milliseconds>(wait));
      return Done{};
    }
    auto done = put_right(store, seen, wanted);
    if (done) contested_.did(key, what, now);
    return done;
  };
  /// Told of, and holds up nothing: members are replaced all the same.
  const auto try_to = [&](Refusals& refusals, auto& store, const std::string& what,
                          const Json& wanted) -> Result<Done> {
    if (const Duration wait = refusals.wait(key, what, now); wait > Duration(0)) {
      plan.again = std::min(plan.again, std::chrono::ceil<std::chrono::milliseconds>(wait));
      return Done{};
    }
    auto done = put(store, what, wanted);
    if (refusals.note(key, what, done, now))
      with_.log.warn("refused", {{"cluster", to_string(key)}, {"error", done.error().message}});
    if (!refused(done)) return done;
    plan.again = std::min(plan.again, kAgainSoon);  // There is something to report.
    return Done{};
  };
  Stores& stores = with_.stores;
  const bool born = !plan.status.cluster_id.empty();
  Result<Done> done = Done{};
  if (plan.make_headless_service)
    done = put(stores.services, "headless service", headless_service(reported));
  if (done && plan.make_client_service) {
    const Json wanted = client_service(reported);
    done = born ? try_to(service_refusals_, stores.services, "client service", wanted)
                : put(stores.services, "client service", wanted);
  }
  if (done && plan.drop_budget) done = drop_budget(key);
  if (!done) return done;
  if (!plan.make_client_service) service_refusals_.forget(key);
  if (!plan.budget) {
    budget_refusals_.forget(key);
    return done;
  }
  const std::string what = "budget " + std::to_string(*plan.budget);
  const bool news = contested_.wait(key, what, now) == Duration(0);
  done = try_to(budget_refusals_, stores.budgets, what, budget(reported, *plan.budget));
  const bool made = done && budget_refusals_.why(key).empty();
  if (made && news && *plan.budget == 0) tell_not_redundant(seen);
  return done;
}

namespace {

/// Carries out one step; what it was decided on travels along as UID, resourceVersion or etcd's own
/// ids.
struct Actor {
  const Reconciler::Collaborators& with;
  const Observation& seen;
  const Plan& plan;
  const std::map<std::string, etcd::Endpoint>& endpoints;
  Proof& joiner;

  const std::string& ns() const { return seen.cluster.metadata.ns; }

  /// Whom a change of the membership may be asked of: the healthy voters, the leader first. Nobody
  /// is asked to remove itself, as long as another one leads.
  std::vector<const Seat*> changers(const std::string& victim) const {
    const Census census(seen);
    std::vector<const Seat*> out;
    for (const Seat* voter : census.voters) {
      const bool leads = voter == census.leader;
      if (healthy(*voter) && (leads || voter->name != victim) && endpoints.contains(voter->name))
        out.insert(leads ? out.begin() : out.end(), voter);
    }
    return out;
  }
  /// A change of the membership, for an Event.
  struct What {
    const char* reason;
    const std::string& member;
    std::string note;
  };
  /// Each etcd judges by its own connections whether the cluster is healthy enough for a change,
  /// and one of them may believe for ever that a peer which restarted is inactive (etcd's issue
  /// 14523; seen after one restart in four). So where one refuses, the next is asked: Unavailable
  /// says that nothing was done.
  template <class Change>
  Result<Done> change(const What& what, Change change, const std::string& victim = "") const {
    Result<Done> done = Error{Code::Unavailable, "no member leads"};
    for (const Seat* voter : changers(victim)) {
      done = change(*with.etcd.at(endpoints.at(voter->name)));
      if (!done.failed_with(Code::Unavailable)) break;
    }
    if (!done) return Error(done.error()).during(to_string(plan.step));
    with.log.info("etcd membership changed", {{"cluster", to_string(seen.cluster.metadata.key())},
                                              {"step", to_string(plan.step)}});
    tell(what);
    return done;
  }
  void tell(const What& what) const {
    if (!with.events) return;
    with.events->record(
        {.regarding = object_of(seen),
         .related = runtime::Happening::Object{v1::EtcdMember::resource, {ns(), what.member}, ""},
         .warning = false,
         .reason = what.reason,
         .action = "ChangeMembership",
         .note = what.note});
  }

  Result<Done> operator()(const NoStep&) const { return Done{}; }

  Result<Done> operator()(const CreateMember& step) const {
    v1::EtcdCluster reported = seen.cluster;
    reported.status = plan.status;
    auto made = with.api.create<v1::EtcdMember>(ns(), member(reported, step));
    if (made.failed_with(Code::AlreadyExists))
      made = with.api.get<v1::EtcdMember>({ns(), step.name});
    if (!made) return Error(made.error()).during("create EtcdMember " + step.name);
    if (!is_ours(made->metadata, seen.cluster))
      return Error{Code::AlreadyExists, "EtcdMember " + step.name + " belongs to somebody else"};
    with.stores.members.wrote(std::move(*made));
    return Done{};
  }

  /// What we know of the joiner may be old: nobody adds it once its EtcdMember is gone or going.
  /// While etcd refuses it four times a second, the API server is asked less often.
  Result<Done> still_joins(const std::string& name) const {
    const std::string& uid = std::ranges::find(seen.seats, name, &Seat::name)->object->uid;
    const Instant now = with.executor.now();
    if (joiner.uid == uid && now - joiner.at < kProofHolds) return Done{};
    auto member = with.api.get<v1::EtcdMember>({ns(), name});
    if (member.failed_with(Code::NotFound)) with.stores.members.saw_deleted({ns(), name}, uid);
    else if (!member) return Error(member.error()).during("find EtcdMember " + name);
    const bool joins = member && member->metadata.uid == uid && !member->metadata.terminating();
    if (member) with.stores.members.wrote(std::move(*member));
    if (!joins) return Error{Code::Conflict, "EtcdMember " + name + " is going"};
    joiner = {uid, now};
    return Done{};
  }
  /// The same of what is wanted, unless the status was just written under the version we saw.
  Result<Done> still_wanted_so() const {
    if (!(plan.status == seen.cluster.status)) return Done{};
    const api::ObjectMeta& meta = seen.cluster.metadata;
    auto cluster = with.api.get<v1::EtcdCluster>(meta.key());
    if (!cluster) return Error(cluster.error()).during("find EtcdCluster " + meta.name);
    if (cluster->metadata.resource_version == meta.resource_version) return Done{};
    with.stores.clusters.wrote(std::move(*cluster));
    return Error{Code::Conflict, "EtcdCluster " + meta.name + " has changed"};
  }

  Result<Done> operator()(const AddLearner& step) const {
    if (auto joins = still_joins(step.name); !joins) return joins;
    const auto add = [&](etcd::Client& client) -> Result<Done> {
      auto added = client.add_learner(step.peer_url);
      if (!added && !added.failed_with(Code::AlreadyExists)) return added.error();
      return Done{};
    };
    return change({v1::kLearnerAdded, step.name, step.name + " was added to etcd as a learner"},
                  add);
  }

  Result<Done> operator()(const Publish& step) const {
    const Seat::Object& seen_as = *std::ranges::find(seen.seats, step.name, &Seat::name)->object;
    json::array patch{
        json::object{{"op", "test"}, {"path", "/metadata/uid"}, {"value", seen_as.uid}},
        json::object{
            {"op", "test"}, {"path", "/spec/initialCluster"}, {"value", seen_as.initial_cluster}},
        json::object{
            {"op", "replace"}, {"path", "/spec/initialCluster"}, {"value", step.initial_cluster}}};
    // One that the reference made has this label only from now on.
    if (const auto known = with.stores.members.get({ns(), step.name});
        known && !known->metadata.labels.empty() &&
        !known->metadata.labels.contains(v1::kAppComponentLabel))
      patch.push_back(json::object{{"op", "add"},
                                   {"path", "/metadata/labels/app.kubernetes.io~1component"},
                                   {"value", step.name}});
    auto written = with.api.json_patch<v1::EtcdMember>({ns(), step.name}, std::move(patch));
    if (!written) return Error(written.error()).during("publish the member list to " + step.name);
    with.stores.members.wrote(std::move(*written));
    return Done{};
  }

  /// It answered in this pass; but another member may have been waited for since then, and a vote
  /// for one that has died may cost the quorum.
  Result<Done> still_answers(const std::string& name, etcd::MemberId id) const {
    const auto at = endpoints.find(name);
    if (at == endpoints.end()) return Error{Code::Unavailable, name + " has no address"};
    auto status = with.etcd.at(at->second)->status();
    if (status && status->header.member == id && status->leader != etcd::MemberId{}) return Done{};
    return Error{Code::Unavailable, name + " does not answer any more"};
  }

  Result<Done> operator()(const Promote& step) const {
    if (auto answers = still_answers(step.name, step.id); !answers) return answers;
    return change({v1::kMemberPromoted, step.name, step.name + " was promoted and votes"},
                  [&](etcd::Client& client) -> Result<Done> {
                    auto promoted = client.promote(step.id);
                    if (promoted.failed_with(Code::AlreadyExists)) return Done{};  // By whomever.
                    return promoted;
                  });
  }

  Result<Done> operator()(const MoveLeader& step) const {
    return change({v1::kLeaderMoved, step.name, step.from + " leaves, " + step.name + " leads"},
                  [&](etcd::Client& client) { return client.move_leader(step.to); });
  }

  Result<Done> operator()(const DeleteMember& step) const {
    if (auto wanted = still_wanted_so(); !wanted) return wanted;
    auto going = with.api.remove<v1::EtcdMember>({ns(), step.name}, step.uid);
    if (!going) return Error(going.error()).during("delete EtcdMember " + step.name);
    if (*going) with.stores.members.wrote(std::move(**going));
    else with.stores.members.saw_deleted({ns(), step.name}, step.uid);
    return Done{};
  }

  Result<Done> operator()(const RemoveFromEtcd& step) const {
    const auto remove = [&](etcd::Client& client) -> Result<Done> {
      auto removed = client.remove(step.id);
      if (removed.failed_with(Code::NotFound)) return Done{};
      return removed;
    };
    return change({v1::kMemberRemoved, step.name, step.name + " was removed from etcd"}, remove,
                  step.name);
  }

  /// The Pod comes and goes with it.
  Result<Done> set_dormant(const std::string& name, const std::string& uid, bool dormant) const {
    if (auto wanted = still_wanted_so(); !wanted) return wanted;
    auto written = with.api.merge_patch<v1::EtcdMember>(
        {ns(), name}, {{"metadata", {{"uid", uid}}}, {"spec", {{"dormant", dormant}}}});
    if (!written)
      return Error(written.error()).during((dormant ? "pause " : "wake ") + ("EtcdMember " + name));
    with.stores.members.wrote(std::move(*written));
    return Done{};
  }
  Result<Done> operator()(const PauseMember& step) const {
    return set_dormant(step.name, step.uid, true);
  }
  Result<Done> operator()(const WakeMember& step) const {
    return set_dormant(step.name, step.uid, false);
  }

  Result<Done> operator()(const ReleaseMember& step) const {
    return release_finalizer(with.api, with.stores, {ns(), step.name}, step.uid);
  }
};

}  // namespace

Result<Done> Reconciler::act(const Observation& seen, const Endpoints& endpoints,
                             const Plan& plan) {
  Proof& joiner = memory_[seen.cluster.metadata.key()].joiner;
  return std::visit(Actor{with_, seen, plan, endpoints, joiner}, plan.step);
}

/// What etcd does not take now is told in the status when that lasts.
void Reconciler::remember_delay(const api::ObjectKey& key, const Result<Done>& acted) {
  Memory& memory = memory_[key];
  if (!for_now(acted) && !refused(acted)) {
    memory.put_off.clear();
  } else if (memory.put_off != acted.error().message) {
    memory.put_off = acted.error().message;
    memory.put_off_since = with_.executor.now();
    with_.log.info("refused for now, trying again",
                   {{"cluster", to_string(key)}, {"error", memory.put_off}});
  }
}

bool Reconciler::log_plan(const Observation& seen, const Plan& plan) {
  const api::ObjectKey key = seen.cluster.metadata.key();
  const std::string says = to_string(plan.step) + "; " + plan.waiting_for;
  std::string& before = memory_[key].planned;
  if (before == says) return false;
  before = says;
  if (std::holds_alternative<NoStep>(plan.step))
    with_.log.debug(
        "planned",
        {{"cluster", to_string(key)}, {"step", "none"}, {"waiting_for", plan.waiting_for}});
  else with_.log.info("planned", {{"cluster", to_string(key)}, {"step", to_string(plan.step)}});
  say(key, words_before(seen, plan), plan.step);
  return true;
}

/// Once, however often it is tried.
void Reconciler::say(const api::ObjectKey& key, std::string_view words, const Step& step) {
  if (words.empty()) return;
  std::string both = std::string(words) + " " + to_string(step);
  std::string& before = memory_[key].said;
  if (before == both) return;
  before = std::move(both);
  with_.log.info(words, {{"cluster", to_string(key)}, {"step", to_string(step)}});
}

}  // namespace etcdop::cluster
