// A sum over all keys that a member had at one revision: equal wherever these are, whatever was
// compacted since and whichever version of etcd has them.
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
/// where sizes, revisions and the version are 64-bit numbers, big-endian. Of a key all that etcd
/// keeps with it but its lease, which a restore makes anew.
class KeyDigest {
 public:
  void add(const KeyValue&);
  /// "sha256:" and 64 hex digits. Nothing may be added any more.
  std::string text() { return "sha256:" + sum_.hex(); }

 private:
  Digest sum_{Digest::Kind::Sha256};
};

/// Reads all keys at that revision, in pages that are small in bytes; between them it waits for
/// half as long as the last one took, so that a member that serves others is busy with it two
/// thirds of the time at most. Suspends. Errors as of Client::keys().
Result<std::string> digest_keys(Executor&, Client&, std::int64_t revision);

}  // namespace etcdop::etcd
