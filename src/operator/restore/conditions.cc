#include "operator/restore/conditions.h"

#include "api/v1alpha2/names.h"
#include "runtime/conditions.h"

namespace etcdop::restore {
namespace {

namespace v1 = api::v1alpha2;
using v1::EtcdRestoreStatus;
using v1::RestoreRecord;

/// The progress in the cluster's own words.
std::string words_of(const v1::EtcdCluster& cluster) {
  const auto* told = runtime::find_condition(cluster.status.conditions, v1::kProgressing);
  return told ? told->message : "";
}

const char* phase_of(const RestoreRecord& record) {
  if (record.stage == v1::RestoreStage::Stopping) return v1::kRestoreStopping;
  if (record.stage == v1::RestoreStage::Restoring) return v1::kRestoreRestoring;
  if (record.stage == v1::RestoreStage::Review) return v1::kRestoreReview;
  if (record.stage == v1::RestoreStage::Committing) return v1::kRestoreCommitting;
  if (record.stage == v1::RestoreStage::RollingBack) return v1::kRestoreRollingBack;
  return record.stage == v1::RestoreStage::Committed ? v1::kRestoreComplete
                                                     : v1::kRestoreRolledBack;
}

/// The current stage, while the conditions are written.
struct Telling {
  const Observation& seen;
  const RestoreRecord& record;
  EtcdRestoreStatus& status;

  void set(const char* type, const char* value, const char* reason, const std::string& message) {
    say(seen, status, type, value, reason, message);
  }
  bool is(v1::RestoreStage stage) const { return record.stage == stage; }
  bool back() const {
    return is(v1::RestoreStage::RollingBack) || is(v1::RestoreStage::RolledBack);
  }

  void tell_stopped(const std::string& now) {
    if (is(v1::RestoreStage::Stopping)) set(v1::kStopped, "False", v1::kStopping, now);
    else if (is(v1::RestoreStage::RolledBack))
      set(v1::kStopped, "False", v1::kRolledBack, "the old members start again");
    else if (is(v1::RestoreStage::Committed))
      set(v1::kStopped, "False", v1::kCommitted, "clients reach the restored data");
    else if (!back())
      set(v1::kStopped, "True", v1::kStopped,
          "the old members are dormant, and no client reaches the cluster");
  }
  void tell_data(const std::string& now) {
    const auto* told = runtime::find_condition(seen.cluster->status.conditions, v1::kProgressing);
    if (is(v1::RestoreStage::Restoring)) {
      const bool failed = told && told->reason == v1::kRestoreFailed;
      set(v1::kRestoredData, failed ? "False" : "Unknown",
          failed ? v1::kRestoreFailed : v1::kRestoring, now);
    } else if (is(v1::RestoreStage::Review)) {
      set(v1::kRestoredData, "True", v1::kRestoredData,
          record.founder + " has the restored data; reach it with kubectl port-forward " +
              record.founder + " 2379");
    } else if (back()) {
      set(v1::kRestoredData, "False", v1::kRolledBack, "the restored data is discarded");
    }
  }
  void tell_end(const std::string& now) {
    const bool decided = seen.restore.spec.decision == v1::RestoreDecision::Commit;
    if (is(v1::RestoreStage::Review) && decided)
      set(v1::kCommitted, "Unknown", v1::kCommitting,
          "the operator commits the restore when " + record.founder + " answers");
    if (is(v1::RestoreStage::Review) && !decided)
      set(v1::kCommitted, "False", v1::kAwaitingDecision,
          "inspect the restored data, then set spec.decision to Commit, which deletes the old "
          "volumes, or to Rollback");
    if (is(v1::RestoreStage::Committing)) set(v1::kCommitted, "Unknown", v1::kCommitting, now);
    if (is(v1::RestoreStage::Committed))
      set(v1::kCommitted, "True", v1::kCommitted, "the cluster has the restored data");
    if (back() && runtime::find_condition(status.conditions, v1::kCommitted))
      set(v1::kCommitted, "False", v1::kRolledBack, "the restore was rolled back");
    if (is(v1::RestoreStage::RollingBack)) set(v1::kRolledBack, "Unknown", v1::kRollingBack, now);
    if (is(v1::RestoreStage::RolledBack))
      set(v1::kRolledBack, "True", v1::kRolledBack, "the cluster is as it was before");
  }
};

}  // namespace

void say(const Observation& seen, EtcdRestoreStatus& status, const char* type, const char* value,
         const std::string& reason, const std::string& message) {
  runtime::set_condition(status.conditions, {type, value, reason, message},
                         seen.restore.metadata.generation, seen.now);
}

std::string words_of(const VerifyReport& report) {
  std::string out = report.keys ? std::to_string(*report.keys) + " keys" : "all keys";
  if (report.revision) out += " at revision " + std::to_string(*report.revision);
  if (!report.etcd_version.empty()) out += ", of etcd " + report.etcd_version;
  return out;
}

void report_stage(const Observation& seen, const RestoreRecord& record, EtcdRestoreStatus& status) {
  status.phase = phase_of(record);
  if (!status.started_at) status.started_at = to_rfc3339(seen.now);
  if (record.over() && !status.completed_at) status.completed_at = to_rfc3339(seen.now);
  Telling telling{seen, record, status};
  const std::string now = words_of(*seen.cluster);
  telling.tell_stopped(now);
  telling.tell_data(now);
  telling.tell_end(now);
}

}  // namespace etcdop::restore
