#include "operator/cluster/mode.h"

#include <algorithm>

#include "operator/cluster/alarms.h"
#include "operator/cluster/issuing.h"
#include "operator/cluster/membership.h"
#include "operator/cluster/remains.h"
#include "operator/cluster/security.h"
#include "operator/cluster/version_change.h"

namespace etcdop::cluster {
namespace {

bool all_dormant(const View& view) {
  const auto dormant = [](const Seat& s) {
    return s.object && s.object->dormant && !s.object->terminating;
  };
  const auto& seats = view.seen.seats;
  return view.census.pause && !seats.empty() && std::ranges::all_of(seats, dormant);
}

// First of all, members get their owner and label back: no rule is about a member of nobody. Then
// certificates: a member whose name is missing in one cannot join. Then the password that root
// logged in with: until it is recorded, a user who edits the Secret locks the operator out.
constexpr Rule kUnclearRules[] = {adopt_astray, issue, record, keep_version, wake};
constexpr Rule kFoundingRules[] = {adopt_astray, issue, record, wake, found};
// Only what a user asked for.
constexpr Rule kAskedRules[] = {adopt_astray, issue,   record,        keep_version,
                                wake,         release, remove_leaving};
// No member is added or promoted: its data would come from a leader whose data may be damaged. The
// convicted member goes first. Once it is removed, it is replaced, although the alarm stays until a
// user disarms it.
constexpr Rule kConvictedRules[] = {
    adopt_astray,          issue,          record, wake, release, drop_joiner,
    remove_foreign_member, remove_leaving, replace};
// Adding goes before promoting: etcd refuses to add for 5 s after a promotion.
constexpr Rule kNormalRules[] = {
    adopt_astray,   issue,   record,      keep_version,
    wake,           release, drop_joiner, remove_foreign_member,
    remove_leaving, replace, create,      add,
    publish,        promote, shrink,      pause,
    secure,         renew,   own,
};

}  // namespace

Mode mode_of(const View& view) {
  const Observation& seen = view.seen;
  if (all_dormant(view)) return Mode::Paused;
  if (view.status.cluster_id.empty()) return Mode::Founding;
  if (seen.split || !seen.linearizable || seen.alarms_hidden) return Mode::Unclear;
  const Corruption corruption = suspicion_of(seen).what;
  if (corruption == Corruption::Open) return Mode::Corrupt;
  if (!why_none_can_join(seen).empty() || !tls_trouble(seen).empty()) return Mode::Outrun;
  return corruption == Corruption::Convicted ? Mode::Convicted : Mode::Normal;
}

std::span<const Rule> rules_of(Mode mode) {
  switch (mode) {
    case Mode::Paused: return {};
    case Mode::Founding: return kFoundingRules;
    case Mode::Unclear: return kUnclearRules;
    case Mode::Corrupt:
    case Mode::Outrun: return kAskedRules;
    case Mode::Convicted: return kConvictedRules;
    case Mode::Normal: return kNormalRules;
  }
  return {};
}

std::string why_it_waits(Mode mode, const View& view) {
  const Observation& seen = view.seen;
  switch (mode) {
    case Mode::Paused:
    case Mode::Founding: return "";
    case Mode::Unclear:
      if (seen.split) return "members that agree on one cluster";
      return seen.linearizable ? "etcd to list its alarms" : "etcd to answer with quorum";
    case Mode::Corrupt: return "a user to resolve the CORRUPT alarm";
    case Mode::Outrun:
      if (std::string outrun = why_none_can_join(seen); !outrun.empty())
        return "another version than " + outrun;
      return "usable certificates: " + tls_trouble(seen);
    case Mode::Convicted:
    case Mode::Normal: return is_complete(seen, view.census) ? "" : "members to become ready";
  }
  return "";
}

}  // namespace etcdop::cluster
