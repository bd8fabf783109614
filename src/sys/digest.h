// Digests of bytes that arrive in pieces. OpenSSL stays inside digest.cc.
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
  /// The digest so far; more bytes may follow.
  std::string bytes_so_far() const;
  /// The final digest. No bytes may be added afterwards.
  std::string bytes();
  /// The same as lower-case hex digits.
  std::string hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st*) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace etcdop
