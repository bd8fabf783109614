// Runs the same random operations on real etcds of one version and on simulated ones, and compares
// every answer: refusals and their reasons in etcd's words, lists with members by name, revisions.
//   etcd_fuzz --programs=DIR --version=X.Y.Z [--seed=N] [--operations=N]
// A story is a cluster of its own, with one or three voters. The simulated side answers first, and
// settles in virtual time. The real side is asked again, for a while, until it answers the same, if
// a repeated question does no harm. On a difference the program prints the last operations, and
// exits with 1.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/dice.h"
#include "test/contract/etcd_keys.h"
#include "test/contract/etcd_story.h"
#include "test/contract/etcds.h"

namespace etcdop::contract {

Tested tested;

namespace {

using namespace std::chrono_literals;
using namespace etcd;
using Kind = Op::Kind;

constexpr std::uint64_t kStepsMax = 120;  // Per story.
constexpr std::uint64_t kTellsEach = 1000;
constexpr Duration kSettles = 1min;  // etcd's HealthInterval is 5 s; the machine may be busy.
constexpr Duration kStarts = 30s;
constexpr const char* kPassword = "secret";
constexpr const char* kNames[] = {"", "root", "bob", ""};
constexpr const char* kFill = "zfill";
constexpr const char* kNothing = "znothing";

/// One of the two sides: performs operations and describes the results.
class Side {
 public:
  Side(std::unique_ptr<Etcds> etcds, bool real) : etcds_(std::move(etcds)), real_(real) {}
  Etcds& etcds() { return *etcds_; }

  struct Place {
    Node node;
    MemberId id;  ///< Its last ID.
    bool member = false, learner = false, runs = false, started = false;
  };
  std::vector<Place> places;
  std::size_t leader = 0;
  std::int64_t revision = 1;
  bool auth = false, full = false, started = false;  ///< Started: any member, after the beginning.

  bool filled() const { return !fills_.empty(); }

  void begin(std::size_t voters, bool small) {
    flags_ = {"--bcrypt-cost=4", "--auth-token-ttl=36000"};
    if (small) flags_.emplace_back("--quota-backend-bytes=4000000");
    for (std::size_t i = 0; i < voters; ++i) plan();
    for (std::size_t i = 0; i < voters; ++i) {
      etcds_->start(i, list(voters), "new", flags_);
      places[i].runs = places[i].started = places[i].member = true;
    }
    settle(0);
  }

  /// `expected`: the other side's answer.
  std::string perform(const Op& op, const std::string* expected) {
    if (!real_ && op.of_membership()) nap(6s);
    if (!real_ && op.reads()) nap(1s);
    const Instant end = etcds_->executor().now() + kSettles;
    std::string answer = answer_to(op);
    while (expected && answer != *expected && etcds_->executor().now() < end &&
           (op.reads() || is_early(answer))) {
      nap(op.reads() ? 20ms : 250ms);
      answer = answer_to(op);
    }
    return answer;
  }

 private:
  void nap(Duration d) { (void)etcds_->executor().sleep(d); }
  void plan() { places.push_back({.node = etcds_->plan(), .id = {}}); }

  /// The operation did not happen yet; it succeeds once the cluster is at rest.
  static bool is_early(const std::string& answer) {
    return std::ranges::any_of(
        std::array{"unhealthy cluster", "in sync with leader", "no leader", "no answer",
                   "invalid auth token", "member ID already exist"},
        [&](const char* text) { return answer.find(text) != answer.npos; });
  }

  std::string list(std::size_t count) const {
    std::string text;
    for (std::size_t i = 0; i < count; ++i)
      text += (i ? "," : "") + places[i].node.name + "=" + places[i].node.peer_url;
    return text;
  }
  std::string list_of_members(std::size_t with) const {
    std::string text;
    for (std::size_t i = 0; i < places.size(); ++i)
      if (places[i].member || i == with)
        text += (text.empty() ? "" : ",") + places[i].node.name + "=" + places[i].node.peer_url;
    return text;
  }
  MemberId id_of(std::size_t node) const {
    return node < places.size() && places[node].id.value != 0 ? places[node].id : MemberId{7};
  }
  std::string name_of(MemberId id) const {
    for (const Place& place : places)
      if (place.id == id) return place.node.name;
    return id.value == 0 ? "nobody" : "a stranger";
  }

