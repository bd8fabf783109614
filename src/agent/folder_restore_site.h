// A data directory on a volume, and etcdutl as a process.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/restore_site.h"
#include "base/fiber.h"
#include "base/log.h"
#include "sys/folder.h"

namespace etcdop::agent {

/// Temporary names are etcd-restore-*.db, .restore/ and .restore-tls/, whichever run made them:
/// only one run restores at a time. All calls except rebuild() block.
class FolderRestoreSite final : public RestoreSite {
 public:
  struct Options {
    std::string data_dir;
    std::string attempt;             ///< Letters, digits and hyphens; part of the temporary name.
    std::vector<std::string> tools;  ///< Possible paths of etcdutl, the best first.
  };
  /// Both must outlive this.
  FolderRestoreSite(Executor&, Log&, const Options&);
  Result<bool> has_member() override;
  Result<Done> find_tool() override;
  Result<Done> sweep() override;
  Result<std::uint64_t> free_bytes() override;
  Result<Done> create() override;
  Result<Done> write(std::string_view bytes) override;
  Result<Done> finish() override;
  Result<DatabaseFacts> inspect() override;
  Result<Done> rebuild(const Rebuild&) override;
  Result<Done> commit() override;

  static constexpr Duration kRebuildLimit = std::chrono::minutes(25);

 private:
  std::string file_name() const { return "etcd-restore-" + options_.attempt + ".db"; }
  Result<Done> open();

  Executor& executor_;
  Log& log_;
  const Options options_;
  std::optional<Folder> folder_;
  std::optional<NewFile> file_;
  std::string tool_;
};

/// In a data directory: the result of rebuild(), until commit() makes it the member; and the
/// certificates of an etcd that is started on it before.
inline constexpr const char* kRebuiltFolder = ".restore";
inline constexpr const char* kRebuiltTlsFolder = ".restore-tls";

/// Possible paths of an etcd program: from the environment, from etcd's image, and from PATH.
std::vector<std::string> tool_paths(const std::string& name, const std::string& said,
                                    const std::string& path);
/// The store's credentials, set to empty: no etcd program needs them.
std::map<std::string, std::string> without_credentials();

}  // namespace etcdop::agent
