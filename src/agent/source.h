// The place that one snapshot is read from. s3_source.h and folder_source.h are the two kinds.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agent/restore_reason.h"
#include "base/result.h"

namespace etcdop::agent {

/// Facts of a stored snapshot without its bytes.
struct SourceFacts {
  std::uint64_t size_bytes = 0;
  std::string uid, attempt;             ///< Its owner and run; empty: unknown.
  std::optional<std::string> manifest;  ///< The text of the manifest beside it (manifest.h).
};

/// Normal flow: look(), then read() once or more often. Each call may suspend.
class SnapshotSource {
 public:
  /// Receives the bytes piece by piece; its error ends read(), and is returned.
  using Take = std::function<Result<Done>(std::string_view piece)>;
  virtual ~SnapshotSource() = default;
  virtual Result<SourceFacts> look() = 0;
  /// All bytes in order, as many as look() said. Conflict: it was replaced.
  virtual Result<Done> read(const Take&) = 0;
  virtual std::string uri() const = 0;
  /// Store or Folder: decides how its errors are read.
  virtual RestoreSide side() const = 0;
};

}  // namespace etcdop::agent
