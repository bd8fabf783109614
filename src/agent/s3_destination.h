// A snapshot as an object in a bucket.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/destination.h"
#include "agent/s3_calls.h"
#include "base/fiber.h"
#include "base/log.h"
#include "s3/store.h"

namespace etcdop::agent {

/// Uploads parts of 5 MiB. Two of them are in memory: the one being filled, and the one being
/// uploaded. Parts are larger if an upload could not hold the database otherwise. Calls that may
/// succeed later are repeated a few times.
///
/// An object's metadata names its owner: etcd-snapshot-uid, etcd-snapshot-attempt. An object of
/// this uid without its manifest is unfinished, and is written again.
class S3Destination final : public Destination {
 public:
  struct Options {
    std::string bucket, key;  ///< For uri(); the key of the data.
    Storer storer;
  };
  /// All must outlive this.
  S3Destination(Executor&, Log&, s3::Store&, const Options&);
  Result<std::optional<AgentReport>> look() override;
  Result<Done> begin(std::uint64_t bytes_expected) override;
  Result<Done> write(std::string_view bytes) override;
  Result<Done> finish(Manifest) override;
  void abandon() override;
  std::string uri() const override;
  Side side() const override { return Side::Store; }

 private:
  Result<std::optional<s3::Object>> ours();
  Result<Done> must_be_as_seen();
  Result<std::optional<Manifest>> manifest();
  Result<std::optional<Manifest>> manifest_of(const s3::Object&);
  bool is_of(const Manifest&, const s3::Object&) const;
  /// A part that its own fiber uploads.
  struct Part {
    int number;
    std::string bytes;
    Result<s3::Tag> tag;
    std::shared_ptr<Fiber> fiber;
  };
  Result<Done> send_part();
  Result<Done> until_on_their_way(std::size_t count_max);
  Result<s3::Tag> upload(const Part&);
  Result<s3::Tag> store(bool only_if_absent);
  Result<Done> settle();
  Result<Done> verify(const std::optional<s3::Tag>& tag);
  Result<Done> read_back();
  bool is_unsupported(const Error&);
  Result<Done> remove_manifest();
  Result<Done> write_manifest(const std::string& text);
  void abort_upload();
  bool is_of_this_run(const s3::Object&) const;
  Result<Done> remove_stored();
  s3::Metadata metadata() const;

  Executor& executor_;
  Log& log_;
  Patience patience_;
  s3::Store& store_;
  const Options options_;
  const std::string manifest_key_;
  std::optional<std::string> replaced_;  // Attempt of the unfinished object of this uid.
  bool outdated_manifest_ = false;       // A manifest of this uid exists.
  bool conditions_ = true;  // Whether the store supports If-None-Match; assumed at first.
  bool md5_tags_ = false, opaque_tags_ = false;  // The kind of its tags, once known.
  std::uint64_t bytes_expected_ = 0, bytes_ = 0;
  std::string buffer_;  // The part being filled.
  std::optional<s3::Upload> upload_;
  bool may_be_stored_ = false;  // Whether this run may have stored the object.
  int sent_ = 0;                // Number of started parts.
  std::list<Part> on_its_way_;  // The oldest first.
  std::vector<s3::Part> parts_;
};

/// Size of part `number`, if about `bytes_expected` are coming: kPartsMax parts are always enough,
/// even if many more come.
std::size_t part_bytes(std::uint64_t bytes_expected, int number);

}  // namespace etcdop::agent
