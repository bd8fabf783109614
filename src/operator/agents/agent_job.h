// A Job in which an agent runs, as a pass sees it, and why there is none. Pure.
#pragma once
#include <cstdint>
#include <string>

#include "api/meta.h"
#include "base/wall_time.h"
#include "kube/core_types.h"
#include "operator/passes/value_codecs.h"

namespace etcdop {

/// A Job of the name that one of ours has.
struct JobSeen {
  std::string uid;
  bool ours = false;         ///< Its controller is this very object.
  bool of_namesake = false;  ///< One of that kind and name which is no more.
  bool terminating = false;
  std::int32_t attempt = 0;  ///< As it says; 0: the reference made it, which gave it none.
  std::string request;       ///< Of one that verifies: which verification.
  WallTime made;
  kube::JobStatus status;
  bool operator==(const JobSeen&) const = default;

  bool has_ended() const { return status.is("Failed") || status.is("Complete"); }

  template <class S = JobSeen>
  static auto describe() {
    return api::object(
        "The Job.",
        api::Fields{api::required("uid", &S::uid, ""), api::sparse("ours", &S::ours, ""),
                    api::sparse("ofNamesake", &S::of_namesake, ""),
                    api::sparse("terminating", &S::terminating, ""),
                    api::sparse("attempt", &S::attempt, ""),
                    api::sparse("request", &S::request, ""), api::required("made", &S::made, ""),
                    api::sparse("status", &S::status, "")});
  }
};

/// What a pass looks at of a Job of that name; `owner` is of that kind.
JobSeen seen_as(const kube::Job&, const api::ObjectMeta& owner, const char* kind);

/// Why no Job could be made, and since when: of this process, so that one that was away tries
/// first.
struct Rejection {
  std::string why;
  WallTime since;
  bool operator==(const Rejection&) const = default;

  template <class S = Rejection>
  static auto describe() {
    return api::object("Why there is no Job.", api::Fields{api::required("why", &S::why, ""),
                                                           api::required("since", &S::since, "")});
  }
};

}  // namespace etcdop
