// Leader election on a Lease, as client-go does it and between any mix of it and us; the standby
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

/// The reference's Lease: it and we never run side by side.
constexpr const char* kLeaderLease = "aa20b3a9.etcd-operator.cozystack.io";

/// In the namespace of the Lease. A call that has no row here does not compile; the chart's rules
/// are generated from it.
inline constexpr kube::Permission kLeaderPermissions[] = {
    {kube::Lease::resource,
     "",
     {kube::Verb::Get, kube::Verb::Watch, kube::Verb::Create, kube::Verb::Patch}}};

/// The same table, as a list.
std::vector<kube::Permission> leader_permissions();

/// "HOST_UUID": no two processes have the same.
std::string leader_identity(const std::string& host, Random&);

/// Expected flow: acquire(); then lead() on a fiber of its own while the controllers run. When it
/// returns, the process must stop writing at once (exit). To end in good order: stop the
/// controllers, cancel the fiber of lead(), then release().
///
/// Guarantees: what others may take over is at least `lease` old by their clocks, and leading()
/// ends `renew` after the last renewal was sent: with clocks that run equally fast there are never
/// two. Clocks need not agree on the time: only changes of the Lease count, from when they are
/// seen. A deleted Lease counts as held until the last holder's time is over: it makes the Lease
/// again.
///
/// Caveats: whoever starts while the Lease is deleted knows of no holder, and leads at once: for up
/// to `retry` (`renew`, if the holder is cut off) there are two. Kubernetes does not fence. A
/// request sent by a leader that then stalls may arrive late: writes carry preconditions of their
/// own.
class LeaderElection {
 public:
  struct Options {
    std::string ns;
    std::string identity;  ///< Not empty.
    std::string name = kLeaderLease;
    Duration lease = std::chrono::seconds(15);  ///< Whole seconds.
    Duration renew = std::chrono::seconds(10);  ///< Leadership ends so long after the last renewal.
    Duration retry = std::chrono::seconds(2);   ///< Between renewals, and after failures.
  };
  /// All of them outlive this.
  LeaderElection(kube::Granted<kLeaderPermissions>, Executor&, const WallClock&, Random&, Log&,
                 Options);

  /// Suspends until we lead. Cancelled or TimedOut: the fiber's; nothing else is an error, it is
  /// tried again, and logged once for each change of what is wrong.
  Result<Done> acquire();
  /// Renews for as long as we lead; suspends. Never success. Conflict: another holds the Lease;
  /// TimedOut: no renewal came through in time; Cancelled: the fiber's, and we may still lead.
  Error lead();
  /// Lets the next one in at once, if we lead. Not cut short by cancellation; takes at most 5 s.
  void release();
  /// False from the moment on at which somebody else may lead.
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
  std::string version_;     // Its resourceVersion; empty: there is none.
  kube::LeaseSpec record_;  // As last seen, also of one that is deleted.
  Instant changed_at_{};    // When the record was first seen so.
  Instant renewed_at_{};    // Before our last successful write was sent.
  bool holding_ = false;
  Wait* waiting_ = nullptr;  // The standby, for the next change.
  std::string complaint_;
};

}  // namespace etcdop::runtime
