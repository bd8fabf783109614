#include "sim/etcd/data_dir.h"

#include <algorithm>

namespace etcdop::sim {
namespace {

Refusal refused(const char* text, int code = kFailedPrecondition) {
  return {code, std::string("etcdserver: ") + text};
}

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

Refusal Applied::take(const Entry& entry, std::size_t max_learners) {
  ++index;
  const Change& change = entry.change;
  switch (change.kind) {
    case Change::Kind::None: return {};
    case Change::Kind::Add:
    case Change::Kind::Promote:
    case Change::Kind::Remove: return change_members(*this, change, max_learners);
    case Change::Kind::Publish:
      if (const auto found = members.find(change.member.id); found != members.end()) {
        found->second.name = change.member.name;
        found->second.client_urls = change.member.client_urls;
      }
      return {};
    case Change::Kind::Put: keys[change.key] = change.value; return {};
    case Change::Kind::Version: minor = change.minor; return {};
  }
  check(false, "a known kind of change");
  return {};
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

void corrupt(DataDir& dir) { dir.corrupt = true; }

std::optional<std::pair<etcd::ClusterId, etcd::MemberId>> EtcdNet::owner_of(const DataDir& dir) {
  if (!dir.owner) return std::nullopt;
  return std::pair{dir.owner->cluster, dir.owner->member};
}

}  // namespace etcdop::sim
