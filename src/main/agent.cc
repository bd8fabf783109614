#include "main/agent.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agent/folder_destination.h"
#include "agent/reason.h"
#include "agent/s3_destination.h"
#include "agent/take_snapshot.h"
#include "agent/task.h"
#include "etcd/dial.h"
#include "etcd/pool.h"
#include "operator/shared/agent_report.h"
#include "s3/client.h"
#include "s3/dialer.h"
#include "sys/asio_loop.h"
#include "sys/log_writer.h"
#include "sys/process.h"
#include "sys/system.h"

namespace etcdop {
namespace {

using namespace std::chrono_literals;
using agent::Reason;
using agent::SnapshotTask;

/// For cleaning up, once asked to end. A look-up of a name cannot be ended; the kubelet waits for
/// 30 s.
constexpr auto kStopLimit = 10s;

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

std::string one_line(std::string text) {
  std::ranges::replace_if(text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; }, ' ');
  return text;
}

/// Says how it ended: for people, then for the operator, which reads the file. The exit code.
int end(const AgentReport& report, const std::string& termination_log_path) {
  int code = exit_code_of(report);
  if (report.failed()) {
    std::fprintf(stderr, "snapshot-agent failed: %s: %s\n", report.reason.c_str(),
                 one_line(report.message).c_str());
  } else {
    std::printf("snapshot uploaded: uri=\"%s\" size=%lld sha256=%s\n", report.uri.c_str(),
                static_cast<long long>(report.size_bytes),
                report.checksum.substr(report.checksum.find(':') + 1).c_str());
    std::fflush(stdout);
  }
  if (auto written = write_file(termination_log_path, to_text(report)); !written) {
    std::fprintf(stderr, "snapshot-agent failed: %s\n", written.error().message.c_str());
    code = std::max(code, agent::kExitFailed);
  }
  return code;
}

/// What TLS with etcd is made with; null: it has none.
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

/// Everything that lives as long as the process does, in the order in which it is built.
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
    if (auto made = make_destination(); !made)
      return failure(reason_of(agent::Side::Store, made.error()), made.error().message);
    const AgentReport report = agent::take_snapshot(task_, {.executor = loop_,
                                                            .clock = clock_,
                                                            .log = log_,
                                                            .clients = etcd_,
                                                            .destination = *destination_,
                                                            .tls = std::move(*tls)});
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
    auto place = s3::to_place(task_.bucket->place);
    if (!place) return place.error();
    const Reach reach = task_.bucket->local ? Reach::Anywhere : Reach::Beyond;
    auto dial = s3::dialer(loop_, *place, "", reach);
    if (!dial) return dial.error();
    store_ = std::make_unique<s3::Client>(
        loop_, clock_, *place, std::move(*dial),
        [this]() -> Result<s3::Credentials> { return task_.bucket->credentials; },
        s3::Client::Options{.version = ETCDOP_VERSION});
    destination_ = std::make_unique<agent::S3Destination>(
        loop_, log_, *store_,
        agent::S3Destination::Options{
            .bucket = place->bucket, .key = task_.key(), .storer = storer_});
    return Done{};
  }

  AsioLoop& loop_;
  Log& log_;
  const SnapshotTask& task_;
  OsRandom random_;
  SystemWallClock clock_;
  etcd::Pool etcd_;
  agent::Storer storer_;
  std::unique_ptr<s3::Client> store_;  // Null: it is a folder.
  std::unique_ptr<agent::Destination> destination_;
};

AgentReport take(const SnapshotTask& task) {
  LogWriter log({.json = true, .level = Level::Info, .sink = {}});
  AsioLoop loop;
  Agent agent(loop, log, task);
  AgentReport report = failure(Reason::DestinationFailed, "it did not run");
  const auto work = loop.spawn([&] { report = agent.run(); });
  const auto watch = loop.spawn([&] {
    if (loop.wait_for_termination() != Woken::Ready) return;
    log.info("asked to end");
    work->cancel();
    if (loop.sleep(kStopLimit) != Woken::Ready) return;
    log.error("some work did not stop in time");
    const AgentReport late = failure(Reason::DestinationFailed, "it was asked to end");
    std::_Exit(end(late, task.termination_log_path));
  });
  (void)loop.spawn([&] {
    (void)work->join();
    watch->cancel();
  });
  loop.run();
  return report;
}

}  // namespace

int run_snapshot_agent() {
  keep_heap_small();
  keep_memory_private();
  auto task = agent::to_snapshot_task(environment);
  if (!task)
    return end(failure(Reason::DestinationInvalid, task.error().message),
               agent::termination_log_path(environment));
  return end(take(*task), task->termination_log_path);
}

}  // namespace etcdop
