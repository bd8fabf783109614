#include "operator/cluster/version_change.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "etcd/version_facts.h"
#include "operator/cluster/census.h"
#include "operator/cluster/intents.h"
#include "operator/cluster/remains.h"

namespace etcdop::cluster {
namespace {

using etcd::Version;

/// The etcd version of one member.
struct Runs {
  std::string name;
  Version version;
};

/// The version that it reports or reported last; if it never answered, that of its Pod's image.
std::optional<Version> version_of(const Seat& seat) {
  if (seat.answer) return etcd::parse_version(seat.answer->version);
  if (!seat.object) return std::nullopt;
  const Seat::Object& o = *seat.object;
  return etcd::parse_version(o.version.empty() ? o.spec_version : o.version);
}

std::string minor_of(int minor) { return "3." + std::to_string(minor); }

std::string runs(const Runs& member) { return member.name + " runs " + to_string(member.version); }

/// Why not all members are known to be healthy; empty: they are, or all are dormant.
std::string why_not_healthy(const Observation& seen) {
  const auto dormant = [](const Seat& s) { return s.object && s.object->dormant; };
  if (std::ranges::all_of(seen.seats, dormant)) return "";
  if (!seen.linearizable) return "etcd does not answer with quorum";
  for (const Seat& seat : seen.seats)
    if (seat.listed && seat.listed->started && !healthy(seat)) return seat.name + " is not healthy";
  return "";
}

/// Why a member cannot run beside a younger minor: its patch is too old; empty: it can.
std::string why_not_beside(const Runs& member, int young) {
  const etcd::VersionFacts facts = etcd::facts_of(member.version);
  const int first = facts.supported ? facts.next_minor_from_patch : 0;
  if (member.version.minor >= young || member.version.patch >= first) return "";
  const std::string minor = minor_of(member.version.minor);
  return runs(member) + ", and " + minor + " runs beside " + minor_of(young) + " only from " +
         minor + "." + std::to_string(first) + " on";
}

/// Why no member of the target version can join beside the oldest one; empty: it can.
std::string why_not_joins(const Runs& oldest, Version target) {
  if (target.minor > oldest.version.minor + 1)
    return runs(oldest) + ": go to " + minor_of(oldest.version.minor + 1) + " first";
  if (target.minor < oldest.version.minor)
    return runs(oldest) + ", and etcd takes no member of an older minor";
  return "";
}

/// Why known members forbid the target; empty: they allow it.
std::string why_not(const Observation& seen, const std::vector<Runs>& members, Version target) {
  const auto version = [](const Runs& m) { return m.version; };
  const Runs& oldest = *std::ranges::min_element(members, {}, version);
  const Runs& newest = *std::ranges::max_element(members, {}, version);
  if (std::string why = why_not_joins(oldest, target); !why.empty()) return why;
  const int young = std::max(target.minor, newest.version.minor);
  for (const Runs& member : members)
    if (std::string why = why_not_beside(member, young); !why.empty()) return why;
  if (target.minor < young && target.patch < etcd::facts_of(target).next_minor_from_patch)
    return runs(newest) + ", and this patch is too old to run beside it";
  if (target.minor == oldest.version.minor) return "";
  const std::string unhealthy = why_not_healthy(seen);
  return unhealthy.empty()
             ? ""
             : unhealthy + ", and a change to the next minor needs all members healthy";
}

/// Why the patch is too old for a new cluster or a change; empty: it is not, or a member runs it
/// (an edit may be taken back).
std::string why_not_recommended(const std::vector<Runs>& members, Version target) {
  const int first = etcd::facts_of(target).recommended_from_patch;
  const bool runs_it = std::ranges::find(members, target, &Runs::version) != members.end();
  if (target.patch >= first || runs_it) return "";
  return "use " + minor_of(target.minor) + "." + std::to_string(first) +
         " or a later patch: this one lacks a fix of upgrades (etcd PR 20387)";
}

/// Whether no member is visible although members exist or were recorded. They then count as members
/// of the observed version.
bool has_unseen(const Observation& seen) {
  const auto& status = seen.cluster.status;
  return seen.seats.empty() && status.observed &&
         !(status.cluster_id.empty() && status.pending_members.empty());
}

/// The voter that reports the oldest version; nullopt: none does.
std::optional<Runs> oldest_voter(const Observation& seen) {
  std::optional<Runs> out;
  for (const Seat& seat : seen.seats) {
    if (!seat.answer || !seat.listed || seat.listed->learner) continue;
    const auto version = etcd::parse_version(seat.answer->version);
    if (version && (!out || *version < out->version)) out = Runs{seat.name, *version};
  }
  return out;
}

}  // namespace

bool is_newer_minor(const Seat& seat, const std::string& version) {
  const auto runs = seat.answer ? etcd::parse_version(seat.answer->version) : std::nullopt;
  const auto wanted = etcd::parse_version(version);
  return runs && wanted && runs->minor > wanted->minor;
}

namespace {

/// Beside members that the cluster did not make: a joiner that has not started has no data, so no
/// version has written any. A member without an EtcdMember is told as such.
bool has_no_data(const Seat& seat, const Observation& seen) {
  if (!seat.object) return has_found_members(seen);
  const bool started = seat.listed && seat.listed->started;
  return seat.object->orphan && seat.object->member_id.empty() && !started && !seat.object->seed;
}

/// The members to which a new version is compared. An idle founder gets it.
std::vector<const Seat*> compared(const Observation& seen) {
  std::vector<const Seat*> out;
  const Seat* const founder = idle_founder(seen);
  for (const Seat& seat : seen.seats)
    if (&seat != founder && !has_no_data(seat, seen)) out.push_back(&seat);
  return out;
}

}  // namespace

bool is_target_of_members(const Observation& seen) {
  const auto& observed = seen.cluster.status.observed;
  const auto target = observed ? etcd::parse_version(observed->version) : std::nullopt;
  const auto runs_it = [&](const Seat* s) { return version_of(*s).value_or(*target) == *target; };
  return !target || !has_found_members(seen) || std::ranges::all_of(compared(seen), runs_it);
}

std::string why_none_can_join(const Observation& seen) {
  const auto& observed = seen.cluster.status.observed;
  const auto target = observed ? etcd::parse_version(observed->version) : std::nullopt;
  const auto oldest = oldest_voter(seen);
  if (!target || !oldest || !seen.linearizable) return "";
  // A cluster that has run both goes on being repaired.
  const bool runs_both = std::ranges::any_of(seen.seats, [&](const Seat& seat) {
    const auto version = version_of(seat);
    return seat.listed && seat.listed->started && version && version->minor >= target->minor;
  });
  std::string why = why_not_joins(*oldest, *target);
  if (why.empty() && !runs_both) why = why_not_beside(*oldest, target->minor);
  return why.empty() ? "" : "etcd " + observed->version + ": " + why;
}

std::string outdated_version(const Observation& seen) {
  const std::string& accepted = seen.cluster.spec.version;
  const auto version = etcd::parse_version(accepted);
  const std::string why = version ? why_not_recommended({}, *version) : "";
  return why.empty() ? "" : "spec.version " + accepted + ": " + why;
}

std::string why_not_version(const Observation& seen) {
  const std::string& wanted = seen.cluster.spec.version;
  const auto& observed = seen.cluster.status.observed;
  if (observed && observed->version == wanted && is_target_of_members(seen)) {
    const std::string why = why_none_can_join(seen);
    return why.empty() ? "" : "spec.version: " + why;
  }
  const auto target = etcd::parse_version(wanted);
  if (!target || !etcd::facts_of(*target).supported)
    return "spec.version " + wanted + " is not an etcd that this release runs (3.5, 3.6, 3.7)";
  std::vector<Runs> members;
  if (const auto version = has_unseen(seen) ? etcd::parse_version(observed->version) : std::nullopt)
    members.push_back({"the cluster", *version});
  for (const Seat* seat : compared(seen)) {
    const auto version = version_of(*seat);
    if (!version)
      return "spec.version " + wanted + ": the etcd version of " + seat->name + " is unknown";
    members.push_back({seat->name, *version});
  }
  if (std::string why = why_not_recommended(members, *target); !why.empty())
    return "spec.version " + wanted + ": " + why;
  if (members.empty()) return "";
  const std::string why = why_not(seen, members, *target);
  return why.empty() ? "" : "spec.version " + wanted + ": " + why;
}

}  // namespace etcdop::cluster
