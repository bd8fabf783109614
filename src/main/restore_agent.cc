#include "main/restore_agent.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "agent/folder_restore_site.h"
#include "agent/install_tools.h"
#include "agent/reason.h"
#include "agent/restore_snapshot.h"
#include "agent/task.h"
#include "etcd/member.h"
#include "main/agent_process.h"
#include "operator/agents/restore_report.h"
#include "sys/asio_loop.h"
#include "sys/log_writer.h"
#include "sys/process.h"
#include "sys/system.h"

namespace etcdop {
namespace {

using agent::RestoreReason;
using agent::RestoreTask;

/// Reports the result: for people in the log, then for the operator in the file. Returns the exit
/// code.
int end(const RestoreReport& report, const std::string& termination_log_path) {
  int code = agent::exit_code(report);
  if (report.failed())
    std::fprintf(stderr, "restore-agent failed: %s: %s\n", report.reason.c_str(),
                 one_line(report.message).c_str());
  if (auto written = write_file(termination_log_path, to_text(report)); !written) {
    std::fprintf(stderr, "restore-agent failed: %s\n", written.error().message.c_str());
    code = std::max(code, agent::kExitFailed);
  }
  return code;
}

/// Suspends.
RestoreReport run(AsioLoop& loop, Log& log, const RestoreTask& task) {
  OsRandom random;
  const SystemWallClock clock;
  auto opened = open_source(loop, clock, log, task.bucket, task.folder);
  if (!opened)
    return restore_failure(reason_of(agent::RestoreSide::Store, opened.error()),
                           opened.error().message);
  auto keys = open_keys(task.keys_path);
  if (!keys) return restore_failure(RestoreReason::EncryptionKeyInvalid, keys.error().message);
  agent::FolderRestoreSite site(
      loop, log,
      {.data_dir = task.data_dir,
       .attempt = etcd::to_hex(random.next()),
       .tools = agent::tool_paths("etcdutl", task.etcdutl_path, environment("PATH").value_or(""))});
  return agent::restore(
      task,
      {.executor = loop, .log = log, .source = *opened->source, .site = site, .keys = keys->get()});
}

RestoreReport restore(const RestoreTask& task) {
  LogWriter log({.json = true, .level = Level::Info, .sink = {}});
  AsioLoop loop;
  const auto ended = [] {
    return restore_failure(RestoreReason::SourceFailed, "it was asked to end");
  };
  RestoreReport report = ended();
  run_to_end(
      loop, log, [&] { report = run(loop, log, task); },
      [&] { return end(ended(), task.termination_log_path); });
  return report;
}

}  // namespace

int run_restore_agent() {
  keep_heap_small();
  keep_memory_private();
  auto task = agent::to_restore_task(environment);
  if (!task)
    return end(restore_failure(RestoreReason::SourceInvalid, task.error().message),
               agent::termination_log_path(environment));
  return end(restore(*task), task->termination_log_path);
}

int run_install_tools() {
  const auto folder = environment("TOOLS_DEST_DIR");
  Result<Done> installed = Error{Code::Invalid, "TOOLS_DEST_DIR must be set"};
  if (folder && !folder->empty()) installed = agent::install_tools(own_program(), *folder);
  if (installed) return agent::kExitStored;
  std::fprintf(stderr, "install-tools failed: %s\n", one_line(installed.error().message).c_str());
  return agent::kExitFailed;
}

}  // namespace etcdop
