#include "sim/etcd/data_dir.h"

#include <algorithm>
#include <limits>

#include "sim/etcd/flags.h"
#include "sim/etcd/ids.h"

namespace etcdop::sim {
namespace {

constexpr std::int64_t kPutOverhead = 256;  // kvOverhead

Refusal add(Applied& applied, const etcd::Member& added, std::size_t max_learners) {
  if (applied.members.contains(added.id)) return refused("member ID already exist");
  std::size_t learners = 1;
  for (const auto& [id, member] : applied.members) {
    if (member.learner) ++learners;
    for (const std::string& url : member.peer_urls)
      if (std::ranges::find(added.peer_urls, url) != added.peer_urls.end())
        return refused("Peer URLs already exists");
  }
  if (added.learner && learners > max_learners)
    return refused("too many learner members in cluster");
  applied.members.emplace(added.id, added);
  if (added.learner) applied.most_learners = std::max(applied.most_learners, learners);
  if (added.learner && learners > 1) applied.several_learners_at = applied.index;
  return {};
}

Refusal change_members(Applied& applied, const Change& change, std::size_t max_learners) {
  const etcd::MemberId id = change.member.id;
  if (applied.removed.contains(id)) return refused("member not found", kNotFound);
  if (change.kind == Change::Kind::Add) return add(applied, change.member, max_learners);
  const auto found = applied.members.find(id);
  if (found == applied.members.end()) return refused("member not found", kNotFound);
  if (change.kind == Change::Kind::Remove) {
    applied.members.erase(found);
    applied.removed.insert(id);
    return {};
  }
  if (!found->second.learner) return refused("can only promote a learner member");
  found->second.learner = false;
  return {};
}

}  // namespace

Taken Applied::take(const Entry& entry, const Flags& flags, const etcd::VersionFacts& facts,
                    bool by_snapshot) {
  ++index;
  const Change& change = entry.change;
  switch (change.kind) {
    case Change::Kind::None: return {};
    case Change::Kind::Add:
    case Change::Kind::Promote:
    case Change::Kind::Remove:
      return {.refusal = change_members(
                  *this, change,
                  by_snapshot ? std::numeric_limits<std::size_t>::max() : flags.max_learners),
              .alarms = {},
              .token = {},
              .expired = {}};
    case Change::Kind::Publish:
      if (const auto found = members.find(change.member.id); found != members.end()) {
        found->second.name = change.member.name;
        found->second.client_urls = change.member.client_urls;
      }
      return {};
    case Change::Kind::Version: minor = change.minor; return {};
    case Change::Kind::Put:
    case Change::Kind::Delete:
    case Change::Kind::Compact: return write(change, flags);
    case Change::Kind::Raise:
    case Change::Kind::Disarm:
    case Change::Kind::Alarms: return change_alarms(change);
    case Change::Kind::AddUser:
    case Change::Kind::ChangePassword:
    case Change::Kind::Grant:
    case Change::Kind::EnableAuth:
    case Change::Kind::AskAuth:
    case Change::Kind::Authenticate: return change_users(change, facts);
  }
  check(false, "a known kind of change");
  return {};
}

Taken Applied::write(const Change& change, const Flags& flags) {
  Taken taken;
  const bool capped = change.kind == Change::Kind::Put && any(alarms, AlarmKind::NoSpace);
  if (any(alarms, AlarmKind::Corrupt)) {
    taken.refusal = refused("corrupt cluster", kDataLoss);
  } else if (change.kind == Change::Kind::Compact) {
    taken.refusal = store.compact(change.revision);
  } else if (const auto denied = users.may_touch_keys(change.caller); denied.code && !capped) {
    taken.refusal = denied;
  } else if (change.kind == Change::Kind::Delete) {
    taken.count = store.erase(change.key, change.end);
  } else {
    if (capped || !has_room(change.key, change.value, flags))
      taken.refusal = refused("mvcc: database space exceeded", kResourceExhausted);
    if (!capped) store.put(change.key, change.value);
  }
  return taken;
}

bool Applied::has_room(const std::string& key, const std::string& value, const Flags& flags) const {
  const auto cost = kPutOverhead + static_cast<std::int64_t>(key.size() + value.size());
  return flags.quota < 0 || store.file_bytes() + cost < flags.quota;
}

Taken Applied::change_alarms(const Change& change) {
  Taken taken;
  if (change.kind == Change::Kind::Raise) {
    alarms.insert(*change.alarm);
    taken.alarms = {*change.alarm};
  } else if (change.kind == Change::Kind::Disarm) {
    if (alarms.erase(*change.alarm) > 0) taken.alarms = {*change.alarm};
  } else {
    for (const Alarm& alarm : alarms)
      if (!change.alarm || change.alarm->kind == alarm.kind) taken.alarms.insert(alarm);
  }
  return taken;
}

Taken Applied::change_users(const Change& change, const etcd::VersionFacts& facts) {
  Taken taken;
  const bool anybody =
      change.kind == Change::Kind::Authenticate ||
      (change.kind == Change::Kind::AskAuth && facts.auth_status_answers == etcd::Answers::Anybody);
  if (!anybody) taken.refusal = users.may_administer(change.caller);
  if (taken.refusal.code != 0) return taken;
  if (change.kind == Change::Kind::AddUser) {
    taken.refusal = users.add(change.user, change.password);
  } else if (change.kind == Change::Kind::ChangePassword) {
    taken.refusal = users.change_password(change.user, change.password);
    taken.expired = change.user;
  } else if (change.kind == Change::Kind::Grant) {
    taken.refusal = users.grant(change.user, change.word);
  } else if (change.kind == Change::Kind::EnableAuth) {
    taken.refusal = users.enable();
  } else if (change.kind == Change::Kind::Authenticate) {
    if (!users.enabled()) taken.refusal = refused("authentication is not enabled");
    else taken.token = change.word + "." + std::to_string(index - 1);  // Index of the entry before.
  }
  return taken;
}

void Applied::begin_with(const Image& image) {
  store = image.store;
  users = image.users;
  alarms = image.alarms;
  minor = image.minor;
}

std::vector<etcd::MemberId> Applied::voters() const {
  std::vector<etcd::MemberId> ids;
  for (const auto& [id, member] : members)
    if (!member.learner) ids.push_back(id);
  return ids;
}

bool Applied::votes(etcd::MemberId id) const {
  const auto found = members.find(id);
  return found != members.end() && !found->second.learner;
}

bool Applied::learns(etcd::MemberId id) const {
  const auto found = members.find(id);
  return found != members.end() && found->second.learner;
}

std::uint64_t DataDir::shared_with(const DataDir& other) const {
  std::uint64_t index = std::min(last(), other.last());
  while (index > 0 && entries[index - 1] != other.entries[index - 1]) --index;
  return index;
}

std::shared_ptr<DataDir> empty_data_dir() { return std::make_shared<DataDir>(); }

std::shared_ptr<DataDir> copy(const DataDir& dir) {
  auto made = std::make_shared<DataDir>(dir);
  made->copied = made->owner.has_value();
  made->in_use = false;
  return made;
}

void wipe(DataDir& dir) {
  check(!dir.in_use, "no process runs on a volume that is wiped");
  dir = DataDir{};
}

Result<std::shared_ptr<DataDir>> rebuilt(std::string_view snapshot, const RestoreFlags& wanted) {
  auto image = image_of(snapshot);
  if (!image) return Error{Code::Corrupt, "expected sha256 [...], got [...]"};
  auto flags =
      parse_flags({"etcd", "--name=" + wanted.name, "--initial-cluster=" + wanted.initial_cluster,
                   "--initial-cluster-token=" + wanted.token,
                   "--initial-advertise-peer-urls=" + wanted.peer_urls},
                  {});
  auto made = std::make_shared<Restored>(Restored{
      .image = std::move(*image), .founders = {}, .token = wanted.token, .name = wanted.name});
  std::optional<etcd::MemberId> self;
  std::set<etcd::MemberId> ids;
  for (const Flags::Listed& one : flags->initial_cluster) {
    const etcd::MemberId id = founding_id(one.peer_urls, wanted.token);
    if (one.name == wanted.name && one.peer_urls == flags->peer_urls) self = id;
    ids.insert(id);
    made->founders[id] = {.id = id,
                          .name = one.name,
                          .peer_urls = one.peer_urls,
                          .client_urls = {},
                          .learner = false};
  }
  if (!self)
    return Error{Code::Invalid, "couldn't find local name \"" + wanted.name +
                                    "\" in the initial cluster configuration"};
  if (wanted.bump_revision > 0) made->image.store.bump(wanted.bump_revision);
  auto dir = empty_data_dir();
  dir->owner = {.cluster = cluster_id(ids), .member = *self};
  dir->restored = std::move(made);
  return dir;
}

void move_into(DataDir& dir, const DataDir& from) {
  check(!dir.in_use && !dir.owner, "nothing is moved over a member's data");
  dir = from;
}

void corrupt(DataDir& dir) { dir.corrupt = true; }
void falsify(DataDir& dir, const std::string& key) { dir.applied.store.falsify(key); }

std::optional<std::pair<etcd::ClusterId, etcd::MemberId>> EtcdNet::owner_of(const DataDir& dir) {
  if (!dir.owner) return std::nullopt;
  return std::pair{dir.owner->cluster, dir.owner->member};
}

}  // namespace etcdop::sim
