#include "main/verify_agent.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "agent/folder_restore_site.h"
#include "agent/process_etcd.h"
#include "agent/reason.h"
#include "agent/task.h"
#include "agent/verify_snapshot.h"
#include "etcd/member.h"
#include "main/agent_process.h"
#include "operator/agents/verify_report.h"
#include "sys/asio_loop.h"
#include "sys/log_writer.h"
#include "sys/process.h"
#include "sys/system.h"

namespace etcdop {
namespace {

using agent::RestoreReason;
using agent::VerifyTask;

/// Reports the result: for people in the log, then for the operator in the file. Returns the exit
/// code.
int end(const VerifyReport& report, const std::string& termination_log_path) {
  int code = agent::exit_code(report);
  if (report.failed())
    std::fprintf(stderr, "verify-agent failed: %s: %s\n", report.reason.c_str(),
                 one_line(report.message).c_str());
  if (auto written = write_file(termination_log_path, to_text(report)); !written) {
    std::fprintf(stderr, "verify-agent failed: %s\n", written.error().message.c_str());
    code = std::max(code, agent::kExitFailed);
  }
  return code;
}

/// Suspends.
VerifyReport run(AsioLoop& loop, Log& log, const VerifyTask& task) {
  OsRandom random;
  const SystemWallClock clock;
  auto opened = open_source(loop, clock, log, task.bucket, task.folder);
  if (!opened)
    return verify_failure(reason_of(agent::RestoreSide::Store, opened.error()),
                          opened.error().message);
  auto keys = open_keys(task.keys_path);
  if (!keys) return verify_failure(RestoreReason::EncryptionKeyInvalid, keys.error().message);
  const std::string path = environment("PATH").value_or("");
  agent::FolderRestoreSite site(loop, log,
                                {.data_dir = task.scratch_dir,
                                 .attempt = etcd::to_hex(random.next()),
                                 .tools = agent::tool_paths("etcdutl", task.etcdutl_path, path)});
  agent::ProcessEtcd etcd(
      loop, clock, log,
      {.data_dir = task.scratch_dir, .programs = agent::tool_paths("etcd", task.etcd_path, path)});
  return agent::verify(task, {.executor = loop,
                              .log = log,
                              .source = *opened->source,
                              .site = site,
                              .etcd = etcd,
                              .keys = keys->get()});
}

VerifyReport verify(const VerifyTask& task) {
  LogWriter log({.json = true, .level = Level::Info, .sink = {}});
  AsioLoop loop;
  const auto ended = [] {
    return verify_failure(RestoreReason::SourceFailed, "it was asked to end");
  };
  VerifyReport report = ended();
  run_to_end(
      loop, log, [&] { report = run(loop, log, task); },
      [&] { return end(ended(), task.termination_log_path); });
  return report;
}

}  // namespace

int run_verify_agent() {
  keep_heap_small();
  keep_memory_private();
  auto task = agent::to_verify_task(environment);
  if (!task)
    return end(verify_failure(RestoreReason::SourceInvalid, task.error().message),
               agent::termination_log_path(environment));
  return end(verify(*task), task->termination_log_path);
}

}  // namespace etcdop
