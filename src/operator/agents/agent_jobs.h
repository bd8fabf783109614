// API calls for the Jobs of agents: find, create, delete, and their refusals. The decisions are
// pure (agent_job.h). Api is the caller's own, with the caller's permissions.
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

/// The Job with that name, where `owner`, of that kind, has its own. The watch may be behind and
/// does not report another owner's Job, so the API is asked unless the store has a Job of `owner`.
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

/// False: a Job with that name exists. The next pass looks at it: it may be ours, from a pass whose
/// answer was lost.
template <class Api>
Result<bool> create_job(const Api& api, Jobs& jobs, const api::ObjectKey& key, Json manifest) {
  auto made = api.template create<kube::Job>(key.ns, std::move(manifest));
  if (made.failed_with(Code::AlreadyExists)) return false;
  if (!made) return Error(made.error()).during("create Job " + key.name);
  jobs.wrote(std::move(*made));
  return true;
}

/// Deletes only the Job with that UID.
template <class Api>
Result<Done> delete_job(const Api& api, Jobs& jobs, const api::ObjectKey& key,
                        const std::string& uid) {
  auto going = api.template remove<kube::Job>(key, uid);
  if (!going) return Error(going.error()).during("delete Job " + key.name);
  if (*going) jobs.wrote(std::move(**going));
  else jobs.saw_deleted(key, uid);
  return Done{};
}

/// Why Jobs could not be created, by the object that they are for; reported until one is created.
/// An unreachable webhook is no refusal, but may stay unreachable, so it is reported, too.
class FailedJobs {
 public:
  /// The outcome of creating a Job. A later error replaces the first message only if the API server
  /// refused: the message of an unreachable webhook may change with each try.
  void note(const api::ObjectKey& of, const Result<Done>& created, WallTime now);
  /// A Job that exists was created, whatever the answer was.
  std::optional<Rejection> why(const api::ObjectKey& of, bool exists);
  void forget(const api::ObjectKey& of) { failed_.erase(of); }

 private:
  std::map<api::ObjectKey, Rejection> failed_;
};

}  // namespace etcdop
