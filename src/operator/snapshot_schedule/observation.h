// The input of one pass over an EtcdSnapshotSchedule. A value; nothing here does I/O.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/v1alpha2/etcdsnapshotschedule.h"
#include "base/wall_time.h"
#include "kube/core_types.h"
#include "operator/passes/value_codecs.h"

namespace etcdop::snapshot_schedule {

/// The Job that deletes the stored data of one EtcdSnapshot.
struct DeletionSeen {
  std::string uid;
  bool ours = false;  ///< Its controller is that EtcdSnapshot, by UID.
  bool terminating = false;
  WallTime made;
  kube::JobStatus status;
  std::string reason, message;  ///< The last words of its agent when it failed.
  bool operator==(const DeletionSeen&) const = default;

  template <class S = DeletionSeen>
  static auto describe() {
    return api::value(api::required("uid", &S::uid), api::sparse("ours", &S::ours),
                      api::sparse("terminating", &S::terminating), api::required("made", &S::made),
                      api::sparse("status", &S::status), api::sparse("reason", &S::reason),
                      api::sparse("message", &S::message));
  }
};

/// An EtcdSnapshot with a name of this schedule's runs.
struct RunSeen {
  std::string name, uid;
  bool ours = false;  ///< Its controller is this schedule, by UID.
  bool terminating = false;
  WallTime planned;               ///< From its name.
  WallTime made;                  ///< By the API server's clock.
  std::string phase;              ///< From its status.
  std::string reason, message;    ///< From its condition Ready,
  std::optional<WallTime> since;  ///< and since when that has its status.
  std::string uri;                ///< URI of its stored data; empty: none.
  std::string cluster_id;         ///< etcd's id of its cluster.
  std::optional<std::int64_t> revision;
  bool displaced = false;  ///< Its stored data is not where its spec says now.
  bool expired = false;    ///< Its deletion is decided.
  std::string needed_by;   ///< The object that is being restored from it; empty: none.
  bool verifying = false;  ///< A verification was requested, and has not ended.
  std::string verified;    ///< Status of its condition Verified; empty: it has none.
  bool proven = false;     ///< It was verified once, and no later finding contradicts that.
  std::string fault;       ///< Failure of the last ended verification; empty: none.
  std::optional<api::v1alpha2::SnapshotVerification> verification;
  std::optional<DeletionSeen> deletion;
  bool operator==(const RunSeen&) const = default;

  /// It counts for the retention: something can be restored from it.
  bool kept() const { return ours && !terminating && !expired && complete() && !uri.empty(); }
  bool complete() const { return phase == api::v1alpha2::kSnapshotComplete; }
  bool failed() const { return phase == api::v1alpha2::kSnapshotFailed; }
  bool active() const { return !complete() && !failed(); }

  template <class S = RunSeen>
  static auto describe() {
    return api::value(
        api::required("name", &S::name), api::required("uid", &S::uid),
        api::sparse("ours", &S::ours), api::sparse("terminating", &S::terminating),
        api::required("planned", &S::planned), api::required("made", &S::made),
        api::sparse("phase", &S::phase), api::sparse("reason", &S::reason),
        api::sparse("message", &S::message), api::optional("since", &S::since),
        api::sparse("uri", &S::uri), api::sparse("clusterID", &S::cluster_id),
        api::optional("revision", &S::revision), api::sparse("displaced", &S::displaced),
        api::sparse("expired", &S::expired), api::sparse("neededBy", &S::needed_by),
        api::sparse("verifying", &S::verifying), api::sparse("verified", &S::verified),
        api::sparse("proven", &S::proven), api::sparse("fault", &S::fault),
        api::optional("verification", &S::verification), api::optional("deletion", &S::deletion));
  }
};

/// The last step that the API server refused.
struct RefusedStep {
  std::string step;  ///< Its word.
  std::string why;
  bool operator==(const RefusedStep&) const = default;

  template <class S = RefusedStep>
  static auto describe() {
    return api::value(api::required("step", &S::step), api::required("why", &S::why));
  }
};

struct Observation {
  WallTime now;
  api::v1alpha2::EtcdSnapshotSchedule schedule;
  bool has_image = false;     ///< The operator knows its own image.
  std::vector<RunSeen> runs;  ///< Oldest first.
  std::optional<RefusedStep> refused;
  bool operator==(const Observation&) const = default;

  template <class S = Observation>
  static auto describe() {
    return api::value(api::required("now", &S::now), api::required("schedule", &S::schedule),
                      api::sparse("hasImage", &S::has_image), api::sparse("runs", &S::runs),
                      api::optional("refused", &S::refused));
  }
};

}  // namespace etcdop::snapshot_schedule
