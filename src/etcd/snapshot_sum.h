// Whether a snapshot came as its member sent it.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct evp_md_ctx_st;

namespace etcdop::etcd {

/// A snapshot ends with the sha256 of all before, and pages of a database are multiples of 512
/// bytes: so much of its size that 32 is left has a sum, as etcdutl judges it, too.
class SnapshotSum {
 public:
  SnapshotSum();
  void add(std::string_view bytes);
  /// Its size with the sum. Corrupt: it has none, or not that one.
  Result<std::uint64_t> end();

 private:
  struct Free {
    void operator()(evp_md_ctx_st*) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
  std::string last_;  ///< The newest 32 bytes, which may be the sum.
  std::uint64_t size_ = 0;
};

}  // namespace etcdop::etcd
