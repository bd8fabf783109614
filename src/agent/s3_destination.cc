#include "agent/s3_destination.h"

#include <algorithm>
#include <utility>

#include "base/hex.h"
#include "s3/answers.h"

namespace etcdop::agent {
namespace {

using namespace std::chrono_literals;

constexpr Duration kAbandonLimit = 6s;  // The kubelet waits for 30 s.

constexpr std::uint64_t kMiB = 1 << 20;
constexpr int kPlannedParts = 8'000;  // The rest is for databases that are larger than expected.
constexpr std::uint64_t kPlannedPartBytesMax = 64 * kMiB;
constexpr std::uint64_t kGrowth = 8;
constexpr std::size_t kPartsInMemory = 2;

/// The tag for these bytes if tags are MD5s: in quotes.
bool is_tag_of(const s3::Tag& tag, const s3::Payload& payload) {
  return tag.text == '"' + hex_of_bytes(payload.md5) + '"';
}

std::string without_quotes(std::string text) {
  std::erase(text, '"');
  return text;
}

/// Only a look can tell whether the write was done.
bool is_open(const Error& error) {
  return error.code == Code::Lost || error.code == Code::TimedOut ||
         error.code == Code::AlreadyExists || error.code == Code::NotFound ||
         error.code == Code::Conflict;
}

}  // namespace

std::size_t part_bytes(std::uint64_t bytes_expected, int number) {
  const std::uint64_t even = (bytes_expected / kPlannedParts / kMiB + 1) * kMiB;
  const std::uint64_t planned = std::clamp(even, s3::Store::kPartBytesMin, kPlannedPartBytesMax);
  return number <= kPlannedParts ? planned : planned * kGrowth;
}

S3Destination::S3Destination(Executor& executor, Log& log, s3::Store& store, const Options& options)
    : executor_(executor),
      log_(log),
      patience_(executor, log),
      store_(store),
      options_(options),
      manifest_key_(options.key + kManifestSuffix) {}

std::string S3Destination::uri() const { return "s3://" + options_.bucket + "/" + options_.key; }

s3::Metadata S3Destination::metadata() const {
  return {{kUidMark, options_.storer.uid}, {kAttemptMark, options_.storer.attempt}};
}

/// The object of this uid, if it exists. AlreadyExists: the key belongs to another owner.
Result<std::optional<s3::Object>> S3Destination::ours() {
  auto object = look_at(patience_, store_, options_.key);
  if (object && *object && mark_of(**object, kUidMark) != options_.storer.uid)
    return Error{Code::AlreadyExists, uri() + " exists and does not belong to this EtcdSnapshot"};
  return object;
}

Result<std::optional<AgentReport>> S3Destination::look() {
  const std::optional<AgentReport> nothing;
  auto object = ours();
  if (!object) return object.error();
  if (*object) replaced_ = mark_of(**object, kAttemptMark);
  auto known = *object ? manifest_of(**object) : manifest();
  if (!known) return known.error();
  if (!*object || !*known) return nothing;
  return std::optional((*known)->report);
}

/// Time has passed since look(). An object that neither look() saw nor this run stored stays. The
/// object that look() saw also stays if its run was alive and has finished it since.
Result<Done> S3Destination::must_be_as_seen() {
  const Error conflict{Code::Conflict,
                       uri() + " was stored by another run of this agent meanwhile"};
  auto object = ours();
  if (!object) return object.error();
  if (!*object) replaced_.reset();
  if (!*object) return Done{};
  const std::string attempt = mark_of(**object, kAttemptMark);
  if (attempt == options_.storer.attempt) return Done{};
  if (attempt != replaced_) return conflict;
  auto whole = manifest_of(**object);
  if (!whole) return whole.error();
  return *whole ? conflict : Result<Done>(Done{});
}

/// nullopt: that object is not finished.
Result<std::optional<Manifest>> S3Destination::manifest_of(const s3::Object& object) {
  auto known = manifest();
  if (!known || !*known) return known;
  if (!is_of(**known, object)) return std::optional<Manifest>();
  return known;
}

bool S3Destination::is_of(const Manifest& manifest, const s3::Object& object) const {
  return manifest.report.uri == uri() && manifest.attempt == mark_of(object, kAttemptMark) &&
         static_cast<std::uint64_t>(manifest.report.size_bytes) == object.size;
}

/// nullopt: no manifest, or ours is incomplete. AlreadyExists: it belongs to another owner.
Result<std::optional<Manifest>> S3Destination::manifest() {
  const std::optional<Manifest> nothing;
  auto stored = read_small(patience_, store_, manifest_key_);
  if (!stored) return stored.error();
  if (!*stored) return nothing;
  if (mark_of((*stored)->object, kUidMark) != options_.storer.uid)
    return Error{Code::AlreadyExists,
                 uri() + kManifestSuffix + " exists and does not belong to this EtcdSnapshot"};
  outdated_manifest_ = true;
  auto read = to_manifest((*stored)->text);
  if (!read || read->snapshot_uid != options_.storer.uid) return nothing;
  return std::optional(std::move(*read));
}

Result<Done> S3Destination::begin(std::uint64_t bytes_expected) {
  bytes_expected_ = bytes_expected;
  buffer_.reserve(part_bytes(bytes_expected_, 1));
  return Done{};
}

Result<Done> S3Destination::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = part_bytes(bytes_expected_, sent_ + 1);
    const std::string_view piece = bytes.substr(0, size - buffer_.size());
    buffer_ += piece;
    bytes_ += piece.size();
    bytes.remove_prefix(piece.size());
    if (buffer_.size() < size) continue;
    if (auto sent = send_part(); !sent) return sent;
  }
  return Done{};
}

