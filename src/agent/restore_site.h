// Where one member is restored: its data directory and the tool that rebuilds it.
// folder_restore_site.h is the real one.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace etcdop::agent {

/// The first member of a new cluster, as etcdutl has to know it.
struct Rebuild {
  std::string member_name, initial_cluster, initial_cluster_token;
  std::string peer_urls;  ///< Empty: etcdutl's own default.
  /// By how much the revision is raised; all before it counts as compacted then. 0: not at all.
  std::int64_t bump_revision = 0;
};

/// What a database says of itself.
struct DatabaseFacts {
  /// "3.6", or "3.6.0": of the cluster it is of; empty: it does not say.
  std::string etcd_version;
  bool auth_enabled = false;
  std::optional<std::int64_t> revision;  ///< The newest; nullopt: it does not say.
  /// What a bump counts from, if that is another: the newest that a key has, 0 if there is none.
  std::optional<std::int64_t> newest_key;
};

/// Expected flow: has_member(), find_tool(), sweep(), free_bytes(), create(), write()..., finish(),
/// inspect(), rebuild(), commit(); sweep() once more, however it ended. Each call may suspend. A
/// program that is killed between or in them leaves what the next run's sweep() removes, or a
/// member that is whole.
///
/// Errors: of rebuild() and find_tool() as of RestoreSide::Tool, of inspect() Corrupt as of
/// RestoreSide::Snapshot, else, and of all others, as of RestoreSide::DataDirectory.
class RestoreSite {
 public:
  virtual ~RestoreSite() = default;
  /// There is something that nobody may overwrite. An error: the data directory cannot be used.
  virtual Result<bool> has_member() = 0;
  /// NotFound: there is no etcdutl that could be run.
  virtual Result<Done> find_tool() = 0;
  /// What earlier runs, and this one, have left beside a member goes away.
  virtual Result<Done> sweep() = 0;
  virtual Result<std::uint64_t> free_bytes() = 0;
  /// A temporary file for the snapshot.
  virtual Result<Done> create() = 0;
  virtual Result<Done> write(std::string_view bytes) = 0;
  virtual Result<Done> finish() = 0;
  /// Of the file that finish() has ended. Corrupt: it is no database of etcd.
  virtual Result<DatabaseFacts> inspect() = 0;
  /// Makes a data directory of the file, beside where the member will be.
  virtual Result<Done> rebuild(const Rebuild&) = 0;
  /// What was rebuilt becomes the member, whole or not at all, and is on the disk. AlreadyExists:
  /// there is one by now.
  virtual Result<Done> commit() = 0;
};

}  // namespace etcdop::agent
