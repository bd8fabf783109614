// A snapshot file: the part of a member's state that its database holds. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/etcd/store.h"
#include "sim/etcd/users.h"

namespace etcdop::sim {

struct Image {
  Store store;
  Users users;
  Alarms alarms;
  int minor = -1;  ///< The cluster's version; -1: not agreed on yet.
  bool operator==(const Image&) const = default;
};

/// A deterministic file that ends with its sha256: its size % 512 is 32. The format is not bbolt's.
std::string to_bytes(const Image&);
/// Corrupt: not a snapshot, or truncated.
Result<Image> image_of(std::string_view bytes);

}  // namespace etcdop::sim
