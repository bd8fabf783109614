// An object store in front of another one, for tests that change some of its calls.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "s3/store.h"

namespace etcdop::testing {

/// Forwards every call.
class WrappedStore : public s3::Store {
 public:
  explicit WrappedStore(s3::Store& below) : below_(below) {}
  Result<s3::Object> head(const std::string& key) override { return below_.head(key); }
  Result<s3::Object> get(const std::string& key, const s3::GetOptions& options,
                         const Sink& sink) override {
    return below_.get(key, options, sink);
  }
  Result<s3::Tag> put(const std::string& key, std::string_view data,
                      const s3::PutOptions& options) override {
    return below_.put(key, data, options);
  }
  Result<s3::Upload> create_multipart(const std::string& key, const s3::Metadata& data) override {
    return below_.create_multipart(key, data);
  }
  Result<s3::Tag> upload_part(const s3::Upload& upload, int number,
                              const s3::Payload& data) override {
    return below_.upload_part(upload, number, data);
  }
  Result<s3::Tag> complete(const s3::Upload& upload, const std::vector<s3::Part>& parts,
                           bool only_if_absent) override {
    return below_.complete(upload, parts, only_if_absent);
  }
  Result<Done> abort(const s3::Upload& upload) override { return below_.abort(upload); }
  Result<s3::Page> list(const s3::ListOptions& options) override { return below_.list(options); }
  Result<std::vector<s3::Upload>> uploads(const std::string& prefix) override {
    return below_.uploads(prefix);
  }
  Result<Done> remove(const std::string& key) override { return below_.remove(key); }

 protected:
  s3::Store& below_;
};

}  // namespace etcdop::testing
