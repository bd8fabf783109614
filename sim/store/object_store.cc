#include "sim/store/object_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "s3/answers.h"
#include "sim/store/tags.h"

namespace etcdop::sim {
namespace {

using s3::Asked;
using s3::Store;
using s3::Tag;

constexpr std::size_t kPieceBytes = 16 << 10;
constexpr std::size_t kSegmentBytesMax = 255;  // Stores that keep files cannot have longer ones.

enum class Permission { Read, Write, Delete, List };

bool permits(const StoreUser& user, Permission permission) {
  switch (permission) {
    case Permission::Read: return user.may_read;
    case Permission::Write: return user.may_write;
    case Permission::Delete: return user.may_delete;
    case Permission::List: return user.may_list;
  }
  check(false, "a known Permission");
  return false;
}

bool is_modelled(const std::string& key) {
  std::size_t begin = 0;
  while (begin <= key.size()) {
    const std::size_t end = std::min(key.find('/', begin), key.size());
    if (end == begin || end - begin > kSegmentBytesMax) return false;
    begin = end + 1;
  }
  return true;
}

std::string first_half(std::string_view bytes) {
  return std::string(bytes.substr(0, bytes.size() / 2));
}

}  // namespace

const char* to_string(StoreFault fault) {
  switch (fault) {
    case StoreFault::Slow: return "slow";
    case StoreFault::Silent: return "silent";
    case StoreFault::SlowDown: return "slow-down";
    case StoreFault::Reset: return "reset";
    case StoreFault::AnswerLost: return "answer-lost";
    case StoreFault::Truncates: return "truncates";
    case StoreFault::WrongTag: return "wrong-tag";
    case StoreFault::Forgets: return "forgets";
    case StoreFault::StoresHalf: return "stores-half";
    case StoreFault::ClaimsComplete: return "claims-complete";
    case StoreFault::kCount: break;
  }
  check(false, "a known StoreFault");
  return "";
}

/// One user's access to one bucket.
class ObjectStore::Door final : public Store {
 public:
  Door(ObjectStore& store, Executor& executor, StoreUser user, std::string bucket)
      : store_(store), executor_(executor), user_(std::move(user)), name_(std::move(bucket)) {}

  Result<s3::Object> head(const std::string& key) override;
  Result<s3::Object> get(const std::string& key, const s3::GetOptions&, const Sink&) override;
  Result<Tag> put(const std::string& key, std::string_view, const s3::PutOptions&) override;
  Result<s3::Upload> create_multipart(const std::string& key, const s3::Metadata&) override;
  Result<Tag> upload_part(const s3::Upload&, int number, const s3::Payload&) override;
  Result<Tag> complete(const s3::Upload&, const std::vector<s3::Part>&, bool) override;
  Result<Done> abort(const s3::Upload&) override;
  Result<s3::Page> list(const s3::ListOptions&) override;
  Result<std::vector<s3::Upload>> uploads(const std::string& prefix) override;
  Result<Done> remove(const std::string& key) override;

 private:
  struct Call {
    Asked asked;
    Permission permission = Permission::Read;
    std::uint64_t sent = 0;  // Bytes.
    int part = 0;
  };
  Asked asked(const char* call, bool writes, const std::string& key = {}) const {
    return {.call = call, .writes = writes, .bucket = name_, .key = key};
  }
  bool strikes(StoreFault fault, const Call& call) { return store_.strikes(fault, call.part); }
  Error refuse(const Call&, int status, const char* code, const char* message,
               const std::string& region = {}) const;
  Error ended(const Call&) const;
  Result<Done> check_key(const std::string& key) const;
  /// From the call until it takes effect: time passes, and the call may be refused.
  Result<Bucket*> enter(const Call&);
  std::optional<Error> refusal(const Call&) const;
  std::optional<Error> missing(const Call&) const;
  /// From there to the answer.
  template <class T>
  Result<T> leave(const Call&, T answer);
  Result<Done> deliver(const Call&, std::string_view, const Sink&);
  Result<Begun*> begun(const Call&, Bucket&, const s3::Upload&) const;
  std::optional<Error> unfit(const Call&, const Begun&, const std::vector<s3::Part>&) const;
  /// The part of the sent bytes that is stored.
  std::string kept(const Call& call, std::string_view bytes) {
    return strikes(StoreFault::StoresHalf, call) ? first_half(bytes) : std::string(bytes);
  }
  Tag told(const Call& call, const Tag& tag) {
    return strikes(StoreFault::WrongTag, call) ? tag_of("another " + tag.text) : tag;
  }