/// Starts to upload the buffer, and provides a buffer for the next bytes.
Result<Done> S3Destination::send_part() {
  if (!upload_) {
    auto upload = patience_.repeat(
        "CreateMultipartUpload", [&] { return store_.create_multipart(options_.key, metadata()); });
    if (!upload) return upload.error();
    upload_ = std::move(*upload);
  }
  if (++sent_ > s3::Store::kPartsMax)
    return Error{Code::Corrupt, uri() + ": larger than an object can be"};
  Part& part = on_its_way_.emplace_back(
      Part{sent_, std::exchange(buffer_, {}), Error{Code::Cancelled, "not uploaded"}, nullptr});
  part.fiber = executor_.spawn([this, &part] { part.tag = upload(part); });
  if (auto room = until_on_their_way(kPartsInMemory - 1); !room) return room;
  buffer_.reserve(part_bytes(bytes_expected_, sent_ + 1));
  return Done{};
}

/// Waits for the oldest parts until `count_max` are left, and reuses a freed buffer.
Result<Done> S3Destination::until_on_their_way(std::size_t count_max) {
  while (on_its_way_.size() > count_max) {
    Part& oldest = on_its_way_.front();
    if (auto ended = to_result(oldest.fiber->join(), "uploading a part"); !ended) return ended;
    if (!oldest.tag) return oldest.tag.error();
    parts_.push_back({.number = oldest.number, .tag = std::move(*oldest.tag)});
    buffer_ = std::move(oldest.bytes);
    buffer_.clear();
    on_its_way_.pop_front();
  }
  return Done{};
}

/// If tags are MD5s, another tag means that other bytes were stored. If they are not, every tag
/// differs: we conclude that after the same bytes got such a tag twice.
Result<s3::Tag> S3Destination::upload(const Part& part) {
  const s3::Payload payload(part.bytes);
  const auto send = [&] {
    return patience_.repeat("UploadPart",
                            [&] { return store_.upload_part(*upload_, part.number, payload); });
  };
  auto tag = send();
  if (!tag || opaque_tags_) return tag;
  if (!is_tag_of(*tag, payload)) tag = send();
  if (!tag) return tag;
  const bool good = is_tag_of(*tag, payload);
  if (!good && md5_tags_)
    return Error{Code::Corrupt, "part " + std::to_string(part.number) + " of " + uri() +
                                    " has another ETag than its bytes: the store is broken"};
  (good ? md5_tags_ : opaque_tags_) = true;
  return tag;
}

