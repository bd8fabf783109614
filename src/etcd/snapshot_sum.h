// Whether a snapshot came as its member sent it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sys/digest.h"

namespace etcdop::etcd {

struct WholeSnapshot {
  std::uint64_t size_bytes = 0;  ///< With its sum.
  std::string checksum;          ///< "sha256:" and 64 hex digits, of all these bytes.
};

/// A snapshot ends with the sha256 of all before, and pages of a database are multiples of 512
/// bytes: so much of its size that 32 is left has a sum, as etcdutl judges it, too.
class SnapshotSum {
 public:
  void add(std::string_view bytes);
  /// Corrupt: it has no sum, or not that one. Nothing may be added any more.
  Result<WholeSnapshot> end();

 private:
  Digest sum_{Digest::Kind::Sha256};
  std::string last_;  ///< The newest 32 bytes, which may be the sum.
  std::uint64_t size_ = 0;
};

}  // namespace etcdop::etcd
