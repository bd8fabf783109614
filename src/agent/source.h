// Where one snapshot is read from. s3_source.h and folder_source.h are the two kinds.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agent/restore_reason.h"
#include "base/result.h"

namespace etcdop::agent {

/// What one knows of a stored snapshot without its bytes.
struct SourceFacts {
  std::uint64_t size_bytes = 0;
  std::string uid, attempt;             ///< Who stored it; empty: that is not said.
  std::optional<std::string> manifest;  ///< The text of what lies beside it (manifest.h).
};

/// Expected flow: look(), then read() once or more often. Each call may suspend.
class SnapshotSource {
 public:
  /// Gets the bytes piece by piece; an error of it ends the reading, and is read()'s.
  using Take = std::function<Result<Done>(std::string_view piece)>;
  virtual ~SnapshotSource() = default;
  virtual Result<SourceFacts> look() = 0;
  /// All bytes in order, as many as look() said. Conflict: it is another one by now.
  virtual Result<Done> read(const Take&) = 0;
  virtual std::string uri() const = 0;
  /// Store or Folder: how its errors are meant.
  virtual RestoreSide side() const = 0;
};

}  // namespace etcdop::agent
