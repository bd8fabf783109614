#include "operator/pods/member_name.h"

#include <string_view>

#include "base/fnv.h"

namespace etcdop {

std::string member_name(const std::string& cluster, const std::string& uid, std::int64_t sequence) {
  constexpr std::string_view alphabet = "bcdfghjklmnpqrstvwxz2456789";  // Like generateName's.
  std::uint64_t hash = fnv1a(uid + "/" + std::to_string(sequence));
  hash ^= hash >> 32;  // The low digits of FNV alone are too regular.
  std::string name = cluster + "-";
  for (int i = 0; i < 5; ++i, hash /= alphabet.size()) name += alphabet[hash % alphabet.size()];
  return name;
}

}  // namespace etcdop
