// Jobs of agents at the API server: looked for, made, deleted, and refused. What is decided about
// them is pure (agent_job.h). Api is the caller's own, which says what it may do.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "kube/store.h"
#include "operator/agents/agent_job.h"
#include "operator/passes/look_again.h"
#include "operator/passes/refusals.h"

namespace etcdop {

using Jobs = kube::Store<kube::Job>;

/// The Job of that name, where `owner`, which is of that kind, has its own. The watch may be
/// behind, and does not tell of a Job of somebody else: what it does not know is asked for.
template <class Api>
Result<std::optional<JobSeen>> find_job(const Api& api, Jobs& jobs, const api::ObjectKey& key,
                                        const api::ObjectMeta& owner, const char* kind) {
  const auto known = jobs.get(key);
  if (known)
    if (JobSeen seen = seen_as(*known, owner, kind); seen.ours)
      return std::optional(std::move(seen));
  auto there = look_for<kube::Job>(api, key);
  if (!there) return there.error();
  if (!*there && known) jobs.saw_deleted(*known);
  return *there ? std::optional(seen_as(**there, owner, kind)) : std::nullopt;
}

/// False: one of that name is there already. The next pass looks at it: it may be ours, of a pass
/// whose answer was lost.
template <class Api>
Result<bool> create_job(const Api& api, Jobs& jobs, const api::ObjectKey& key, Json manifest) {
  auto made = api.template create<kube::Job>(key.ns, std::move(manifest));
  if (made.failed_with(Code::AlreadyExists)) return false;
  if (!made) return Error(made.error()).during("create Job " + key.name);
  jobs.wrote(std::move(*made));
  return true;
}

/// Only that very Job.
template <class Api>
Result<Done> delete_job(const Api& api, Jobs& jobs, const api::ObjectKey& key,
                        const std::string& uid) {
  auto going = api.template remove<kube::Job>(key, uid);
  if (!going) return Error(going.error()).during("delete Job " + key.name);
  if (*going) jobs.wrote(std::move(**going));
  else jobs.saw_deleted(key, uid);
  return Done{};
}

/// Why Jobs could not be created, by the object that they are for: reported until one is created. A
/// webhook that is down refuses nothing, and may stay down: that is reported, too.
class FailedJobs {
 public:
  /// The outcome of creating a Job. Later errors replace the words of the first one only if the API
  /// server refused: those of a webhook that is down may change with each try.
  void note(const api::ObjectKey& of, const Result<Done>& created, WallTime now);
  /// A Job that exists was created, whatever the answer was.
  std::optional<Rejection> why(const api::ObjectKey& of, bool exists);
  void forget(const api::ObjectKey& of) { failed_.erase(of); }

 private:
  std::map<api::ObjectKey, Rejection> failed_;
};

}  // namespace etcdop
