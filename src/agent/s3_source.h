// A snapshot in an object of a bucket.
#pragma once
#include <optional>
#include <string>

#include "agent/s3_calls.h"
#include "agent/source.h"
#include "base/fiber.h"
#include "base/log.h"
#include "s3/store.h"

namespace etcdop::agent {

/// Read in ranges of a few MiB, one of which is in memory, as long as the object stays the same.
/// Calls that may succeed later are repeated a few times.
class S3Source final : public SnapshotSource {
 public:
  struct Options {
    std::string bucket, key;  ///< `bucket` is for uri(); `key` is that of the data.
  };
  /// All must outlive this.
  S3Source(Executor&, Log&, s3::Store&, const Options&);
  Result<SourceFacts> look() override;
  Result<Done> read(const Take&) override;
  std::string uri() const override;
  RestoreSide side() const override { return RestoreSide::Store; }

  static constexpr std::uint64_t kRangeBytes = 4 << 20;

 private:
  Error why_absent();
  Result<std::optional<std::string>> manifest();
  Result<Done> read_range(std::uint64_t first);

  Log& log_;
  Patience patience_;
  s3::Store& store_;
  const Options options_;
  s3::Object object_;       // As look() found it.
  bool conditions_ = true;  // Whether the store supports If-Match; assumed at first.
  std::string buffer_;      // The current range.
};

}  // namespace etcdop::agent
