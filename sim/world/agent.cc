#include "sim/world/agent.h"

#include <algorithm>
#include <utility>

#include "agent/delete_snapshot.h"
#include "agent/reason.h"
#include "agent/restore_snapshot.h"
#include "agent/s3_destination.h"
#include "agent/s3_source.h"
#include "agent/s3_stored.h"
#include "agent/take_snapshot.h"
#include "agent/task.h"
#include "agent/verify_snapshot.h"
#include "operator/agents/agent_report.h"
#include "sim/world/scratch_etcd.h"

namespace etcdop::sim {
namespace {

std::string text_in(const Agent::Texts& texts, const std::string& key) {
  const auto found = texts.find(key);
  return found == texts.end() ? "" : found->second;
}

int exit_code_of(const AgentReport& report) {
  for (const auto& [reason, name] : names(agent::Reason{}))
    if (report.reason == name) return agent::exit_code(reason);
  check(!report.failed(), "an agent fails for a reason that has a name");
  return agent::kExitStored;
}

/// As main reads the files that the task names.
std::shared_ptr<const TlsClient::Options> tls_of(const agent::EtcdAccess& etcd,
                                                 const Agent::Texts& files) {
  if (!etcd.tls) return nullptr;
  TlsClient::Options options;
  options.ca = text_in(files, etcd.ca_path);
  options.certificate = text_in(files, etcd.cert_path);
  options.key = Secret(text_in(files, etcd.key_path));
  return std::make_shared<const TlsClient::Options>(std::move(options));
}

AgentReport failed(agent::Reason reason, const std::string& message) {
  AgentReport out;
  out.reason = to_string(reason);
  out.message = message;
  return out;
}

}  // namespace

Agent::Agent(const Needs& with, Start start, std::uint64_t seed)
    : start_(std::move(start)),
      clock_(with.clock),
      trouble_(with.trouble),
      process_(with.world, seed),
      log_(with.trace, start_.name),
      passage_{start_.name, with.world, process_,     seed,  Dice(seed ^ 2),
               with.faults, with.trace, with.checker, never_},
      etcd_(passage_, with.net, with.nodes),
      store_(passage_, store(with)),
      main_(process_.spawn([this] {
        end_ = start_.scratch ? restore() : verifies() ? verify() : take_snapshot();
      })) {
  passage_.tells_reads = true;
}

Agent::~Agent() {
  passage_.dead = true;
  main_->cancel();
  check(process_.drain(), "a killed agent's fibers all end");
}

/// With the credentials from its environment.
std::unique_ptr<s3::Store> Agent::store(const Needs& with) {
  StoreUser user = with.user;
  user.known_key &= text_in(start_.environment, "AWS_ACCESS_KEY_ID") == kStoreKeyId;
  user.right_secret &= text_in(start_.environment, "AWS_SECRET_ACCESS_KEY") == kStoreSecret;
  user.region = text_in(start_.environment, "S3_REGION");
  if (user.region.empty()) user.region = user.endpoint_region;
  return with.store.as(user, text_in(start_.environment, "S3_BUCKET"), process_);
}

std::optional<std::string> Agent::variable(const std::string& name) const {
  const auto found = start_.environment.find(name);
  return found == start_.environment.end() ? std::nullopt : std::optional(found->second);
}

Agent::End Agent::take_snapshot() {
  AgentReport report;
  const auto variables = [this](const auto& name) { return variable(name); };
  const bool deletes = !variable("ETCD_ENDPOINTS");
  if (auto task = deletes ? agent::to_deletion_task(variables) : agent::to_snapshot_task(variables);
      !task) {
    report = failed(agent::Reason::DestinationInvalid, task.error().message);
  } else if (deletes) {
    check(task->bucket.has_value(), "not modelled: a snapshot in a volume");
    agent::S3Stored stored(
        process_, log_, store_,
        {.bucket = task->bucket->place.bucket, .key = task->key(), .uid = task->uid});
    report = agent::delete_snapshot(process_, log_, stored);
  } else {
    check(task->bucket.has_value(), "not modelled: a snapshot in a volume");
    agent::S3Destination destination(process_, log_, store_,
                                     {.bucket = task->bucket->place.bucket,
                                      .key = task->key(),
                                      .storer = {.uid = task->uid, .attempt = start_.uid}});
    report = agent::take_snapshot(*task, {.executor = process_,
                                          .clock = clock_,
                                          .log = log_,
                                          .clients = etcd_,
                                          .destination = destination,
                                          .tls = tls_of(task->etcd, start_.files)});
  }
  return {exit_code_of(report), to_text(report)};
}

Agent::End Agent::restore() {
  RestoreReport report;
  if (auto task = agent::to_restore_task([this](const auto& name) { return variable(name); });
      !task) {
    report = agent::restore_failure(agent::RestoreReason::SourceInvalid, task.error().message);
  } else {
    check(task->bucket.has_value(), "not modelled: a snapshot in a volume");
    agent::S3Source source(process_, log_, store_,
                           {.bucket = task->bucket->place.bucket, .key = task->bucket->prefix});
    VolumeSite site(passage_, trouble_, *start_.dir, *start_.scratch);
    report =
        agent::restore(*task, {.executor = process_, .log = log_, .source = source, .site = site});
  }
  return {agent::exit_code(report), to_text(report)};
}

Agent::End Agent::verify() {
  VerifyReport report;
  if (auto task = agent::to_verify_task([this](const auto& name) { return variable(name); });
      !task) {
    report = agent::verify_failure(agent::RestoreReason::SourceInvalid, task.error().message);
  } else {
    check(task->bucket.has_value(), "not modelled: a snapshot in a volume");
    agent::S3Source source(process_, log_, store_,
                           {.bucket = task->bucket->place.bucket, .key = task->bucket->prefix});
    VolumeSite site(passage_, trouble_, copy_dir_, copy_);
    ScratchImage etcd(passage_, trouble_, copy_);
    report = agent::verify(
        *task, {.executor = process_, .log = log_, .source = source, .site = site, .etcd = etcd});
  }
  return {agent::exit_code(report), to_text(report)};
}

}  // namespace etcdop::sim
