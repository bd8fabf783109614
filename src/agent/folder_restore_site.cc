#include "agent/folder_restore_site.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "agent/database_facts.h"
#include "sys/command.h"

namespace etcdop::agent {
namespace {

constexpr const char* kMember = "member";
constexpr unsigned kFileMode = 0600;
constexpr std::uint64_t kSumBytes = 32;  // etcd's own sum, after the database.

bool is_temporary(const std::string& name) {
  return name == kRebuiltFolder || name == kRebuiltTlsFolder ||
         (name.starts_with("etcd-restore-") && name.ends_with(".db"));
}

std::vector<std::string> arguments(const Rebuild& how, const std::string& file,
                                   const std::string& data_dir) {
  std::vector<std::string> out = {"snapshot",
                                  "restore",
                                  file,
                                  "--data-dir=" + data_dir,
                                  "--name=" + how.member_name,
                                  "--initial-cluster=" + how.initial_cluster,
                                  "--initial-cluster-token=" + how.initial_cluster_token};
  if (!how.peer_urls.empty()) out.push_back("--initial-advertise-peer-urls=" + how.peer_urls);
  if (how.bump_revision == 0) return out;
  // etcdutl ignores either flag without the other.
  out.push_back("--bump-revision=" + std::to_string(how.bump_revision));
  out.push_back("--mark-compacted");
  return out;
}

/// The error for a bad end.
Error failure_of(const CommandOutput& ended, const std::string& tool) {
  std::string words = ended.err_end;
  if (const std::size_t last = words.rfind("Error: "); last != words.npos) words.erase(0, last);
  const bool full = words.find("no space left on device") != words.npos ||
                    words.find("disk quota exceeded") != words.npos;
  const std::string how = ended.signal != 0 ? "was killed by signal " + std::to_string(ended.signal)
                                            : "ended with " + std::to_string(ended.exit_code);
  return {full ? Code::Unavailable : Code::Lost, tool + " " + how + ": " + words};
}

}  // namespace

std::map<std::string, std::string> without_credentials() {
  return {{"AWS_ACCESS_KEY_ID", ""}, {"AWS_SECRET_ACCESS_KEY", ""}, {"AWS_SESSION_TOKEN", ""}};
}

std::vector<std::string> tool_paths(const std::string& name, const std::string& said,
                                    const std::string& path) {
  std::vector<std::string> out;
  if (!said.empty()) out.push_back(said);
  out.push_back("/usr/local/bin/" + name);
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    if (folder.starts_with('/')) out.push_back(std::string(folder) + "/" + name);
  }
  return out;
}

FolderRestoreSite::FolderRestoreSite(Executor& executor, Log& log, const Options& options)
    : executor_(executor), log_(log), options_(options) {}

Result<Done> FolderRestoreSite::open() {
  if (folder_) return Done{};
  auto folder = Folder::open(options_.data_dir);
  if (!folder) return folder.error();
  // An agent that still runs on a lost node would remove this one's files, and the reverse.
  if (auto locked = folder->lock(); !locked) return locked;
  folder_ = std::move(*folder);
  return Done{};
}

Result<bool> FolderRestoreSite::has_member() {
  if (auto opened = open(); !opened) return opened.error();
  return folder_->has(kMember);
}

Result<Done> FolderRestoreSite::find_tool() {
  for (const std::string& path : options_.tools) {
    if (!is_program(path)) continue;
    tool_ = path;
    return Done{};
  }
  return Error{Code::NotFound,
               "no etcdutl that could be run: the image of etcd must have it at "
               "/usr/local/bin/etcdutl or in PATH, as those of 3.5 and later do"};
}

Result<Done> FolderRestoreSite::sweep() {
  file_.reset();
  auto names = folder_->names();
  if (!names) return names.error();
  for (const std::string& name : *names) {
    if (!is_temporary(name)) continue;
    if (auto removed = folder_->remove_tree(name); !removed) return removed;
  }
  return Done{};
}

Result<std::uint64_t> FolderRestoreSite::free_bytes() { return folder_->free_bytes(); }

Result<Done> FolderRestoreSite::create() {
  auto file = folder_->create(file_name(), kFileMode);
  if (!file) return file.error();
  file_ = std::move(*file);
  return Done{};
}

Result<Done> FolderRestoreSite::write(std::string_view bytes) { return file_->write(bytes); }

Result<Done> FolderRestoreSite::finish() { return file_->finish(); }

Result<DatabaseFacts> FolderRestoreSite::inspect() {
  auto file = folder_->open_file(file_name());
  if (!file) return file.error();
  return read_facts(
      [&](std::uint64_t offset, std::size_t count) { return file->read_at(offset, count); },
      file->size() - std::min(file->size(), kSumBytes));
}

Result<Done> FolderRestoreSite::rebuild(const Rebuild& how) {
  const std::string in = options_.data_dir + "/";
  log_.info("rebuilding the data directory",
            {{"tool", tool_}, {"bump_revision", how.bump_revision}});
  auto ended =
      run_command(executor_, {.program = tool_,
                              .args = arguments(how, in + file_name(), in + kRebuiltFolder),
                              .env = without_credentials(),
                              .limit = kRebuildLimit});
  if (ended.failed_with(Code::Unavailable)) return Error{Code::Lost, ended.error().message};
  if (!ended) return ended.error();
  log_.info("etcdutl ended", {{"exit_code", ended->exit_code}, {"last_words", ended->err_end}});
  if (ended->signal != 0 || ended->exit_code != 0) return failure_of(*ended, tool_);
  return Done{};
}

Result<Done> FolderRestoreSite::commit() {
  auto rebuilt = folder_->existing(kRebuiltFolder);
  if (!rebuilt) return rebuilt.error();
  if (auto on_disk = rebuilt->sync_tree(); !on_disk) return on_disk;
  if (auto moved = rebuilt->move(kMember, *folder_, kMember); !moved) return moved;
  return folder_->sync();
}

}  // namespace etcdop::agent
