// What one pass over an EtcdSnapshot may look at. A value; nothing here does I/O.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdsnapshot.h"
#include "base/wall_time.h"
#include "kube/core_types.h"
#include "operator/shared/value_codecs.h"

namespace etcdop::snapshot {

/// A Job of the snapshot's name.
struct JobSeen {
  std::string uid;
  bool ours = false;         ///< Its controller is this very snapshot.
  bool of_namesake = false;  ///< An EtcdSnapshot of that name which is no more.
  bool terminating = false;
  std::int32_t attempt = 0;  ///< As it says; 0: the reference made it, which gave it none.
  std::string request;       ///< Of one that verifies: which verification.
  WallTime made;
  kube::JobStatus status;
  bool operator==(const JobSeen&) const = default;

  template <class S = JobSeen>
  static auto describe() {
    return api::object(
        "The Job.",
        std::tuple{api::required("uid", &S::uid, ""), api::sparse("ours", &S::ours, ""),
                   api::sparse("ofNamesake", &S::of_namesake, ""),
                   api::sparse("terminating", &S::terminating, ""),
                   api::sparse("attempt", &S::attempt, ""), api::sparse("request", &S::request, ""),
                   api::required("made", &S::made, ""), api::sparse("status", &S::status, "")});
  }
};

/// Why no Job could be made, and since when: of this process, so that one that was away tries
/// first.
struct Rejection {
  std::string why;
  WallTime since;
  bool operator==(const Rejection&) const = default;

  template <class S = Rejection>
  static auto describe() {
    return api::object("Why there is no Job.", std::tuple{api::required("why", &S::why, ""),
                                                          api::required("since", &S::since, "")});
  }
};

struct Observation {
  WallTime now;
  api::v1alpha2::EtcdSnapshot snapshot;
  bool has_image = false;  ///< The operator knows which image it is itself.
  std::optional<api::v1alpha2::EtcdCluster> cluster;  ///< Of the name that the snapshot has.
  std::vector<std::string> endpoints;  ///< Client URLs of its voters, ordered by name.
  /// Secret with root's password as etcd has it; empty: there is no authentication.
  std::string password_secret;
  bool password_changing = false;  ///< Which of two etcd has is not known.
  std::string run_before;          ///< The EtcdDefrag whose turn it is.
  bool run_under_way = false;      ///< It is Running.
  std::optional<JobSeen> job;
  std::vector<kube::Pod> pods;        ///< Of that Job, or of the one that the status names.
  std::optional<Rejection> rejected;  ///< Of the Job that is to be made.
  std::optional<JobSeen> verify_job;
  std::vector<kube::Pod> verify_pods;  ///< Of the Job of the verification that is under way.
  bool operator==(const Observation&) const = default;

  template <class S = Observation>
  static auto describe() {
    return api::object(
        "What one pass saw.",
        std::tuple{
            api::required("now", &S::now, ""), api::required("snapshot", &S::snapshot, ""),
            api::sparse("hasImage", &S::has_image, ""), api::optional("cluster", &S::cluster, ""),
            api::sparse("endpoints", &S::endpoints, ""),
            api::sparse("passwordSecret", &S::password_secret, ""),
            api::sparse("passwordChanging", &S::password_changing, ""),
            api::sparse("runBefore", &S::run_before, ""),
            api::sparse("runUnderWay", &S::run_under_way, ""), api::optional("job", &S::job, ""),
            api::sparse("pods", &S::pods, ""), api::optional("rejected", &S::rejected, ""),
            api::optional("verifyJob", &S::verify_job, ""),
            api::sparse("verifyPods", &S::verify_pods, "")});
  }
};

}  // namespace etcdop::snapshot
