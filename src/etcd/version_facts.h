// What etcd can do, by version: one table. Code asks it and never compares versions itself.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace etcdop::etcd {

/// "3.6.16". A version with a suffix (-rc.0, +git) is not one: nothing is promised about it.
struct Version {
  int major = 0, minor = 0, patch = 0;
  auto operator<=>(const Version&) const = default;
};

/// Three decimal numbers of at most four digits without leading zeros, separated by dots; nullopt
/// for anything else.
std::optional<Version> parse_version(std::string_view);
std::string to_string(Version);

/// Whom etcd answers once authentication is on.
enum class Answers { Anybody, AnyUser, Root };

/// What MemberAdd wants of the voters before it proposes anything, seen from the member asked and
/// for the last 5 s.
enum class AddWants {
  AllVoters,  ///< Connected to each of them.
  Quorum,     ///< Connected to a quorum of what the voters would be with the new one.
};

/// All that differs between the versions this product meets.
struct VersionFacts {
  /// Clusters of this version are made and run; else the condition UnsupportedVersion. The other
  /// fields then are those of the nearest supported version, for what runs already.
  bool supported = false;
  /// Takes --max-learners. Without it the limit is one, and so it is by default with it.
  bool max_learners_flag = false;
  /// Serves /livez and /readyz (on the metrics URL, too); else there is only /health.
  bool livez_and_readyz = false;
  /// /readyz fails on a learner, so that a Service does not send clients there.
  bool readyz_fails_on_learners = false;
  AddWants member_add_wants = AddWants::Quorum;
  /// With authentication on, a follower asked to promote loses the credentials on the way to the
  /// leader: ask the leader itself.
  bool promote_on_leader_only_with_auth = false;
  Answers member_list_answers = Answers::Anybody, status_answers = Answers::Anybody,
          auth_status_answers = Answers::Root;
  /// Takes --experimental-… flags, and not only the --feature-gates and plain flags that replace
  /// them.
  bool experimental_flags = false;
  /// Takes --feature-gates.
  bool feature_gates = false;
  /// Its etcdutl knows --bump-revision and --mark-compacted.
  bool etcdutl_raises_revisions = false;
  /// From this patch on its members may be beside those of the next minor, and become such: what
  /// 3.5 wrote before may bring a removed member or a learner back in 3.6 (etcd issues 19557,
  /// 20793).
  int next_minor_from_patch = 0;
  /// Committed transactions between snapshots, unless --snapshot-count says otherwise.
  std::int64_t snapshot_count_default = 0;
  bool operator==(const VersionFacts&) const = default;
};

VersionFacts facts_of(Version);

}  // namespace etcdop::etcd
