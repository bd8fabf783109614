// A Job that runs an agent, as a pass sees it, and why there is none. Pure.
#pragma once
#include <cstdint>
#include <string>

#include "api/meta.h"
#include "base/wall_time.h"
#include "kube/core_types.h"
#include "operator/passes/value_codecs.h"

namespace etcdop {

/// A Job with the name that one of ours has.
struct JobSeen {
  std::string uid;
  bool ours = false;         ///< Its controller is this object, by UID.
  bool of_namesake = false;  ///< Its controller had the same kind and name, and is deleted.
  bool terminating = false;
  std::int32_t attempt = 0;  ///< From its annotation; 0: the Go operator created it, without one.
  std::string request;       ///< The verification that a verify Job is for.
  WallTime made;
  kube::JobStatus status;
  bool operator==(const JobSeen&) const = default;

  bool has_ended() const { return status.is("Failed") || status.is("Complete"); }

  template <class S = JobSeen>
  static auto describe() {
    return api::value(api::required("uid", &S::uid), api::sparse("ours", &S::ours),
                      api::sparse("ofNamesake", &S::of_namesake),
                      api::sparse("terminating", &S::terminating),
                      api::sparse("attempt", &S::attempt), api::sparse("request", &S::request),
                      api::required("made", &S::made), api::sparse("status", &S::status));
  }
};

/// A Job with that name as a pass sees it; `owner` is of that kind.
JobSeen seen_as(const kube::Job&, const api::ObjectMeta& owner, const char* kind);

/// Why no Job could be created, and since when. Known to this process only, so an operator that was
/// restarted tries first.
struct Rejection {
  std::string why;
  WallTime since;
  bool operator==(const Rejection&) const = default;

  template <class S = Rejection>
  static auto describe() {
    return api::value(api::required("why", &S::why), api::required("since", &S::since));
  }
};

}  // namespace etcdop
