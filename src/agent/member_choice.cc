#include "agent/member_choice.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace etcdop::agent {
namespace {

using etcd::Status;

bool leads(const Status& status) { return status.leader == status.header.member; }

/// Each member's status lists the alarms of all members: "memberID:123 alarm:CORRUPT ".
bool is_of_another(const std::string& complaint, etcd::MemberId member) {
  constexpr std::string_view kWhose = "memberID:";
  if (!complaint.starts_with(kWhose) || complaint.find("alarm:") == std::string::npos) return false;
  std::uint64_t id = 0;
  const char* const end = complaint.data() + complaint.size();
  const auto [rest, error] = std::from_chars(complaint.data() + kWhose.size(), end, id);
  return error == std::errc() && rest != end && *rest == ' ' && id != member.value;
}

/// The leader's periodic check blames each member that differs from the leader, but the fault may
/// be the leader's own.
bool accuses(const std::string& complaint) {
  return complaint.find("alarm:CORRUPT") != std::string::npos;
}

/// Full members give good snapshots, and a full cluster needs a snapshot most.
bool is_harmless(const std::string& complaint, etcd::MemberId member) {
  return complaint.find("alarm:NOSPACE") != std::string::npos || is_of_another(complaint, member);
}

/// Why the member cannot give its snapshot; empty: it can.
std::string unfit(const Status& status, std::uint64_t applied_max) {
  if (status.learner) return "is a learner";
  if (status.leader.value == 0) return "knows no leader";
  for (const std::string& complaint : status.errors)
    if (!is_harmless(complaint, status.header.member)) return complaint;
  for (const std::string& complaint : status.errors)
    if (leads(status) && accuses(complaint)) return "leads, and may be wrong itself: " + complaint;
  if (status.raft_applied_index + kBehindMax < applied_max)
    return "is " + std::to_string(applied_max - status.raft_applied_index) + " entries behind";
  return {};
}

/// Followers first, then the member that has applied most.
bool is_better(const Status& a, const Status& b) {
  if (leads(a) != leads(b)) return leads(b);
  return a.raft_applied_index > b.raft_applied_index;
}

void tell(std::string& words, const std::string& host, const std::string& why) {
  words += (words.empty() ? "" : "; ") + host + ": " + why;
}

Error nobody(const std::vector<Seen>& seen) {
  Error error{Code::Denied, ""};
  for (const Seen& one : seen) {
    if (!one.status.failed_with(Code::Denied)) error.code = Code::Unavailable;
    tell(error.message, one.host, one.status.error().message);
  }
  return error;
}

}  // namespace

Result<std::size_t> choose(const std::vector<Seen>& seen) {
  std::uint64_t applied_max = 0;
  std::optional<etcd::ClusterId> cluster;
  for (const Seen& one : seen) {
    Result<Status> status = one.status;
    if (!status) continue;
    if (cluster && *cluster != status->header.cluster)
      return Error{Code::Conflict, "the endpoints are of several clusters: " + to_hex(*cluster) +
                                       " and " + to_hex(status->header.cluster)};
    cluster = status->header.cluster;
    applied_max = std::max(applied_max, status->raft_applied_index);
  }
  if (!cluster) return nobody(seen);
  std::string words;
  std::optional<std::size_t> best;
  std::optional<Status> best_status;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    Result<Status> status = seen[i].status;
    const std::string why = status ? unfit(*status, applied_max) : seen[i].status.error().message;
    if (!why.empty()) tell(words, seen[i].host, why);
    else if (!best || is_better(*status, *best_status)) {
      best = i;
      best_status = *status;
    }
  }
  if (!best) return Error{Code::Conflict, "no member is fit: " + words};
  return *best;
}

}  // namespace etcdop::agent