  std::shared_ptr<Client> client(std::size_t node, const Secret& token) {
    auto made = etcds_->clients().at(etcds_->endpoint(node));
    made->use_token(token);
    return made;
  }
  Secret token_of(int who) const {
    if (who == 3) return Secret("rubbish.1");
    return tokens_[static_cast<std::size_t>(who)];
  }

  // --- rest

  /// New tokens of root and bob: restarted members have forgotten the old ones.
  void refresh_tokens() {
    if (!auth) return;
    for (const std::size_t who : {1U, 2U})
      for (int i = 0; i < 100; ++i) {
        auto token = client(leader, {})->authenticate(kNames[who], Secret(kPassword));
        if (token) tokens_[who] = *token;
        if (token || token.failed_with(Code::Denied)) break;
        nap(50ms);
      }
    nap(20ms);  // Until the others know it.
  }

  bool refresh_members() {
    auto members = client(leader, tokens_[1])->member_list(etcd::Read::Linearizable);
    if (!members) return false;
    for (Place& place : places) {
      place.member = place.learner = false;
      for (const Member& member : members->members) {
        if (member.peer_urls.front() != place.node.peer_url) continue;
        place.id = member.id;
        place.member = true;
        place.learner = member.learner;
      }
    }
    return true;
  }

  /// Waits until `wanted` leads and every member knows. False: gave up.
  bool settle(std::size_t wanted) {
    leader = wanted;
    const Instant end = etcds_->executor().now() + kStarts;
    while (etcds_->executor().now() < end) {
      refresh_tokens();
      if (all_know(wanted) && refresh_members()) return true;
      nap(50ms);
    }
    return false;
  }
  bool all_know(std::size_t wanted) {
    auto status = client(wanted, tokens_[1])->status();
    if (!status) return false;
    places[wanted].id = status->header.member;
    bool all = status->leader == status->header.member;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!places[i].runs || i == wanted) continue;
      auto other = client(i, tokens_[1])->status();
      if (other && other->leader == other->header.member)
        (void)client(i, tokens_[1])->move_leader(places[wanted].id);
      all = all && other && other->leader == places[wanted].id;
    }
    return all;
  }
  std::size_t next_leader() const {
    for (std::size_t i = 0; i < places.size(); ++i)
      if (places[i].runs && places[i].member && !places[i].learner) return i;
    return 0;
  }

  // --- answers

  template <class T>
  static std::string refusal(const Result<T>& result) {
    const Error& error = result.error();
    for (const char* prefix : {"etcdserver: ", "auth: "})
      if (const std::size_t at = error.message.find(prefix); at != error.message.npos)
        return "error " + std::to_string(int(error.code)) + " " + error.message.substr(at);
    return error.code == Code::Unavailable ? "no answer"
                                           : "error " + std::to_string(int(error.code));
  }
  template <class T>
  static std::string told(const Result<T>& result) {
    return result ? "ok" : refusal(result);
  }

  std::string answer_to(const Op& op) {
    const Secret token = token_of(op.who);
    const Keys keys(*etcds_, op.node, token);
    const auto asked = client(op.node, token);
    switch (op.kind) {
      case Kind::Put: return with_revision(keys.put(op.key, op.value));
      case Kind::Get: return found(keys, op);
      case Kind::Erase: return erased(keys.erase(op.key, op.end));
      case Kind::Compact: return with_revision(keys.compact(with_fills(op.revision)));
      case Kind::Defragment: return told(asked->defragment());
      case Kind::Hash: return hashes(op);
      case Kind::Snapshot: return snapshot(*asked);
      case Kind::Status: return status(*asked);
      case Kind::List: return members(*asked, op.flag ? Read::Serializable : Read::Linearizable);
      case Kind::Alarms: return alarms(*asked);
      case Kind::Raise:
        return told(keys.raise({.kind = AlarmKind::Corrupt, .member = id_of(op.other)}));
      case Kind::DisarmAll: return disarm(*asked, AlarmKind::Corrupt);
      case Kind::Fill: return fill(keys);
      case Kind::Recover: return recover(keys, *asked);
      case Kind::Add: return add(*asked, op);
      case Kind::Promote: return changed(asked->promote(id_of(op.other)));
      case Kind::Remove: return remove(*asked, op);
      case Kind::MoveLeader: return move_leader(*asked, op);
      case Kind::Kill: return kill(op.node);
      case Kind::Start: return start(op.node);
      case Kind::AddUser: return told(asked->user_add(op.key, Secret(op.value)));
      case Kind::Grant: return told(asked->user_grant_role(op.key, op.value));
      case Kind::EnableAuth: return enable(*asked);
      case Kind::AuthStatus: return auth_status(*asked);
      case Kind::Authenticate: return told(asked->authenticate(op.key, Secret(op.value)));
    }
    return "";
  }

