#include "agent/s3_stored.h"

#include <utility>

#include "agent/manifest.h"

namespace etcdop::agent {

S3Stored::S3Stored(Executor& executor, Log& log, s3::Store& store, const Options& options)
    : patience_(executor, log),
      store_(store),
      options_(options),
      manifest_key_(options.key + kManifestSuffix) {}

Error S3Stored::not_ours(const std::string& key) const {
  return {Code::AlreadyExists, uri_of(key) + " is not of this EtcdSnapshot: it stays"};
}

Result<bool> S3Stored::data_is_there() {
  auto object = look_at(patience_, store_, options_.key);
  if (!object) return object.error();
  if (!*object) return false;
  if (mark_of(**object, kUidMark) != options_.uid) return not_ours(options_.key);
  return true;
}

/// An unreadable manifest (cut, or of a later release's format) is ours by its mark.
Result<bool> S3Stored::manifest_is_there() {
  auto stored = read_small(patience_, store_, manifest_key_);
  if (!stored) return stored.error();
  if (!*stored) return false;
  auto manifest = to_manifest((*stored)->text);
  const bool ours = mark_of((*stored)->object, kUidMark) == options_.uid &&
                    (!manifest || manifest->snapshot_uid == options_.uid);
  if (!ours) return not_ours(manifest_key_);
  return true;
}

Result<bool> S3Stored::is_there(const std::string& key) {
  return key == manifest_key_ ? manifest_is_there() : data_is_there();
}

Result<std::vector<std::string>> S3Stored::look() {
  std::vector<std::string> out;
  // HEAD of the data first, because its refusal tells most.
  auto data = data_is_there();
  if (!data) return data.error();
  auto manifest = manifest_is_there();
  if (!manifest) return manifest.error();
  if (*manifest) out.push_back(manifest_key_);
  if (*data) out.push_back(options_.key);
  return out;
}

/// Whether the store acknowledged the removal or gave no clear answer, only a look can tell.
Result<Done> S3Stored::remove_once(const std::string& key) {
  if (auto removed = store_.remove(key); !removed) return removed;
  auto there = is_there(key);
  if (!there) return there.error();
  if (*there) return Error{Code::Conflict, uri_of(key) + " is still there after it was removed"};
  return Done{};
}

/// Looks before each try: the previous try may have worked, and another program may have stored
/// something since.
Result<Done> S3Stored::remove(const std::string& key) {
  return patience_.repeat("removing", [&]() -> Result<Done> {
    auto there = is_there(key);
    if (!there) return there.error();
    return *there ? remove_once(key) : Result<Done>(Done{});
  });
}

}  // namespace etcdop::agent
