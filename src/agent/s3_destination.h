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

/// In parts of 5 MiB, of which two are in memory: the one that comes, and the one before it on its
/// way. Of more than 5 MiB where an upload could not hold the database otherwise. Calls that may
/// succeed later are repeated a few times.
///
/// Whose an object is, says its metadata: etcd-snapshot-uid, etcd-snapshot-attempt. An object of
/// this uid without its manifest is not finished, and is written anew.
class S3Destination final : public Destination {
 public:
  struct Options {
    std::string bucket, key;  ///< For uri(); the key of the data.
    Storer storer;
  };
  /// All outlive this.
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
  /// A part that is uploaded by a fiber of its own.
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
  bool outdated_manifest_ = false;       // There is a manifest of this uid.
  bool conditions_ = true;               // The store knows If-None-Match, as far as we know.
  bool md5_tags_ = false, opaque_tags_ = false;  // What its tags are, once known.
  std::uint64_t bytes_expected_ = 0, bytes_ = 0;
  std::string buffer_;  // The part that comes.
  std::optional<s3::Upload> upload_;
  bool may_be_stored_ = false;  // The object, by this run, as far as we know.
  int sent_ = 0;                // Parts that were begun.
  std::list<Part> on_its_way_;  // The oldest first.
  std::vector<s3::Part> parts_;
};

/// How large part `number` is, if about `bytes_expected` come: so that kPartsMax of them are always
/// enough, though many more should come.
std::size_t part_bytes(std::uint64_t bytes_expected, int number);

}  // namespace etcdop::agent