  std::string with_revision(const Result<std::int64_t>& result) {
    if (!result) return refusal(result);
    Result<std::int64_t> copy = result;
    revision = without_fills(*copy);
    return "ok, revision " + std::to_string(revision);
  }
  std::string found(const Keys& keys, const Op& op) const {
    auto all = keys.get({.key = op.key,
                         .end = op.end,
                         .revision = with_fills(op.revision),
                         .serializable = op.flag});
    if (!all) return refusal(all);
    std::string text = "found";
    for (const Keys::Found& one : *all)
      text += " " + one.key + "=" + (one.value.size() > 9 ? "much" : one.value) + "(" +
              std::to_string(without_fills(one.created)) + "," +
              std::to_string(without_fills(one.modified)) + "," + std::to_string(one.version) + ")";
    return text;
  }
  std::string erased(Result<std::pair<std::int64_t, std::int64_t>> result) {
    if (!result) return refusal(result);
    revision = without_fills(result->second);
    return std::to_string(result->first) + " erased, revision " + std::to_string(revision);
  }
  /// Hashes of all running members: only their equality can be compared.
  std::string hashes(const Op& op) {
    std::string text;
    std::optional<std::uint32_t> first;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!places[i].runs || places[i].learner) continue;
      auto hash = client(i, token_of(op.who))->hash_kv(with_fills(op.revision));
      if (!hash) return refusal(hash);
      if (!first) first = hash->hash;
      text += (hash->hash == *first ? " equal" : " other") + std::string(" since ") +
              std::to_string(without_fills(hash->compacted)) + " at " +
              std::to_string(without_fills(hash->revision));
    }
    return text;
  }
  static std::string snapshot(Client& asked) {
    auto taken = asked.snapshot([](std::string_view) { return Result<Done>(Done{}); });
    return taken ? "whole, " + std::to_string(taken->size_bytes % 512) + " over" : refusal(taken);
  }
  std::string status(Client& asked) {
    auto said = asked.status();
    if (!said) return refusal(said);
    std::string text = "leader " + name_of(said->leader) + (said->learner ? ", learner" : "");
    for (const char* kind : {"NOSPACE", "CORRUPT", "no leader"})
      if (std::ranges::any_of(said->errors, [&](const std::string& error) {
            return error.find(kind) != error.npos;
          }))
        text += std::string(", ") + kind;
    return text + ", " + said->version;
  }
  std::string members(Client& asked, Read how) {
    auto listed = asked.member_list(how);
    if (!listed) return refusal(listed);
    std::vector<std::string> lines;
    for (const Member& member : listed->members)
      lines.push_back(name_of(member.id) + "=" + (member.name.empty() ? "?" : member.name) +
                      (member.learner ? "(learner)" : "") +
                      (member.client_urls.empty() ? "(silent)" : ""));
    std::ranges::sort(lines);
    std::string text = "members";
    for (const std::string& line : lines) text += " " + line;
    return text;
  }
  std::string alarms(Client& asked) {
    auto all = asked.alarms();
    if (!all) return refusal(all);
    std::ranges::sort(*all);
    std::vector<std::string> texts;  // Which members raise NOSPACE depends on timing.
    for (const Alarm& alarm : *all)
      texts.push_back(alarm.kind == AlarmKind::NoSpace ? "NOSPACE"
                                                       : "CORRUPT " + name_of(alarm.member));
    std::ranges::sort(texts);
    texts.erase(std::ranges::unique(texts).begin(), texts.end());
    std::string text = "alarms";
    for (const std::string& one : texts) text += " " + one;
    return text;
  }
  static std::string disarm(Client& asked, AlarmKind kind) {
    auto all = asked.alarms();
    if (!all) return refusal(all);
    for (const Alarm& alarm : *all) {
      if (alarm.kind != kind) continue;
      auto disarmed = asked.disarm(alarm);
      if (!disarmed) return refusal(disarmed);
    }
    return "ok";
  }
  /// The revision without those of fills.
  std::int64_t without_fills(std::int64_t at) const {
    std::int64_t skipped = 0;
    for (const auto& [first, count] : fills_)
      skipped += std::clamp<std::int64_t>(at - first + 1, 0, count);
    return at - skipped;
  }
  std::int64_t with_fills(std::int64_t at) const {
    for (const auto& [first, count] : fills_)
      if (at >= first) at += count;
    return at;
  }

  std::string fill(const Keys& keys) {
    auto before = keys.erase(kNothing);
    if (!before) return refusal(before);
    std::string answer = fill_up(keys);
    auto after = keys.erase(kNothing);
    if (!after) return refusal(after);
    fills_.emplace_back(before->second + 1, after->second - before->second);
    return answer;
  }
  std::string fill_up(const Keys& keys) {
    const std::string much(500'000, 'x');
    std::string last = "never full";
    for (int i = 0; i < 40 && !full; ++i) {
      auto put = keys.put(kFill, much);
      if (put) continue;
      last = refusal(put);
      full = last.find("space exceeded") != last.npos;
      if (!full) return last;
    }
    nap(300ms);
    return last;
  }
  std::string recover(const Keys& keys, Client& asked) {
    auto gone = keys.erase(kFill);
    if (!gone) return refusal(gone);
    auto done = keys.compact(gone->second);
    if (!done) return refusal(done);
    nap(300ms);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!places[i].runs || places[i].learner) continue;
      auto smaller = client(i, token_of(1))->defragment();
      if (!smaller) return refusal(smaller);
    }
    nap(300ms);
    const std::string disarmed = disarm(asked, AlarmKind::NoSpace);
    full = disarmed != "ok";
    return disarmed;
  }

  template <class T>
  std::string changed(const Result<T>& result) {
    if (result) (void)settle(leader);
    return told(result);
  }
  std::string add(Client& asked, const Op& op) {
    if (op.other == Op::kNobody) return told(asked.add_learner("no url"));
    while (places.size() <= op.other) plan();
    auto added = asked.add_learner(places[op.other].node.peer_url);
    if (added) places[op.other].id = *added;
    return changed(added);
  }
  std::string remove(Client& asked, const Op& op) {
    auto removed = asked.remove(id_of(op.other));
    const bool itself = op.node == op.other;
    if (!removed && !(itself && removed.failed_with(Code::Lost))) return told(removed);
    if (op.other >= places.size()) return "ok";
    Place& gone = places[op.other];
    if (gone.runs) {
      for (int i = 0; i < 300 && !etcds_->ended(op.other); ++i) nap(50ms);
      if (etcds_->ended(op.other) != 0) return "removed, and did not end well";
    }
    gone.runs = gone.member = false;
    return settle(op.other == leader ? next_leader() : leader) ? "ok" : "removed, and no rest";
  }
  std::string move_leader(Client& asked, const Op& op) {
    const Within limit(etcds_->executor(), 7s);
    auto moved = asked.move_leader(id_of(op.other));
    if (!moved) return told(moved);
    return settle(op.other) ? "ok" : "moved, and no rest";
  }
  std::string kill(std::size_t node) {
    nap(300ms);  // Its data reaches the disk.
    etcds_->kill(node);
    places[node].runs = false;
    nap(real_ ? 300ms : Duration(6s));
    return settle(node == leader ? next_leader() : leader) ? "ok" : "killed, and no rest";
  }
  std::string start(std::size_t node) {
    etcds_->start(node, list_of_members(node), "existing", flags_);
    started = places[node].runs = places[node].started = true;
    return settle(leader) ? "ok" : "started, and no rest";
  }
  std::string enable(Client& asked) {
    auto on = asked.auth_enable();
    if (on && !auth) {
      auth = true;
      refresh_tokens();
    }
    return told(on);
  }
  static std::string auth_status(Client& asked) {
    auto said = asked.auth_status();
    if (!said) return refusal(said);
    return (said->enabled ? "on, revision " : "off, revision ") + std::to_string(said->revision);
  }

  std::unique_ptr<Etcds> etcds_;
  const bool real_;
  std::vector<std::string> flags_;
  std::array<Secret, 4> tokens_;
  /// Both sides differ in how many puts fit into a database: first revision and count of each fill.
  std::vector<std::pair<std::int64_t, std::int64_t>> fills_;
};

