// Decides what to report and what to do next for one schedule. Pure. The history is read from its
// EtcdSnapshots: the name of a run is its planned time, so a second start finds it created, and a
// lost count is found there. Stored data is deleted before its EtcdSnapshot, so it is never out of
// sight.
#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "operator/passes/step.h"
#include "operator/snapshot_schedule/observation.h"

namespace etcdop::snapshot_schedule {

/// Backups are stale after so many intervals without a success.
inline constexpr double kStaleAfterIntervals = 1.5;
/// A verification is overdue after so many intervals more than a round has.
inline constexpr double kOverdueIntervals = 1.5;
/// The number of failed EtcdSnapshots to keep, the newest; they say what was wrong.
inline constexpr std::size_t kFailedKept = 3;
/// For a Job that deletes: Kubernetes ends it after ten minutes, unless the node of its Pod is
/// lost. Then this is reported, and the Job is recreated with the next run.
inline constexpr std::chrono::minutes kDeletionMax{20};

struct CreateSnapshot {
  static constexpr StepTraits traits{"create-snapshot", Asks::ApiServer, Effect::AtOnce};
  std::string name;
  std::string words() const { return std::string(traits.word) + " " + name; }
  std::string concerns() const { return ""; }
  bool operator==(const CreateSnapshot&) const = default;

  template <class S = CreateSnapshot>
  static auto describe() {
    return api::value(api::required("name", &S::name));
  }
};
/// Deletes only the object: it has stored nothing, or its data is deleted.
struct DeleteSnapshot {
  static constexpr StepTraits traits{"delete-snapshot", Asks::ApiServer, Effect::AtOnce};
  std::string name, uid;
  bool replaced = false;  ///< It had not ended.
  std::string words() const {
    return std::string(traits.word) + " " + name + (replaced ? ", replaced" : "");
  }
  std::string concerns() const { return ""; }
  bool operator==(const DeleteSnapshot&) const = default;

  template <class S = DeleteSnapshot>
  static auto describe() {
    return api::value(api::required("name", &S::name), api::required("uid", &S::uid),
                      api::sparse("replaced", &S::replaced));
  }
};
/// Creates the Job that deletes the stored data of this EtcdSnapshot.
struct CreateDeletion {
  static constexpr StepTraits traits{"create-deletion", Asks::ApiServer, Effect::AtOnce};
  std::string name, uid;
  std::string words() const { return std::string(traits.word) + " " + name; }
  std::string concerns() const { return ""; }
  bool operator==(const CreateDeletion&) const = default;

  template <class S = CreateDeletion>
  static auto describe() {
    return api::value(api::required("name", &S::name), api::required("uid", &S::uid));
  }
};
/// Deletes that Job, which has failed or does not end.
struct DropDeletion {
  static constexpr StepTraits traits{"drop-deletion", Asks::ApiServer, Effect::AtOnce};
  std::string name, job_uid;
  std::string words() const { return std::string(traits.word) + " " + name; }
  std::string concerns() const { return ""; }
  bool operator==(const DropDeletion&) const = default;

  template <class S = DropDeletion>
  static auto describe() {
    return api::value(api::required("name", &S::name), api::required("jobUID", &S::job_uid));
  }
};
/// Requests a verification of the stored data of this EtcdSnapshot.
struct AskVerification {
  static constexpr StepTraits traits{"ask-verification", Asks::ApiServer, Effect::AtOnce};
  std::string name, uid, request;
  std::string words() const { return std::string(traits.word) + " " + name + ", round " + request; }
  std::string concerns() const { return ""; }
  bool operator==(const AskVerification&) const = default;

  template <class S = AskVerification>
  static auto describe() {
    return api::value(api::required("name", &S::name), api::required("uid", &S::uid),
                      api::required("request", &S::request));
  }
};
using Step =
    OneStepOf<CreateSnapshot, DeleteSnapshot, CreateDeletion, DropDeletion, AskVerification>;

using Plan = PlanOf<api::v1alpha2::EtcdSnapshotScheduleStatus, Step>;

Plan plan(const Observation& seen);
/// The runs that plan() might delete, even those that are being restored from.
std::vector<std::string> going(const Observation& seen);
}  // namespace etcdop::snapshot_schedule
