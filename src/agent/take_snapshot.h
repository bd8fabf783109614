// A snapshot agent's work from its first question to etcd to its report.
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

/// All outlive the call. Endpoint::address is one of EtcdAccess::hosts, so it may be a name.
struct Collaborators {
  Executor& executor;
  const WallClock& clock;
  Log& log;
  etcd::Clients& clients;
  Destination& destination;
  /// What TLS with etcd is made with; null exactly if the task has none.
  std::shared_ptr<const TlsClient::Options> tls = nullptr;
  const Sealing* sealing = nullptr;  ///< Null: it is stored as it is.
};

/// Stores one snapshot of one member, from memory of a bounded size, or finds that it is stored
/// already. Suspends, for kTakeLimit at most and a few seconds of cleaning up; all fibers that it
/// starts have ended when it returns. Cancelled, it cleans up and reports that.
AgentReport take_snapshot(const SnapshotTask&, const Collaborators&);

inline constexpr Duration kTakeLimit = std::chrono::minutes(25);

}  // namespace etcdop::agent
