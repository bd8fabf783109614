// A key that one pass works on alone.
#pragma once
#include <set>
#include <utility>

#include "api/meta.h"

namespace etcdop {

/// Claims a key for its scope. The caller checks first that the set, which outlives this, does not
/// contain the key; nothing suspends between the two.
class Claim {
 public:
  Claim(std::set<api::ObjectKey>& claimed, api::ObjectKey key)
      : claimed_(claimed), key_(std::move(key)) {
    claimed_.insert(key_);
  }
  ~Claim() { claimed_.erase(key_); }
  Claim(const Claim&) = delete;

 private:
  std::set<api::ObjectKey>& claimed_;
  const api::ObjectKey key_;
};

}  // namespace etcdop
