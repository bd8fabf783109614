#include "etcd/snapshot_sum.h"

#include <openssl/evp.h>

namespace etcdop::etcd {
namespace {
constexpr std::size_t kSum = 32;
constexpr std::uint64_t kPage = 512;
}  // namespace

void SnapshotSum::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

SnapshotSum::SnapshotSum() : context_(EVP_MD_CTX_new()) {
  check(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1, "OpenSSL has sha256");
}

void SnapshotSum::add(std::string_view bytes) {
  size_ += bytes.size();
  last_.append(bytes);
  if (last_.size() <= kSum) return;
  EVP_DigestUpdate(context_.get(), last_.data(), last_.size() - kSum);
  last_.erase(0, last_.size() - kSum);
}

Result<std::uint64_t> SnapshotSum::end() {
  if (size_ % kPage != kSum)
    return Error{Code::Corrupt, std::to_string(size_) + " bytes, which end with no sha256"};
  std::string sum(EVP_MAX_MD_SIZE, 0);
  unsigned size = 0;
  EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(sum.data()), &size);
  sum.resize(size);
  if (sum != last_) return Error{Code::Corrupt, "the snapshot does not have its sha256"};
  return size_;
}

}  // namespace etcdop::etcd
