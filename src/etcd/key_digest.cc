#include "etcd/key_digest.h"

#include <algorithm>

namespace etcdop::etcd {
namespace {

/// Target size of a page, in bytes: after a larger page the next has fewer keys, after a page of
/// less than half of it more. Each page costs its member a walk over all remaining keys, because
/// etcd counts them.
constexpr std::size_t kPageBytes = 2 << 20;
/// The page size of a kube-apiserver. It limits a member's memory if all keys are suddenly large.
constexpr std::int64_t kPageKeysMax = 500, kPageKeysFirst = 32;

std::string big_endian(std::uint64_t number) {
  std::string out(sizeof number, '\0');
  for (std::size_t i = sizeof number; i-- > 0; number >>= 8)
    out[i] = static_cast<char>(number & 0xFF);
  return out;
}

std::size_t bytes_of(const KeyPage& page) {
  std::size_t bytes = 0;
  for (const KeyValue& one : page.keys) bytes += one.key.size() + one.value.size();
  return bytes;
}

std::int64_t next_limit(std::int64_t limit, std::size_t bytes) {
  if (bytes > kPageBytes) return std::max<std::int64_t>(1, limit / 2);
  if (bytes < kPageBytes / 2) return std::min(kPageKeysMax, limit * 2);
  return limit;
}

}  // namespace

void KeyDigest::add(const KeyValue& one) {
  for (const std::string* text : {&one.key, &one.value}) {
    sum_.add(big_endian(text->size()));
    sum_.add(*text);
  }
  for (const std::int64_t number : {one.created, one.modified, one.version})
    sum_.add(big_endian(static_cast<std::uint64_t>(number)));
}

Result<std::string> digest_keys(Executor& executor, Client& client, std::int64_t revision) {
  KeyDigest digest;
  KeyQuestion question{.revision = revision, .limit = kPageKeysFirst};
  for (;;) {
    const Instant begin = executor.now();
    auto page = client.keys(question);
    if (page.failed_with(Code::Corrupt) && question.limit > 1) {  // Most likely too large.
      question.limit = 1;
      continue;
    }
    if (!page) return page.error();
    for (const KeyValue& one : page->keys) digest.add(one);
    if (!page->more) return digest.text();
    if (page->keys.empty()) return Error{Code::Corrupt, "a page of keys that is empty"};
    question.from = page->keys.back().key + '\0';
    question.limit = next_limit(question.limit, bytes_of(*page));
    page->keys = {};
    const Woken woken = executor.sleep((executor.now() - begin) / 2);
    if (auto slept = to_result(woken, "reading keys"); !slept) return slept.error();
  }
}

}  // namespace etcdop::etcd
