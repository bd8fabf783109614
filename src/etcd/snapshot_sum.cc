#include "etcd/snapshot_sum.h"

#include <algorithm>

namespace etcdop::etcd {
namespace {
constexpr std::size_t kSum = 32;
constexpr std::uint64_t kPage = 512;
}  // namespace

void SnapshotSum::add(std::string_view bytes) {
  size_ += bytes.size();
  const std::size_t both = last_.size() + bytes.size();
  if (both > kSum) {  // Only the newest 32 bytes can be the sum.
    const std::size_t of_last = std::min(last_.size(), both - kSum);
    const std::size_t of_bytes = both - kSum - of_last;
    sum_.add(std::string_view(last_).substr(0, of_last));
    sum_.add(bytes.substr(0, of_bytes));
    last_.erase(0, of_last);
    bytes.remove_prefix(of_bytes);
  }
  last_.append(bytes);
}

Result<WholeSnapshot> SnapshotSum::end() {
  if (size_ % kPage != kSum)
    return Error{Code::Corrupt, std::to_string(size_) + " bytes, which end with no sha256"};
  if (sum_.bytes_so_far() != last_)
    return Error{Code::Corrupt, "the snapshot does not have its sha256"};
  sum_.add(last_);
  return WholeSnapshot{.size_bytes = size_, .checksum = "sha256:" + sum_.hex()};
}

}  // namespace etcdop::etcd
