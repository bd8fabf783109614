// The place where one member is restored: its data directory and the tool that rebuilds it.
// folder_restore_site.h is the real one.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace etcdop::agent {

/// The first member of a new cluster, as etcdutl needs it.
struct Rebuild {
  std::string member_name, initial_cluster, initial_cluster_token;
  std::string peer_urls;  ///< Empty: etcdutl's own default.
  /// By how much the revision is raised; all earlier revisions then count as compacted. 0: not at
  /// all.
  std::int64_t bump_revision = 0;
};

/// Facts from a database.
struct DatabaseFacts {
  /// "3.6", or "3.6.0": version of its cluster; empty: unknown.
  std::string etcd_version;
  bool auth_enabled = false;
  std::optional<std::int64_t> revision;  ///< The newest revision; nullopt: unknown.
  /// The base of a bump, if it differs: the newest revision of a key, 0 without keys.
  std::optional<std::int64_t> newest_key;
};

/// Normal flow: has_member(), find_tool(), sweep(), free_bytes(), create(), write()..., finish(),
/// inspect(), rebuild(), commit(); sweep() once more, after success or failure. Each call may
/// suspend. A program that is killed between or during these calls leaves only files that the next
/// run's sweep() removes, or a complete member.
///
/// Errors: of rebuild() and find_tool() as for RestoreSide::Tool; Corrupt of inspect() as for
/// RestoreSide::Snapshot; all others as for RestoreSide::DataDirectory.
class RestoreSite {
 public:
  virtual ~RestoreSite() = default;
  /// Whether data exists that must not be overwritten. An error: the data directory is unusable.
  virtual Result<bool> has_member() = 0;
  /// NotFound: no executable etcdutl.
  virtual Result<Done> find_tool() = 0;
  /// Removes the leftovers of earlier runs, and of this one, beside a member.
  virtual Result<Done> sweep() = 0;
  virtual Result<std::uint64_t> free_bytes() = 0;
  /// A temporary file for the snapshot.
  virtual Result<Done> create() = 0;
  virtual Result<Done> write(std::string_view bytes) = 0;
  virtual Result<Done> finish() = 0;
  /// Reads the finished file. Corrupt: not an etcd database.
  virtual Result<DatabaseFacts> inspect() = 0;
  /// Makes a data directory from the file, beside the member's future place.
  virtual Result<Done> rebuild(const Rebuild&) = 0;
  /// Makes the rebuilt directory the member, completely or not at all; it is then on the disk.
  /// AlreadyExists: a member exists by now.
  virtual Result<Done> commit() = 0;
};

}  // namespace etcdop::agent
