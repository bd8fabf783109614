// The calls to etcd, and the match of each answer with its member.
#include "operator/members/etcd_observer.h"

#include <algorithm>
#include <utility>

#include "operator/passes/side_by_side.h"

namespace etcdop {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

// A member that has just issued a token is ahead of the others by a round trip.
constexpr int kTimesAsRoot = 3;
constexpr auto kAsRootAgain = 20ms;

std::string url_of(const etcd::Member& member) {
  return member.peer_urls.empty() ? "" : member.peer_urls.front();
}

/// Adds a view for an entry of no known member: with its name, or else from its URL or its id.
MemberView& foreign_member(std::vector<MemberView>& members, const etcd::Member& entry) {
  const std::string url = url_of(entry);
  const std::size_t host = url.find("://");
  const std::string by_url =
      host == std::string::npos
          ? ""
          : url.substr(host + 3, url.find_first_of(".:", host + 3) - host - 3);
  MemberView foreign;
  for (const std::string& name : {entry.name, by_url, to_hex(entry.id)})
    if (foreign.name.empty() && std::ranges::count(members, name, &MemberView::name) == 0)
      foreign.name = name;
  members.push_back(std::move(foreign));
  return members.back();
}

/// Gives each entry of etcd's list to a member: by peer URL, which the operator added; or by name,
/// if no member has that URL. The name comes from the etcd that took the entry for its own, which
/// may be another joiner: etcd compares peer URLs by the addresses that they resolve to, and DNS
/// may give one address to two URLs. Such an entry has not been started by its member.
void match(std::vector<MemberView>& members, const std::vector<etcd::Member>& entries) {
  const auto free_member = [&](const auto& fits) {
    const auto found =
        std::ranges::find_if(members, [&](const MemberView& m) { return !m.listed && fits(m); });
    return found == members.end() ? nullptr : &*found;
  };
  const auto give = [](MemberView& member, const etcd::Member& entry) {
    member.peer_url = url_of(entry);
    member.listed = MemberListed{entry.id, entry.learner, entry.name == member.name};
  };
  std::vector<const etcd::Member*> others;
  for (const etcd::Member& entry : entries)
    if (MemberView* member =
            free_member([&](const MemberView& m) { return m.peer_url == url_of(entry); }))
      give(*member, entry);
    else others.push_back(&entry);
  for (const etcd::Member* entry : others) {
    MemberView* member = free_member([&](const MemberView& m) { return m.name == entry->name; });
    give(member ? *member : foreign_member(members, *entry), *entry);
  }
}

/// Whether that member gave this list.
bool is_member_of(const etcd::MemberList& list, const MemberView& member) {
  return std::ranges::any_of(list.members, [&](const etcd::Member& m) {
    return m.id == list.header.member &&
           (m.name == member.name || std::ranges::count(m.peer_urls, member.peer_url) > 0);
  });
}

/// A learner that came up by a raft snapshot beyond entry 5,000 may refuse its own announcement
/// ("too many requests"), and with it serve nobody, until it applies one more entry. In a quiet
/// cluster none comes.
bool waits_for_an_entry(const MemberView& member) {
  return member.listed && member.listed->learner && !member.answer;
}

template <class T>
etcd::AuthTrouble trouble_of(const Result<T>& answer) {
  return answer ? etcd::AuthTrouble::None : etcd::auth_trouble(answer.error());
}

}  // namespace

/// Whether our member, by name, answers at that address in another etcd cluster: another cluster
/// has filled its volume. False for a foreign etcd at a reassigned address.
bool EtcdObserver::lives_elsewhere(etcd::Endpoint endpoint, const MemberView& member) {
  const auto ours = std::exchange(endpoint.cluster, std::nullopt);
  endpoint.member.reset();
  auto list = etcd_.at(endpoint)->member_list(etcd::Read::Serializable);
  return list && ours && list->header.cluster != *ours && is_member_of(*list, member);
}

/// Asks, and asks again if a member requires authentication that we have: it may have dropped our
/// token, or not know it yet.
void EtcdObserver::ask_as_root(const v1::EtcdCluster& cluster, Endpoints& endpoints,
                               const std::function<etcd::AuthTrouble()>& ask) {
  sessions_.equip(cluster, endpoints);
  for (int times = 1; sessions_.note_refusal(cluster, ask()) && times < kTimesAsRoot; ++times) {
    (void)executor_.sleep(kAsRootAgain);
    sessions_.equip(cluster, endpoints);
    if (!endpoints.begin()->second.token) return;
  }
}