// --- the next operation

class Teller {
 public:
  explicit Teller(std::uint64_t seed) : dice_(seed) {}
  std::size_t voters() { return dice_.percent(40) ? 1 : 3; }
  bool small() { return small_ = dice_.percent(30); }

  /// A possible operation, perhaps refused, that leaves a quorum.
  Op next(const Side& side) {
    Op op;
    op.who = side.auth ? who() : 0;
    op.node = someone(side);
    const std::uint64_t roll = dice_.below(1000);
    if (roll < 30) return disturb(side, op);
    if (roll < 110) return change(side, op);
    if (roll < 180) return about_users(side, op);
    if (roll < 260) return about_database(side, op);
    if (roll < 420) return look(op);
    return about_keys(side, op);
  }

 private:
  int who() { return dice_.percent(75) ? 1 : static_cast<int>(dice_.below(4)); }
  std::string key() { return std::string(1, static_cast<char>('a' + dice_.below(5))); }
  std::size_t someone(const Side& side) {
    if (dice_.percent(50)) return side.leader;
    std::vector<std::size_t> running;
    for (std::size_t i = 0; i < side.places.size(); ++i)
      if (side.places[i].runs) running.push_back(i);
    return running[dice_.below(running.size())];
  }
  std::size_t anyone(const Side& side) {
    const auto at = static_cast<std::size_t>(dice_.below(side.places.size() + 1));
    return at == side.places.size() ? Op::kNobody : at;
  }
  static bool keeps_quorum(const Side& side, std::size_t without) {
    std::size_t voters = 0, run = 0;
    for (std::size_t i = 0; i < side.places.size(); ++i) {
      const auto& place = side.places[i];
      if (!place.member || place.learner) continue;
      ++voters;
      run += place.runs && i != without;
    }
    return run >= voters / 2 + 1;
  }

