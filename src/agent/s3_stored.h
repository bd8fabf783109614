// A stored snapshot in a bucket: an object and its manifest.
#pragma once
#include <string>
#include <vector>

#include "agent/s3_calls.h"
#include "agent/stored_snapshot.h"

namespace etcdop::agent {

/// Calls that may succeed later are repeated a few times. In a bucket with versions, the old
/// versions stay.
class S3Stored final : public StoredSnapshot {
 public:
  struct Options {
    std::string bucket, key;  ///< For uri(); the key of the data.
    std::string uid;          ///< The EtcdSnapshot's.
  };
  /// All must outlive this.
  S3Stored(Executor&, Log&, s3::Store&, const Options&);
  Result<std::vector<std::string>> look() override;
  Result<Done> remove(const std::string& key) override;
  std::string uri() const override { return uri_of(options_.key); }
  Side side() const override { return Side::Store; }

 private:
  std::string uri_of(const std::string& key) const { return "s3://" + options_.bucket + "/" + key; }
  Result<bool> is_there(const std::string& key);
  Result<bool> data_is_there();
  Result<bool> manifest_is_there();
  Error not_ours(const std::string& key) const;
  Result<Done> remove_once(const std::string& key);

  Patience patience_;
  s3::Store& store_;
  const Options options_;
  const std::string manifest_key_;
};

}  // namespace etcdop::agent
