// What the processes of agents have in common: their loop, their bucket, their last words.
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

/// Runs `work` on a fiber of the loop until it returns. Asked to end, it is cancelled; if that does
/// not help in time, the process ends with the code that `late` returns.
void run_to_end(AsioLoop&, Log&, const std::function<void()>& work,
                const std::function<int()>& late);

/// All outlive the store.
Result<std::unique_ptr<s3::Store>> open_bucket(AsioLoop&, const WallClock&,
                                               const agent::BucketTarget&);

/// Where a stored snapshot is read from.
struct OpenedSource {
  std::unique_ptr<s3::Store> store;  ///< Null: it is a folder. Outlives the source.
  std::unique_ptr<agent::SnapshotSource> source;
};
/// All outlive the source; one of the targets is there. Errors are of a Store.
Result<OpenedSource> open_source(AsioLoop&, const WallClock&, Log&,
                                 const std::optional<agent::BucketTarget>&,
                                 const std::optional<agent::FolderTarget>&);

/// The keys of encrypted snapshots that a Secret has, which is mounted there; null: no path, they
/// are not encrypted. Invalid, NotFound, Denied: the Secret's entry that is no key, or its folder.
Result<std::unique_ptr<agent::SealingKeys>> open_keys(const std::string& path);
/// What a new one is encrypted with; null and errors likewise.
Result<std::unique_ptr<agent::Sealing>> open_sealing(const std::string& path, Random&);

/// Without line ends, for who reads line by line.
std::string one_line(std::string text);

}  // namespace etcdop
