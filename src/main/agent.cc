#include "main/agent.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agent/delete_snapshot.h"
#include "agent/folder_destination.h"
#include "agent/folder_stored.h"
#include "agent/reason.h"
#include "agent/s3_destination.h"
#include "agent/s3_stored.h"
#include "agent/take_snapshot.h"
#include "agent/task.h"
#include "etcd/dial.h"
#include "etcd/pool.h"
#include "main/agent_process.h"
#include "operator/agents/agent_report.h"
#include "s3/store.h"
#include "sys/asio_loop.h"
#include "sys/log_writer.h"
#include "sys/process.h"
#include "sys/system.h"

namespace etcdop {
namespace {

using agent::Reason;
using agent::SnapshotTask;

AgentReport failure(Reason reason, const std::string& message) {
  AgentReport report;
  report.reason = to_string(reason);
  report.message = message;
  return report;
}

int exit_code_of(const AgentReport& report) {
  for (const auto& [reason, text] : names(Reason{}))
    if (report.reason == text) return agent::exit_code(reason);
  return report.failed() ? agent::kExitFailed : agent::kExitStored;
}

std::string uploaded(const AgentReport& report) {
  return "snapshot uploaded: uri=\"" + report.uri + "\" size=" + std::to_string(report.size_bytes) +
         " sha256=" + report.checksum.substr(report.checksum.find(':') + 1);
}

std::string deleted(const AgentReport& report) {
  return "snapshot deleted: uri=\"" + report.uri + "\": " + one_line(report.message);
}

/// One of the subcommands.
struct Program {
  const char* name;
  std::string (*success)(const AgentReport&);  ///< The text for a success.
};
constexpr Program kSnapshotAgent{"snapshot-agent", uploaded}, kDeleteAgent{"delete-agent", deleted};

/// Reports the result: for people in the log, then for the operator in the file. Returns the exit
/// code.
int end(const Program& program, const AgentReport& report,
        const std::string& termination_log_path) {
  int code = exit_code_of(report);
  if (report.failed()) {
    std::fprintf(stderr, "%s failed: %s: %s\n", program.name, report.reason.c_str(),
                 one_line(report.message).c_str());
  } else {
    std::printf("%s\n", program.success(report).c_str());
    std::fflush(stdout);
  }
  if (auto written = write_file(termination_log_path, to_text(report)); !written) {
    std::fprintf(stderr, "%s failed: %s\n", program.name, written.error().message.c_str());
    code = std::max(code, agent::kExitFailed);
  }
  return code;
}

/// Options for TLS with etcd; null: etcd has no TLS.
Result<std::shared_ptr<const TlsClient::Options>> etcd_tls(const agent::EtcdAccess& access) {
  if (!access.tls) return std::shared_ptr<const TlsClient::Options>();
  TlsClient::Options options;
  std::string key;
  for (const auto& [path, text] :
       {std::pair{&access.ca_path, &options.ca}, std::pair{&access.cert_path, &options.certificate},
        std::pair{&access.key_path, &key}}) {
    if (path->empty()) continue;
    auto read = read_file(*path);
    if (!read) return read.error();
    *text = std::move(*read);
  }
  options.key = Secret(std::move(key));
  if (auto usable = TlsClient::load(options); !usable) return usable.error();
  return std::make_shared<const TlsClient::Options>(std::move(options));
}

AgentReport store_failure(const Error& error) {
  return failure(reason_of(agent::Side::Store, error), error.message);
}

/// All objects that live as long as the process, in the order of creation.
class Agent {
 public:
  Agent(AsioLoop& loop, Log& log, const SnapshotTask& task)
      : loop_(loop), log_(log), task_(task), etcd_(loop, etcd::network_dial(loop, task.etcd.port)) {
    storer_ = {.uid = task.uid, .attempt = etcd::to_hex(random_.next())};
  }

  /// Suspends.
  AgentReport run() {
    auto tls = etcd_tls(task_.etcd);
    if (!tls) return failure(Reason::EtcdCredentialsRejected, tls.error().message);
    if (auto made = make_destination(); !made) return store_failure(made.error());
    auto sealing = open_sealing(task_.keys_path, random_);
    if (!sealing) return failure(Reason::EncryptionKeyInvalid, sealing.error().message);
    const AgentReport report = agent::take_snapshot(task_, {.executor = loop_,
                                                            .clock = clock_,
                                                            .log = log_,
                                                            .clients = etcd_,
                                                            .destination = *destination_,
                                                            .tls = std::move(*tls),
                                                            .sealing = sealing->get()});
    etcd_.close();
    return report;
  }

 private:
  Result<Done> make_destination() {
    if (task_.folder) {
      destination_ = std::make_unique<agent::FolderDestination>(agent::FolderDestination::Options{
          .target = *task_.folder, .file_name = task_.file_name(), .storer = storer_});
      return Done{};
    }
    auto store = open_bucket(loop_, clock_, *task_.bucket);
    if (!store) return store.error();
    store_ = std::move(*store);
    destination_ = std::make_unique<agent::S3Destination>(
        loop_, log_, *store_,
        agent::S3Destination::Options{
            .bucket = task_.bucket->place.bucket, .key = task_.key(), .storer = storer_});
    return Done{};
  }

  AsioLoop& loop_;
  Log& log_;
  const SnapshotTask& task_;
  OsRandom random_;
  SystemWallClock clock_;
  etcd::Pool etcd_;
  agent::Storer storer_;
  std::unique_ptr<s3::Store> store_;  // Null if the destination is a folder.
  std::unique_ptr<agent::Destination> destination_;
};

AgentReport take(AsioLoop& loop, Log& log, const SnapshotTask& task) {
  return Agent(loop, log, task).run();
}

AgentReport remove(AsioLoop& loop, Log& log, const SnapshotTask& task) {
  if (task.folder) {
    agent::FolderStored stored(
        {.target = *task.folder, .file_name = task.file_name(), .uid = task.uid});
    return agent::delete_snapshot(loop, log, stored);
  }
  const SystemWallClock clock;
  auto store = open_bucket(loop, clock, *task.bucket);
  if (!store) return store_failure(store.error());
  agent::S3Stored stored(loop, log, **store,
                         {.bucket = task.bucket->place.bucket, .key = task.key(), .uid = task.uid});
  return agent::delete_snapshot(loop, log, stored);
}

using Work = AgentReport (*)(AsioLoop&, Log&, const SnapshotTask&);

/// Runs until the work ends, or must end.
AgentReport work_until_end(const Program& program, Work does, const SnapshotTask& task) {
  LogWriter log({.json = true, .level = Level::Info, .sink = {}});
  AsioLoop loop;
  AgentReport report = failure(Reason::DestinationFailed, "it did not run");
  run_to_end(
      loop, log, [&] { report = does(loop, log, task); },
      [&] {
        const AgentReport late = failure(Reason::DestinationFailed, agent::kAskedToEnd);
        return end(program, late, task.termination_log_path);
      });
  return report;
}

int run(const Program& program, Work does, Result<SnapshotTask> task) {
  keep_heap_small();
  keep_memory_private();
  if (!task)
    return end(program, failure(Reason::DestinationInvalid, task.error().message),
               agent::termination_log_path(environment));
  return end(program, work_until_end(program, does, *task), task->termination_log_path);
}

}  // namespace

int run_snapshot_agent() { return run(kSnapshotAgent, take, agent::to_snapshot_task(environment)); }

int run_delete_agent() { return run(kDeleteAgent, remove, agent::to_deletion_task(environment)); }

}  // namespace etcdop