  Op about_keys(const Side& side, Op op) {
    const std::uint64_t roll = dice_.below(100);
    op.key = dice_.percent(3) && !side.full ? "" : key();  // The refusals of a full one differ.
    if (roll < 45) {
      op.kind = Kind::Put;
      op.value = std::to_string(dice_.below(100));
    } else if (roll < 85) {
      op.kind = Kind::Get;
      op.flag = dice_.percent(40);
      if (dice_.percent(30)) op.end = "f";
      if (dice_.percent(30)) op.revision = near(side);
    } else {
      op.kind = roll < 95 ? Kind::Erase : Kind::Compact;
      if (dice_.percent(20)) op.end = "f";
      op.revision = near(side);
    }
    return op;
  }
  std::int64_t near(const Side& side) {
    const std::int64_t revision = side.revision + 2 - static_cast<std::int64_t>(dice_.below(12));
    return std::max<std::int64_t>(revision, 1);
  }
  Op look(Op op) {
    constexpr Kind kKinds[] = {Kind::Status, Kind::List, Kind::List, Kind::Alarms};
    op.kind = kKinds[dice_.below(4)];
    op.flag = dice_.percent(50);
    return op;
  }
  Op about_database(const Side& side, Op op) {
    constexpr Kind kKinds[] = {Kind::Defragment, Kind::Hash,  Kind::Hash,
                               Kind::Snapshot,   Kind::Raise, Kind::DisarmAll};
    op.kind = kKinds[dice_.below(6)];
    // Databases that are full differ by a page or two, and so does which alarm refuses first.
    if (op.kind == Kind::Raise && (side.full || dice_.percent(50))) op.kind = Kind::DisarmAll;
    if (small_ && dice_.percent(25)) op.kind = Kind::Fill;
    if (side.full && dice_.percent(70)) op.kind = Kind::Recover;
    // A member that does not run, or learns, could not be defragmented afterwards.
    const bool whole = std::ranges::all_of(side.places, [](const Side::Place& place) {
      return place.runs ? !place.learner : !place.member;
    });
    if (op.kind == Kind::Fill && (side.full || !whole)) op.kind = Kind::Hash;
    if (op.kind == Kind::Fill || op.kind == Kind::Recover) {
      op.who = side.auth ? 1 : 0;
      op.node = side.leader;
    }
    op.other = anyone(side);
    // A started member repeats compactions, and may or may not remember hashes of them.
    if (op.kind == Kind::Hash && !side.started && dice_.percent(60)) op.revision = near(side);
    return op;
  }
  Op about_users(const Side& side, Op op) {
    constexpr Kind kKinds[] = {Kind::AddUser, Kind::Grant, Kind::AuthStatus, Kind::Authenticate,
                               Kind::EnableAuth};
    op.kind = kKinds[dice_.below(side.auth ? 4 : 5)];
    constexpr const char* kUsers[] = {"root", "bob", "eve", ""};
    op.key = kUsers[dice_.below(dice_.percent(90) ? 2 : 4)];
    if (op.kind == Kind::EnableAuth && dice_.percent(50)) op.kind = Kind::Grant;
    const bool right = op.kind == Kind::AddUser || dice_.percent(80);
    op.value = right ? kPassword : "other";
    if (op.kind == Kind::Grant) op.value = dice_.percent(90) ? "root" : "writer";
    if (op.kind == Kind::Grant && op.key == "bob") op.value = "writer";  // bob never becomes root.
    return op;
  }
  Op change(const Side& side, Op op) {
    constexpr Kind kKinds[] = {Kind::Add, Kind::Promote, Kind::Remove, Kind::MoveLeader};
    op.kind = kKinds[dice_.below(4)];
    op.other = anyone(side);
    if (op.kind == Kind::Add) {
      if (dice_.percent(50)) op.other = side.places.size();
      // An ID that was removed in this second would return.
      if (op.other < side.places.size() && !side.places[op.other].member) op.other = Op::kNobody;
    }
    if (op.kind == Kind::Remove && op.other < side.places.size()) {
      const auto& place = side.places[op.other];
      std::size_t members = 0;
      for (const auto& one : side.places) members += one.member;
      if (members < 4 && !place.learner && dice_.percent(70)) op.other = Op::kNobody;
    }
    if (op.kind == Kind::MoveLeader && op.other < side.places.size() && !side.places[op.other].runs)
      op.other = Op::kNobody;
    return op;
  }
  /// Kills and starts processes.
  Op disturb(const Side& side, Op op) {
    op.who = 0;
    std::vector<std::size_t> dead, silent;
    for (std::size_t i = 0; i < side.places.size(); ++i) {
      const auto& place = side.places[i];
      if (place.runs || !place.member) continue;
      (place.started ? dead : silent).push_back(i);
    }
    // Whether a joiner's database is full depends on how quickly it takes the others' data.
    if (!silent.empty() && !side.filled()) dead.insert(dead.end(), silent.begin(), silent.end());
    if (!dead.empty() && dice_.percent(80)) {
      op.kind = Kind::Start;
      op.node = dead[dice_.below(dead.size())];
      return op;
    }
    op.node = someone(side);
    if (side.full || !side.places[op.node].member || !keeps_quorum(side, op.node)) {
      op.kind = Kind::List;
      return op;
    }
    op.kind = Kind::Kill;
    return op;
  }

