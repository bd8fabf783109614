#include "operator/agents/agent_job.h"

#include <charconv>

#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/names.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

std::int32_t attempt_of(const kube::Job& job) {
  const auto found = job.metadata.annotations.find(v1::kAttemptAnnotation);
  if (found == job.metadata.annotations.end()) return 0;
  const std::string& text = found->second;
  std::int32_t out = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

}  // namespace

JobSeen seen_as(const kube::Job& job, const api::ObjectMeta& of, const char* kind) {
  JobSeen out;
  out.uid = job.metadata.uid;
  out.terminating = job.metadata.terminating();
  out.attempt = attempt_of(job);
  const auto request = job.metadata.annotations.find(v1::kVerifyAnnotation);
  if (request != job.metadata.annotations.end()) out.request = request->second;
  out.made = from_rfc3339(job.metadata.creation_timestamp).value_or(WallTime{});
  out.status = job.status;
  const api::OwnerReference* owner = job.metadata.controller();
  out.ours = owner && owner->uid == of.uid;
  out.of_namesake = owner && !out.ours && owner->kind == kind && owner->name == of.name;
  return out;
}

}  // namespace etcdop
