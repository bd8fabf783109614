// Sums of bytes that come piece by piece. OpenSSL stays inside digest.cc.
#pragma once
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace etcdop {

class Digest {
 public:
  enum class Kind { Sha256, Md5 };
  explicit Digest(Kind);
  void add(std::string_view bytes);
  /// Of all so far; more may follow.
  std::string bytes_so_far() const;
  /// Of all so far. Nothing may be added any more.
  std::string bytes();
  /// Likewise, as hex digits in lower case.
  std::string hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st*) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace etcdop
