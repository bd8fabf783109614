#include "sim/api/jobs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/api/budgets.h"
#include "sim/api/objects.h"
#include "sim/api/paths.h"

namespace etcdop::sim {
namespace {

constexpr std::chrono::seconds kBackoff{10}, kBackoffMax{600};
constexpr std::size_t kLabelMax = 63, kPrefixMax = kLabelMax - 5;  // Five random letters follow it.
constexpr const char* kNameLabel = "batch.kubernetes.io/job-name";
constexpr const char* kUidLabel = "batch.kubernetes.io/controller-uid";

std::string phase_of(const Json& pod) { return text_at(pod, {"status", "phase"}); }

/// When a Job ended; nullopt: it has not.
std::optional<WallTime> end_of(const Json& job) {
  for (const Json& condition : list_at(job, {"status", "conditions"})) {
    const std::string type = text_at(condition, {"type"});
    if (type == "Complete" || type == "Failed")
      return from_rfc3339(text_at(condition, {"lastTransitionTime"}));
  }
  return std::nullopt;
}

/// Whether the rule matches a container that ended so.
std::optional<std::string> exit_that_matches(const Json& rule, const Json& pod) {
  const std::string container = text_at(rule, {"onExitCodes", "containerName"});
  const json::array values = list_at(rule, {"onExitCodes", "values"});
  const bool among = text_at(rule, {"onExitCodes", "operator"}) == "In";
  for (const Json& status : list_at(pod, {"status", "containerStatuses"})) {
    const Json* const code = at(status, {"state", "terminated", "exitCode"});
    if (!code || *code == 0) continue;
    if (!container.empty() && text_at(status, {"name"}) != container) continue;
    const bool listed = std::ranges::find(values, *code) != values.end();
    if (listed == among)
      return "Container " + text_at(status, {"name"}) + " for pod " + to_string(key_of(pod)) +
             " failed with exit code " + json::serialize(*code);
  }
  return std::nullopt;
}

std::optional<std::string> condition_that_matches(const Json& rule, const Json& pod) {
  for (const Json& wanted : list_at(rule, {"onPodConditions"}))
    for (const Json& condition : list_at(pod, {"status", "conditions"})) {
      const std::string status = text_at(wanted, {"status"});
      if (text_at(wanted, {"type"}) == text_at(condition, {"type"}) &&
          text_at(condition, {"status"}) == (status.empty() ? "True" : status))
        return "Pod " + to_string(key_of(pod)) + " has condition " + text_at(wanted, {"type"});
    }
  return std::nullopt;
}

struct Verdict {
  std::string action = "Count", message = {};
};

/// The first rule of the Job's podFailurePolicy that matches how the Pod ended.
Verdict by_policy(const Json& job, const Json& pod) {
  std::size_t index = 0;
  for (const Json& rule : list_at(job, {"spec", "podFailurePolicy", "rules"})) {
    auto matches = rule.as_object().contains("onExitCodes") ? exit_that_matches(rule, pod)
                                                            : condition_that_matches(rule, pod);
    const std::string action = text_at(rule, {"action"});
    if (matches)
      return {action, *matches + " matching " + action + " rule at index " + std::to_string(index)};
    ++index;
  }
  return {};
}

json::object labels_of(const json::object& metadata) {
  const std::string name = text_at(metadata, "name"), uid = text_at(metadata, "uid");
  return {{kUidLabel, uid}, {kNameLabel, name}, {"controller-uid", uid}, {"job-name", name}};
}

void fill_in(json::object& job) {
  const json::object& ours = job.at("metadata").as_object();
  if (ours.contains("resourceVersion")) return;  // The stored Job has them.
  json::object& spec = job.at("spec").as_object();
  spec["selector"] = json::object{{"matchLabels", {{kUidLabel, text_at(ours, "uid")}}}};
  Json& metadata = spec.at("template").as_object()["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  Json& labels = metadata.as_object()["labels"];
  if (!labels.is_object()) labels = json::object();
  for (const auto& [label, value] : labels_of(ours)) labels.as_object()[label] = value;
  if (!spec.contains("backoffLimit")) spec["backoffLimit"] = 6;
}

Result<Done> validate(const Json& next, const Json& before) {
  const std::string name = text_at(meta(next), "name");
  if (name.size() > kLabelMax)
    return invalid(
        kJobs, name,
        "spec.template.labels: Invalid value: \"" + name + "\": must be no more than 63 bytes");
  if (text_at(next, {"spec", "template", "spec", "restartPolicy"}) != "Never")
    return invalid(kJobs, name,
                   "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", "
                   "\"Never\"");
  if (!before.is_null() &&
      next.at("spec").as_object().at("template") != before.at("spec").as_object().at("template"))
    return invalid(kJobs, name, "spec.template: Invalid value: field is immutable");
  return Done{};
}

Json condition(const char* type, const std::string& reason, const std::string& message,
               const std::string& now) {
  return json::object{{"type", type},       {"status", "True"},     {"reason", reason},
                      {"message", message}, {"lastProbeTime", now}, {"lastTransitionTime", now}};
}

bool has_condition(const json::array& conditions, std::string_view type) {
  return std::ranges::any_of(conditions,
                             [&](const Json& one) { return one.at("type").as_string() == type; });
}

}  // namespace

ApiKind job_kind() {
  return {.resource = kJobs,
          .status = true,
          .generation = true,
          .validate = validate,
          .fill_in = fill_in};
}

JobController::JobController(ApiServer& server, const WallClock& clock)
    : server_(server), clock_(clock) {
  server_.on_change(
      [this](const Resource& r, const ApiServer::Object& before, const ApiServer::Object& after) {
        if (r == kPods && before && !after) pod_gone(*before);
        if (r == kJobs && before && !after) past_.erase(uid_of(*before));
      });
}

void JobController::run() {
  for (const ApiServer::Object& job : server_.look_all(kJobs)) look(key_of(*job), *job);
}

void JobController::look(const ObjectKey& key, const Json& job) {
  if (terminating(job)) return;
  if (end_of(job)) return delete_when_old(key, job);
  Past& past = past_[uid_of(job)];
  std::vector<ApiServer::Object> active;
  for (const ApiServer::Object& pod : server_.look_all(kPods)) {
    if (controller_of(*pod) != uid_of(job)) continue;
    if (pod_has_ended(*pod)) count(past, job, *pod);
    else active.push_back(pod);
  }
  decide(past, job);
  if (past.failure || past.succeeded) {
    for (const ApiServer::Object& pod : active)
      if (!terminating(*pod)) (void)server_.remove(kPods, key_of(*pod));
  } else if (active.empty() && may_start(past)) {
    start_pod(job);
  }
  report(key, past, static_cast<std::int64_t>(active.size()), active.empty());
}

/// Counts each ended Pod once.
void JobController::count(Past& past, const Json& job, const Json& pod) {
  if (!past.counted.insert(uid_of(pod)).second) return;
  if (phase_of(pod) == "Succeeded") {
    past.succeeded = true;
    return;
  }
  Verdict verdict = by_policy(job, pod);
  if (verdict.action == "Ignore") return;
  ++past.failed;
  past.failed_at = clock_.wall_now();
  if (verdict.action == "FailJob" && !past.failure)
    past.failure = Ending{"PodFailurePolicy", std::move(verdict.message)};
}

/// A user deleted the Pod; the real controller's finalizer would have kept it until it was counted.
void JobController::pod_gone(const Json& pod) {
  for (const ApiServer::Object& job : server_.look_all(kJobs))
    if (controller_of(pod) == uid_of(*job) && !terminating(*job) && !end_of(*job))
      count(past_[uid_of(*job)], *job, pod);
}

void JobController::decide(Past& past, const Json& job) {
  if (past.failure || past.succeeded) return;
  if (past.failed > whole(&job.at("spec"), "backoffLimit", 6)) {
    past.failure = Ending{"BackoffLimitExceeded", "Job has reached the specified backoff limit"};
    return;
  }
  const auto began = from_rfc3339(text_at(job, {"status", "startTime"}));
  const std::chrono::seconds limit(whole(&job.at("spec"), "activeDeadlineSeconds", 0));
  if (began && limit.count() > 0 && clock_.wall_now() - *began >= limit)
    past.failure = Ending{"DeadlineExceeded", "Job was active longer than specified deadline"};
}

bool JobController::may_start(const Past& past) const {
  if (!past.failed_at || past.failed == 0) return true;
  const int doublings = static_cast<int>(std::min<std::int64_t>(past.failed - 1, 6));
  return clock_.wall_now() - *past.failed_at >= std::min(kBackoff * (1 << doublings), kBackoffMax);
}

/// A refused create is retried at the next run().
void JobController::start_pod(const Json& job) {
  const Json& of = job.at("spec").at("template");
  const std::string name = text_at(meta(job), "name");
  json::object metadata = meta(of);
  metadata["namespace"] = text_at(meta(job), "namespace");
  metadata["generateName"] = (name + "-").substr(0, kPrefixMax);
  metadata["ownerReferences"] = json::array{json::object{{"apiVersion", "batch/v1"},
                                                         {"kind", "Job"},
                                                         {"name", name},
                                                         {"uid", uid_of(job)},
                                                         {"controller", true},
                                                         {"blockOwnerDeletion", true}}};
  kube::Call call;
  call.verb = kube::Verb::Create;
  call.resource = kPods;
  call.ns = text_at(meta(job), "namespace");
  call.body = json::object{{"apiVersion", "v1"},
                           {"kind", "Pod"},
                           {"metadata", std::move(metadata)},
                           {"spec", of.at("spec")}};
  (void)server_.perform(call);
}

/// `over`: all Pods of the Job have ended.
void JobController::report(const ObjectKey& key, const Past& past, std::int64_t active, bool over) {
  const std::string now = to_rfc3339(clock_.wall_now());
  (void)server_.change(kJobs, key, [&](json::object& job) {
    Json& is = job["status"];
    if (!is.is_object()) is = json::object();
    json::object& status = is.as_object();
    if (!status.contains("startTime")) status["startTime"] = now;
    const auto tell = [&](const char* field, std::int64_t number) {
      if (number > 0) status[field] = number;
      else status.erase(field);
    };
    tell("active", active);
    tell("failed", past.failed);
    tell("succeeded", past.succeeded ? 1 : 0);
    if (!past.failure && !past.succeeded) return;
    json::array conditions = list_at(job, {"status", "conditions"});
    const char* const aim = past.succeeded ? "SuccessCriteriaMet" : "FailureTarget";
    const Ending how =
        past.succeeded ? Ending{"CompletionsReached", "Reached expected number of succeeded pods"}
                       : *past.failure;
    if (!has_condition(conditions, aim))
      conditions.push_back(condition(aim, how.reason, how.message, now));
    if (over) {
      conditions.push_back(
          condition(past.succeeded ? "Complete" : "Failed", how.reason, how.message, now));
      if (past.succeeded) status["completionTime"] = now;
    }
    status["conditions"] = std::move(conditions);
  });
}

void JobController::delete_when_old(const ObjectKey& key, const Json& job) {
  const std::int64_t ttl = whole(&job.at("spec"), "ttlSecondsAfterFinished", -1);
  if (ttl >= 0 && clock_.wall_now() - *end_of(job) >= std::chrono::seconds(ttl))
    (void)server_.remove(kJobs, key);
}

}  // namespace etcdop::sim