  ObjectStore& store_;
  Executor& executor_;
  const StoreUser user_;
  const std::string name_;
};

Error ObjectStore::Door::refuse(const Call& call, int status, const char* code, const char* message,
                                const std::string& region) const {
  if (std::string_view(call.asked.call) == "HEAD")  // A HEAD answer has no body.
    return s3::to_error(call.asked, s3::Refusal{.status = status, .region = region});
  return s3::to_error(
      call.asked,
      s3::Refusal{.status = status, .code = code, .message = message, .region = region});
}

Error ObjectStore::Door::ended(const Call& call) const {
  return s3::to_error(call.asked, Error{Code::Lost, "connection closed before the answer's end"});
}

Result<Done> ObjectStore::Door::check_key(const std::string& key) const {
  if (auto ok = s3::check_key(key); !ok) return ok;
  if (!is_modelled(key)) store_.misuse_("key \"" + key + "\": not modelled");
  return Done{};
}

std::optional<Error> ObjectStore::Door::refusal(const Call& call) const {
  if (!user_.known_key)
    return refuse(call, 403, "InvalidAccessKeyId", "The access key does not exist.");
  if (!user_.right_secret)
    return refuse(call, 403, "SignatureDoesNotMatch", "The signature does not match.");
  if (std::chrono::abs(user_.clock_ahead) > kSkewMax)
    return refuse(call, 403, "RequestTimeTooSkewed", "The difference of the clocks is too large.");
  if (user_.region != user_.endpoint_region)
    return refuse(call, 400, "AuthorizationHeaderMalformed", "The region is wrong.",
                  user_.endpoint_region);
  const auto it = store_.buckets_.find(name_);
  if (it == store_.buckets_.end())
    return refuse(call, 404, "NoSuchBucket", "The bucket does not exist.");
  if (it->second.region != user_.endpoint_region)
    return refuse(call, 301, "PermanentRedirect", "The bucket has another endpoint.",
                  it->second.region);
  if (!permits(user_, call.permission)) return refuse(call, 403, "AccessDenied", "Access Denied.");
  return std::nullopt;
}

std::optional<Error> ObjectStore::Door::missing(const Call& call) const {
  if (store_.buckets_.at(name_).objects.contains(call.asked.key)) return std::nullopt;
  if (!user_.may_list) return refuse(call, 403, "AccessDenied", "Access Denied.");
  return refuse(call, 404, "NoSuchKey", "The key does not exist.");
}

Result<ObjectStore::Bucket*> ObjectStore::Door::enter(const Call& call) {
  Duration travel = kAnswerTime / 2;
  if (call.sent > 0 && strikes(StoreFault::Slow, call))
    travel += std::chrono::seconds(call.sent / kSlowBytesASecond);
  if (store_.away_ || strikes(StoreFault::Silent, call)) travel = Store::kCompleteLimit * 2;
  if (auto slept = to_result(executor_.sleep(travel), call.asked.call); !slept)
    return slept.error();
  if (strikes(StoreFault::Reset, call)) return ended(call);
  if (auto error = refusal(call)) return *error;
  if (strikes(StoreFault::SlowDown, call))
    return refuse(call, 503, "SlowDown", "Please reduce your request rate.");
  return &store_.buckets_.at(name_);
}

template <class T>
Result<T> ObjectStore::Door::leave(const Call& call, T answer) {
  if (strikes(StoreFault::AnswerLost, call)) return ended(call);
  const Woken woken = executor_.sleep(kAnswerTime / 2);
  if (auto slept = to_result(woken, call.asked.call); !slept) return slept.error();
  return answer;
}

Result<s3::Object> ObjectStore::Door::head(const std::string& key) {
  if (auto ok = check_key(key); !ok) return ok.error();
  const Within limit(executor_, kCallLimit);
  const Call call{.asked = asked("HEAD", false, key)};
  auto bucket = enter(call);
  if (!bucket) return bucket.error();
  if (auto error = missing(call)) return *error;
  const StoredObject& object = (*bucket)->objects.at(key);
  return leave(
      call,
      s3::Object{.size = object.bytes.size(), .tag = object.tag, .metadata = object.metadata});
}

Result<s3::Object> ObjectStore::Door::get(const std::string& key, const s3::GetOptions& options,
                                          const Sink& sink) {
  if (auto ok = check_key(key); !ok) return ok.error();
  check(!options.range || options.range->count > 0, "a range has bytes");
  const Within limit(executor_, kCallLimit);
  Call call{.asked = asked("GET", false, key)};
  if (options.only_if) call.asked.condition = Asked::Condition::SameTag;
  auto bucket = enter(call);
  if (!bucket) return bucket.error();
  if (auto error = missing(call)) return *error;
  const StoredObject object = (*bucket)->objects.at(key);  // Later writes do not change an answer.
  if (options.only_if && *options.only_if != object.tag)
    return refuse(call, 412, "PreconditionFailed", "If-Match did not hold.");
  std::string_view bytes = object.bytes;
  if (options.range) {
    if (options.range->first >= bytes.size())
      return refuse(call, 416, "InvalidRange", "The range is not satisfiable.");
    bytes = bytes.substr(options.range->first, options.range->count);
  }
  if (auto delivered = deliver(call, bytes, sink); !delivered) return delivered.error();
  return leave(
      call,
      s3::Object{.size = object.bytes.size(), .tag = object.tag, .metadata = object.metadata});
}

Result<Done> ObjectStore::Door::deliver(const Call& call, std::string_view bytes,
                                        const Sink& sink) {
  const bool slow = strikes(StoreFault::Slow, call);
  const bool truncated = strikes(StoreFault::Truncates, call);
  if (truncated) bytes = bytes.substr(0, bytes.size() / 2);
  for (const std::size_t piece = slow ? kSlowBytesASecond : kPieceBytes; !bytes.empty();
       bytes.remove_prefix(std::min(piece, bytes.size()))) {
    const Duration pause = slow ? std::chrono::seconds(1) : Duration(0);
    const Woken woken = executor_.sleep(pause);
    if (auto slept = to_result(woken, call.asked.call); !slept) return slept;
    if (!sink(bytes.substr(0, piece))) return Done{};
  }
  if (truncated) return ended(call);
  return Done{};
}

Result<Tag> ObjectStore::Door::put(const std::string& key, std::string_view bytes,
                                   const s3::PutOptions& options) {
  if (auto ok = check_key(key); !ok) return ok.error();
  if (auto ok = s3::check_metadata(options.metadata); !ok) return ok.error();
  const Within limit(executor_, kCallLimit);
  Call call{.asked = asked("PutObject", true, key),
            .permission = Permission::Write,
            .sent = bytes.size()};
  if (options.only_if_absent) call.asked.condition = Asked::Condition::Absent;
  auto bucket = enter(call);
  if (!bucket) return bucket.error();
  if (options.only_if_absent && (*bucket)->objects.contains(key))
    return refuse(call, 412, "PreconditionFailed", "If-None-Match did not hold.");
  const Tag tag = tag_of(bytes);
  if (!strikes(StoreFault::Forgets, call))
    store_.keep(name_, key, {.bytes = kept(call, bytes), .tag = tag, .metadata = options.metadata});
  return leave(call, told(call, tag));
}

Result<s3::Upload> ObjectStore::Door::create_multipart(const std::string& key,
                                                       const s3::Metadata& metadata) {
  if (auto ok = check_key(key); !ok) return ok.error();
  if (auto ok = s3::check_metadata(metadata); !ok) return ok.error();
  const Within limit(executor_, kCallLimit);
  const Call call{.asked = asked("CreateMultipartUpload", true, key),
                  .permission = Permission::Write};
  auto bucket = enter(call);
  if (!bucket) return bucket.error();
  const std::string id = "upload-" + std::to_string(++store_.uploads_begun_);
  (*bucket)->uploads[id] = {.key = key, .metadata = metadata};
  return leave(call, s3::Upload{.key = key, .id = id});
}

Result<ObjectStore::Begun*> ObjectStore::Door::begun(const Call& call, Bucket& bucket,
                                                     const s3::Upload& upload) const {
  const auto it = bucket.uploads.find(upload.id);
  if (it == bucket.uploads.end() || it->second.key != upload.key)
    return refuse(call, 404, "NoSuchUpload", "The upload does not exist.");
  return &it->second;
}

Result<Tag> ObjectStore::Door::upload_part(const s3::Upload& upload, int number,
                                           const s3::Payload& payload) {
  const std::string_view bytes = payload.bytes;
  check(number >= 1 && number <= kPartsMax, "a part's number is 1 to 10,000");
  const Within limit(executor_, kCallLimit);
  const Call call{.asked = asked("UploadPart", true, upload.key),
                  .permission = Permission::Write,
                  .sent = bytes.size(),
                  .part = number};
  auto bucket = enter(call);
  if (!bucket) return bucket.error();
  auto found = begun(call, **bucket, upload);
  if (!found) return found.error();
  const Tag tag = tag_of(bytes);
  if (!strikes(StoreFault::Forgets, call))
    (*found)->parts[number] = {.bytes = kept(call, bytes), .tag = tag};
  return leave(call, told(call, tag));
}

std::optional<Error> ObjectStore::Door::unfit(const Call& call, const Begun& upload,
                                              const std::vector<s3::Part>& parts) const {
  int before = 0;
  for (const s3::Part& part : parts) {
    if (part.number <= before)
      return refuse(call, 400, "InvalidPartOrder", "The parts are not in ascending order.");
    before = part.number;
    const auto it = upload.parts.find(part.number);
    const bool small = it != upload.parts.end() && it->second.bytes.size() < kPartBytesMin;
    if (small && &part != &parts.back())
      return refuse(call, 400, "EntityTooSmall", "A part is too small.");
    if (it == upload.parts.end() || it->second.tag != part.tag)
      return refuse(call, 400, "InvalidPart", "A part was not found, or has another tag.");
  }
  return std::nullopt;
}

Result<Tag> ObjectStore::Door::complete(const s3::Upload& upload,
                                        const std::vector<s3::Part>& parts, bool only_if_absent) {
  const Within limit(executor_, kCompleteLimit);
  Call call{.asked = asked("CompleteMultipartUpload", true, upload.key),
            .permission = Permission::Write};
  if (only_if_absent) call.asked.condition = Asked::Condition::Absent;
  auto bucket = enter(call);
  if (!bucket) return bucket.error();
  if (parts.empty()) return refuse(call, 400, "MalformedXML", "There are no parts.");
  std::vector<Tag> tags;
  for (const s3::Part& part : parts) tags.push_back(part.tag);
  const Tag tag = tag_of_parts(tags);
  auto found = begun(call, **bucket, upload);
  if (!found && (*bucket)->objects.contains(upload.key) &&
      strikes(StoreFault::ClaimsComplete, call))
    return leave(call, tag);
  if (!found) return found.error();
  if (only_if_absent && (*bucket)->objects.contains(upload.key))
    return refuse(call, 412, "PreconditionFailed", "If-None-Match did not hold.");
  if (auto error = unfit(call, **found, parts)) return *error;
  StoredObject object{.bytes = {}, .tag = tag, .metadata = (*found)->metadata};
  for (const s3::Part& part : parts) object.bytes += (*found)->parts.at(part.number).bytes;
  (*bucket)->uploads.erase(upload.id);
  if (!strikes(StoreFault::Forgets, call)) {
    object.bytes = kept(call, object.bytes);
    store_.keep(name_, upload.key, std::move(object));
  }
  return leave(call, told(call, tag));
}

Result<Done> ObjectStore::Door::abort(const s3::Upload& upload) {
  const Within limit(executor_, kCallLimit);
  const Call call{.asked = asked("AbortMultipartUpload", true, upload.key),
                  .permission = Permission::Write};
  auto bucket = enter(call);
  if (!bucket) return bucket.error();
  if (auto found = begun(call, **bucket, upload); !found) return found.error();
  if (!strikes(StoreFault::Forgets, call)) (*bucket)->uploads.erase(upload.id);
  return leave(call, Done{});
}

Result<s3::Page> ObjectStore::Door::list(const s3::ListOptions& options) {
  if (options.count < 1 || options.count > s3::ListOptions::kCountMax)
    store_.misuse_("a page of " + std::to_string(options.count) + " objects: not modelled");
  const Within limit(executor_, kCallLimit);
  const Call call{.asked = asked("ListObjectsV2", false), .permission = Permission::List};
  auto bucket = enter(call);
  if (!bucket) return bucket.error();
  s3::Page page;
  const auto& objects = (*bucket)->objects;
  auto it = objects.lower_bound(options.prefix);
  if (!options.token.empty()) it = objects.upper_bound(options.token.substr(1));
  for (; it != objects.end() && it->first.starts_with(options.prefix); ++it) {
    if (page.objects.size() == static_cast<std::size_t>(options.count)) {
      page.token = ">" + page.objects.back().key;
      break;
    }
    page.objects.push_back(
        {.key = it->first, .size = it->second.bytes.size(), .tag = it->second.tag});
  }
  return leave(call, std::move(page));
}

Result<std::vector<s3::Upload>> ObjectStore::Door::uploads(const std::string& prefix) {
  const Within limit(executor_, kCallLimit);
  const Call call{.asked = asked("ListMultipartUploads", false), .permission = Permission::List};
  auto bucket = enter(call);
  if (!bucket) return bucket.error();
  std::vector<s3::Upload> uploads;
  for (const auto& [id, upload] : (*bucket)->uploads)
    if (upload.key.starts_with(prefix)) uploads.push_back({.key = upload.key, .id = id});
  std::ranges::sort(uploads, {}, [](const s3::Upload& u) { return std::tie(u.key, u.id); });
  if (uploads.size() > static_cast<std::size_t>(s3::ListOptions::kCountMax))
    store_.misuse_("more than a page of unfinished uploads: not modelled");
  return leave(call, std::move(uploads));
}

Result<Done> ObjectStore::Door::remove(const std::string& key) {
  if (auto ok = check_key(key); !ok) return ok.error();
  const Within limit(executor_, kCallLimit);
  const Call call{.asked = asked("DeleteObject", true, key), .permission = Permission::Delete};
  auto bucket = enter(call);
  if (!bucket) return bucket.error();
  if (!strikes(StoreFault::Forgets, call)) (*bucket)->objects.erase(key);
  return leave(call, Done{});
}

ObjectStore::ObjectStore(Executor& executor, Dice dice, Misuse misuse)
    : executor_(executor), dice_(std::move(dice)), misuse_(std::move(misuse)) {
  check(bool(misuse_), "somebody hears of misuse");
}

void ObjectStore::make_bucket(const std::string& name, const std::string& region) {
  buckets_[name].region = region;
}

void ObjectStore::remove_bucket(const std::string& name) { buckets_.erase(name); }

std::unique_ptr<Store> ObjectStore::as(const StoreUser& user, const std::string& bucket) {
  return as(user, bucket, executor_);
}

std::unique_ptr<Store> ObjectStore::as(const StoreUser& user, const std::string& bucket,
                                       Executor& caller) {
  return std::make_unique<Door>(*this, caller, user, bucket);
}

void ObjectStore::strike(StoreFault fault, StoreStrike when) {
  strikes_[static_cast<std::size_t>(fault)] = when;
}

void ObjectStore::draw_faults() {
  const std::uint64_t share = dice_.below(3);  // The share of the fault, in fourths.
  for (StoreStrike& strike : strikes_)
    strike = {.one_in = dice_.below(4) < share + 1 ? 2 + dice_.below(8) : 0};
}

bool ObjectStore::strikes(StoreFault fault, int part) {
  const auto at = static_cast<std::size_t>(fault);
  const StoreStrike& strike = strikes_[at];
  if (strike.one_in == 0 || (strike.part != 0 && strike.part != part)) return false;
  if (strike.one_in > 1 && !dice_.one_in(strike.one_in)) return false;
  ++struck_[at];
  return true;
}

const ObjectStore::Bucket& ObjectStore::bucket(const std::string& name) const {
  const auto it = buckets_.find(name);
  check(it != buckets_.end(), "a bucket that was made");
  return it->second;
}

StoredObject* ObjectStore::look(const std::string& bucket_name, const std::string& key) {
  auto& objects = buckets_.at(bucket_name).objects;
  const auto it = objects.find(key);
  return it == objects.end() ? nullptr : &it->second;
}

void ObjectStore::put(const std::string& bucket_name, const std::string& key, StoredObject object) {
  object.tag = tag_of(object.bytes);
  keep(bucket_name, key, std::move(object));
}

void ObjectStore::keep(const std::string& bucket_name, const std::string& key,
                       StoredObject object) {
  ever_[{bucket_name, key}].push_back(object.bytes);
  buckets_.at(bucket_name).objects[key] = std::move(object);
}

const std::vector<std::string>& ObjectStore::ever(const std::string& bucket_name,
                                                  const std::string& key) {
  return ever_[{bucket_name, key}];
}

void ObjectStore::remove(const std::string& bucket_name, const std::string& key) {
  buckets_.at(bucket_name).objects.erase(key);
}

std::vector<std::string> ObjectStore::keys(const std::string& name) const {
  std::vector<std::string> out;
  for (const auto& [key, object] : bucket(name).objects) out.push_back(key);
  return out;
}

std::size_t ObjectStore::unfinished(const std::string& name) const {
  return bucket(name).uploads.size();
}

}  // namespace etcdop::sim
