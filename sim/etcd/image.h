// The file that a snapshot is: what of a member is in its database. Pure.
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

/// A deterministic file, with its sha256 at the end: its size % 512 is 32. Not of bbolt's format.
std::string to_bytes(const Image&);
/// Corrupt: it is none, or not whole.
Result<Image> image_of(std::string_view bytes);

}  // namespace etcdop::sim