  sim::Dice dice_;
  bool small_ = false;
};

// --- both sides

struct Step {
  Op op;
  std::string answer;
};

struct Told {
  std::size_t voters = 1;
  bool small = false;
  std::vector<Step> steps;
};

Told tell(std::uint64_t seed, std::uint64_t steps) {
  Told told;
  Teller teller(seed);
  told.voters = teller.voters();
  told.small = teller.small();
  Side fake(make_simulated_etcds(tested.version_text, seed), false);
  fake.etcds().run(
      [&] {
        fake.begin(told.voters, told.small);
        for (std::uint64_t i = 0; i < steps; ++i) {
          const Op op = teller.next(fake);
          told.steps.push_back({op, fake.perform(op, nullptr)});
        }
      },
      24h);
  return told;
}

/// Counts equal answers; false: the next one differed.
bool compare(const Told& told, std::uint64_t& same) {
  Side real(make_real_etcds(tested.programs), true);
  bool good = true;
  real.etcds().run(
      [&] {
        real.begin(told.voters, told.small);
        for (std::size_t i = 0; i < told.steps.size() && good; ++i) {
          const Step& step = told.steps[i];
          const std::string answer = real.perform(step.op, &step.answer);
          good = answer == step.answer;
          same += good;
          if (good) continue;
          for (std::size_t before = i < 25 ? 0 : i - 25; before < i; ++before)
            std::printf("  %s: %s\n", shown(told.steps[before].op).c_str(),
                        told.steps[before].answer.c_str());
          std::printf("a difference: %s\nreal      %s\nsimulated %s\n", shown(step.op).c_str(),
                      answer.c_str(), step.answer.c_str());
        }
      },
      1h);
  return good;
}

