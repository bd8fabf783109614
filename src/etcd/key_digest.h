// A digest of all keys that a member had at one revision. Equal keys give equal digests, regardless
// of later compactions and of etcd's version.
#pragma once
#include <cstdint>
#include <string>

#include "base/fiber.h"
#include "base/result.h"
#include "etcd/client.h"
#include "sys/digest.h"

namespace etcdop::etcd {

/// The sha256 of the keys in their order (of bytes), each as
///     key := size(key) key size(value) value created modified version
/// Sizes, revisions and the version are 64-bit numbers, big-endian. This covers all that etcd keeps
/// for a key except its lease, which a restore creates again.
class KeyDigest {
 public:
  void add(const KeyValue&);
  /// "sha256:" and 64 hex digits. Do not add keys afterwards.
  std::string text() { return "sha256:" + sum_.hex(); }

 private:
  Digest sum_{Digest::Kind::Sha256};
};

/// Reads all keys at that revision, in pages that are small in bytes. After each page it waits for
/// half the time that the page took, so a member that serves others is busy with it at most two
/// thirds of the time. Suspends. Errors as for Client::keys().
Result<std::string> digest_keys(Executor&, Client&, std::int64_t revision);

}  // namespace etcdop::etcd
