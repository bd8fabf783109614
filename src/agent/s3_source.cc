#include "agent/s3_source.h"

#include <algorithm>
#include <utility>

#include "agent/manifest.h"
#include "s3/answers.h"

namespace etcdop::agent {

S3Source::S3Source(Executor& executor, Log& log, s3::Store& store, const Options& options)
    : log_(log), patience_(executor, log), store_(store), options_(options) {}

std::string S3Source::uri() const { return "s3://" + options_.bucket + "/" + options_.key; }

Result<SourceFacts> S3Source::look() {
  auto object = look_at(patience_, store_, options_.key);
  if (!object) return object.error();
  if (!*object) return why_absent();
  object_ = std::move(**object);
  auto text = manifest();
  if (!text) return text.error();
  return SourceFacts{.size_bytes = object_.size,
                     .uid = mark_of(object_, kUidMark),
                     .attempt = mark_of(object_, kAttemptMark),
                     .manifest = std::move(*text)};
}

/// The answer to HEAD does not say whether the object or the bucket is missing.
Error S3Source::why_absent() {
  auto got = store_.get(options_.key, {.range = s3::GetOptions::Range{0, 1}, .only_if = {}},
                        [](std::string_view) { return false; });
  return got ? Error{Code::Unavailable, uri() + " was created during this check"} : got.error();
}

/// nullopt: no manifest, or it cannot be known. If we may read the snapshot but not list the
/// bucket, the store answers "forbidden" for a missing manifest, as beside a snapshot that another
/// program stored.
Result<std::optional<std::string>> S3Source::manifest() {
  const std::string key = options_.key + kManifestSuffix;
  auto small = read_small(patience_, store_, key);
  const std::optional<std::string> nothing;
  if (!small && s3::trouble_of(small.error()) == s3::Trouble::Permission) {
    log_.warn("no permission to read the manifest: continuing without it", {{"key", key}});
    return nothing;
  }
  if (!small) return small.error();
  return *small ? std::optional(std::move((*small)->text)) : nothing;
}

Result<Done> S3Source::read(const Take& take) {
  for (std::uint64_t at = 0; at < object_.size; at += buffer_.size()) {
    if (auto came = read_range(at); !came) return came;
    if (auto taken = take(buffer_); !taken) return taken;
  }
  return Done{};
}

/// Reads the whole range into the buffer, of the object that look() saw.
Result<Done> S3Source::read_range(std::uint64_t first) {
  const std::uint64_t count = std::min(kRangeBytes, object_.size - first);
  const Error other{Code::Conflict, uri() + " was replaced while it was read"};
  bool replaced = false;
  auto got = patience_.repeat("GET", [&]() -> Result<Done> {
    buffer_.clear();
    s3::GetOptions options{.range = s3::GetOptions::Range{first, count}, .only_if = {}};
    if (conditions_) options.only_if = object_.tag;
    auto object = store_.get(options_.key, options, [&](std::string_view piece) {
      buffer_ += piece.substr(0, count - buffer_.size());
      return true;
    });
    if (!object && conditions_ && s3::trouble_of(object.error()) == s3::Trouble::Unsupported) {
      conditions_ = false;  // The answer's tag tells it, too.
      return Error{Code::Unavailable, object.error().message};
    }
    replaced = object.failed_with(Code::Conflict) || (object && object->tag != object_.tag);
    if (replaced) return Done{};
    if (!object) return object.error();
    if (buffer_.size() == count) return Done{};
    return Error{Code::Lost, uri() + ": the store sent " + std::to_string(buffer_.size()) + " of " +
                                 std::to_string(count) + " bytes"};
  });
  return replaced ? Result<Done>(other) : got;
}

}  // namespace etcdop::agent