int run(std::uint64_t seed, std::uint64_t operations) {
  std::uint64_t same = 0;
  for (; same < operations; ++seed) {
    const Told told = tell(seed, std::min(kStepsMax, operations - same));
    const std::uint64_t before = same;
    const auto equal = [&] {
      same = before;
      return compare(told, same);
    };
    if (equal() || equal()) {  // A difference that a busy machine makes does not come again.
      if (same / kTellsEach != before / kTellsEach)
        std::printf("etcd %s: %llu operations so far\n", tested.version_text.c_str(),
                    static_cast<unsigned long long>(same));
      std::fflush(stdout);
      continue;
    }
    std::printf("etcd %s, --seed=%llu, %zu voters%s, after %llu operations\n",
                tested.version_text.c_str(), static_cast<unsigned long long>(seed), told.voters,
                told.small ? ", small quota" : "", static_cast<unsigned long long>(same));
    return 1;
  }
  std::printf("etcd %s: %llu operations, no difference\n", tested.version_text.c_str(),
              static_cast<unsigned long long>(same));
  return 0;
}

}  // namespace

std::string shown(const Op& op) {
  constexpr const char* kWords[] = {
      "put",    "get",         "erase",       "compact",     "defragment", "hash",  "snapshot",
      "status", "list",        "alarms",      "raise",       "disarm all", "fill",  "recover",
      "add",    "promote",     "remove",      "move leader", "kill",       "start", "add user",
      "grant",  "enable auth", "auth status", "authenticate"};
  std::string text = std::string(kWords[int(op.kind)]) + " at m" + std::to_string(op.node);
  if (op.other == Op::kNobody) text += " of nobody";
  else if (op.of_membership() || op.kind == Kind::MoveLeader || op.kind == Kind::Raise)
    text += " of m" + std::to_string(op.other);
  if (op.who != 0) text += std::string(" as ") + (op.who == 3 ? "rubbish" : kNames[op.who]);
  for (const std::string& word : {op.key, op.end, op.value})
    if (!word.empty()) text += " " + word;
  if (op.revision != 0) text += " revision " + std::to_string(op.revision);
  return text + (op.flag ? " serializable" : "");
}

}  // namespace etcdop::contract

int main(int argc, char** argv) {
  using namespace etcdop;
  std::uint64_t seed = 1, operations = 1000;
  contract::Tested& tested = contract::tested;
  const auto number = [](const std::string& text, std::uint64_t& out) {
    return std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc();
  };
  bool good = true;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("--programs=")) tested.programs = word.substr(11);
    else if (word.starts_with("--version=")) tested.version_text = word.substr(10);
    else if (word.starts_with("--seed=")) good = good && number(word.substr(7), seed);
    else if (word.starts_with("--operations=")) good = good && number(word.substr(13), operations);
    else good = false;
  }
  const auto version = etcd::parse_version(tested.version_text);
  if (!good || !version || tested.programs.empty()) {
    std::fprintf(stderr,
                 "usage: etcd_fuzz --programs=DIR --version=X.Y.Z [--seed=N] [--operations=N]\n");
    return 2;
  }
  tested.facts = etcd::facts_of(*version);
  return contract::run(seed, operations);
}
