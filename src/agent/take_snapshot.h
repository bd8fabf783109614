// The work of a snapshot agent, from its first call to etcd to its report.
#pragma once
#include <memory>

#include "agent/destination.h"
#include "agent/sealed.h"
#include "agent/task.h"
#include "base/fiber.h"
#include "base/log.h"
#include "base/wall_time.h"
#include "etcd/client.h"
#include "operator/agents/agent_report.h"
#include "sys/tls.h"

namespace etcdop::agent {

/// All must outlive the call. Endpoint::address is one of EtcdAccess::hosts, so it may be a name.
struct Collaborators {
  Executor& executor;
  const WallClock& clock;
  Log& log;
  etcd::Clients& clients;
  Destination& destination;
  /// Options for TLS with etcd; null exactly if the task has no TLS.
  std::shared_ptr<const TlsClient::Options> tls = nullptr;
  const Sealing* sealing = nullptr;  ///< Null: the snapshot is stored unencrypted.
};

/// Stores one snapshot of one member, in bounded memory, or finds that it is already stored.
/// Suspends, for kTakeLimit at most and a few seconds of cleanup; all fibers that it starts have
/// ended when it returns. When cancelled, it cleans up and reports that.
AgentReport take_snapshot(const SnapshotTask&, const Collaborators&);

inline constexpr Duration kTakeLimit = std::chrono::minutes(25);

}  // namespace etcdop::agent