EtcdObserver::Answers EtcdObserver::ask_status(const v1::EtcdCluster& cluster, EtcdView& view,
                                               Endpoints& endpoints) {
  Answers answers;
  for (MemberView& member : view.members)
    if (endpoints.contains(member.name) && answers.size() < kMembersAskedMax)
      answers.emplace_back(&member, Error{Code::Unavailable, "not asked"});
  std::vector<Answers::value_type*> unanswered;
  for (auto& answer : answers) unanswered.push_back(&answer);
  ask_as_root(cluster, endpoints, [&] {
    std::vector<std::function<void()>> calls;
    for (auto* answer : unanswered)
      calls.emplace_back([answer, client = etcd_.at(endpoints.at(answer->first->name))] {
        answer->second = client->status();
      });
    side_by_side(executor_, calls);
    auto refused = etcd::AuthTrouble::None;
    std::erase_if(unanswered, [&](const auto* answer) {
      const auto trouble = trouble_of(answer->second);
      if (trouble != etcd::AuthTrouble::None) refused = trouble;
      return trouble == etcd::AuthTrouble::None;
    });
    return refused;
  });
  return answers;
}

/// etcd answers the question for alarms through its log: one entry.
void EtcdObserver::list_alarms(EtcdView& view, etcd::Client& source, Answers& answers,
                               AskForAlarms when) {
  const auto is_alarm = [](const std::string& error) {
    return error.find("alarm:") != std::string::npos;
  };
  const auto reports_one = [&](auto& answer) {
    return answer.second && std::ranges::any_of(answer.second->errors, is_alarm);
  };
  const bool expected = when == AskForAlarms::Always || std::ranges::any_of(answers, reports_one);
  if (!expected && std::ranges::none_of(view.members, waits_for_an_entry)) return;
  auto alarms = source.alarms();
  view.alarms_hidden = expected && !alarms;
  if (!alarms) return;
  view.alarms.emplace();
  for (const etcd::Alarm& alarm : *alarms) view.alarms->push_back({alarm.member, alarm.kind});
}

EtcdObserver::Told EtcdObserver::note_answers(EtcdView& view, const Endpoints& endpoints,
                                              Answers& answers) {
  Told told;
  for (auto& [member, answer] : answers) {
    if (!answer) {
      view.error = answer.error().message;
      if (answer.failed_with(Code::Corrupt) && lives_elsewhere(endpoints.at(member->name), *member))
        member->elsewhere = true;  // The others are served as if it did not answer.
      continue;
    }
    told.clusters.insert(answer->header.cluster);
    told.ids.emplace(member->name, answer->header.member);
    member->answer = MemberAnswer{answer->version,    answer->leader,  answer->raft_applied_index,
                                  answer->raft_index, answer->db_size, answer->db_size_in_use,
                                  answer->revision};
    if (answer->learner) continue;
    const bool leads = answer->leader == answer->header.member;
    told.sources.insert(leads ? told.sources.begin() : told.sources.end(), member);
  }
  view.split |= told.clusters.size() > 1;
  return told;
}

EtcdView EtcdObserver::observe(const v1::EtcdCluster& cluster, std::vector<MemberView> known,
                               Endpoints& endpoints, AskForAlarms when) {
  EtcdView view;
  view.members = std::move(known);
  Answers answers = ask_status(cluster, view, endpoints);
  const Told told = note_answers(view, endpoints, answers);
  if (view.split || told.sources.empty()) return view;
  const MemberView source = *told.sources.front();  // A copy: match() moves them.
  Result<etcd::MemberList> list = Error{Code::Unavailable, "not asked"};
  std::shared_ptr<etcd::Client> client;
  ask_as_root(cluster, endpoints, [&] {
    client = etcd_.at(endpoints.at(source.name));
    list = client->member_list(etcd::Read::Linearizable);
    return trouble_of(list);
  });
  if (!list) {
    view.error = list.error().message;
    return view;
  }
  if (list->header.cluster != *told.clusters.begin()) {
    view.split = true;
    return view;
  }
  // Before the id is recorded, this check tells our etcd from a foreign one.
  if (!is_member_of(*list, source)) {
    view.error = "the etcd at the address of " + source.name + " does not list it as a member";
    return view;
  }
  view.linearizable = true;
  view.cluster_id = list->header.cluster;
  match(view.members, list->members);
  for (MemberView& member : view.members)  // Another member answers at its address.
    if (const auto id = told.ids.find(member.name);
        id != told.ids.end() && member.listed && id->second != member.listed->id)
      member.answer.reset();
  list_alarms(view, *client, answers, when);
  return view;
}

}  // namespace etcdop