/// As one object, multipart or not.
Result<s3::Tag> S3Destination::store(bool only_if_absent) {
  if (upload_) return store_.complete(*upload_, parts_, only_if_absent);
  return store_.put(options_.key, buffer_,
                    {.metadata = metadata(), .only_if_absent = only_if_absent});
}

/// Checks that the stored object has the right data; `tag`, if known, identifies it. NotFound: the
/// object is missing, or still the one to replace. AlreadyExists: it belongs to another owner.
/// Conflict: to another run. Corrupt: it is ours with other bytes.
Result<Done> S3Destination::verify(const std::optional<s3::Tag>& tag) {
  auto object = ours();
  if (!object) return object.error();
  if (!*object) return Error{Code::NotFound, uri() + " is not there after it was stored"};
  const std::string attempt = mark_of(**object, kAttemptMark);
  if (attempt != options_.storer.attempt)
    return Error{attempt == replaced_ ? Code::NotFound : Code::Conflict,
                 uri() + " is of another run of this agent"};
  if ((*object)->size != bytes_) {
    (void)store_.remove(options_.key);  // It is ours, and useless.
    return Error{Code::Corrupt, uri() + " has " + std::to_string((*object)->size) +
                                    " bytes instead of " + std::to_string(bytes_)};
  }
  if (!upload_) return read_back();
  if (tag && without_quotes(tag->text) != without_quotes((*object)->tag.text))
    return Error{Code::Corrupt, uri() + " has another ETag than when it was stored"};
  return Done{};
}

/// For an object that is not multipart, and so is still in memory.
Result<Done> S3Destination::read_back() {
  bool same = true;
  std::size_t at = 0;
  auto read = patience_.repeat("GET", [&] {
    same = true;
    at = 0;
    return store_.get(options_.key, {}, [&](std::string_view piece) {
      same = same && std::string_view(buffer_).substr(at, piece.size()) == piece;
      at += piece.size();
      return same;
    });
  });
  if (!read) return read.error();
  if (same && at == buffer_.size()) return Done{};
  return Error{Code::Corrupt, uri() + " has other bytes than were stored"};
}

/// Stores until the object exists, without replacing another. After an unclear answer, it looks.
Result<Done> S3Destination::settle() {
  for (int tries = 0;; ++tries) {
    if (auto same = must_be_as_seen(); !same) return same;
    may_be_stored_ = true;
    auto stored = store(conditions_ && !replaced_);
    const bool unsupported = !stored && is_unsupported(stored.error());
    Result<Done> seen = Error{Code::NotFound, ""};
    if (stored) seen = verify(*stored);
    else if (unsupported || is_open(stored.error())) seen = verify(std::nullopt);
    else if (!transient(stored.error().code)) return stored.error();
    if (!seen.failed_with(Code::NotFound)) return seen;
    const Error error = stored ? seen.error() : stored.error();
    const bool lost_parts = upload_ && stored.failed_with(Code::NotFound);
    if (lost_parts || tries + 1 == Patience::kTriesMax) return error;
    if (auto paused = patience_.pause("storing", tries, error); !paused) return error;
  }
}

/// If the store does not support If-None-Match, it is not used from now on.
bool S3Destination::is_unsupported(const Error& error) {
  const bool unsupported = conditions_ && s3::trouble_of(error) == s3::Trouble::Unsupported;
  if (unsupported) conditions_ = false;
  return unsupported;
}

/// The manifest is outdated only if no other run has stored its object again meanwhile.
Result<Done> S3Destination::remove_manifest() {
  if (auto same = must_be_as_seen(); !same) return same;
  auto removed = patience_.repeat("DeleteObject", [&] { return store_.remove(manifest_key_); });
  if (removed) outdated_manifest_ = false;
  return removed;
}

