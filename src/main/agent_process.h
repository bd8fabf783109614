// Shared by the agents' processes: their loop, their bucket, their final report.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/sealed.h"
#include "agent/source.h"
#include "agent/task.h"
#include "base/log.h"
#include "base/random.h"
#include "base/wall_time.h"
#include "s3/store.h"
#include "sys/asio_loop.h"

namespace etcdop {

/// Runs `work` on a fiber of the loop until it returns. A request to end cancels it; if `work` does
/// not return in time, the process ends with the exit code that `late` returns.
void run_to_end(AsioLoop&, Log&, const std::function<void()>& work,
                const std::function<int()>& late);

/// All references must outlive the store.
Result<std::unique_ptr<s3::Store>> open_bucket(AsioLoop&, const WallClock&,
                                               const agent::BucketTarget&);

/// The place that a stored snapshot is read from.
struct OpenedSource {
  std::unique_ptr<s3::Store> store;  ///< Null for a folder. Outlives the source.
  std::unique_ptr<agent::SnapshotSource> source;
};
/// All references must outlive the source; one of the targets is set. Errors as for a Store.
Result<OpenedSource> open_source(AsioLoop&, const WallClock&, Log&,
                                 const std::optional<agent::BucketTarget>&,
                                 const std::optional<agent::FolderTarget>&);

/// The keys of encrypted snapshots, from a Secret mounted at `path`; null: no path, so they are not
/// encrypted. Invalid, NotFound, Denied: an entry of the Secret is not a key, or its folder is
/// unreadable.
Result<std::unique_ptr<agent::SealingKeys>> open_keys(const std::string& path);
/// The key for a new snapshot; null and errors as above.
Result<std::unique_ptr<agent::Sealing>> open_sealing(const std::string& path, Random&);

/// Replaces line ends, for readers that read line by line.
std::string one_line(std::string text);

}  // namespace etcdop
