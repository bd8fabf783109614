#include "agent/delete_snapshot.h"

#include <string>
#include <utility>

namespace etcdop::agent {
namespace {

AgentReport not_deleted(const StoredSnapshot& stored, const Error& error) {
  AgentReport report;
  report.reason = to_string(reason_of(stored.side(), error));
  report.message = told(error);
  return report;
}

AgentReport deleted(const StoredSnapshot& stored, std::string message) {
  AgentReport report;
  report.uri = stored.uri();
  report.message = std::move(message);
  return report;
}

}  // namespace

AgentReport delete_snapshot(Executor& executor, Log& log, StoredSnapshot& stored) {
  const Within limit(executor, kDeleteLimit);
  log.info("looking at what is stored", {{"uri", stored.uri()}});
  auto names = stored.look();
  if (!names) return not_deleted(stored, names.error());
  if (names->empty()) return deleted(stored, "already gone");
  std::string all;
  for (const std::string& name : *names) {
    if (auto removed = stored.remove(name); !removed) return not_deleted(stored, removed.error());
    log.info("removed", {{"what", name}});
    all += (all.empty() ? "removed " : ", ") + name;
  }
  return deleted(stored, std::move(all));
}

}  // namespace etcdop::agent
