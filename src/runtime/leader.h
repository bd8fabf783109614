// Leader election on a Lease, compatible with client-go's, in any mix of the two; the standby
// watches instead of polling.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fiber.h"
#include "base/log.h"
#include "base/random.h"
#include "base/wall_time.h"
#include "kube/core_types.h"
#include "kube/granted.h"

namespace etcdop::runtime {

/// The Go operator's Lease, so that it and this operator never run at the same time.
constexpr const char* kLeaderLease = "aa20b3a9.etcd-operator.cozystack.io";

/// In the namespace of the Lease. A call without a row here does not compile; the chart's rules are
/// generated from it.
inline constexpr kube::Permission kLeaderPermissions[] = {
    {kube::Lease::resource, "", {kube::Verb::Create}},  // RBAC cannot restrict it to a name.
    {kube::Lease::resource,
     "",
     {kube::Verb::Get, kube::Verb::Watch, kube::Verb::Patch},
     kLeaderLease}};

/// The same table, as a list.
std::vector<kube::Permission> leader_permissions();

/// "HOST_UUID": unique for each process.
std::string leader_identity(const std::string& host, Random&);

/// Normal flow: acquire(); then lead() on its own fiber while the controllers run. When it returns,
/// the process must stop writing at once (exit). For an orderly end: stop the controllers, cancel
/// the fiber of lead(), then release().
///
/// Guarantees: other candidates take over only a Lease that is at least `lease` old by their
/// clocks, and leading() ends `renew` after the last renewal was sent: if all clocks run equally
/// fast, two never lead at once. Clocks need not agree on the time: only changes of the Lease
/// count, from when they are seen. A deleted Lease counts as held until the last holder's time is
/// over; the holder creates it again.
///
/// Caveats: a process that starts while the Lease is deleted knows of no holder, and leads at once:
/// for up to `retry` (`renew`, if the holder is cut off) two lead. Kubernetes does not fence. A
/// request sent by a leader that then stalls may arrive late: writes carry their own preconditions.
class LeaderElection {
 public:
  struct Options {
    std::string ns;
    std::string identity;  ///< Not empty.
    std::string name = kLeaderLease;
    Duration lease = std::chrono::seconds(15);  ///< Whole seconds.
    Duration renew = std::chrono::seconds(10);  ///< From the last renewal until leadership ends.
    Duration retry = std::chrono::seconds(2);   ///< Between renewals, and after failures.
  };
  /// All of them must outlive this.
  LeaderElection(kube::Granted<kLeaderPermissions>, Executor&, const WallClock&, Random&, Log&,
                 Options);

  /// Suspends until we lead. Cancelled or TimedOut: from the fiber. Other failures are retried, and
  /// each change of the failure is logged once.
  Result<Done> acquire();
  /// Renews while we lead; suspends. Never succeeds. Conflict: another process holds the Lease;
  /// TimedOut: no renewal succeeded in time; Cancelled: the fiber was, and we may still lead.
  Error lead();
  /// Frees the Lease at once, if we lead. Ignores cancellation; takes at most 5 s.
  void release();
  /// False as soon as another process may lead.
  bool leading() const;

 private:
  void observe(std::optional<kube::Lease>);
  Instant free_at() const;
  Result<Done> stand_by();
  void follow();
  Result<Done> follow_once();
  Result<Done> write(kube::LeaseSpec);
  Result<Done> take();
  Result<Done> renew();
  Result<Done> reread();
  kube::LeaseSpec ours() const;
  std::string micro_now() const;
  bool pause(Duration);
  void complain(const Error&);

  kube::Granted<kLeaderPermissions> api_;
  Executor& executor_;
  const WallClock& wall_;
  Random& random_;
  Log& log_;
  Options options_;

  bool heard_ = false;      // The Lease, or its absence, has been seen.
  std::string version_;     // Its resourceVersion; empty: the Lease does not exist.
  kube::LeaseSpec record_;  // As last seen; kept when the Lease is deleted.
  Instant changed_at_{};    // When the record was first seen in this state.
  Instant renewed_at_{};    // The time just before our last successful write was sent.
  bool holding_ = false;
  Wait* waiting_ = nullptr;  // The standby, waiting for the next change.
  std::string complaint_;
};

}  // namespace etcdop::runtime
