// The questions to etcd, and the member of each answer.
#include "operator/cluster/ask.h"

#include <algorithm>
#include <utility>

#include "operator/cluster/alarms.h"
#include "operator/passes/side_by_side.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kHashLimit = 20s;    // Enough for some 6 GB; a pass has 60 s and may ask twice.
constexpr auto kHashesAgain = 60s;  // If not all voters have answered.
}  // namespace

/// The hashes of the members that answer in time.
std::map<std::string, etcd::KeyHash> Questions::ask_hashes(const std::vector<std::string>& whom,
                                                           const Endpoints& endpoints,
                                                           std::int64_t revision) {
  std::vector<std::pair<std::string, Result<etcd::KeyHash>>> answers;
  for (const std::string& name : whom)
    answers.emplace_back(name, Error{Code::Unavailable, "not asked"});
  std::vector<std::function<void()>> calls;
  for (auto& answer : answers)
    calls.emplace_back([this, &answer, revision, client = etcd_.at(endpoints.at(answer.first))] {
      const Within limit(executor_, kHashLimit);
      answer.second = client->hash_kv(revision);
    });
  side_by_side(executor_, calls);
  std::map<std::string, etcd::KeyHash> out;
  for (auto& [name, answer] : answers)
    if (answer) out.emplace(name, *answer);
  return out;
}

/// The hashes of these voters at the newest revision that all of them have.
std::map<std::string, etcd::KeyHash> Questions::ask_common_hashes(
    const std::vector<std::string>& whom, const Endpoints& endpoints) {
  auto told = ask_hashes(whom, endpoints, 0);
  std::int64_t common = 0;
  for (const auto& [name, hash] : told)
    common = common == 0 ? hash.revision : std::min(common, hash.revision);
  std::vector<std::string> ahead;
  for (const auto& [name, hash] : told)
    if (hash.revision != common) ahead.push_back(name);
  for (const std::string& name : ahead) told.erase(name);
  told.merge(ask_hashes(ahead, endpoints, common));
  for (auto& [name, hash] : told) hash.revision = common;
  return told;
}

/// While CORRUPT is raised: fetches hashes of the voters' data.
void Questions::compare_data(Observation& seen, const Endpoints& endpoints) {
  if (seen.alarms_hidden) return;
  if (!has_alarm(seen, etcd::AlarmKind::Corrupt)) {
    hashes_.erase(seen.cluster.metadata.key());
    return;
  }
  Hashes& hashes = hashes_[seen.cluster.metadata.key()];
  std::vector<etcd::MemberId> voters;
  std::vector<std::string> whom;
  for (const Seat& seat : seen.seats) {
    if (!seat.listed || seat.listed->learner) continue;
    voters.push_back(seat.listed->id);
    if (seat.answer && endpoints.contains(seat.name)) whom.push_back(seat.name);
  }
  const Instant now = executor_.now();
  const bool news = hashes.alarms != seen.alarms || hashes.voters != voters;
  if (news || (hashes.known.size() < voters.size() && now - hashes.asked >= kHashesAgain)) {
    hashes = {seen.alarms, voters, {}, now};
    const auto told = ask_common_hashes(whom, endpoints);
    for (const Seat& seat : seen.seats)
      if (const auto it = told.find(seat.name); it != told.end())
        hashes.known[seat.listed->id] = {it->second.hash, it->second.revision,
                                         it->second.compacted};
  }
  for (Seat& seat : seen.seats)  // A silent member's hash is of no use.
    if (const auto known = seat.listed ? hashes.known.find(seat.listed->id) : hashes.known.end();
        seat.answer && known != hashes.known.end())
      seat.hash = known->second;
}

/// Copies etcd's answers into the seats; foreign members get their own seats.
void Questions::ask_all(Observation& seen, Endpoints& endpoints) {
  std::vector<MemberView> known;
  for (const Seat& seat : seen.seats) known.push_back({seat.name, seat.peer_url});
  EtcdView view =
      observer_.observe(seen.cluster, std::move(known), endpoints, AskForAlarms::IfReported);
  seen.seats.resize(view.members.size());
  for (std::size_t i = 0; i < seen.seats.size(); ++i) {
    MemberView& member = view.members[i];
    Seat& seat = seen.seats[i];
    seat.name = std::move(member.name);
    seat.peer_url = std::move(member.peer_url);
    seat.listed = member.listed;
    seat.answer = std::move(member.answer);
    seat.elsewhere = member.elsewhere;
  }
  seen.cluster_id = view.cluster_id;
  seen.linearizable = view.linearizable;
  seen.split = view.split;
  if (!view.error.empty()) seen.etcd_error = std::move(view.error);
  if (view.alarms) seen.alarms = std::move(*view.alarms);
  seen.alarms_hidden = view.alarms_hidden;
  if (seen.linearizable) compare_data(seen, endpoints);
}

/// Whether authentication is on, until the status records it. An error that demands credentials
/// means that it is on.
void Questions::ask_about_auth(Observation& seen, Endpoints& endpoints) {
  const bool asks =
      wants_auth(seen.cluster) && !seen.cluster.status.auth_enabled && seen.linearizable;
  std::optional<bool> enabled;
  if (asks && endpoints.begin()->second.token) enabled = true;
  for (const Seat& seat : seen.seats) {
    if (!asks || enabled || !seat.answer || !endpoints.contains(seat.name)) continue;
    auto status = etcd_.at(endpoints.at(seat.name))->auth_status();
    if (status) enabled = status->enabled;
    else if (sessions_.note_refusal(seen.cluster, etcd::auth_trouble(status.error())))
      enabled = true;
    break;
  }
  if (enabled.value_or(false)) sessions_.note_enabled(seen.cluster);
  seen.auth = sessions_.of(seen.cluster);
  seen.auth.enabled = enabled;
}

void Questions::ask(Observation& seen, Endpoints& endpoints) {
  const api::ObjectKey key = seen.cluster.metadata.key();
  std::string whom;
  for (const Seat& seat : seen.seats)
    if (const auto at = endpoints.find(seat.name); at != endpoints.end())
      whom += seat.name + " " + at->second.address + (seat.object->ready ? " ready\n" : "\n");
  const Instant began = executor_.now();
  if (!breaker_.lets_through(key, whom, began)) {
    seen.etcd_error = breaker_.why(key);
    seen.auth = sessions_.of(seen.cluster);
    return;
  }
  ask_all(seen, endpoints);
  ask_about_auth(seen, endpoints);
  const bool answered =
      endpoints.empty() || seen.split ||
      std::ranges::any_of(seen.seats, [](const Seat& s) { return s.answer || s.elsewhere; });
  breaker_.note(key, whom, began, executor_.now(), answered ? "" : seen.etcd_error);
}

}  // namespace etcdop::cluster
