// The questions to etcd, and whose each answer is.
#include "operator/cluster/ask.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "operator/cluster/alarms.h"
#include "operator/passes/side_by_side.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kHashLimit = 20s;    // Some 6 GB; a pass has 60 s, and may ask twice.
constexpr auto kHashesAgain = 60s;  // Where not all voters have told.
// A member that has just given a token is ahead of the others by a round trip.
constexpr int kTimesAsRoot = 3;
constexpr auto kAsRootAgain = 20ms;

std::string url_of(const etcd::Member& member) {
  return member.peer_urls.empty() ? "" : member.peer_urls.front();
}

/// A seat for an entry of etcd's list that is nobody's: under its name, or else as its URL or its
/// id says.
Seat& foreign_member_seat(std::vector<Seat>& seats, const etcd::Member& member) {
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
    sit(seat ? *seat : foreign_member_seat(seats, *entry), *entry);
  }
}

/// Whether the member that gave this list is the one of that seat.
bool is_member_of(const etcd::MemberList& list, const Seat& seat) {
  return std::ranges::any_of(list.members, [&](const etcd::Member& m) {
    return m.id == list.header.member &&
           (m.name == seat.name || std::ranges::count(m.peer_urls, seat.peer_url) > 0);
  });
}

template <class T>
etcd::AuthTrouble trouble_of(const Result<T>& answer) {
  return answer ? etcd::AuthTrouble::None : etcd::auth_trouble(answer.error());
}

}  // namespace

/// Whether the member at that address is ours by name, in an etcd cluster that is not ours: its
/// volume was filled by somebody. A stranger at an address that was given away is neither.
bool Questions::lives_elsewhere(etcd::Endpoint endpoint, const Seat& seat) {
  const auto ours = std::exchange(endpoint.cluster, std::nullopt);
  endpoint.member.reset();
  auto list = etcd_.at(endpoint)->member_list(false);
  return list && ours && list->header.cluster != *ours && is_member_of(*list, seat);
}

/// Asks, and again if a member wants to know who asks and we can say it: it may not know our token
/// any more, or not yet.
void Questions::ask_as_root(const Observation& seen, Endpoints& endpoints,
                            const std::function<etcd::AuthTrouble()>& ask) {
  sessions_.equip(seen.cluster, endpoints);
  for (int times = 1; sessions_.note_refusal(seen.cluster, ask()) && times < kTimesAsRoot;
       ++times) {
    (void)executor_.sleep(kAsRootAgain);
    sessions_.equip(seen.cluster, endpoints);
    if (!endpoints.begin()->second.token) return;
  }
}

Questions::Answers Questions::ask_status(Observation& seen, Endpoints& endpoints) {
  Answers answers;
  for (Seat& seat : seen.seats)
    if (endpoints.contains(seat.name) && answers.size() < kMembersAskedMax)
      answers.emplace_back(&seat, Error{Code::Unavailable, "not asked"});
  std::vector<Answers::value_type*> whom;
  for (auto& answer : answers) whom.push_back(&answer);
  ask_as_root(seen, endpoints, [&] {
    std::vector<std::function<void()>> calls;
    for (auto* answer : whom)
      calls.emplace_back([answer, client = etcd_.at(endpoints.at(answer->first->name))] {
        answer->second = client->status();
      });
    side_by_side(executor_, calls);
    auto refused = etcd::AuthTrouble::None;
    std::erase_if(whom, [&](const auto* answer) {
      const auto trouble = trouble_of(answer->second);
      if (trouble != etcd::AuthTrouble::None) refused = trouble;
      return trouble == etcd::AuthTrouble::None;
    });
    return refused;
  });
  return answers;
}

/// Status tells in words that a member knows of an alarm: then, and only then, one call more has
/// them all, agreed on by a quorum.
void Questions::list_alarms(Observation& seen, etcd::Client& source, Answers& answers) {
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

/// Of these voters, at the newest revision that all of them know.
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

/// While somebody's data is called damaged: what the voters have.
void Questions::compare_data(Observation& seen, const Endpoints& endpoints) {
  if (seen.alarms_hidden) return;
  if (!has_alarm(seen, true)) {
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
  for (Seat& seat : seen.seats)  // Of who does not answer now it is of no use.
    if (const auto known = seat.listed ? hashes.known.find(seat.listed->id) : hashes.known.end();
        seat.answer && known != hashes.known.end())
      seat.hash = known->second;
}

/// Takes the answers to their seats.
Questions::Told Questions::note_answers(Observation& seen, const Endpoints& endpoints,
                                        Answers& answers) {
  Told told;
  for (auto& [seat, answer] : answers) {
    if (!answer) {
      seen.etcd_error = answer.error().message;
      if (answer.failed_with(Code::Corrupt) && lives_elsewhere(endpoints.at(seat->name), *seat))
        seen.split = true;
      continue;
    }
    told.clusters.insert(answer->header.cluster);
    told.ids.emplace(seat->name, answer->header.member);
    seat->answer = Seat::Answer{answer->version,    answer->leader,  answer->raft_applied_index,
                                answer->raft_index, answer->db_size, answer->db_size_in_use,
                                answer->revision};
    if (answer->learner) continue;
    const bool leads = answer->leader == answer->header.member;
    told.sources.insert(leads ? told.sources.begin() : told.sources.end(), seat);
  }
  seen.split |= told.clusters.size() > 1;
  return told;
}

/// Status of every member side by side, then one linearizable list from whoever leads, or else from
/// a voter.
void Questions::ask_all(Observation& seen, Endpoints& endpoints) {
  Answers answers = ask_status(seen, endpoints);
  const Told told = note_answers(seen, endpoints, answers);
  if (seen.split || told.sources.empty()) return;
  const Seat& source = *told.sources.front();
  Result<etcd::MemberList> list = Error{Code::Unavailable, "not asked"};
  std::shared_ptr<etcd::Client> client;
  ask_as_root(seen, endpoints, [&] {
    client = etcd_.at(endpoints.at(source.name));
    list = client->member_list(true);
    return trouble_of(list);
  });
  if (!list) {
    seen.etcd_error = list.error().message;
    return;
  }
  if (list->header.cluster != *told.clusters.begin()) {
    seen.split = true;
    return;
  }
  // Before the id is latched, this tells our etcd from a stranger's.
  if (!is_member_of(*list, source)) {
    seen.etcd_error = "the etcd at the address of " + source.name + " does not know it";
    return;
  }
  seen.linearizable = true;
  seen.cluster_id = list->header.cluster;
  seat_all(seen.seats, list->members);
  for (Seat& seat : seen.seats)  // At its address somebody else answers, who is not it.
    if (const auto id = told.ids.find(seat.name);
        id != told.ids.end() && seat.listed && id->second != seat.listed->id)
      seat.answer.reset();
  list_alarms(seen, *client, answers);
  compare_data(seen, endpoints);
}

/// Whether authentication is on, until the status records it. Who may not know is told in words,
/// and so it is on.
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
      std::ranges::any_of(seen.seats, [](const Seat& s) { return s.answer.has_value(); });
  breaker_.note(key, whom, began, executor_.now(), answered ? "" : seen.etcd_error);
}

}  // namespace etcdop::cluster