Result<Done> S3Destination::finish(Manifest manifest) {
  if (upload_ && !buffer_.empty())
    if (auto sent = send_part(); !sent) return sent;
  if (auto ended = until_on_their_way(0); !ended) return ended;
  if (outdated_manifest_)
    if (auto removed = remove_manifest(); !removed) return removed;
  if (auto settled = settle(); !settled) return settled;
  upload_.reset();
  buffer_ = {};
  manifest.attempt = options_.storer.attempt;
  return write_manifest(to_text(manifest));
}

/// Reads it back, too: until then nothing counts as stored.
Result<Done> S3Destination::write_manifest(const std::string& text) {
  return patience_.repeat("storing the manifest", [&]() -> Result<Done> {
    const bool only_if_absent = conditions_ && !outdated_manifest_;
    auto put =
        store_.put(manifest_key_, text, {.metadata = metadata(), .only_if_absent = only_if_absent});
    if (put) outdated_manifest_ = true;  // It is ours, even if it is wrong.
    if (!put && is_unsupported(put.error())) return Error{Code::Unavailable, put.error().message};
    if (!put && !is_open(put.error())) return put.error();
    std::string read;
    auto got = store_.get(manifest_key_, {}, [&](std::string_view piece) {
      read += piece;
      return read.size() <= text.size();
    });
    // The store forgot the write: retry.
    if (got.failed_with(Code::NotFound)) return Error{Code::Unavailable, got.error().message};
    if (!got) return got.error();
    if (read == text) return Done{};
    return Error{Code::Conflict, uri() + kManifestSuffix + " is not what was written"};
  });
}

void S3Destination::abandon() {
  if (!upload_ && !may_be_stored_) return;
  const Shield shield(executor_);
  for (const Part& part : on_its_way_) part.fiber->cancel();
  for (const Part& part : on_its_way_) (void)part.fiber->join();
  on_its_way_.clear();
  const Shield limited(executor_, kAbandonLimit);
  if (upload_) abort_upload();
  if (!may_be_stored_) return;
  if (auto removed = remove_stored(); !removed)
    log_.warn("an unfinished object may be left",
              {{"uri", uri()}, {"error", removed.error().message}});
}

void S3Destination::abort_upload() {
  auto aborted = patience_.repeat("AbortMultipartUpload", [&] { return store_.abort(*upload_); });
  if (!aborted && !aborted.failed_with(Code::NotFound))
    log_.warn("an unfinished upload is left",
              {{"uri", uri()}, {"upload", upload_->id}, {"error", aborted.error().message}});
  upload_.reset();
}

bool S3Destination::is_of_this_run(const s3::Object& object) const {
  return mark_of(object, kUidMark) == options_.storer.uid &&
         mark_of(object, kAttemptMark) == options_.storer.attempt;
}

/// Removes an object that could not be finished, and its partial manifest. If the manifest is
/// complete, only the answer was lost: then the object counts as stored, and another run may
/// already have reported it.
Result<Done> S3Destination::remove_stored() {
  auto object = look_at(patience_, store_, options_.key);
  if (!object) return object.error();
  if (!*object || !is_of_this_run(**object)) return Done{};
  auto stored = read_small(patience_, store_, manifest_key_);
  if (!stored) return stored.error();
  if (*stored && is_of_this_run((*stored)->object)) {
    auto manifest = to_manifest((*stored)->text);
    if (manifest && is_of(*manifest, **object)) return Done{};
    if (auto removed = store_.remove(manifest_key_); !removed) return removed;
  }
  object = look_at(patience_, store_, options_.key);  // Another run may have stored it again.
  if (!object) return object.error();
  if (!*object || !is_of_this_run(**object)) return Done{};
  return store_.remove(options_.key);
}

}  // namespace etcdop::agent
