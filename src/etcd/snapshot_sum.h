// Checks that a snapshot arrived as its member sent it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sys/digest.h"

namespace etcdop::etcd {

struct WholeSnapshot {
  std::uint64_t size_bytes = 0;  ///< Including its sum.
  std::string checksum;          ///< "sha256:" and 64 hex digits, over all these bytes.
};

/// A snapshot ends with the sha256 of everything before it, and database pages are multiples of 512
/// bytes. So a file has a sum if its size modulo 512 is 32; etcdutl uses the same rule.
class SnapshotSum {
 public:
  void add(std::string_view bytes);
  /// Corrupt: the sum is missing, or does not match. Do not add bytes afterwards.
  Result<WholeSnapshot> end();

 private:
  Digest sum_{Digest::Kind::Sha256};
  std::string last_;  ///< The newest 32 bytes, which may be the sum.
  std::uint64_t size_ = 0;
};

}  // namespace etcdop::etcd
