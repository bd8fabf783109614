// Features of etcd by version, in one table. Code asks this table and never compares versions
// itself.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace etcdop::etcd {

/// "3.6.16". A version with a suffix (-rc.0, +git) does not parse: we promise nothing for it.
struct Version {
  int major = 0, minor = 0, patch = 0;
  auto operator<=>(const Version&) const = default;
};

/// Three decimal numbers of at most four digits without leading zeros, separated by dots; nullopt
/// for anything else.
std::optional<Version> parse_version(std::string_view);
std::string to_string(Version);

/// Whether etcd of version `with` starts on data that `data` has written: it has the same minor, or
/// the next one.
bool goes_on(Version data, Version with);

/// Clients that etcd answers when authentication is on.
enum class Answers { Anybody, AnyUser, Root };

/// The connections to voters that MemberAdd requires before it proposes anything, as seen by the
/// member asked, over the last 5 s.
enum class AddWants {
  AllVoters,  ///< Connected to each voter.
  Quorum,     ///< Connected to a quorum of the voters including the new one.
};

/// All differences between the supported versions.
struct VersionFacts {
  /// Clusters of this version can be created and run; otherwise the condition is
  /// UnsupportedVersion. The other fields are then those of the nearest supported version, for
  /// clusters that already run.
  bool supported = false;
  /// Accepts --max-learners. Without this flag the limit is one, which is also the flag's default.
  bool max_learners_flag = false;
  /// Serves /livez and /readyz (on the metrics URL, too); otherwise only /health exists.
  bool livez_and_readyz = false;
  /// /readyz fails on a learner, so that a Service sends no clients to it.
  bool readyz_fails_on_learners = false;
  AddWants member_add_wants = AddWants::Quorum;
  /// With authentication on, a follower that is asked to promote loses the credentials when it
  /// forwards the request to the leader: ask the leader itself.
  bool promote_on_leader_only_with_auth = false;
  Answers member_list_answers = Answers::Anybody, status_answers = Answers::Anybody,
          auth_status_answers = Answers::Root;
  /// Accepts --experimental-… flags, not only --feature-gates and the plain flags that replace
  /// them.
  bool experimental_flags = false;
  /// Accepts --feature-gates.
  bool feature_gates = false;
  /// Its etcdutl supports --bump-revision and --mark-compacted.
  bool etcdutl_raises_revisions = false;
  /// From this patch on, its members may run beside members of the next minor, and be upgraded to
  /// it: data written by an earlier 3.5 may bring back a removed member or a learner in 3.6 (etcd
  /// issues 19557, 20793).
  int next_minor_from_patch = 0;
  /// The first patch for new clusters and for changes of the version; clusters that run an earlier
  /// one are kept.
  int recommended_from_patch = 0;
  /// Committed transactions between snapshots, unless --snapshot-count says otherwise.
  std::int64_t snapshot_count_default = 0;
  bool operator==(const VersionFacts&) const = default;
};

VersionFacts facts_of(Version);

}  // namespace etcdop::etcd
