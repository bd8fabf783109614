// A key that only one pass works on.
#pragma once
#include <set>
#include <utility>

#include "api/meta.h"

namespace etcdop {

/// Claims a key for its scope. The set must outlive it. The caller checks first that the set does
/// not contain the key, and does not suspend in between.
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
